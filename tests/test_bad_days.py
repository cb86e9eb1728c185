"""Bad days: full disks, closed streams, no memory, Ctrl-C; wrong words on the command line."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpc
from dpc import cli
from dpc.cli import main
from dpc.exits import UsageError
from dpc.model import keeper
from dpc.model.keeper import Keeper, WrongCheckpoint

LOOSE_JAX = "NumPyro promotes types and ranks"

NET = """dim S = yes | no
a : S ~ Categorical(yes=0.3, no=0.7)
b : S ~ Categorical(if a == yes then [0.2, 0.8] else [0.9, 0.1])
"""
TOL = """dim K = 3
param tol : real = 1
param v[K] : real = 0
data d : real = 2
x ~ Normal(tol, 1)
minimize (x - d)^2 + sum(v)
"""
POST = "mu ~ Normal(0, 1)\nobserved y : real\ny ~ Normal(mu, 1)\n"
ROOT = "param t : real = 1\ny := t^2\n"
MODELS = {"net": NET, "tol": TOL, "post": POST, "root": ROOT}
NINES = "9" * 5000

WRONG = [
    (["query", "net", "--given", 'a=["yes","no"]'], 3, "a=this|that"),
    (["query", "net", "--given", "a=[1,2,3]"], 3, "2 states"),
    (["query", "net", "--given", "a=²"], 3, "is one of yes, no"),
    (["query", "net", "--given", "a=[" + "[" * 3000 + "]"], 2, "nested too deeply"),
    (["plan", "net", "--given", "zz=yes"], 3, "no variable `zz`"),
    (["query", "net", "--memory", "1.5.2"], 2, "takes a size such as 2GB"),
    (["query", "net", "--memory", NINES], 2, "takes a size such as 2GB"),
    (["query", "net", "--seed", "-1"], 2, "--seed takes a whole number from 0"),
    (["sample", "net", "--seed", "-1"], 2, "--seed takes a whole number from 0"),
    (["sample", "net", "--seed", str(2**70)], 2, "--seed takes a whole number from 0"),
    (["fit", "tol", "--seed", "-1"], 2, "--seed takes a whole number from 0"),
    (["grad", "tol", "--seed", str(2**63)], 2, "--seed takes a whole number from 0"),
    (["posterior", "post", "--set", "y=1", "--seed", "-1"], 2, "--seed takes a whole"),
    (["build", "net", "--emit", "jaxpr", "--seed", "-1"], 2, "--seed takes a whole number"),
    (["build", "net", "-o", "."], 2, "Is a directory"),
    (["build", "root", "--emit", "jaxpr"], 2, "has no density"),
    (["run", "tol", "--set", "tol=null"], 2, "`tol` takes numbers"),
    (["run", "tol", "--set", "tol=abc"], 2, "`tol` takes numbers"),
    (["run", "tol", "--set", 'tol={"a": 1}'], 2, "`tol` takes numbers"),
    (["run", "tol", "--set", "v=[1,[2],3]"], 2, "`v` takes numbers"),
    (["run", "tol", "--set", "tol=NaN"], 2, "`tol` is real: it cannot be nan"),
    (["run", "tol", "--set", "tol=1e400"], 2, "larger than any"),
    (["run", "tol", "--set", f"tol={NINES}"], 2, "too many digits"),
    (["run", "tol", "--set", "tol=" + "[" * 5000], 2, "nested too deeply"),
    (["grad", "tol", "--set", "tol=null"], 2, "`tol` takes numbers"),
    (["fit", "tol", "--set", "tol=null"], 2, "`tol` takes numbers"),
    (["run", "tol", "--set", "d=null"], 3, "missing value"),
    (["posterior", "post", "--set", "y=1", "-o", "x.txt"], 2, "writes netCDF"),
    (["query", "net", "--plot", "no/x.svg"], 2, "there is no folder no"),
    (["check", "a\0b.dp"], 2, "zero byte"),
    (["check", "/dev/zero"], 1, "a model may have 1,000,000"),
]


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in MODELS.items():
        (tmp_path / f"{name}.dp").write_text(text)
    return tmp_path


def spelled(words: list[str]) -> list[str]:
    return [f"{word}.dp" if word in MODELS else word for word in words]


@pytest.mark.parametrize(("words", "code", "said"), WRONG, ids=lambda w: str(w)[:50])
def test_wrong_arguments_are_said(
    words: list[str], code: int, said: str, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(spelled(words)) == code
    err = capsys.readouterr().err
    assert said in err
    assert len(err) < 2000


@pytest.mark.parametrize("word", ["³", "1_0", "x" * 5000, "1e3"])
def test_numbers_of_options_are_read_strictly(
    word: str, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["sample", "net.dp", "-n", word])
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert "is no whole number" in err
    assert len(err) < 2000


def test_files_of_a_posterior_are_judged_before_the_draws() -> None:
    model = dpc.parse(POST)
    with pytest.raises(UsageError, match=r"writes netCDF: call it x\.nc"):
        model.posterior({"y": 1.0}, out="x.txt")
    with pytest.raises(UsageError, match=r"one of svg, png, pdf, not gif"):
        model.posterior({"y": 1.0}, plots="x", format="gif")
    with pytest.raises(UsageError, match="there is no folder"):
        model.posterior({"y": 1.0}, out="no/x.nc")


# ---- what happens to the machine


class Full(io.TextIOWrapper):
    """A disk without room."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO())

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


def test_a_full_disk(models: Path) -> None:
    words = [sys.executable, "-m", "dpc", "check", "net.dp"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "dpc: No space left on device\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams(closed: str, models: Path) -> None:
    command = f'"{sys.executable}" -m dpc check - {closed}'
    done = subprocess.run(
        command, shell=True, input=NET, capture_output=True, text=True, check=False
    )
    assert done.returncode == (0 if closed == "2>&-" else 2)
    assert "Traceback" not in done.stderr
    if closed == "<&-":
        assert "standard input is closed" in done.stderr
    if closed == ">&-":
        assert "standard output is closed" in done.stderr


def test_a_terminal_that_has_not_the_letters(models: Path) -> None:
    (models / "größe.dp").write_text("model größe\nñ ~ Normal(0, 1)\n")
    settings = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    for command in ("check", "info", "sample", "fmt"):
        words = [sys.executable, "-m", "dpc", command, "größe.dp"]
        done = subprocess.run(words, env=settings, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (
            MemoryError("Unable to allocate 8 TiB"),
            2,
            "not enough memory (Unable to allocate 8 TiB)",
        ),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory"), 2, "not enough memory"),
        (OSError(28, "No space left on device"), 2, "No space left"),
        (PermissionError(13, "Permission denied", "x.csv"), 2, "x.csv: Permission denied"),
        ("\udcff".encode, 2, "cannot be written in this encoding"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ZeroDivisionError("ours"), 70, "This is a bug in dpc"),
    ],
    ids=["memory", "xla", "disk", "permission", "letters", "interrupt", "ours"],
)
def test_bad_days_have_their_exits(
    error: object,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(*_: object) -> int:
        if isinstance(error, BaseException):
            raise error
        error()  # type: ignore[operator]
        return 0

    monkeypatch.setattr(cli, "_run", run)
    assert main(["check"]) == code
    assert said in capsys.readouterr().err


def test_a_stream_that_fails_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_run", lambda *_: 0)
    monkeypatch.setattr(sys, "stdout", Full())
    assert main(["check"]) == 2


def test_ctrl_c_while_the_program_is_loaded(models: Path) -> None:
    """A module that is imported on the way takes as long as it likes."""
    slow = "import sys, time; print(flush=True); time.sleep(60)"
    code = f"import dpc.__main__\n{slow}"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err) == (-signal.SIGINT, "")


# ---- checkpoints


def test_a_folder_is_used_by_one_run(tmp_path: Path) -> None:
    first = Keeper(str(tmp_path), False, "run")
    with pytest.raises(UsageError, match="another run keeps its state"):
        Keeper(str(tmp_path), False, "run")
    first.release()
    Keeper(str(tmp_path), False, "run").release()


def test_another_process_is_kept_out(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = "from dpc.model.keeper import Keeper; k = Keeper('kept', False, 'x'); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", held], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert main(["fit", "tol.dp", "--steps", "10", "--checkpoint", "kept"]) == 2
        process.kill()
    assert "another run keeps its state in kept" in capsys.readouterr().err
    assert main(["fit", "tol.dp", "--steps", "10", "--checkpoint", "kept"]) == 4


def damaged(content: bytes) -> list[bytes]:
    cut = [content[:size] for size in (0, 10, len(content) // 2, len(content) - 1)]
    return [*cut, b"nothing", b"\x93NUMPY\x01\x00", b"\x80\x04N."]


def test_damaged_checkpoints_are_refused_in_words(tmp_path: Path) -> None:
    state = {"a": np.arange(50.0), "b": np.zeros(3)}
    made = Keeper(str(tmp_path), False, "run")
    made.keep(1, state, now=True)
    made.release()
    path = tmp_path / keeper.FILE
    whole = path.read_bytes()
    for content in damaged(whole):
        path.write_bytes(content)
        with pytest.raises(WrongCheckpoint, match="no checkpoint of dpc, or a damaged one"):
            Keeper(str(tmp_path), True, "run").load(state)
    np.savez(path, run=np.array("run"))
    with pytest.raises(WrongCheckpoint, match="lacks a part"):
        Keeper(str(tmp_path), True, "run").load(state)
    path.write_bytes(whole)
    found = Keeper(str(tmp_path), True, "run").load(state)
    assert np.array_equal(found["a"], state["a"])


# ---- sizes are known before arrays

LARGE = (
    "minimize sum[i in A, j in A] t * i * j",
    "y := sum[i in A] sum[j in A] t * i * j",
    "x[i in A, j in A] ~ Normal(t, 1)",
    "data d[A, A] : real = 0\ny := t * sum(d)",
    "fn f(a: real) -> real = sum[j in A] a * j\ny[i in A] := f(i * t)",
)


@pytest.mark.parametrize("statement", LARGE)
@pytest.mark.parametrize("size", [" = 1000000", ""])
def test_what_needs_more_memory_than_there_is_is_refused(
    statement: str, size: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "big.dp"
    path.write_text(f"dim A{size}\nparam t : real = 1\n{statement}\n")
    command = "sample" if "~" in statement else "run"
    given = [] if size else ["--set", "A=1000000"]
    assert main([command, str(path), *given]) == 2
    err = capsys.readouterr().err
    assert "over A of 1,000,000, A of 1,000,000: 7.28 TiB" in err


def test_a_long_chain_is_not_large() -> None:
    """Of a recurrence one step is in memory, beside its result."""
    text = "dim T\ndim K = 100\nz[0] ~ Normal(0, 1)\n"
    text += "z[t in T[1..]] ~ Normal(sum[i in K, j in K] z[t-1] / 10000, 1)\n"
    assert dpc.parse(text).bind(T=10_000_000).sizes["T"] == 10_000_000

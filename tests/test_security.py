"""docs/security.md, sentence by sentence: each is the first line of a test."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import dpc
from dpc.cli import main
from dpc.data import DataError, netcdf, raw, read_data
from dpc.data.errors import problem
from dpc.dsl import files
from dpc.dsl.limits import MAX_CALLS, MAX_FILES
from dpc.exits import UsageError
from dpc.inference.errors import MemoryLimitError
from dpc.inference.formats.network import FormatError
from dpc.model import keeper
from dpc.model.keeper import Keeper, WrongCheckpoint
from dpc.model.load import read_network

LOOSE_JAX = "NumPyro promotes types and ranks"

PAGE = Path(__file__).parent.parent / "docs" / "security.md"
TRAP = "trap"


class Trap:
    """What unpickling would run."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (TRAP,)


def said(*words: str | Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([str(word) for word in words]) in (1, 2, 3)
    return capsys.readouterr().err


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as error:
        read_data(path)
    return str(error.value)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---- a model file


def test_no_code() -> None:
    """Checking, drawing or running a model executes no code of its author."""
    code = "__import__('os').mkdir('trap')"
    text = f"model `{code}`\ndim S = `{code}` | b\nx : S ~ Categorical([0.5, 0.5])\ny := 1\n"
    model = dpc.parse(text)
    model.run()
    model.draw(format="svg", engine="builtin")
    exec(compile(model.build(), "<built>", "exec"), {})
    assert not Path(TRAP).exists()


def test_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    """It reads no file but its imports."""
    Path("secret.csv").write_text("swordfish\n")
    for text in ('x := "secret.csv"\n', "data `secret.csv` : real\n"):
        Path("m.dp").write_text(text)
        main(["check", "m.dp"])
        assert "swordfish" not in capsys.readouterr().err


def test_imports(capsys: pytest.CaptureFixture[str]) -> None:
    """Imports come from the folder of the root file and below it, or from folders that the caller names."""
    Path("in").mkdir()
    Path("lib.dp").write_text("y = 1\n")
    Path("in/m.dp").write_text('import "../lib.dp" as lib\nx := lib.y\n')
    assert "outside of the folder" in said("check", "in/m.dp", capsys=capsys)
    assert main(["check", "in/m.dp", "--import-path", "."]) == 0


def test_links(capsys: pytest.CaptureFixture[str]) -> None:
    """A link that leads out of these folders is not followed."""
    Path("in").mkdir()
    Path("lib.dp").write_text("y = 1\n")
    Path("in/lib.dp").symlink_to(Path("lib.dp").absolute())
    Path("in/m.dp").write_text('import "lib.dp" as lib\nx := lib.y\n')
    assert "outside of the folder" in said("check", "in/m.dp", capsys=capsys)


def test_ordinary_files(capsys: pytest.CaptureFixture[str]) -> None:
    """An import is an ordinary file whose name ends in .dp, so the text of another file is never shown."""
    Path("secret.txt").write_text("swordfish\n")
    os.mkfifo("pipe.dp")
    for name in ("secret.txt", "pipe.dp"):
        Path("m.dp").write_text(f'import "{name}" as lib\n')
        err = said("check", "m.dp", capsys=capsys)
        assert "E0601" in err
        assert "swordfish" not in err


def test_files_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Each file is read once, and a model has at most two hundred."""
    assert MAX_FILES == 200
    for k in range(MAX_FILES + 1):
        twice = f'import "f{k + 1}.dp" as a\nimport "f{k + 1}.dp" as b\n'
        Path(f"f{k}.dp").write_text(twice)
    assert "at most 200 files" in said("check", "f0.dp", capsys=capsys)


def test_externs() -> None:
    """Functions come from Python only where the caller binds them."""
    text = "extern fn system(x: real) -> real\ny := system(1)\n"
    with pytest.raises(TypeError, match="needs the Python function `system`"):
        dpc.parse(text)
    assert dpc.parse(text, system=lambda x: 2 * x).run()["y"] == 2


def test_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Names that would move, colour or reverse a terminal's text are shown with escapes."""
    name = "a\N{RIGHT-TO-LEFT OVERRIDE}\x1b[31m\x07b"
    text = f"dim S = `{name}` | no\n`{name}` : S ~ Categorical([0.5, 0.5])\n"
    Path("m.dp").write_text(text, encoding="utf-8")
    Path("wrong.dp").write_text(f"{text}y := `{name}` + zz\n", encoding="utf-8")
    for words in (["check", "wrong.dp"], ["query", "m.dp"], ["info", "m.dp"], ["plan", "m.dp"]):
        main(words)
        shown = "".join(capsys.readouterr())
        assert all(map(str.isprintable, shown.split("\n"))), words
    for question in (lambda: dpc.load("wrong.dp"), lambda: dpc.load("m.dp").query(f"{name}x")):
        with pytest.raises(Exception, match=r".") as error:
            question()
        assert all(map(str.isprintable, str(error.value).split("\n")))


def test_pipes(capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe or a device in a folder of models is skipped."""
    Path("m.dp").write_text("x ~ Normal(0, 1)\n")
    os.mkfifo("x.dp")
    Path("z.dp").symlink_to("/dev/zero")
    for words in (["check", "."], ["fmt", "--check", "."]):
        assert main(words) == 0
        assert capsys.readouterr().err.count("is skipped") == 2


def test_bounds_of_models() -> None:
    """A model that is too long, too deep or makes too many calls is refused."""
    calls = "".join(f"fn f{k + 1}(x: real) -> real = f{k}(x) + f{k}(x + 1)\n" for k in range(40))
    assert MAX_CALLS < 2**40
    many = f"fn f0(x: real) -> real = x\n{calls}y := f40(1)\n"
    for text in ("x = 1\n" * 200_000, "y := " + "(" * 5000 + "1" + ")" * 5000, many):
        with pytest.raises(dpc.DpError, match=r"E000[67]"):
            dpc.parse(text)


def test_arrays() -> None:
    """An array that is larger than the memory is refused with its bytes before it is made."""
    with pytest.raises(MemoryLimitError, match=r"7\.28 TiB"):
        dpc.parse("dim A = 1000000\nparam t : real\ny := sum[i in A, j in A] t * i * j\n").run()


# ---- a data file


def test_no_pickles() -> None:
    """Nothing in it is unpickled or executed."""
    np.savez("x.npz", x=np.array([Trap()], dtype=object))
    assert "Python objects" in refusal(Path("x.npz"))
    Path("y.npz").write_bytes(pickle.dumps(Trap()))
    assert "is not a NPZ file" in refusal(Path("y.npz"))
    assert not Path(TRAP).exists()


def test_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read up to a size and no further, packed or not."""
    monkeypatch.setattr(raw, "MAX_BYTES", 10_000)
    Path("x.csv").write_bytes(b"x\n" + b"1\n" * 10_000)
    Path("x.csv.gz").write_bytes(gzip.compress(b"x\n" + b"1\n" * 100_000))
    Path("x.json").symlink_to("/dev/zero")
    with zipfile.ZipFile("x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\0" * 100_000)
    for name in ("x.csv", "x.csv.gz", "x.json", "x.npz"):
        assert "at most 1e+04 are read" in refusal(Path(name)), name


def test_bombs() -> None:
    """What unpacks to more than a hundred times its size is given up early."""
    with gzip.open("x.csv.gz", "wb") as packed:
        packed.write(b"x\n" + b"1\n" * (files.ALWAYS_UNPACKED // 2 + files.CHUNK))
    assert "more than 100 times its size" in refusal(Path("x.csv.gz"))


def test_parquet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Parquet file is refused by the size that its footer says; what is in it, pyarrow reads."""
    table = pytest.importorskip("pyarrow").table({"x": np.zeros(2000)})
    pytest.importorskip("pyarrow.parquet").write_table(table, "x.parquet")
    assert read_data("x.parquet").variables["x"].shape == (2000,)
    monkeypatch.setattr(raw, "MAX_BYTES", 10_000)
    assert os.path.getsize("x.parquet") < 10_000
    assert "at most 1e+04 are read" in refusal(Path("x.parquet"))


@pytest.mark.parametrize(
    "number", ["1e400", "³", "1_0", "9" * 5000, "0x1", "1,5", "\N{ARABIC-INDIC DIGIT ONE}"]
)
def test_numbers(number: str) -> None:
    """A number is a number: what overflows, or is written in other digits, is refused."""
    model = dpc.parse("dim N\ndata x[N] : real\ny := sum(x)\n")
    Path("x.csv").write_text(f'x\n"{number}"\n', encoding="utf-8")
    with pytest.raises(DataError):
        model.bind("x.csv")
    Path("x.json").write_text(f'{{"x": [{number}]}}', encoding="utf-8")
    if number != "1,5":  # two numbers
        with pytest.raises(DataError):
            model.bind("x.json")
    Path("x.uai").write_text(f"MARKOV\n1\n2\n1\n1 0\n2\n1 {number}\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"is no number|more in the file"):
        read_network("x.uai")


def test_damage() -> None:
    """A damaged file is refused with a sentence."""
    content = io.BytesIO()
    np.savez_compressed(content, x=np.random.default_rng(0).normal(size=50))
    for name, whole in (("x.npz", content.getvalue()), ("x.csv.gz", gzip.compress(b"x\n1\n"))):
        for size in range(0, len(whole) - 1, 7):
            Path(name).write_bytes(whole[:size])
            assert refusal(Path(name)).startswith("data error: ")


@pytest.mark.parametrize(
    ("trial", "words"),
    [
        ("import time; time.sleep(600)", "is not read after"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "the HDF5 library crashes"),
    ],
)
def test_hangs(trial: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file on which the HDF5 library hangs or crashes is read in a process that is stopped."""
    monkeypatch.setattr(netcdf, "TRIAL", trial)
    monkeypatch.setattr(netcdf, "SECONDS", 1)
    Path("x.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + b"\0" * 100)
    assert words in refusal(Path("x.nc"))


def test_entities() -> None:
    """An XML file defines no entities."""
    bomb = '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><BIF>&b;</BIF>'
    Path("x.xmlbif").write_text(bomb)
    with pytest.raises(FormatError, match="entities are not read"):
        read_network("x.xmlbif")


SHORT = {
    "x.uai": "MARKOV\n1\n1000000000000\n0\n",
    "y.uai": f"MARKOV\n40\n{'2 ' * 40}\n1\n40 {' '.join(map(str, range(40)))}\n1\n1\n",
    "z.bif": "".join(f"variable v{k} {{ type discrete [2] {{ a, b }}; }}\n" for k in range(31))
    + f"probability ( v0 | {', '.join(f'v{k}' for k in range(1, 31))} ) {{ default 0.5, 0.5; }}\n",
}


@pytest.mark.parametrize("name", SHORT)
def test_short_files(name: str) -> None:
    """A short file that asks for a large table is refused."""
    Path(name).write_text(SHORT[name])
    with pytest.raises(FormatError, match="at most"):
        read_network(name)


CIRCLES = {
    "n.bif": """network n { }
variable a { type discrete [ 2 ] { x, y }; }
variable b { type discrete [ 2 ] { x, y }; }
probability ( a | b ) { (x) 0.5 0.5; (y) 0.1 0.9; }
probability ( b | a ) { (x) 0.5 0.5; (y) 0.2 0.8; }
""",
    "n.uai": "BAYES\n2\n2 2\n2\n2 1 0\n2 0 1\n4\n0.2 0.8 0.3 0.7\n4\n0.5 0.5 0.5 0.5\n",
    "n.xmlbif": """<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<VARIABLE><NAME>b</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<DEFINITION><FOR>a</FOR><GIVEN>b</GIVEN><TABLE>0.2 0.8 0.5 0.5</TABLE></DEFINITION>
<DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>0.2 0.8 0.5 0.5</TABLE></DEFINITION></NETWORK></BIF>
""",
}


def test_circles() -> None:
    """Parents that go round in a circle are refused."""
    for name, text in CIRCLES.items():
        Path(name).write_text(text)
        with pytest.raises(FormatError, match=r"in a circle: \w+ -> \w+ -> \w+"):
            read_network(name)


# ---- a checkpoint


def kept(folder: str) -> None:
    made = Keeper(folder, False, "run")
    made.keep(1, {"a": np.zeros(3)}, now=True)
    made.release()


def test_checkpoints_are_arrays() -> None:
    """It is read as arrays, and nothing in it is unpickled."""
    Path("kept").mkdir()
    np.savez(Path("kept") / keeper.FILE, run=np.array([Trap()], dtype=object))
    with pytest.raises(WrongCheckpoint, match="Python objects"):
        Keeper("kept", True, "run").load({"a": np.zeros(3)})
    assert not Path(TRAP).exists()


def test_wrong_checkpoints() -> None:
    """One that is damaged, or of another run, is refused."""
    kept("kept")
    with pytest.raises(WrongCheckpoint, match="of another run"):
        Keeper("kept", True, "other").load({"a": np.zeros(3)})
    (Path("kept") / keeper.FILE).write_bytes(b"PK\x03\x04")
    with pytest.raises(WrongCheckpoint, match="damaged"):
        Keeper("kept", True, "run").load({"a": np.zeros(3)})


def test_one_run() -> None:
    """Its folder is used by one run at a time."""
    first = Keeper("kept", False, "run")
    with pytest.raises(UsageError, match="another run"):
        Keeper("kept", False, "run")
    first.release()


# ---- what is written


def test_whole_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file appears whole, under its own name, or not at all."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(files.CannotWrite):
        files.write_whole("x", b"new")
    assert os.listdir() == []


def test_links_and_devices() -> None:
    """A link is followed, and a device or a pipe is written in place."""
    Path("link").symlink_to("target")
    files.write_whole("link", b"new")
    assert Path("link").is_symlink()
    assert Path("target").read_bytes() == b"new"
    files.write_whole(os.devnull, b"gone")
    assert not Path(os.devnull).is_file()


def test_named_files() -> None:
    """No file is written but those that are named."""
    Path("m.dp").write_text("b ~ Bernoulli(0.3)\nx ~ Normal(b, 1)\n")
    for words in (["check"], ["info"], ["sample"], ["query"], ["build"], ["graph"]):
        assert main([*words, "m.dp"]) == 0
    assert os.listdir() == ["m.dp"]


# ---- the page


def test_each_sentence_has_its_test() -> None:
    page = re.findall(r"^- (.+?)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    tests = [each for name, each in vars(sys.modules[__name__]).items() if name[:5] == "test_"]
    assert page == [str(each.__doc__).strip() for each in tests if each.__doc__]


# ---- a part of the hunt


@pytest.mark.parametrize("kind", ["models", "data", "fits", "networks", "commands"])
def test_hostile_inputs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PAGE.parent.parent / "bench"))
    import hunt_inputs

    count = 15 if kind == "commands" else 60
    found = list(hunt_inputs.hunt(count, 0, [kind], seconds=60))
    assert [each for each in found if each[2]] == []


def test_the_hunt_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PAGE.parent.parent / "bench"))
    import hunt_inputs

    def ours(*_: object) -> None:
        raise ZeroDivisionError

    def slow(*_: object) -> None:
        while True:
            pass

    def theirs(*_: object) -> None:
        raise problem("", "wrong")

    for attempt, words in ((ours, "ZeroDivisionError"), (slow, "over 0.01 s"), (theirs, "")):
        assert hunt_inputs.finding_of(attempt, None, None, 0.01).startswith(words)
    assert hunt_inputs.finding_of(theirs, None, None, 1.0) == ""

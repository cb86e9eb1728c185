"""The command line as a person or a program meets it: what is printed where, and the exit code."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpc import __version__
from dpc.cli import COMMANDS, main

LOOSE_JAX = "NumPyro promotes types and ranks"

GOOD = "model coin\np ~ Beta(1, 1)\nheads ~ Bernoulli(p)\n"
BAD = "x ~ Normal(0, -1)\ny := zz\n"
WARNS = "unused = 1\nx ~ Normal(0, 1)\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "coin.dp"
    path.write_text(GOOD)
    return path


def feed(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_check_says_ok_on_stdout(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(model)]) == 0
    out, err = capsys.readouterr()
    assert out == f"{model}: ok, Bayesian network of 2 nodes\n"
    assert err == ""


def test_check_reports_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    feed(monkeypatch, BAD.encode())
    assert main(["check", "-"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "error[E0403]" in err
    assert "error[E0104]" in err
    assert "<stdin>:2:6" in err
    assert err.endswith("2 errors\n")


def test_check_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    feed(monkeypatch, BAD.encode())
    assert main(["check", "-", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [d["code"] for d in found] == ["E0403", "E0104"]
    assert found[1]["span"]["start"] == {"offset": 23, "line": 2, "column": 6}
    assert all(d["severity"] == "error" and d["message"] for d in found)


def test_warnings_are_errors_only_under_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, WARNS.encode())
    assert main(["check", "-"]) == 0
    feed(monkeypatch, WARNS.encode())
    assert main(["check", "-", "--strict"]) == 1


def test_a_comment_silences_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (
        WARNS.replace("= 1", "= 1  # dpc: ignore[W0101]"),
        f"# dpc: ignore[W0101]\n{WARNS}",
    ):
        feed(monkeypatch, text.encode())
        assert main(["check", "-", "--strict"]) == 0


def test_folders_stand_for_their_models(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (model.parent / "inner").mkdir()
    (model.parent / "inner" / "b.dp").write_text(GOOD)
    assert main(["check", str(model.parent)]) == 0
    assert capsys.readouterr().out.count(": ok") == 2


@pytest.mark.parametrize(
    "arguments",
    [["check", "nowhere.dp"], ["explain", "E9999"], ["graph", "{model}", "-o", "x.tiff"]],
)
def test_usage_errors_are_said_in_one_line(
    arguments: list[str],
    model: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(model.parent)
    assert main([word.format(model=model) for word in arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("dpc: ")
    assert err.count("\n") == 1


def test_bytes_that_are_no_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    feed(monkeypatch, b"\xff\xfe\x00")
    assert main(["check", "-"]) == 1
    assert "error[E0002]: not a text file: byte 0 is not UTF-8" in capsys.readouterr().err


def test_fmt_rewrites_checks_and_reads_stdin(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model.write_text("x~Normal( 0,1 )\n")
    assert main(["fmt", "--check", str(model)]) == 1
    assert model.read_text() == "x~Normal( 0,1 )\n"
    assert main(["fmt", str(model)]) == 0
    assert model.read_text() == "x ~ Normal(0, 1)\n"
    assert main(["fmt", "--check", str(model)]) == 0
    capsys.readouterr()
    feed(monkeypatch, b"x~Normal( 0,1 )\n")
    assert main(["fmt", "-"]) == 0
    assert capsys.readouterr().out == "x ~ Normal(0, 1)\n"


def test_fmt_leaves_a_broken_file_alone(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model.write_text("x ~ ~\n")
    assert main(["fmt", str(model)]) == 1
    assert model.read_text() == "x ~ ~\n"
    assert "error[E0001]" in capsys.readouterr().err


def test_info_as_json(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(model), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["class"] == "Bayesian network"
    assert found["nodes"][1]["parents"] == ["p"]


@pytest.mark.parametrize("ending", ["svg", "png", "dot", "mmd"])
def test_graph_writes_a_file(ending: str, model: Path) -> None:
    out = model.with_suffix(f".{ending}")
    assert main(["graph", str(model), "-o", str(out), "--engine", "builtin"]) == 0
    assert out.stat().st_size > 100


@pytest.mark.parametrize(
    "word", ["E0104", "W0101", "Normal", "softargmax", "codes", "functions", "distributions"]
)
def test_explain(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word]) == 0
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("stage", ["syntax", "typed", "graph"])
def test_build_prints_any_stage(
    stage: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", str(model), "--dump", stage]) == 0
    assert "Bernoulli" in capsys.readouterr().out


def test_sample_is_told_by_its_seed(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for seed in ("1", "1", "2"):
        assert main(["sample", str(model), "-n", "3", "--seed", seed, "--json"]) == 0
        outputs.append(json.loads(capsys.readouterr().out))
    assert outputs[0] == outputs[1] != outputs[2]
    assert len(outputs[0]["p"]) == 3
    assert all(isinstance(heads, bool) for heads in outputs[0]["heads"])


def test_sample_shows_labels_and_takes_evidence_anywhere(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asia = str(Path(__file__).parent.parent / "models" / "asia.dp")
    assert main(["sample", asia, "-n", "2", "--given", "asia=yes,smoke=no"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["tub", "lung", "bronc", "either", "xray", "dysp"]
    assert set(" ".join(lines[1:]).split()) <= {"yes", "no"}
    assert main(["sample", asia, "-n", "3", "--given", "dysp=yes"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["asia", "smoke", "tub", "lung", "bronc", "either", "xray"]
    assert len(rows) == 3


def test_run_gives_values_and_gradients(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.dp"
    path.write_text("data x : real\nparam w : real = 3\ny := w * x\nminimize y^2\n")
    assert main(["run", str(path), "--set", "x=2", "--grad", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"y": 6.0, "minimize": 36.0, "d/d w": 24.0}
    assert main(["run", str(path)]) == 3
    assert "data lack `x`" in capsys.readouterr().err
    assert main(["run", str(path), "--set", "z=2"]) == 2


def test_build_writes_programs_that_run_without_dpc(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "m.dp", tmp_path / "out.py"
    path.write_text("param w : real = 3\ny := w^2\nminimize y + 1\n")
    assert main(["build", str(path), "-o", str(out)]) == 0
    done = subprocess.run([sys.executable, str(out)], capture_output=True, text=True, check=True)
    assert "objective: 10.0" in done.stdout
    assert "dpc" not in out.read_text().replace("Written by dpc", "")
    assert main(["build", str(path), "--emit", "jaxpr", "--function", "objective"]) == 0
    assert "integer_pow" in capfd.readouterr().out


def test_stablehlo_is_loaded_without_dpc(model: Path, tmp_path: Path) -> None:
    from jax import export

    out = tmp_path / "coin.bin"
    assert main(["build", str(model), "--emit", "stablehlo", "-o", str(out)]) == 0
    program = export.deserialize(bytearray(out.read_bytes()))
    value = program.call({}, {"p": np.asarray(0.25), "heads": np.asarray(True)}, {})
    np.testing.assert_allclose(value, np.log(0.25), rtol=1e-6)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"dpc {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert COMMANDS[command].split(":")[0][1:] in " ".join(capsys.readouterr().out.split())


def test_a_crash_is_a_bug_report(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dpc.commands.check.check_model", lambda source: 1 / 0)
    assert main(["check", str(model)]) == 70
    assert "bug in dpc" in capsys.readouterr().err


def test_an_interrupt_is_130(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(source: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpc.commands.check.check_model", interrupt)
    assert main(["check", str(model)]) == 130

"""Every option of every command is a keyword of the method that the command calls, or says why not.

A new option fails here until it is one of the two.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import dpc
from dpc.cli import COMMANDS, main
from dpc.learn.result import Fit
from dpc.model.model import Model

METHODS: dict[str, Callable[..., Any]] = {
    "check": dpc.load,
    "info": Model.info,
    "graph": Model.draw,
    "build": Model.build,
    "sample": Model.draws,
    "run": Model.run,
    "grad": Model.grad,
    "fit": Model.fit,
    "predict": Model.predict,
    "posterior": Model.posterior,
    "query": Model.query,
    "plan": Model.plan,
    "convert": Model.save,
}

HOW_SHOWN = {
    "json": "an answer has `.to_dict()`",
    "csv": "an answer has `.to_frame()`",
}
"""What a shell needs and Python does not."""

OTHER_WAYS: dict[str, dict[str, str]] = {
    "check": {
        "paths": "the first argument of dpc.load; - is dpc.parse of a text",
        "strict": "Model.warnings, which a script may look at",
    },
    "info": {},
    "graph": {"output": "`path`"},
    "build": {
        "dump": "dpc.dsl.pipeline.dump_stage: a stage of the compiler, for those who work on it",
        "output": "the program is returned: write it where you like",
    },
    "sample": {},
    "run": {},
    "grad": {
        "estimator": 'dpc.load(path, settings={"b.grad": "rloo"})',
        "compare": "the method Model.compare",
        "plot": "`.plot(path)` of the comparison",
    },
    "fit": {"out": "`.save(path)` of the fit, Model.save(path, fit=fit)", "plot": "`.plot(path)`"},
    "predict": {"out": "`.save(path)` of the predictions"},
    "posterior": {
        "strict": "the advice of Model.diagnose, which a script may look at",
        "no_predictive": "`predictive=False`",
    },
    "query": {},
    "plan": {},
    "convert": {"output": "`path`"},
}
"""Options that are something else in Python than a keyword of the method."""

EVERYWHERE = {
    "path": "dpc.load(path), whose result has the method",
    "data": "sources of data are arguments: files, dictionaries, frames",
    "set": "`params=` and `data=`, and dpc.load(path, settings=...) for annotations",
    "import_path": "dpc.load(path, import_paths=...)",
    "help": "help(method)",
}

NO_MODEL = {
    "fmt": "text to text: dpc.dsl.text.format",
    "explain": "documentation, about no model",
}


def options_of(command: str) -> dict[str, argparse.Action]:
    parser = argparse.ArgumentParser()
    import_module(f"dpc.commands.{command}").add_arguments(parser)
    return {action.dest: action for action in parser._actions}


def keywords_of(method: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(method).parameters)


def test_every_command_has_a_method() -> None:
    assert METHODS.keys() | NO_MODEL.keys() == COMMANDS.keys()


@pytest.mark.parametrize("command", METHODS)
def test_every_option_is_a_keyword_or_says_why_not(command: str) -> None:
    known = {**EVERYWHERE, **HOW_SHOWN, **OTHER_WAYS[command]}
    missing = options_of(command).keys() - keywords_of(METHODS[command]) - known.keys()
    assert not missing


@pytest.mark.parametrize("command", METHODS)
def test_no_excuse_is_stale(command: str) -> None:
    """What is excused is an option, and not a keyword all the same."""
    excused = OTHER_WAYS[command].keys()
    assert excused <= options_of(command).keys()
    assert not excused & keywords_of(METHODS[command])


def test_what_the_excuses_name_is_there() -> None:
    for name in ("save", "plot", "to_dict", "to_frame"):
        assert callable(getattr(Fit, name))
    assert callable(Model.compare)
    assert "fit" in keywords_of(Model.save)
    assert "settings" in keywords_of(dpc.load)
    assert "predictive" in keywords_of(Model.posterior)


SCALED = "param s : real(lower=0) = 1\nx ~ Exponential(s)\nminimize x\n"


@pytest.mark.parametrize("command", ["run", "sample", "grad", "plan", "fit", "build"])
def test_a_parameter_is_not_set_outside_of_its_range(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.dp"
    path.write_text(SCALED, encoding="utf-8")
    assert main([command, str(path), "--set", "s=-1"]) == 2
    assert "`s` is real(lower=0): it cannot be -1" in capsys.readouterr().err
    assert main([command, str(path), "--set", "s=true"]) == 2
    assert "its value is a number, not true" in capsys.readouterr().err


def test_a_model_without_finite_variables_is_no_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.dp"
    path.write_text(SCALED, encoding="utf-8")
    assert main(["convert", str(path), "-o", str(tmp_path / "m.bif")]) == 2
    assert "no finite variables" in capsys.readouterr().err
    assert not (tmp_path / "m.bif").exists()

"""A command parses its file once and builds its graph once."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpc.cli import main
from dpc.dsl import pipeline

LOOSE_JAX = "NumPyro promotes types and ranks"

TEXT = """model m
param t : real = 0.3
b ~ Bernoulli(logistic(t))
x ~ Normal(b * t, 1)
minimize (x - 1)^2
"""
COMMANDS = [
    "check FILE",
    "info FILE",
    "graph FILE",
    "build FILE",
    "build FILE --dump graph",
    "sample FILE",
    "run FILE",
    "grad FILE --samples 10",
    "grad FILE --samples 10 --set b.grad=rloo",
    "fit FILE --steps 2",
    "query FILE --ask b --set x=1",
    "plan FILE",
]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_file_is_parsed_once_and_its_graph_is_built_once(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.dp"
    path.write_text(TEXT)
    counts = {"parse_program": 0, "build_graph": 0}
    for name in counts:
        original = getattr(pipeline, name)

        def counted(*arguments: object, name: str = name, original: object = original) -> object:
            counts[name] += 1
            return original(*arguments)  # type: ignore[operator]

        monkeypatch.setattr(pipeline, name, counted)
    assert main([str(path) if word == "FILE" else word for word in words.split()]) in (0, 4)
    assert counts == {"parse_program": 1, "build_graph": 1}

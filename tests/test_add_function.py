"""A function added from Python is one of the language: every command takes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import dpc
from dpc.cli import main
from dpc.dsl.library import functions

MODEL = """model m
param t : real = 0.7
b ~ Bernoulli(wobble(t) / 2)
x ~ Normal(wobble(t), 1)
minimize (x - 1)^2
"""


def wobble(x):
    return 1 + jnp.sin(x) / 2


@pytest.fixture(autouse=True)
def added() -> Iterator[None]:
    dpc.add_function(
        "wobble(x: real) -> positive", jax=wobble, numpy=lambda x: 1 + np.sin(x) / 2, doc="a wave"
    )
    yield
    functions._ADDED.clear()
    functions.functions_by_name.cache_clear()
    functions.functions_by_text.cache_clear()


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "m.dp"
    file.write_text(MODEL)
    return str(file)


def test_check_and_explain_know_it(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", path]) == 0
    assert main(["explain", "wobble"]) == 0
    assert "a wave" in capsys.readouterr().out


def test_the_question_is_answered_by_numpy(path: str) -> None:
    assert main(["query", path, "--ask", "b"]) == 0


def test_it_is_sampled_and_differentiated(path: str) -> None:
    assert main(["sample", path]) == 0
    assert main(["grad", path]) == 0


def test_its_gradient_is_right() -> None:
    m = dpc.parse("model m\nparam t : real = 0.7\nminimize wobble(t)^2\n")
    gradient = m.gradient({"t": jnp.asarray(0.7)})
    expected = 2 * (1 + np.sin(0.7) / 2) * np.cos(0.7) / 2
    np.testing.assert_allclose(gradient["t"], expected, rtol=1e-5)


def test_the_printed_program_imports_it(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", path]) == 0
    assert f"from {__name__} import wobble as wobble" in capsys.readouterr().out


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="already"):
        dpc.add_function("exp(x: real) -> real", jax=jnp.exp)

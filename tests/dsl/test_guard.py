"""A branch that is not taken contributes nothing to derivatives, against central differences."""

from typing import Any

import jax
import numpy as np
import pytest

import dpc

CASES = {
    "sqrt": ("minimize if x > 0 then sqrt(x) else (x + 2)^2\n", -1.0),
    "the other branch": ("minimize if x < 0 then x^3 else log(1 - x)\n", -0.7),
    "acos": ("minimize if x < 1 then acos(x) else x^2\n", 2.0),
    "division": ("minimize if x > 0 then 1 / x else x^3 + x\n", -0.4),
    "overflow": ("minimize if x < 50 then log(1 + exp(x)) else x^2\n", 800.0),
    "a function": ("fn f(y: real) -> real = log(y)\nminimize if x > 0 then f(x) else x^3\n", -2.0),
    "nested": ("minimize if x > 0 then (if x > 1 then sqrt(x - 1) else x) else x^2\n", -2.0),
    "a name": ("y = 2 * x\nminimize if y > 0 then sqrt(y) else y^2\n", -1.0),
    "a loop": ("minimize loop s = x while s > 0.1 max 10 do sqrt(s) - 0.4\n", 1.5),
    "a sum": ("dim N = 3\ny[n in N] = x - n\nminimize sum[n in N where y[n] > 0] log(y[n])\n", 1.5),
    "a power": ("minimize if x > 0 then x^0.3 else x\n", -0.2),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_finite_and_right(name: str) -> None:
    text, at = CASES[name]
    model = dpc.parse(f"param x : real\n{text}")

    def value(x: Any) -> Any:
        return model.value({"x": x}, {}, {})

    step = 1e-4
    low, middle, high = (float(value(at + k * step)) for k in (-1, 0, 1))
    slope, bend = (high - low) / (2 * step), (high - 2 * middle + low) / step**2
    assert np.isclose(jax.grad(value)(at), slope, rtol=1e-5, atol=1e-6)
    assert np.isclose(jax.jacfwd(value)(at), slope, rtol=1e-5, atol=1e-6)
    assert np.isclose(jax.hessian(value)(at), bend, rtol=1e-3, atol=1e-3)


def test_what_both_branches_compute_is_written_once() -> None:
    """A coin's mass is p or 1 - p: no guard would help."""
    text = "param a : real(lower=0)\nx ~ Bernoulli(a / (1 + a))\n"
    assert "guarded" not in dpc.parse(text).program


def nested(depth: int) -> tuple[str, Any]:
    """Conditions in conditions, each of which decides what is below a root: also as NumPy."""
    text, value = "x", lambda x: x
    for k in range(depth):
        text = f"(if {text} > {k / 4} then sqrt(x + {k}) else (x - 3)^2 / {k + 1})"
        value = lambda x, k=k, inner=value: (  # noqa: E731
            np.sqrt(x + k) if inner(x) > k / 4 else (x - 3) ** 2 / (k + 1)
        )
    return text, value


def test_conditions_in_conditions_are_written_once() -> None:
    """Copied to every guard, 14 of them would be 3^14 comparisons."""
    text, truth = nested(14)
    model = dpc.parse(f"param x : real\nminimize {text}\n")
    for at in (0.4, 1.3, 2.9):
        step = 1e-6
        slope = (truth(at + step) - truth(at - step)) / (2 * step)
        value, found = jax.value_and_grad(lambda x: model.value({"x": x}, {}, {}))(at)
        assert np.isclose(value, truth(at))
        assert np.isclose(found, slope, rtol=1e-5)


def test_conditions_of_nested_branches_are_written_once() -> None:
    """Each level guards the conditions inside it: written out, the program doubled with each."""

    def length(depth: int) -> int:
        value = "sqrt(a)"
        for k in range(depth):
            value = f"(if abs(a) > {k} and a < b + {k} then {value} else log(b))"
        return len(dpc.parse(f"param a : real = 2\nparam b : real = 3\nminimize {value}\n").program)

    assert length(12) < 10 * length(6)  # 64 times, if each level doubled it


def test_a_row_of_a_table_that_is_not_taken_contributes_nothing() -> None:
    text = "param x : real\nb = x > 0\nminimize table b { true => sqrt(x); false => (x + 2)^2 }\n"
    model = dpc.parse(text)
    assert model.gradient({"x": -1.0})["x"] == pytest.approx(2.0)
    assert model.gradient({"x": 4.0})["x"] == pytest.approx(0.25)

"""Hessians where thresholds of one draw pass each other, or an end of its support, as another moves.

The truth is a second difference of closed forms, or of a mean over a fine grid of levels.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpc
from dpc.exits import UsageError

QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

LEVELS = (np.arange(3000) + 0.5) / 3000
U, V = np.meshgrid(LEVELS, LEVELS, indexing="ij", sparse=True)
X, Y = stats.norm.ppf(U), stats.norm.ppf(V)
UNIFORMS = "x ~ Uniform(0, 1)\ny ~ Uniform(0, 1)\n"
NORMALS = "x ~ Normal(0, 1)\ny ~ Normal(0, 1)\n"
STEPS = 0.3 + 0.1 * np.arange(-3, 4)

CASES: dict[str, tuple[str, str, Callable[[float], Any]]] = {
    "two thresholds": (
        NORMALS,
        "if y > t and y > x then 1 else 0",
        lambda t: (t < Y) & (Y > X),
    ),
    "an end of the support": (UNIFORMS, "if x + y > 1 + t then 1 else 0", lambda t: 1 + t < U + V),
    "a half line": (
        "x ~ Normal(0, 1)\ny ~ Exponential(1)\n",
        "if x + y > t then 1 else 0",
        lambda t: X - np.log1p(-V) > t,
    ),
    "a support that moves": (
        "x ~ Normal(0, 1)\ny ~ Uniform(x, x + 1)\n",
        "if y > t then y else 0",
        lambda t: np.where(t < X + V, X + V, 0),
    ),
    "a range that is declared": (
        "x ~ Normal(0, 1)\ny : real(upper=1) ~ Exponential(1)\n",
        "if x + y > t then x else 0",
        lambda t: np.where(X - np.log1p(-V * (1 - np.exp(-1))) > t, X, 0),
    ),
    "where an inverse ends": (
        "x ~ Normal(0, 1)\ny ~ Logistic(0, 1)\n",
        "if logistic(y) > x + t then x else 0",
        lambda t: np.where(X + t < V, X, 0),
    ),
}


QUICK = {"an end of the support", "two thresholds"}


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in CASES]
)
def test_hessians_see_where_thresholds_pass(name: str) -> None:
    draws, objective, value = CASES[name]
    means = [np.mean(value(t)) for t in STEPS]
    truth = 2 * np.polyfit(STEPS - 0.3, means, 4)[-3]
    text = f"param t : real = 0.3\n{draws}minimize {objective}\n"
    found = dpc.parse(text).grad(samples=2000, hessian=True).estimates.hessian["t", "t"]
    assert float(found.mean) == pytest.approx(truth, abs=5 * float(found.error) + 0.01)


@pytest.mark.parametrize(
    "condition", ["y > sin(3 * x) and y > t", "y > x^3 + x and y > t and y < 2"]
)
def test_thresholds_whose_order_is_not_solved_have_no_second_derivative(condition: str) -> None:
    text = f"param t : real = 0.3\n{NORMALS}minimize if {condition} then x else 0\n"
    with pytest.raises(UsageError, match="kink"):
        dpc.parse(text).grad(samples=10, hessian=True)

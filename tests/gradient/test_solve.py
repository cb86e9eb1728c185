"""Comparisons that are solved for a draw, poles and cuts: gradients against quasi-random means.

The truth of each case is the mean of the same program in NumPy over Sobol points, at two sides of
the parameter. Sampled gradients must be within five standard errors of it and the error of the
difference: of the thirty numbers compared here one fails by chance in fifty thousand runs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpc
from dpc.dsl.diagnostics import DpError
from dpc.exits import UsageError

QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

AT, STEP = 0.3, 0.02
LEVELS = np.clip(stats.qmc.Sobol(4, seed=1).random(2**17).T, 1e-12, 1 - 1e-12)
Z = stats.norm.ppf(LEVELS)
HEAD = "param t : real = 0.3\n"
TWO = HEAD + "x ~ Normal(t, 1)\ny ~ Normal(1, 1)\n"
PLATE = "dim N = 3\n" + HEAD + "x[n in N] ~ Normal(0.1 * n + t, 1.0)\n"


def two(t: float) -> tuple[Any, Any]:
    return Z[0] + t, Z[1] + 1


def plate(t: float) -> Any:
    return Z[:3] + 0.1 * np.arange(3)[:, None] + t


def loop(t: float) -> Any:
    state = Z[0]
    for _ in range(5):
        state = np.where(state < t, state + 1, state)
    return state


def cusum(t: float) -> Any:
    state = Z[0]
    for k in range(1, 4):
        state = np.maximum(0, state + Z[k] - t)
    return state > 1 + t


def product(t: float, compare: Callable[[Any, Any], Any]) -> Any:
    x, y = two(t)
    return np.where(compare(x, y), y, 0)


def law(frozen: Any) -> Any:
    return frozen.ppf(LEVELS[0])


def above(x: Any, t: float) -> Any:
    return np.where(x > t, x**2, 3 * t)


CASES: dict[str, tuple[str, Callable[[float], Any]]] = {
    "a slope that is drawn": (
        TWO + "minimize if x * y > 0 then y else 0\n",
        lambda t: product(t, lambda x, y: x * y > 0),
    ),
    "a slope that is drawn, and a parameter": (
        TWO + "minimize if x * y > x * t then y else 0\n",
        lambda t: product(t, lambda x, y: x * y > x * t),
    ),
    "a quotient of draws": (
        TWO + "minimize if y / x > t then y else 0\n",
        lambda t: product(t, lambda x, y: y / x > t),
    ),
    "a square": (
        HEAD + "x ~ Normal(0, 1)\nminimize if x^2 > t then 1 else 0\n",
        lambda t: Z[0] ** 2 > t,
    ),
    "a cube": (
        HEAD + "x ~ Normal(0, 1)\nminimize if x^3 + 1 > t then x else 0\n",
        lambda t: np.where(Z[0] ** 3 + 1 > t, Z[0], 0),
    ),
    "a branch inside a sum": (
        HEAD + "x ~ Normal(0, 1)\nminimize if 2 * max(x, t) - t > 0.5 then x else t\n",
        lambda t: np.where(2 * np.maximum(Z[0], t) - t > 0.5, Z[0], t),
    ),
    "a loop": (
        HEAD + "x ~ Normal(0, 1)\nminimize loop s = x while s < t max 5 do s + 1\n",
        loop,
    ),
    "a sum of a plate": (
        PLATE + "minimize if sum(x) > t then x[1] else 0\n",
        lambda t: np.where(plate(t).sum(0) > t, plate(t)[1], 0),
    ),
    "the largest of a plate": (
        PLATE + "minimize if max(x) > 2 * t then x[1] else 0\n",
        lambda t: np.where(plate(t).max(0) > 2 * t, plate(t)[1], 0),
    ),
    "two elements of a plate": (
        PLATE + "minimize if x[0] > x[1] + t then x[2] else 0\n",
        lambda t: np.where(plate(t)[0] > plate(t)[1] + t, plate(t)[2], 0),
    ),
    "a whole array": (
        PLATE + "minimize sum(x > t^2)\n",
        lambda t: np.sum(plate(t) > t**2, axis=0),
    ),
    "a walk that is reflected": (
        "dim T = 4\n" + HEAD + "e[k in T] ~ Normal(0, 1)\ns[0] = e[0]\n"
        "s[k in T[1..]] = max(0, s[k-1] + e[k] - t)\nminimize if s[3] > 1 + t then 1 else 0\n",
        cusum,
    ),
    "a pole without a parameter": (
        HEAD + "x ~ Normal(t, 1)\nminimize atan(1 / x)\n",
        lambda t: np.arctan(1 / (Z[0] + t)),
    ),
    "a root of what is cut off": (
        HEAD + "x ~ Normal(t, 1)\nminimize sqrt(max(x, 0))\n",
        lambda t: np.sqrt(np.maximum(Z[0] + t, 0)),
    ),
    "Gamma": (
        HEAD + "x ~ Gamma(1 + t, 2)\nminimize if x > t then x^2 else 3 * t\n",
        lambda t: above(law(stats.gamma(1 + t, scale=0.5)), t),
    ),
    "Beta": (
        HEAD + "x ~ Beta(1 + t, 2)\nminimize if x > t then x^2 else 3 * t\n",
        lambda t: above(law(stats.beta(1 + t, 2)), t),
    ),
    "StudentT": (
        HEAD + "x ~ StudentT(9 + t, t, 1)\nminimize if x > t^2 then x else 3 * t\n",
        lambda t: np.where((x := law(stats.t(9 + t, t))) > t**2, x, 3 * t),
    ),
    "Weibull": (
        HEAD + "x ~ Weibull(1 + t, 1)\nminimize if x > t then x else 3 * t\n",
        lambda t: np.where((x := law(stats.weibull_min(1 + t))) > t, x, 3 * t),
    ),
    "InverseGamma": (
        HEAD + "x ~ InverseGamma(5 + t, 1)\nminimize if x > t then x else 3 * t\n",
        lambda t: np.where((x := law(stats.invgamma(5 + t))) > t, x, 3 * t),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_see_every_jump(name: str) -> None:
    text, mean = CASES[name]
    difference = np.mean(mean(AT + STEP)) - np.mean(mean(AT - STEP))
    truth = float(difference) / (2 * STEP)
    found = dpc.parse(text).grad(samples=2000).estimates.gradient["t"]
    slack = 5 * float(found.error) + 0.01 * (1 + abs(truth))
    assert float(found.mean) == pytest.approx(truth, abs=slack)
    assert float(found.error) < 0.1


@pytest.mark.parametrize(
    "objective",
    [
        "atan(1 / (x - t))",
        "abs(x - t) / (x - t)",
        "relu(x - t) / abs(x - t)",
        "(x - t) * ((x - t)^2)^(-0.5) * x",
        "atan(tan(x + t))",
    ],
)
def test_poles_that_move_with_a_parameter_are_refused(objective: str) -> None:
    with pytest.raises(DpError, match="E0706"):
        dpc.parse(f"{HEAD}x ~ Normal(0, 1)\nminimize {objective}\n").grad(samples=10)


@pytest.mark.parametrize("objective", ["sqrt(x^2)", "(x^2)^0.5", "acos(cos(x))"])
def test_hidden_kinks_have_no_second_derivative(objective: str) -> None:
    model = dpc.parse(f"{HEAD}x ~ Normal(t, 1)\nminimize {objective}\n")
    with pytest.raises(UsageError, match="kink"):
        model.grad(samples=10, hessian=True)


def test_what_stays_away_from_zero_is_no_pole() -> None:
    text = HEAD + "x ~ LogNormal(t, 1)\ny ~ HalfNormal(1)\nminimize x / (x + y) + log(1 + y) / x\n"
    found = dpc.parse(text).grad(samples=10)
    assert {choice.method for choice in found.choices} == {"pathwise"}


def test_hessian_where_two_thresholds_meet() -> None:
    """The mean is the sum of two functions of one threshold each, with closed forms."""
    text = (
        "param a : real = 0.3\nparam b : real = 0.3\nx ~ Normal(0, 1)\n"
        "minimize (if x > a then x else 0) + (if x > b then x^2 else 0)\n"
    )
    found = dpc.parse(text).grad(samples=4000, hessian=True).estimates.hessian
    density = stats.norm.pdf(0.3)
    truths = {("a", "a"): -(1 - 0.09) * density, ("b", "b"): -(0.6 - 0.027) * density}
    for entry, truth in truths.items():
        slack = 5 * float(found[entry].error)
        assert float(found[entry].mean) == pytest.approx(truth, abs=slack)


def test_definitions_that_double_are_not_written_out_for_ever() -> None:
    doubled = "".join(f"y{k} = 0.5 * y{k - 1} + 0.3 * y{k - 1}\n" for k in range(1, 26))
    text = f"{HEAD}x ~ Normal(0, 1)\ny0 = x + t\n{doubled}minimize if y25 > t then 1 else 0\n"
    with pytest.raises(DpError, match="E0706"):
        dpc.parse(text)

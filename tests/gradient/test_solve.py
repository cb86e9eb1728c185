"""Comparisons that are solved for a draw, poles and cuts: gradients against quasi-random means.

The truth of each case is the mean of the same program in NumPy over Sobol points, at two sides of
the parameter. Sampled gradients must be within five standard errors of it and the error of the
difference: of the thirty numbers compared here one fails by chance in fifty thousand runs.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from scipy import special, stats

import dpc
from dpc.dsl.diagnostics import DpError
from dpc.dsl.library.functions import FUNCTIONS
from dpc.exits import UsageError

QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

AT, STEP = 0.3, 0.02
KEY = jax.random.key(0)
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
    "a fixed negative power": (
        HEAD + "x ~ LogNormal(t, 1)\nminimize if x^(-1.5) > t then x else 0\n",
        lambda t: np.where((x := np.exp(Z[0] + t)) ** -1.5 > t, x, 0),
    ),
    "a power that is a base": (
        HEAD + "x ~ Normal(t, 1)\nminimize if 2^x > 1 + t then x else 0\n",
        lambda t: np.where(2 ** (x := Z[0] + t) > 1 + t, x, 0),
    ),
    "a norm": (
        TWO + "minimize if norm([x, y - t]) < 1 + t then x else 0\n",
        lambda t: np.where(np.hypot(two(t)[0], two(t)[1] - t) < 1 + t, two(t)[0], 0),
    ),
    "a distance": (
        TWO + "minimize if distance([x, y], [t, 1]) < 1 + t then x else 0\n",
        lambda t: np.where(np.hypot(Z[0], Z[1]) < 1 + t, two(t)[0], 0),
    ),
    "a norm of a plate": (
        PLATE + "v = 2 * x\nminimize if norm(v) < 3 + t then x[1] else 0\n",
        lambda t: np.where(np.linalg.norm(2 * plate(t), axis=0) < 3 + t, plate(t)[1], 0),
    ),
    "a sum of sizes": (
        PLATE + "minimize if norm1(x - t) > 2 * t then x[1] else 0\n",
        lambda t: np.where(np.abs(plate(t) - t).sum(0) > 2 * t, plate(t)[1], 0),
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


# ---- functions that rise or fall: the mean is that of a normal, or a share of one, below a place


MAPS: dict[str, tuple[float, float, float, Callable[[Any], Any], str]] = {
    "exp": (0, np.inf, 0.7, np.log, ""),
    "expm1": (-1, np.inf, 0.4, np.log1p, ""),
    "softplus": (0, np.inf, 0.6, lambda v: np.log(np.expm1(v)), ""),
    "logistic": (0, 1, 0.6, special.logit, ""),
    "Phi": (0, 1, 0.6, special.ndtri, ""),
    "tanh": (-1, 1, 0.4, np.arctanh, ""),
    "erf": (-1, 1, 0.4, special.erfinv, ""),
    "erfc": (0, 2, 0.4, special.erfcinv, "falls"),
    "atan": (-np.pi / 2, np.pi / 2, 0.4, np.tan, ""),
    "sinh": (-np.inf, np.inf, 0.4, np.arcsinh, ""),
    "asinh": (-np.inf, np.inf, 0.4, np.sinh, ""),
}
SHARES: dict[str, tuple[float, float, float, Callable[[Any], Any], str]] = {
    "log": (-np.inf, 0, -0.9, np.exp, ""),
    "log2": (-np.inf, 0, -0.9, np.exp2, ""),
    "log10": (-np.inf, 0, -0.4, lambda v: 10**v, ""),
    "log1p": (0, np.log(2), 0.4, np.expm1, ""),
    "sqrt": (0, 1, 0.6, np.square, ""),
    "asin": (0, np.pi / 2, 0.4, np.sin, ""),
    "acos": (0, np.pi / 2, 0.9, np.cos, "falls"),
    "logit": (-np.inf, np.inf, 0.4, special.expit, ""),
    "Phi_inverse": (-np.inf, np.inf, 0.4, special.ndtr, ""),
    "atanh": (0, np.inf, 0.4, np.tanh, ""),
    "erfinv": (0, np.inf, 0.4, special.erf, ""),
}
"""The ends of their values, a level between them, and their inverses; of a normal draw, and of one
of a Beta(2, 1), whose chance to be below a is a^2.
"""
LEVEL_STEP = 1e-4


Compiled = Callable[[float], Any]


def loss_and_derivatives(model: dpc.Model) -> tuple[Compiled, Compiled]:
    """As functions of t, compiled: where nothing is sampled they are exact."""

    def loss(t: Any) -> Any:
        return model.surrogate(KEY, {"t": t}, order=2)

    return jax.jit(loss), jax.jit(lambda t: jax.jvp(jax.grad(loss), (t,), (1.0,)))


def chance_above(name: str, level: float) -> float:
    low, high, _, inverse, turn = {**MAPS, **SHARES}[name]
    if not low < level < high:
        return float(level <= low)
    place = inverse(level)
    below = stats.norm.cdf(place) if name in MAPS else place**2
    return float(below if turn else 1 - below)


@pytest.mark.parametrize("name", [*MAPS, *SHARES])
def test_functions_that_rise_or_fall_are_inverted_and_so_beyond_the_ends_of_their_values(
    name: str,
) -> None:
    """Exact, to the second derivative, in one program for all levels."""
    low, high, inner, _, _ = {**MAPS, **SHARES}[name]
    draw = "Normal(0, 1)" if name in MAPS else "Beta(2, 1)"
    model = dpc.parse(f"param t : real\nx ~ {draw}\nminimize if {name}(x) > t then 1 else 0\n")
    loss, derivatives = loss_and_derivatives(model)
    around = [inner + k * LEVEL_STEP for k in (-1, 0, 1)]
    before, at, after = (chance_above(name, level) for level in around)
    slope, bend = derivatives(inner)
    assert float(slope) == pytest.approx((after - before) / (2 * LEVEL_STEP), abs=1e-6)
    assert float(bend) == pytest.approx((after - 2 * at + before) / LEVEL_STEP**2, abs=1e-5)
    assert float(loss(inner)) == pytest.approx(at, abs=1e-12)
    for level in (float(end) for end in (low - 1, high + 1) if np.isfinite(end)):
        assert float(loss(level)) == pytest.approx(chance_above(name, level), abs=1e-12)
        assert [float(found) for found in derivatives(level)] == [0, 0]


def test_all_functions_that_rise_or_fall_everywhere_are_inverted() -> None:
    monotone = {
        row.name
        for row in FUNCTIONS
        if len(row.signature.params) == 1 and not row.signature.params[0].type.axes
        if (row.rising or row.falling) and not (row.jumps or row.kinks)
    }
    assert monotone <= {*MAPS, *SHARES}


@pytest.mark.parametrize("level", [0.7, 1.3, -0.2])
@pytest.mark.parametrize("exponent", [0.4, -0.4, 2.5, -2.0, 0.0])
def test_a_power_whose_exponent_is_a_parameter(exponent: float, level: float) -> None:
    """P(x^t > c) = P(t log(x) > log(c)) with log(x) normal; all if c is not above 0."""
    text = "param t : real\nx ~ LogNormal(0.2, 1)\n"
    model = dpc.parse(f"{text}minimize if x^t > {level} then 1 else 0\n")
    loss, derivatives = loss_and_derivatives(model)

    def chance(t: float) -> float:
        if level <= 0 or t == 0:
            return float(level < 1)
        return float(stats.norm.cdf(np.sign(t) * (0.2 - np.log(level) / t)))

    assert float(loss(exponent)) == pytest.approx(chance(exponent), abs=1e-12)
    around = [chance(exponent + k * LEVEL_STEP) for k in (-1, 0, 1)]
    slope, bend = map(float, derivatives(exponent))
    assert slope == pytest.approx((around[2] - around[0]) / (2 * LEVEL_STEP), abs=1e-5)
    curve = (around[2] - 2 * around[1] + around[0]) / LEVEL_STEP**2
    assert bend == pytest.approx(curve, abs=1e-4)


@pytest.mark.parametrize("norm", ["norm", "norm1"])
def test_a_norm_is_never_below_what_is_below_0(norm: str) -> None:
    text = f"{TWO}minimize if {norm}([x, y]) < t then x else 2 * t\n"
    found = dpc.parse(text).grad(params={"t": -0.5}, samples=2, hessian=True)
    assert found.to_dict()["gradient"] == {"t": 2}
    assert found.to_dict()["hessian"]["t"]["t"] == pytest.approx(0, abs=1e-12)


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

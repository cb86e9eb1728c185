"""Draws split where something below them jumps: gradients against quadrature and differences.

The truth of each case is a mean over quantiles at fine, even levels, written here in NumPy, and its
central difference. Sampled gradients must be within five standard errors of it: of the fifty
numbers compared here one fails by chance in thirty thousand runs.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import dpc
from dpc.dsl.diagnostics import DpError
from dpc.exits import UsageError

QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

LEVELS = (np.arange(200_000) + 0.5) / 200_000
NORMAL = stats.norm.ppf(LEVELS)
STEP = 1e-3
SIGMAS = 5.0


def slope(mean: Callable[[float], Any], at: float, step: float = STEP) -> float:
    return float(np.mean(mean(at + step)) - np.mean(mean(at - step))) / (2 * step)


def bend(mean: Callable[[float], Any], at: float, step: float = 0.02) -> float:
    ends = np.mean(mean(at + step)) + np.mean(mean(at - step))
    return float(ends - 2 * np.mean(mean(at))) / step**2


def logistic(u: Any) -> Any:
    return np.log(u / (1 - u))


CASES: dict[str, tuple[str, float, Callable[[float], Any]]] = {
    "a threshold that is a parameter": (
        "param t : real = {at}\nx ~ Normal(0, 1)\nminimize if x > t then x^2 else x\n",
        0.3,
        lambda t: np.where(t < NORMAL, NORMAL**2, NORMAL),
    ),
    "a posted price": (
        "param t : real = {at}\nv ~ Uniform(0, 1)\nmaximize if v > t then t else 0\n",
        0.6,
        lambda t: np.where(t < LEVELS, t, 0),
    ),
    "a coin by a uniform": (
        "param t : real = {at}\nu ~ Uniform(0, 1)\nminimize if u < t then 0.6 else 0\n",
        0.4,
        lambda t: np.where(t > LEVELS, 0.6, 0),
    ),
    "location and scale by hand": (
        "param t : real = {at}\ne ~ Normal(0, 1)\nz = t + 0.7 * e\nminimize if z > 0 then z else 2\n",
        0.2,
        lambda t: np.where(t + 0.7 * NORMAL > 0, t + 0.7 * NORMAL, 2),
    ),
    "a falling map": (
        "param t : real = {at}\nx ~ Logistic(t, 1)\nminimize if 1 - 2 * x > t then x else 0.5\n",
        0.3,
        lambda t: np.where(1 - 2 * (t + logistic(LEVELS)) > t, t + logistic(LEVELS), 0.5),
    ),
    "a map that is inverted": (
        "param t : real(lower=0) = {at}\nx ~ Normal(0, 1)\nminimize if exp(x) > t then 1 else 0\n",
        0.8,
        lambda t: np.where(np.exp(NORMAL) > t, 1.0, 0),
    ),
    "a map whose values have ends": (
        "param t : real = {at}\nx ~ Normal(0, 1)\nminimize if tanh(x) > 2 * t then 1 else x\n",
        0.3,
        lambda t: np.where(np.tanh(NORMAL) > 2 * t, 1, NORMAL),
    ),
    "an end that nothing reaches": (
        "param t : real = {at}\nx ~ Normal(0, 1)\nminimize if exp(x) > t then t * x else 1\n",
        -0.3,
        lambda t: t * NORMAL,
    ),
    "a slope of nothing": (
        "param t : real = {at}\nx ~ Normal(t, 1)\nminimize if x < x then 5 else sign(x)\n",
        0.3,
        lambda t: np.sign(t + NORMAL),
    ),
    "two thresholds": (
        "param t : real = {at}\nx ~ Normal(t, 1)\n"
        "minimize if x > t^2 and x < 1 then x else sin(x)\n",
        0.4,
        lambda t: np.where((t + NORMAL > t**2) & (t + NORMAL < 1), t + NORMAL, np.sin(t + NORMAL)),
    ),
    "a window": (
        "param t : real = {at}\nx ~ Normal(0, 1)\nminimize if abs(x - t) < 0.5 then x else 1\n",
        0.4,
        lambda t: np.where(np.abs(NORMAL - t) < 0.5, NORMAL, 1),
    ),
    "a truth value of its own": (
        "param t : real = {at}\nx ~ Normal(0, 1)\nis_high = x > t\nminimize if is_high then x else 1\n",
        -0.2,
        lambda t: np.where(t < NORMAL, NORMAL, 1),
    ),
    "a function of the program": (
        "fn f(x: real, c: real) -> real = if x > c then 1 else c\n"
        "param t : real = {at}\nx ~ Normal(0, 1)\nminimize f(x, t)\n",
        -0.2,
        lambda t: np.where(t < NORMAL, 1, t),
    ),
    "a sign": (
        "param t : real = {at}\nx ~ Normal(t, 1)\nminimize sign(x) * x^2\n",
        0.3,
        lambda t: np.sign(t + NORMAL) * (t + NORMAL) ** 2,
    ),
    "an end of the support that moves": (
        "param t : real(lower=0) = {at}\nx ~ Pareto(t, 3)\nminimize if x > 1 then 1 else 0\n",
        0.7,
        lambda t: np.where(t * (1 - LEVELS) ** (-1 / 3) > 1, 1.0, 0),
    ),
    "a threshold outside the support": (
        "param t : real = {at}\nx ~ Exponential(2)\nminimize if x > -t then t * x else 5\n",
        0.3,
        lambda t: np.where(-np.log1p(-LEVELS) / 2 > -t, -t * np.log1p(-LEVELS) / 2, 5),
    ),
}


def estimate(text: str, hessian: bool = False) -> Any:
    return dpc.parse(text).grad(samples=4000, hessian=hessian)


@pytest.mark.parametrize("name", CASES)
def test_a_split_gradient_sees_the_jump(name: str) -> None:
    text, at, mean = CASES[name]
    found = estimate(text.format(at=at))
    assert [choice.method for choice in found.choices] == ["split"]
    moments = found.estimates.gradient["t"]
    error = SIGMAS * float(moments.error) + 2e-3
    assert abs(float(moments.mean) - slope(mean, at, 0.01)) < error


def test_nothing_is_sampled_where_only_the_side_counts() -> None:
    found = estimate("param t : real = 0.3\nx ~ Normal(0, 1)\nminimize if x > t then 1 else 0\n")
    assert found.exact == "every draw is summed"
    assert np.isclose(found["t"], -stats.norm.pdf(0.3), rtol=1e-6)


def test_the_plan_says_where_a_draw_is_split() -> None:
    text = "param t : real = 0.3\nx ~ Normal(0, 1)\nminimize if x > t then x else 0\n"
    (choice,) = dpc.parse(text).estimator_choices()
    assert choice.reason == "split at `x > t`: 2 sides, summed; pathwise within each"


def test_a_plate_is_split_element_by_element() -> None:
    text = """
dim N = 40
param t[N] : real = 0.3
x[n in N] ~ Normal(0.5, 1)
minimize sum[n in N] (if x[n] > t[n] then x[n] else 0)
"""
    moments = estimate(text).estimates.gradient["t"]
    truth = -0.3 * stats.norm.pdf(0.3 - 0.5)
    assert np.all(np.abs(moments.mean - truth) < SIGMAS * moments.error + 1e-6)


def test_a_chain_that_compares_its_past_is_summed() -> None:
    """E[x[t]] = 2 P(x[t-1] > 0) - 1, and what the first step does to all later ones."""
    text = """
dim T = 4
param m : real = 0.5
x[0] ~ Normal(m, 0.5)
x[t in T[1..]] ~ Normal(if x[t-1] > 0 then 1 else -1, 0.5)
minimize sum(x)
"""
    found = estimate(text)
    stay = stats.norm.cdf(2) - stats.norm.cdf(-2)
    truth = 1 + 2 * stats.norm.pdf(0.5, scale=0.5) * (1 + stay + stay**2)
    moments = found.estimates.gradient["m"]
    assert "summed" in found.choices[0].reason
    assert abs(float(moments.mean) - truth) < SIGMAS * float(moments.error)


def test_a_threshold_may_be_an_earlier_draw() -> None:
    text = """
param m : real = 0.2
y ~ Normal(m, 1)
x ~ Normal(0, 2)
minimize if x > y then 1 else 0
"""
    found = estimate(text).estimates.gradient["m"]
    truth = -stats.norm.pdf(0.2, scale=np.sqrt(5))
    assert abs(float(found.mean) - truth) < SIGMAS * float(found.error)


def test_a_slope_may_have_either_sign() -> None:
    """P(x y > t) for standard normals: the density of a product is K0(|t|) / pi."""
    text = """
param t : real = 0.3
x ~ Normal(0, 1)
y ~ Normal(0, 1)
minimize if x * y > t then 1 else 0
"""
    found = estimate(text).estimates.gradient["t"]
    truth = -special.k0(0.3) / np.pi
    assert abs(float(found.mean) - truth) < SIGMAS * float(found.error)


def test_a_slope_may_be_zero_with_some_probability() -> None:
    """-relu(y) x > t: where y < 0 nothing depends on x, and 0 > t is false."""
    text = """
param t : real = 0.2
y ~ Normal(0, 1)
x ~ Normal(0, 1)
minimize if -relu(y) * x > t then 1 else 0
"""
    found = estimate(text).estimates.gradient["t"]
    truth = -special.k0(0.2) / np.pi / 2
    assert abs(float(found.mean) - truth) < SIGMAS * float(found.error)


BENDS: dict[str, tuple[str, float, Callable[[float], Any]]] = {
    "abs": (
        "param t : real = {at}\nx ~ Normal(t, 1)\nminimize abs(x)\n",
        0.3,
        lambda t: np.abs(t + NORMAL),
    ),
    "relu": (
        "param t : real = {at}\nx ~ Logistic(t, 1)\nminimize relu(x)^2 + relu(x)\n",
        0.3,
        lambda t: np.maximum(t + logistic(LEVELS), 0) ** 2 + np.maximum(t + logistic(LEVELS), 0),
    ),
    "min": (
        "param t : real = {at}\nd ~ Exponential(1)\nmaximize 2 * min(d, t) - t\n",
        1.3,
        lambda t: 2 * np.minimum(-np.log1p(-LEVELS), t) - t,
    ),
    "clip": (
        "param t : real = {at}\nx ~ Normal(t, 1)\nminimize clip(x, -0.5, 0.7)\n",
        0.3,
        lambda t: np.clip(t + NORMAL, -0.5, 0.7),
    ),
    "elu": (
        "param t : real = {at}\nx ~ Normal(t, 1)\nminimize elu(x, 0.5)\n",
        0.3,
        lambda t: np.where(t + NORMAL > 0, t + NORMAL, 0.5 * np.expm1(t + NORMAL)),
    ),
    "soft_threshold": (
        "param t : real = {at}\nx ~ Normal(t, 1)\nminimize soft_threshold(x, 0.4 + t)\n",
        0.3,
        lambda t: np.sign(t + NORMAL) * np.maximum(np.abs(t + NORMAL) - 0.4 - t, 0),
    ),
    "sparsesigmoid": (
        "param t : real = {at}\nx ~ Normal(t, 1)\nminimize sparsesigmoid(2 * x)\n",
        0.3,
        lambda t: np.clip(t + NORMAL + 0.5, 0, 1),
    ),
}


@pytest.mark.parametrize("name", BENDS)
def test_second_derivatives_see_kinks(name: str) -> None:
    text, at, mean = BENDS[name]
    found = estimate(text.format(at=at), hessian=True)
    moments = found.estimates.hessian["t", "t"]
    assert abs(float(moments.mean) - bend(mean, at)) < SIGMAS * float(moments.error) + 5e-3


def test_first_derivatives_do_not_split_at_kinks() -> None:
    model = dpc.parse(BENDS["abs"][0].format(at=0.3))
    assert [choice.method for choice in model.estimator_choices()] == ["pathwise"]


def test_a_second_derivative_that_would_miss_a_kink_is_an_error() -> None:
    model = dpc.parse(BENDS["abs"][0].format(at=0.3))
    params = {"t": 0.3}

    def once(p: Any) -> Any:
        return model.surrogate(jax.random.key(0), p)

    assert np.isfinite(jax.grad(once)(params)["t"])
    with pytest.raises(UsageError, match=r"abs\(x\)"):
        jax.hessian(once)(params)
    twice = jax.hessian(lambda p: model.surrogate(jax.random.key(0), p, order=2))(params)
    assert np.isfinite(twice["t"]["t"])


MISSED_TWICE = [
    "x ~ Normal(t, 1)\nminimize abs(x)\n",
    "x ~ Laplace(t, 1) with grad=rloo\nminimize x^2\n",
    "x ~ Normal(0, 1)\ny ~ Normal(0, 1)\nminimize if y > t and y > x then 1 else 0\n",
    "x ~ Uniform(0, 1)\ny ~ Uniform(0, 1)\nminimize if x + y > 1 + t then 1 else 0\n",
]


def derivatives(model: dpc.Model, of: str, samples: int = 2) -> Callable[[Any], Any]:
    """The first derivative of an estimate of the mean, as a function of parameters."""
    key = jax.random.key(0)
    if of == "surrogate":
        return jax.grad(lambda p: model.surrogate(key, p, samples=samples))
    if of == "value_and_grad":
        return lambda p: model.value_and_grad(key, p, samples=samples)[1]
    return lambda p: model.estimate(key, p, {}, samples=samples)[1]


@pytest.mark.parametrize("of", ["surrogate", "value_and_grad", "estimate"])
@pytest.mark.parametrize("text", MISSED_TWICE)
def test_a_gradient_whose_derivative_would_miss_something_has_none(text: str, of: str) -> None:
    first = derivatives(dpc.parse(f"param t : real = 0.4\n{text}"), of)
    at = {"t": jnp.asarray(0.4)}
    assert np.isfinite(first(at)["t"])
    for differentiate in (jax.jacfwd, jax.jacrev):
        with pytest.raises(UsageError, match="no second derivatives"):
            differentiate(first)(at)


def test_where_nothing_is_missed_a_gradient_has_a_derivative() -> None:
    """The mean of t x^2 is t^3 + t, with the second derivative 6 t."""
    model = dpc.parse("param t : real = 0.4\nx ~ Normal(t, 1)\nminimize t * x^2\n")
    at = {"t": jnp.asarray(0.4)}
    for of in ("surrogate", "value_and_grad"):
        second = jax.jacfwd(derivatives(model, of, 40_000))(at)["t"]["t"]
        assert float(second) == pytest.approx(2.4, abs=0.1)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("third", [jax.jacfwd, jax.jacrev])
def test_third_derivatives_of_samples_are_refused(order: int, third: Any) -> None:
    """The slope of `huber` has a kink, which no fact of a function says."""
    model = dpc.parse("param t : real = 0.4\nx ~ Normal(t, 1)\nminimize huber(x)\n")
    second = jax.hessian(lambda p: model.surrogate(jax.random.key(0), p, order=order))
    at = {"t": jnp.asarray(0.4)}
    assert np.isfinite(second(at)["t"]["t"])
    with pytest.raises(UsageError, match="no third derivatives"):
        third(second)(at)


def test_third_derivatives_of_sums_are_exact() -> None:
    """The mean of x t^2 is t^3."""
    model = dpc.parse(
        "param t : real(lower=0, upper=1) = 0.4\nx ~ Bernoulli(t)\nminimize x * t^2\n"
    )
    third = jax.jacrev(jax.hessian(lambda p: model.surrogate(jax.random.key(0), p)))
    found = third({"t": jnp.asarray(0.4)})["t"]["t"]["t"]
    np.testing.assert_allclose(found, 6.0, rtol=1e-9)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("param t : real = 0.3\nx ~ Laplace(t, 1) with grad=rloo\nminimize x^2\n", "kink"),
        ("param t : real = 0.3\nx ~ Normal(t, 1)\nminimize abs(sin(x))\n", "abs"),
    ],
)
def test_hessians_that_cannot_be_right_are_refused(text: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        estimate(text, hessian=True)


@pytest.mark.parametrize(
    "objective",
    ["floor(x + t)", "if sin(x) > t then 1 else 0", "if x^3 + x > t then 1 else 0"],
)
def test_a_jump_that_cannot_be_split_is_refused(objective: str) -> None:
    text = f"param t : real = 0.3\nx ~ Normal(0, 1)\nminimize {objective}\n"
    with pytest.raises(DpError, match="no derivative sees it"):
        dpc.parse(text)


def test_a_jump_without_parameters_weighs_the_score() -> None:
    text = "param t : real = 0.3\nx ~ Normal(t, 1)\nminimize floor(x)\n"
    found = estimate(text)
    assert [choice.method for choice in found.choices] == ["rloo"]
    moments = found.estimates.gradient["t"]
    truth = slope(lambda t: np.floor(t + NORMAL), 0.3, 0.01)
    assert abs(float(moments.mean) - truth) < SIGMAS * float(moments.error) + 2e-3


EXTERN = "extern fn f(x: real) -> real\nparam a : real = 0.3\nx ~ Normal(a, 1)\nminimize f({})\n"


@pytest.mark.parametrize(
    ("function", "method"),
    [
        (lambda x: jnp.where(x > 0, 1.0, 0.0), "rloo"),
        (lambda x: jnp.where(x > 2.8, 1.0, 0.0), "rloo"),
        (jnp.floor, "rloo"),
        (jnp.sin, "pathwise"),
        (jax.nn.softplus, "pathwise"),
        (lambda x: jnp.where(x > 0, x, 0.1 * x), "pathwise"),
    ],
)
def test_a_function_from_outside_is_probed_for_jumps(function: Any, method: str) -> None:
    model = dpc.parse(EXTERN.format("x"), f=function)
    assert [choice.method for choice in model.estimator_choices()] == [method]


def test_a_jump_from_outside_that_moves_with_a_parameter_is_refused() -> None:
    with pytest.raises(DpError, match="no derivative sees it"):
        dpc.parse(EXTERN.format("x - a"), f=jnp.floor).estimator_choices()


def test_a_bound_over_ordered_draws_is_refused() -> None:
    """The closed divergence of the unordered draws is not theirs."""
    text = """
dim K = 2
observed y : real
param m : real = 0.1
z[k in K] ~ Normal(0, 1) with ordered
y ~ Normal(z[0] + z[1], 1)
guide {
    z[k in K] ~ Normal(m, 1) with ordered
}
maximize elbo()
"""
    with pytest.raises(DpError, match="ordered"):
        dpc.parse(text)


def test_a_threshold_inside_a_bound_is_split() -> None:
    text = """
observed y : real
param m : real = 0.4
param c : real = 0.2
z ~ Normal(0, 1)
y ~ Normal(if z > c then 1 else -1, 1)
guide { z ~ Normal(m, 0.8) }
maximize elbo()
"""
    found = dpc.parse(text).grad(data={"y": 0.7})
    density = stats.norm.pdf(0.2, 0.4, 0.8)
    gap = stats.norm.logpdf(0.7, 1) - stats.norm.logpdf(0.7, -1)
    assert found.exact
    assert np.isclose(found["c"], -density * gap, rtol=1e-5)
    assert np.isclose(found["m"], density * gap - 0.4, rtol=1e-5)


WALK = (
    "param a : real = 0.5\nparam b : real = {b}\ndim T = 3\nx[0] ~ Normal(a, 0.5)\n"
    "x[t in T[1..]] ~ Normal(if x[t-1] > a then 1 else x[t-1], 0.5)\n"
    "minimize (if x[2] > b then 1 else 0)\n"
)


def test_sides_that_are_sampled_are_refused_where_two_cuts_meet() -> None:
    """The side between them has no mass, so no sample has its slope; beside it all is well."""
    with pytest.raises(UsageError, match="thresholds of a draw are equal"):
        dpc.parse(WALK.format(b=0.5)).grad()
    found = dpc.parse(WALK.format(b=0.6)).grad(samples=20_000).estimates.gradient
    noise = np.random.default_rng(3).normal(size=(3, 400_000)) / 2

    def share(a: float, b: float) -> Any:
        x = a + noise[0]
        for own in noise[1:]:
            x = np.where(x > a, 1, x) + own
        return x > b

    for name, step in (("a", (0.02, 0)), ("b", (0, 0.02))):
        moved = [share(0.5 + s * step[0], 0.6 + s * step[1]) * 1.0 for s in (1, -1)]
        slopes = (moved[0] - moved[1]) / 0.04
        error = np.hypot(found[name].error, slopes.std() / np.sqrt(slopes.size))
        assert abs(found[name].mean - slopes.mean()) < 5 * error


def test_cuts_that_meet_are_summed_exactly() -> None:
    text = "param a : real = 0.5\nparam b : real = 0.5\nx ~ Normal(0, 1)\n"
    model = dpc.parse(text + "minimize (if x > a then 1 else 0) * (if x > b then 2 else 1)\n")
    found = model.grad().to_dict()["gradient"]
    density = np.exp(-0.125) / np.sqrt(2 * np.pi)
    assert found["a"] + found["b"] == pytest.approx(-2 * density, rel=1e-5)

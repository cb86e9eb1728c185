"""Derivatives of log Z where a chance or a rate is at an end, or evidence has likelihoods of 0: by
hand-written sums, which JAX differentiates. Where Z is 0 they are not numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpc

QUICKLY_COMPILED = "each program runs once, and compiling takes most of the time"

P = "param p : real(lower=0, upper=1) = 0.3\n"
BINOMIAL = P + "k ~ Binomial(3, p)\ny ~ Bernoulli(0.1 + 0.2 * k)\n"
POISSON = P + "b ~ Bernoulli(0.4)\nk ~ Poisson(if b then p else 2)\n"
INFLATED = P + "b ~ Bernoulli(0.4)\nk ~ ZeroInflatedPoisson(if b then p else 0.5, 2)\n"
COINS = P + "x ~ Bernoulli(p)\ny ~ Bernoulli(if x then 0.6 else 0.2)\n"
CASES: list[tuple[str, dict[str, Any], Callable[[Any], Any]]] = [
    (BINOMIAL, {"y": True}, lambda p: 0.1 + 0.2 * 3 * p),
    (BINOMIAL, {"k": [0, 1, 0, 0], "y": True}, lambda p: 0.9 * p * (1 - p) ** 2),
    (POISSON, {"k": 1}, lambda p: 0.4 * p * jnp.exp(-p) + 1.2 * np.exp(-2)),
    (POISSON, {"k": 0}, lambda p: 0.4 * jnp.exp(-p) + 0.6 * np.exp(-2)),
    (
        INFLATED,
        {"k": 0},
        lambda p: 0.4 * p + 0.3 + (0.7 - 0.4 * p) * np.exp(-2),
    ),
    (COINS, {"y": [0.0, 1.0]}, lambda p: 0.6 * p + 0.2 * (1 - p)),
    (COINS, {"x": [0.0, 1.0], "y": True}, lambda p: 0.6 * p),
    (COINS, {"x": [1.0, 0.0], "y": [0.5, 0.0]}, lambda p: 0.4 * (1 - p)),
]


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.3, 1.0])
@pytest.mark.parametrize(("text", "given", "z"), CASES)
def test_derivatives_are_limits(
    text: str, given: dict[str, Any], z: Callable[[Any], Any], p: float
) -> None:
    model = dpc.parse(text)
    own = lambda p: model.log_partition({"p": p}, {}, given=given)  # noqa: E731
    truth = float(z(p))
    np.testing.assert_allclose(own(p), np.log(truth) if truth else -np.inf, rtol=1e-12)
    expected = jax.grad(z)(p) / truth if truth else np.nan
    for gradient in (jax.grad(own), jax.jit(jax.grad(own))):
        np.testing.assert_allclose(gradient(p), expected, rtol=1e-9)


def test_the_least_mass_is_that_of_the_engines() -> None:
    from dpc.dsl.library.bodies.deviances import steepness
    from dpc.inference.engines.limits import LEAST

    for dtype in (np.float32, np.float64):
        own = 1 / float(steepness(jnp.zeros((), dtype)))
        assert own == pytest.approx(LEAST[np.dtype(dtype).itemsize])


MOMENTS = {
    "StudentT(1, 0, 1)": "not defined  not defined",
    "StudentT(2, 0, 1)": "0 infinite",
    "Pareto(1, 1)": "infinite infinite",
    "Pareto(1, 2)": "2 infinite",
    "InverseGamma(1, 1)": "infinite infinite",
    "InverseGamma(2, 3)": "3 infinite",
}


@pytest.mark.parametrize("law", MOMENTS)
def test_moments_that_do_not_exist_say_so(law: str) -> None:
    shown = str(dpc.parse(f"x ~ {law}\n").query(ask="x"))
    assert shown.split("\n")[1].split()[1:] == MOMENTS[law].split()


def test_means_that_are_not_defined_are_no_numbers() -> None:
    model = dpc.parse("m = mean(StudentT(1, 0, 1))\nv = variance(InverseGamma(2, 1))\n")
    found = model.evaluate({}, {}, {})
    assert np.isnan(found["m"])
    assert found["v"] == np.inf

"""Quantiles without a formula: against SciPy's, their derivatives against its differences."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

from dpc.dsl.library.bodies import quantiles

LEVELS = np.array([1e-9, 1e-3, 0.2, 0.5, 0.8, 0.999])

Case = tuple[str, tuple[float, ...], Callable[..., Any], Callable[..., Any]]
CASES: list[Case] = [
    ("gamma", own, dist.Gamma, lambda a, rate: stats.gamma(a, scale=1 / rate))
    for own in ((0.1, 1.0), (0.5, 2.0), (3.0, 0.5), (50.0, 1.0), (2000.0, 3.0))
]
CASES += [
    ("inverse_gamma", own, dist.InverseGamma, lambda a, rate: stats.invgamma(a, scale=rate))
    for own in ((0.5, 2.0), (30.0, 1.0))
]
CASES += [
    ("beta", own, dist.Beta, stats.beta)
    for own in ((0.2, 0.3), (1.0, 3.0), (2.0, 5.0), (300.0, 400.0))
]
CASES += [("student", own, dist.StudentT, stats.t) for own in ((2.0, 1.0, 2.0), (40.0, 0.3, 0.5))]


def names(case: Case) -> str:
    return f"{case[0]}{case[1]}"


@pytest.mark.parametrize("case", CASES, ids=names)
def test_levels_and_quantiles(case: Case) -> None:
    name, own, make, reference = case
    cdf, quantile, survival, inverse = getattr(quantiles, f"{name}_tails")(make(*own))
    peer = reference(*own)
    np.testing.assert_allclose(quantile(LEVELS), peer.ppf(LEVELS), rtol=1e-7)
    np.testing.assert_allclose(inverse(LEVELS), peer.isf(LEVELS), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(cdf(peer.ppf(LEVELS)), LEVELS, rtol=1e-7)
    np.testing.assert_allclose(survival(peer.isf(LEVELS[1:])), LEVELS[1:], rtol=1e-5)


@pytest.mark.parametrize("case", CASES, ids=names)
def test_derivatives_of_quantiles(case: Case) -> None:
    """Of first and of second order, in the first argument."""
    name, (first, *rest), make, reference = case

    def quantile(value: Any, level: float) -> Any:
        return getattr(quantiles, f"{name}_tails")(make(value, *rest))[1](level)

    for level in (0.05, 0.6, 0.95):
        step = 1e-3 * first
        ends = [reference(first + k * step, *rest).ppf(level) for k in (-2, -1, 0, 1, 2)]
        slope = np.dot(ends, [1, -8, 0, 8, -1]) / (12 * step)
        bend = np.dot(ends, [-1, 16, -30, 16, -1]) / (12 * step**2)
        found = jax.jit(jax.grad(quantile))(first, level)
        np.testing.assert_allclose(found, slope, rtol=1e-5, atol=1e-8)
        found = jax.jit(jax.grad(jax.grad(quantile)))(first, level)
        np.testing.assert_allclose(found, bend, rtol=1e-2, atol=1e-4 * (1 + abs(slope)))

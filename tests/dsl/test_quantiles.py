"""Quantiles without a formula: against SciPy's, their derivatives against its differences."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

from dpc.dsl.library.bodies.source import resolve

QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

LEVELS = np.array([1e-9, 1e-3, 0.2, 0.5, 0.8, 0.999])
INNER = np.array([0.05, 0.6, 0.95])

Family = tuple[Callable[..., Any], Callable[..., Any], list[tuple[float, ...]]]
FAMILIES: dict[str, Family] = {
    "gamma": (
        dist.Gamma,
        lambda a, rate: stats.gamma(a, scale=1 / rate),
        [(0.1, 1.0), (0.5, 2.0), (3.0, 0.5), (50.0, 1.0), (2000.0, 3.0)],
    ),
    "inverse_gamma": (
        dist.InverseGamma,
        lambda a, rate: stats.invgamma(a, scale=rate),
        [(0.5, 2.0), (30.0, 1.0)],
    ),
    "beta": (dist.Beta, stats.beta, [(0.2, 0.3), (1.0, 3.0), (2.0, 5.0), (300.0, 400.0)]),
    "student": (dist.StudentT, stats.t, [(2.0, 1.0, 2.0), (40.0, 0.3, 0.5)]),
}
families = pytest.mark.parametrize("name", FAMILIES)


def over_all(function: Callable[..., Any], own: list[tuple[float, ...]], *more: Any) -> Any:
    """For all parameters and all entries of what is more, in one program."""
    inner = jax.vmap(function, (None, *(0 for _ in more)))
    return jax.jit(jax.vmap(inner, (0, *(None for _ in more))))(jnp.array(own), *more)


@families
def test_levels_and_quantiles(name: str) -> None:
    make, reference, own = FAMILIES[name]

    def both(given: Any, level: Any) -> Any:
        log_cdf, log_survival, quantile = resolve(f"{name}_tails")(make(*given))
        low = quantile(jnp.log(level), jnp.log1p(-level))
        high = quantile(jnp.log1p(-level), jnp.log(level))
        return low, high, jnp.exp(log_cdf(low)), jnp.exp(log_survival(high))

    low, high, below, above = over_all(both, own, LEVELS)
    peers = [reference(*given) for given in own]
    np.testing.assert_allclose(low, [peer.ppf(LEVELS) for peer in peers], rtol=1e-7)
    np.testing.assert_allclose(high, [peer.isf(LEVELS) for peer in peers], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(below, np.broadcast_to(LEVELS, below.shape), rtol=1e-9)
    # Beside 1 a number has no digits of what is left above it.
    wanted = np.broadcast_to(LEVELS, above.shape)
    is_apart = (high < 0.99) | (name != "beta")
    np.testing.assert_allclose(above[is_apart], wanted[is_apart], rtol=1e-9)


@families
def test_derivatives_of_quantiles(name: str) -> None:
    """Of first and of second order, in the first argument."""
    make, reference, own = FAMILIES[name]

    def quantile(first: Any, rest: Any, level: Any) -> Any:
        quantile = resolve(f"{name}_tails")(make(first, *rest))[2]
        return quantile(jnp.log(level), jnp.log1p(-level))

    def slopes(given: Any, level: Any) -> Any:
        first, rest = given[0], given[1:]
        slope = jax.grad(quantile)
        return slope(first, rest, level), jax.grad(slope)(first, rest, level)

    found = over_all(slopes, own, INNER)
    for k, (first, *rest) in enumerate(own):
        step = 1e-3 * first
        ends = [reference(first + j * step, *rest).ppf(INNER) for j in (-2, -1, 0, 1, 2)]
        slope = np.dot(np.transpose(ends), [1, -8, 0, 8, -1]) / (12 * step)
        bend = np.dot(np.transpose(ends), [-1, 16, -30, 16, -1]) / (12 * step**2)
        np.testing.assert_allclose(found[0][k], slope, rtol=1e-5, atol=1e-8)
        # The differences are of SciPy's quantiles, which have ten digits.
        rest = 1e-4 * (1 + np.max(np.abs(slope)))
        np.testing.assert_allclose(found[1][k], bend, rtol=1e-2, atol=rest)

"""Families of positive numbers: Exponential, Gamma, and Laplace by its distance from loc."""

import math
from typing import Any

import jax.numpy as jnp
from jax.scipy.special import gammaln

from .family import Array, ConjugatePrior, Family


def is_positive(x: Array) -> Array:
    return (x > 0) & jnp.isfinite(x)


def exponential() -> Family:
    """exp(theta x + log(-theta)), theta = -rate."""
    return Family(
        name="Exponential",
        support="positive numbers",
        event_ndim=0,
        statistic=lambda x: x[None],
        log_base=jnp.zeros_like,
        mean_log_base=lambda theta: jnp.zeros((), theta.dtype),
        contains=lambda x: (x >= 0) & jnp.isfinite(x),
        log_partition=lambda theta: -jnp.log(-theta[0]),
        in_domain=lambda theta: jnp.isfinite(theta[0]) & (theta[0] < 0),
        slack=lambda mean: (mean[0] > 0).astype(mean.dtype),
        from_usual=lambda rate: -rate[None],
        to_usual=lambda theta: {"rate": -theta[0]},
        usual_ndims={"rate": 0},
        examples=({"rate": 0.3}, {"rate": 5.0}),
        natural_of_mean=lambda mean: -1 / mean,
        conjugate=rate_prior("Gamma", "rate"),
    )


def laplace_of_known_location(loc: Any) -> Family:
    """exp(theta |x - loc| + log(-theta)) / 2, theta = -1 / scale."""
    return Family(
        name="Laplace",
        support="real numbers",
        event_ndim=0,
        statistic=lambda x: jnp.abs(x - loc)[None],
        log_base=lambda x: jnp.full_like(x, -math.log(2)),
        mean_log_base=lambda theta: jnp.full_like(theta[0], -math.log(2)),
        contains=jnp.isfinite,
        log_partition=lambda theta: -jnp.log(-theta[0]),
        in_domain=lambda theta: jnp.isfinite(theta[0]) & (theta[0] < 0),
        slack=lambda mean: (mean[0] > 0).astype(mean.dtype),
        from_usual=lambda scale: -1 / scale[None],
        to_usual=lambda theta: {"scale": -1 / theta[0]},
        usual_ndims={"scale": 0},
        examples=({"scale": 0.5}, {"scale": 2.0}),
        natural_of_mean=lambda mean: -1 / mean,
        conjugate=rate_prior("InverseGamma", "scale"),
        known={"loc": loc},
    )


def rate_prior(name: str, of: str) -> ConjugatePrior:
    """-theta ~ Gamma(concentration, rate)."""
    return ConjugatePrior(
        name=name,
        of=of,
        pieces=lambda theta: -jnp.log(-theta),
        log_normaliser=lambda chi, nu: gammaln(nu[0] + 1) - (nu[0] + 1) * jnp.log(chi[0]),
        from_usual=lambda concentration, rate: (rate[None], concentration[None] - 1),
        to_usual=lambda chi, nu: {"concentration": nu[0] + 1, "rate": chi[0]},
        usual_ndims={"concentration": 0, "rate": 0},
    )


def gamma() -> Family:
    """exp(theta_1 log x + theta_2 x - A), theta = (concentration - 1, -rate)."""

    def log_partition(theta: Array) -> Array:
        return gammaln(theta[0] + 1) - (theta[0] + 1) * jnp.log(-theta[1])

    def start(mean: Array) -> Array:
        """Minka's approximation of the concentration, good to 1.5 per cent."""
        s = jnp.log(mean[1]) - mean[0]
        shape = (3 - s + jnp.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
        return jnp.stack([shape - 1, -shape / mean[1]])

    return Family(
        name="Gamma",
        support="positive numbers",
        event_ndim=0,
        statistic=lambda x: jnp.stack([jnp.log(x), x]),
        log_base=jnp.zeros_like,
        mean_log_base=lambda theta: jnp.zeros((), theta.dtype),
        contains=is_positive,
        log_partition=log_partition,
        in_domain=lambda theta: jnp.isfinite(theta).all() & (theta[0] > -1) & (theta[1] < 0),
        slack=lambda mean: jnp.nan_to_num(jnp.log(mean[1]) - mean[0], nan=0.0),
        from_usual=lambda concentration, rate: jnp.stack([concentration - 1, -rate]),
        to_usual=lambda theta: {"concentration": theta[0] + 1, "rate": -theta[1]},
        usual_ndims={"concentration": 0, "rate": 0},
        examples=({"concentration": 0.7, "rate": 0.5}, {"concentration": 6.0, "rate": 3.0}),
        start=start,
    )

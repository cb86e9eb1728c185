"""Families of positive numbers, proportions and angles; Laplace by its distance from loc."""

import math
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from .family import Array, ConjugatePrior, Family, log_bessel, positive_first


def exponential() -> Family:
    """exp(theta x + log(-theta)), theta = -rate."""
    return Family(
        name="Exponential",
        support="positive numbers",
        contains=lambda x: (x >= 0) & jnp.isfinite(x),
        log_partition=lambda theta: -jnp.log(-theta[0]),
        in_domain=lambda theta: jnp.isfinite(theta[0]) & (theta[0] < 0),
        slack=positive_first,
        from_usual=lambda rate: -rate[None],
        to_usual=lambda theta: {"rate": -theta[0]},
        examples=({"rate": 0.3}, {"rate": 5.0}),
        natural_of_mean=lambda mean: -1 / mean,
        conjugate=rate_prior("Gamma", "rate"),
    )


def laplace_of_known_location(loc: Any) -> Family:
    """exp(theta |x - loc| + log(-theta)) / 2, theta = -1 / scale: an Exponential to both sides."""
    return replace(
        exponential(),
        name="Laplace",
        support="real numbers",
        statistic=lambda x: jnp.abs(x - loc)[None],
        log_base=lambda x: jnp.full_like(x, -math.log(2)),
        mean_log_base=lambda theta: jnp.full_like(theta[0], -math.log(2)),
        contains=jnp.isfinite,
        from_usual=lambda scale: -1 / scale[None],
        to_usual=lambda theta: {"scale": -1 / theta[0]},
        examples=({"scale": 0.5}, {"scale": 2.0}),
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
        statistic=lambda x: jnp.stack([jnp.log(x), x]),
        contains=lambda x: (x > 0) & jnp.isfinite(x),
        log_partition=log_partition,
        in_domain=lambda theta: jnp.isfinite(theta).all() & (theta[0] > -1) & (theta[1] < 0),
        slack=lambda mean: jnp.nan_to_num(jnp.log(mean[1]) - mean[0], nan=0.0),
        from_usual=lambda concentration, rate: jnp.stack([concentration - 1, -rate]),
        to_usual=lambda theta: {"concentration": theta[0] + 1, "rate": -theta[1]},
        examples=({"concentration": 0.7, "rate": 0.5}, {"concentration": 6.0, "rate": 3.0}),
        start=start,
    )


def beta() -> Family:
    """exp(theta_1 log x + theta_2 log(1 - x) - A), theta = (a - 1, b - 1): a Dirichlet of two."""
    return replace(
        dirichlet(2),
        name="Beta",
        support="numbers between 0 and 1",
        event_ndim=0,
        statistic=lambda x: jnp.stack([jnp.log(x), jnp.log1p(-x)]),
        log_base=jnp.zeros_like,
        contains=lambda x: (x > 0) & (x < 1),
        from_usual=lambda concentration1, concentration0: jnp.stack(
            [concentration1 - 1, concentration0 - 1]
        ),
        to_usual=lambda theta: {"concentration1": theta[0] + 1, "concentration0": theta[1] + 1},
        examples=(
            {"concentration1": 1.5, "concentration0": 4.0},
            {"concentration1": 30.0, "concentration0": 20.0},
        ),
    )


def dirichlet(size: int) -> Family:
    """exp(sum_k theta_k log x_k - A), theta = concentration - 1, a density of all but the last."""

    def start(mean: Array) -> Array:
        """Stirling's approximation where proportions hardly vary, -1 / E log x_k near 0 or 1."""
        centre = jnp.exp(mean) / jnp.exp(mean).sum()
        total = (mean.size - 1) / (-2 * jnp.log(jnp.exp(mean).sum()))
        return total * centre + 1 / (1 - mean) - 1

    return Family(
        name="Dirichlet",
        support=f"{size} positive numbers that sum to 1",
        event_ndim=1,
        statistic=jnp.log,
        log_base=lambda x: jnp.zeros_like(x[0]),
        contains=lambda x: (
            (x > 0).all() & (jnp.abs(x.sum() - 1) < 8 * size * float(np.finfo(x.dtype).eps))
        ),
        log_partition=lambda theta: gammaln(theta + 1).sum() - gammaln((theta + 1).sum()),
        in_domain=lambda theta: (jnp.isfinite(theta) & (theta > -1)).all(),
        slack=lambda mean: 1 - jnp.exp(mean).sum(),  # positive by Jensen's inequality
        from_usual=lambda concentration: concentration - 1,
        to_usual=lambda theta: {"concentration": theta + 1},
        examples=(
            {"concentration": [2.0] * size},
            {"concentration": [1.5 + 2.0 * k for k in range(size)]},
        ),
        start=start,
    )


def von_mises() -> Family:
    """exp(theta . (cos x, sin x) - log I0(|theta|)) / 2 pi, theta = kappa (cos loc, sin loc)."""

    def start(mean: Array) -> Array:
        """Banerjee's approximation of the concentration."""
        square = mean @ mean
        return mean * (2 - square) / (1 - square)

    def from_usual(loc: Array, concentration: Array) -> Array:
        return concentration * jnp.stack([jnp.cos(loc), jnp.sin(loc)])

    return Family(
        name="VonMises",
        support="angles",
        statistic=lambda x: jnp.stack([jnp.cos(x), jnp.sin(x)]),
        log_base=lambda x: jnp.full_like(x, -math.log(2 * math.pi)),
        mean_log_base=lambda theta: jnp.full_like(theta[0], -math.log(2 * math.pi)),
        contains=jnp.isfinite,
        log_partition=lambda theta: log_bessel(theta @ theta),
        slack=lambda mean: 1 - mean @ mean,
        from_usual=from_usual,
        to_usual=lambda theta: {
            "loc": jnp.arctan2(theta[1], theta[0]),
            "concentration": jnp.linalg.norm(theta),
        },
        examples=({"loc": 0.3, "concentration": 0.01}, {"loc": -2.0, "concentration": 8.0}),
        start=start,
    )

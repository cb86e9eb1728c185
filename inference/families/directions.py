"""Families of angles: von Mises."""

import math

import jax.numpy as jnp

from .family import Array, Family
from .special import log_bessel


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
        event_ndim=0,
        statistic=lambda x: jnp.stack([jnp.cos(x), jnp.sin(x)]),
        log_base=lambda x: jnp.full_like(x, -math.log(2 * math.pi)),
        mean_log_base=lambda theta: jnp.full_like(theta[0], -math.log(2 * math.pi)),
        contains=jnp.isfinite,
        log_partition=lambda theta: log_bessel(theta @ theta),
        in_domain=lambda theta: jnp.isfinite(theta).all(),
        slack=lambda mean: 1 - mean @ mean,
        from_usual=from_usual,
        to_usual=lambda theta: {
            "loc": jnp.arctan2(theta[1], theta[0]),
            "concentration": jnp.linalg.norm(theta),
        },
        usual_ndims={"loc": 0, "concentration": 0},
        examples=({"loc": 0.3, "concentration": 0.01}, {"loc": -2.0, "concentration": 8.0}),
        start=start,
    )

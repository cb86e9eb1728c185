"""Families of proportions: Beta, Dirichlet."""

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from .family import Array, Family


def log_partition(theta: Array) -> Array:
    """log of the multivariate beta function of theta + 1."""
    return gammaln(theta + 1).sum() - gammaln((theta + 1).sum())


def in_domain(theta: Array) -> Array:
    return (jnp.isfinite(theta) & (theta > -1)).all()


def slack(mean: Array) -> Array:
    """E log x_k is what it can be when sum exp E log x_k < 1, by Jensen's inequality."""
    return 1 - jnp.exp(mean).sum()


def start(mean: Array) -> Array:
    """Stirling's approximation where proportions hardly vary, -1 / E log x_k near 0 or 1."""
    centre = jnp.exp(mean) / jnp.exp(mean).sum()
    total = (mean.size - 1) / (-2 * jnp.log(jnp.exp(mean).sum()))
    return total * centre + 1 / (1 - mean) - 1


def beta() -> Family:
    """exp(theta_1 log x + theta_2 log(1 - x) - A), theta = (a - 1, b - 1)."""
    return Family(
        name="Beta",
        support="numbers between 0 and 1",
        event_ndim=0,
        statistic=lambda x: jnp.stack([jnp.log(x), jnp.log1p(-x)]),
        log_base=jnp.zeros_like,
        mean_log_base=lambda theta: jnp.zeros((), theta.dtype),
        contains=lambda x: (x > 0) & (x < 1),
        log_partition=log_partition,
        in_domain=in_domain,
        slack=slack,
        from_usual=lambda concentration1, concentration0: jnp.stack(
            [concentration1 - 1, concentration0 - 1]
        ),
        to_usual=lambda theta: {"concentration1": theta[0] + 1, "concentration0": theta[1] + 1},
        usual_ndims={"concentration1": 0, "concentration0": 0},
        examples=(
            {"concentration1": 1.5, "concentration0": 4.0},
            {"concentration1": 30.0, "concentration0": 20.0},
        ),
        start=start,
    )


def dirichlet(size: int) -> Family:
    """exp(sum_k theta_k log x_k - A), theta = concentration - 1, a density of all but the last."""
    return Family(
        name="Dirichlet",
        support=f"{size} positive numbers that sum to 1",
        event_ndim=1,
        statistic=jnp.log,
        log_base=lambda x: jnp.zeros_like(x[0]),
        mean_log_base=lambda theta: jnp.zeros((), theta.dtype),
        contains=lambda x: (
            (x > 0).all() & (jnp.abs(x.sum() - 1) < 8 * size * float(np.finfo(x.dtype).eps))
        ),
        log_partition=log_partition,
        in_domain=in_domain,
        slack=slack,
        from_usual=lambda concentration: concentration - 1,
        to_usual=lambda theta: {"concentration": theta + 1},
        usual_ndims={"concentration": 1},
        examples=(
            {"concentration": [2.0] * size},
            {"concentration": [1.5 + 2.0 * k for k in range(size)]},
        ),
        start=start,
    )

"""Entmax: p_i = [(alpha - 1) theta_i - tau]_+ ^ (1 / (alpha - 1)) with tau such that they sum to
one.

It maximises <theta, p> plus the Tsallis entropy of p: softargmax as alpha falls to 1, sparsemax
(the projection onto the simplex) at 2, zeros at every alpha above 1. Sorting finds tau exactly for
2 and 1.5; bisection, then Newton steps, for others. Its Jacobian is diag(s) - s s' / sum(s) with s
= p ^ (2 - alpha) on the support, by the implicit function.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp

from ..errors import InferenceError
from ..optimise.method import Array

HALVINGS = 60


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def entmax(theta: Array, alpha: float) -> Array:
    """Along the last axis."""
    if not 1 < alpha <= 2:
        raise InferenceError(
            f"alpha of entmax is above 1 and at most 2, not {alpha}; softargmax is the limit at 1"
        )
    x = (alpha - 1) * (theta - jnp.max(theta, axis=-1, keepdims=True))
    if alpha == 2:
        tau = sorted_threshold(x, linear_threshold)
    elif alpha == 1.5:
        tau = sorted_threshold(x, square_threshold)
    else:
        tau = bisected_threshold(x, alpha)
    p = power(x - tau, alpha)
    return p / jnp.sum(p, axis=-1, keepdims=True)


@entmax.defjvp
def entmax_jvp(alpha: float, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    p = entmax(*primals, alpha)
    (change,) = tangents
    s = jnp.where(p > 0, jnp.where(p > 0, p, 1) ** (2 - alpha), 0)
    mean = jnp.sum(s * change, axis=-1, keepdims=True) / jnp.sum(s, axis=-1, keepdims=True)
    return p, s * (change - mean)


def power(x: Array, alpha: float) -> Array:
    return jnp.maximum(x, 0) ** (1 / (alpha - 1))


def sorted_threshold(x: Array, candidate: Callable[[Array, Array], Array]) -> Array:
    """The threshold of the largest k entries, for the largest k with all of them above it."""
    high_first = -jnp.sort(-x, axis=-1)
    counts = jnp.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    thresholds = candidate(high_first, jnp.broadcast_to(counts, x.shape))
    size = jnp.sum(thresholds < high_first, axis=-1, keepdims=True)
    return jnp.take_along_axis(thresholds, size - 1, axis=-1)


def linear_threshold(x: Array, counts: Array) -> Array:
    """sum over the first k of (x - tau) = 1."""
    return (jnp.cumsum(x, axis=-1) - 1) / counts


def square_threshold(x: Array, counts: Array) -> Array:
    """sum over the first k of (x - tau)^2 = 1; where no tau has so small a sum, infinity."""
    mean = jnp.cumsum(x, axis=-1) / counts
    spread = jnp.cumsum(x**2, axis=-1) - counts * mean**2
    inside = (1 - spread) / counts
    return jnp.where(inside >= 0, mean - jnp.sqrt(jnp.maximum(inside, 0)), jnp.inf)


def bisected_threshold(x: Array, alpha: float) -> Array:
    """Between -1, where the largest entry (zero) gives one, and -n^(1 - alpha), n equal ones."""

    def halve(_: int, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        middle = (low + high) / 2
        too_low = jnp.sum(power(x - middle, alpha), axis=-1, keepdims=True) >= 1
        return jnp.where(too_low, middle, low), jnp.where(too_low, high, middle)

    low = jnp.full_like(x[..., :1], -1)
    high = jnp.full_like(low, -(float(x.shape[-1]) ** (1 - alpha)))
    low, high = jax.lax.fori_loop(0, HALVINGS, halve, (low, high))
    return (low + high) / 2

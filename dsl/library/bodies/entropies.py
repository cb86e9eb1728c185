"""Entropies and the divergence of Kullback and Leibler.

Where a probability is 0 and the derivative is infinite, 0 is given instead: what cannot happen is
left alone.
"""

import jax
import jax.numpy as jnp
from jax import lax


def entropy(p: jax.Array) -> jax.Array:
    """-sum_i p_i log(p_i) (SM14)."""
    alive = p > 0
    return -jnp.sum(jnp.where(alive, p * jnp.log(jnp.where(alive, p, 1.0)), 0.0))


def gini_entropy(p: jax.Array) -> jax.Array:
    """sum_i p_i (1 - p_i) / 2 (SM14)."""
    return jnp.sum(p * (1 - p)) / 2


def expm1_ratio(y: jax.Array) -> jax.Array:
    """(exp(y) - 1) / y, and 1 at 0."""
    near = jnp.abs(y) < 1e-3
    z = jnp.where(near, y, 0.0)
    series = 1 + z / 2 * (1 + z / 3 * (1 + z / 4 * (1 + z / 5 * (1 + z / 6))))
    far = jnp.where(near, 1.0, y)
    return jnp.where(near, series, jnp.expm1(far) / far)


def tsallis_entropy(p: jax.Array, alpha: float | jax.Array = 1.5) -> jax.Array:
    """sum_i (p_i - p_i^a) / (a (a - 1)), by expm1_ratio((a - 1) log(p_i)) near a = 1 (SM14)."""
    alive = p > 0
    logs = jnp.log(jnp.where(alive, p, 1.0))
    terms = -p * logs * expm1_ratio((alpha - 1) * logs) / alpha
    above = jnp.asarray(alpha) > 1
    edge = jnp.where(above, p / (alpha * jnp.where(above, alpha - 1, 1.0)), 0.0)
    return jnp.sum(jnp.where(alive, terms, edge))


def nonnegative(x: jax.Array) -> jax.Array:
    """max(x, 0) with the derivative of x: for what is negative by rounding only."""
    return x - lax.stop_gradient(jnp.minimum(x, 0.0))


def kl(p: jax.Array, q: jax.Array) -> jax.Array:
    """sum_i p_i log(p_i / q_i) - p_i + q_i, the Bregman divergence of negative entropy (DU04)."""
    alive = p > 0
    log_ratio = jnp.log(jnp.where(alive, p, 1.0)) - jnp.log(jnp.where(alive, q, 1.0))
    return nonnegative(jnp.sum(jnp.where(alive, p * log_ratio - p, 0.0) + q))

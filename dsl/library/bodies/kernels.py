"""Covariance functions of Gaussian processes, of points on a line `[N]` or in space `[N, K]`
(CF10).

Distances are sums of squared differences, never |x|^2 + |y|^2 - 2 x.y: they are symmetric, and 0
for equal points. No jitter is added: points that nearly coincide make a matrix that is positive
definite only up to rounding.
"""

import jax
import jax.numpy as jnp

from .elementary import as_real


def squared_distances(x: jax.Array, y: jax.Array) -> jax.Array:
    """d_ij^2 = sum_k (x_ik - y_jk)^2."""
    squares = jnp.square(as_real(x)[:, None] - y[None, :])
    return squares if x.ndim == 1 else jnp.sum(squares, axis=-1)


def distances(x: jax.Array, y: jax.Array) -> jax.Array:
    """d_ij = |x_i - y_j|, with derivative 0 where the points are equal."""
    squares = squared_distances(x, y)
    apart = squares > 0
    return jnp.where(apart, jnp.sqrt(jnp.where(apart, squares, 1.0)), 0.0)


def gp_exp_quad(x: jax.Array, scale: jax.Array, length: jax.Array) -> jax.Array:
    """scale^2 exp(-(d / length)^2 / 2), among the points of x."""
    return gp_exp_quad_cross(x, x, scale, length)


def gp_exp_quad_cross(x: jax.Array, y: jax.Array, scale: jax.Array, length: jax.Array) -> jax.Array:
    """scale^2 exp(-(d / length)^2 / 2), of the points of x against those of y."""
    return scale**2 * jnp.exp(-squared_distances(x, y) / (2 * length**2))


def gp_exponential(x: jax.Array, scale: jax.Array, length: jax.Array) -> jax.Array:
    """scale^2 exp(-d / length), among the points of x."""
    return gp_exponential_cross(x, x, scale, length)


def gp_exponential_cross(
    x: jax.Array, y: jax.Array, scale: jax.Array, length: jax.Array
) -> jax.Array:
    """scale^2 exp(-d / length), of the points of x against those of y."""
    return scale**2 * jnp.exp(-distances(x, y) / length)


def gp_matern32(x: jax.Array, scale: jax.Array, length: jax.Array) -> jax.Array:
    """scale^2 (1 + r) exp(-r) for r = sqrt(3) d / length, among the points of x."""
    return gp_matern32_cross(x, x, scale, length)


def gp_matern32_cross(x: jax.Array, y: jax.Array, scale: jax.Array, length: jax.Array) -> jax.Array:
    """scale^2 (1 + r) exp(-r) for r = sqrt(3) d / length, of the points of x against those of y."""
    r = 3**0.5 * distances(x, y) / length
    return scale**2 * (1 + r) * jnp.exp(-r)


def gp_matern52(x: jax.Array, scale: jax.Array, length: jax.Array) -> jax.Array:
    """scale^2 (1 + r + r^2 / 3) exp(-r) for r = sqrt(5) d / length, among the points of x."""
    return gp_matern52_cross(x, x, scale, length)


def gp_matern52_cross(x: jax.Array, y: jax.Array, scale: jax.Array, length: jax.Array) -> jax.Array:
    """scale^2 (1 + r + r^2 / 3) exp(-r) for r = sqrt(5) d / length, of points of x against y."""
    r = 5**0.5 * distances(x, y) / length
    return scale**2 * (1 + r + r**2 / 3) * jnp.exp(-r)

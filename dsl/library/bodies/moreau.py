"""Proximal operators and Moreau envelopes: min over u of t f(u) + |x - u|^2 / 2, and where it is
attained (SM02).

The derivative of an envelope is x less the proximal point, and the envelope over t is f again as t
goes to 0. For |x| they are `soft_threshold` and `huber`, for norm(x) `group_soft_threshold` and
`moreau_norm`.
"""

import jax
import jax.numpy as jnp

from .arrays import norm
from .elementary import as_real, huber, magnitude
from .smooth import sparseargmax, sparsemax

# ---- of numbers


def prox_relu(x: jax.Array, weight: float | jax.Array = 1.0) -> jax.Array:
    """x - clip(x, 0, t) (SM02)."""
    x, weight = as_real(x), as_real(weight)
    return x - jnp.clip(x, 0.0, weight)


def moreau_relu(x: jax.Array, weight: float | jax.Array = 1.0) -> jax.Array:
    """c * (x - c / 2) for c = clip(x, 0, t): 0, then x^2 / 2, then t * (x - t / 2) (SM02)."""
    x, weight = as_real(x), as_real(weight)
    inner = jnp.clip(x, 0.0, weight)
    return inner * (x - inner / 2)


def prox_barrier(x: jax.Array, weight: float | jax.Array = 1.0) -> jax.Array:
    """The root u > 0 of u^2 - x u = t, by the form that does not cancel (SM02)."""
    x, weight = as_real(x), as_real(weight)
    root = jnp.sqrt(jnp.square(x) + 4 * weight)
    return jnp.where(x > 0, (x + root) / 2, 2 * weight / (root - jnp.minimum(x, 0.0)))


def moreau_barrier(x: jax.Array, weight: float | jax.Array = 1.0) -> jax.Array:
    """-t log(u) + (x - u)^2 / 2 at u = prox_barrier(x, t) (SM02)."""
    u = prox_barrier(x, weight)
    return -as_real(weight) * jnp.log(u) + jnp.square(as_real(x) - u) / 2


def hard_threshold(x: jax.Array, threshold: float | jax.Array = 1.0) -> jax.Array:
    """x beyond t, 0 up to it: the proximal operator of t^2 / 2 wherever x is not 0 (SM02)."""
    x = as_real(x)
    return jnp.where(jnp.abs(x) > threshold, x, 0.0)


def truncated_square(x: jax.Array, threshold: float | jax.Array = 1.0) -> jax.Array:
    """min(x^2, t^2) / 2 (SM02)."""
    return jnp.square(jnp.minimum(magnitude(x), as_real(threshold))) / 2


def moreau_interval(x: jax.Array, lower: jax.Array, upper: jax.Array) -> jax.Array:
    """(x - clip(x, l, u))^2 / 2: half the squared distance to the interval (SM02)."""
    x, lower, upper = as_real(x), as_real(lower), as_real(upper)
    return jnp.square(x - jnp.clip(x, lower, upper)) / 2


# ---- of vectors


def moreau_norm(x: jax.Array, weight: float | jax.Array = 1.0) -> jax.Array:
    """huber(norm(x), t) (SM02)."""
    return huber(norm(x), weight)


def prox_max(x: jax.Array, weight: float | jax.Array = 1.0) -> jax.Array:
    """x - t sparseargmax(x / t), as prox_f + prox_f* is the identity (SM02)."""
    return as_real(x) - weight * sparseargmax(x, weight)


def moreau_max(x: jax.Array, weight: float | jax.Array = 1.0) -> jax.Array:
    """t (sparsemax(x, t) - t / 2): the sup over p of t <x, p> - t^2 |p|^2 / 2 (SM12, SM20)."""
    return weight * (sparsemax(x, weight) - as_real(weight) / 2)


def project_ball(x: jax.Array, radius: float | jax.Array = 1.0) -> jax.Array:
    """x min(1, r / norm(x)) (SM02)."""
    length = norm(x)
    is_outside = length > radius
    return as_real(x) * jnp.where(is_outside, radius / jnp.where(is_outside, length, 1.0), 1.0)


def project_l1_ball(x: jax.Array, radius: float | jax.Array = 1.0) -> jax.Array:
    """sign(x) r sparseargmax(|x| / r) where |x| sums to more than r, x elsewhere (SM23)."""
    x = as_real(x)
    sizes = magnitude(x)
    return jnp.where(jnp.sum(sizes) > radius, jnp.sign(x) * radius * sparseargmax(sizes, radius), x)


def prox_norm_inf(x: jax.Array, weight: float | jax.Array = 1.0) -> jax.Array:
    """x - project_l1_ball(x, t), as prox_f + prox_f* is the identity (SM02)."""
    return as_real(x) - project_l1_ball(x, weight)


def moreau_norm_inf(x: jax.Array, weight: float | jax.Array = 1.0) -> jax.Array:
    """<x, v> - |v|^2 / 2 for v = project_l1_ball(x, t), the gradient (SM12)."""
    gradient = project_l1_ball(x, weight)
    return jnp.sum(gradient * (as_real(x) - gradient / 2))


def moreau_ball(x: jax.Array, radius: float | jax.Array = 1.0) -> jax.Array:
    """max(norm(x) - r, 0)^2 / 2 (SM02)."""
    return jnp.square(jax.nn.relu(norm(x) - radius)) / 2


def moreau_simplex(x: jax.Array) -> jax.Array:
    """|x - sparseargmax(x)|^2 / 2 (SM23)."""
    return jnp.sum(jnp.square(as_real(x) - sparseargmax(x))) / 2

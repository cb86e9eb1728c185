"""Numbers that are known, with derivatives of their own.

magic_box(x) = exp(x - stop(x)) is 1, and has the derivatives of exp(x - c) for a constant c:
weighing a sample with the box of its log probability makes all derivatives of the sample's mean
right (DiCE). No exponential is computed for them. lean(x, s) = (x - stop(x)) (s + stop(s)) / 2 is
0, its first derivative is s dx and its second s ddx + dx ds: those of the integral of s dx from
here to here.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient


@jax.custom_jvp
def magic_box(x: jax.Array) -> jax.Array:
    """JAX maps a constant and its derivatives along different axes, so this is not one; the
    compiler makes it one.
    """
    return jnp.where(True, 1.0, x)


@magic_box.defjvp
def _slope_of_box(x: tuple[jax.Array], slope: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    box = magic_box(x[0])
    return box, box * slope[0]


def lean(x: jax.Array, slope: jax.Array) -> jax.Array:
    """Where x is infinite there is nowhere to lean."""
    finite = jnp.where(jnp.isfinite(x), x, 0.0)
    return (finite - stop_gradient(finite)) * (slope + stop_gradient(slope)) / 2

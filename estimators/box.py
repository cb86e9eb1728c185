"""Numbers that are known, with derivatives of their own.

magic_box(x) = exp(x - stop(x)) is 1, and has the derivatives of exp(x - c) for a constant c: weighing a sample with the
box of its log probability makes all derivatives of the sample's mean right (DiCE).
lean(x, slope) is 0, and has the derivative `slope`, whose own derivatives count as the second ones.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def magic_box(x: jax.Array) -> jax.Array:
    return jnp.exp(x - jax.lax.stop_gradient(x))


@jax.custom_jvp
def lean(x: jax.Array, slope: jax.Array) -> jax.Array:
    """The integral of slope dx from here to here."""
    return jnp.zeros(jnp.broadcast_shapes(jnp.shape(x), jnp.shape(slope)), jnp.result_type(x, slope))


@lean.defjvp
def _lean_jvp(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    x, slope = primals
    value = lean(x, slope)
    return value, jnp.broadcast_to(slope * tangents[0], value.shape)

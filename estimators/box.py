"""Numbers that are known, with derivatives of their own.

magic_box(x) = exp(x - stop(x)) is 1, and has the derivatives of exp(x - c) for a constant c:
weighing a sample with the box of its log probability makes all derivatives of the sample's mean
right (DiCE). No exponential is computed for them. lean(x, s) = (x - stop(x)) (s + stop(s)) / 2 is
0, its first derivative is s dx and its second s ddx + dx ds: those of the integral of s dx from
here to here. The derivatives of functions of log odds are written with the probability itself.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient


@jax.custom_jvp
def magic_box(x: Array) -> Array:
    """A function for JAX, which maps a constant and its derivative unlike; a constant for XLA."""
    return jnp.where(True, 1.0, x)


@magic_box.defjvp
def _tangent_of_box(x: tuple[Array], tangent: tuple[Array]) -> tuple[Array, Array]:
    box = magic_box(x[0])
    return box, box * tangent[0]


def lean(x: Array, gradient: Array) -> Array:
    """Where x is infinite there is nowhere to lean."""
    finite = jnp.where(jnp.isfinite(x), x, 0.0)
    return (finite - stop_gradient(finite)) * (gradient + stop_gradient(gradient)) / 2


@jax.custom_jvp
def log_mass(odds: Array, yes: Array) -> Array:
    """log p where `yes`, log (1 - p) elsewhere; its gradient [yes] - p is smooth at even odds."""
    return -jax.nn.softplus(jnp.where(yes, -odds, odds))


@log_mass.defjvp
def _tangent_of_log_mass(
    given: tuple[Array, Array], tangent: tuple[Array, object]
) -> tuple[Array, Array]:
    odds, yes = given
    return log_mass(odds, yes), (yes - jax.nn.sigmoid(odds)) * tangent[0]

"""Functions of log odds whose derivatives are written with the probability itself."""

import jax
import jax.numpy as jnp


@jax.custom_jvp
def softplus(odds: jax.Array) -> jax.Array:
    """log (1 + exp odds), with the slope p."""
    return jax.nn.softplus(odds)


@softplus.defjvp
def _slope_of_softplus(
    odds: tuple[jax.Array], slope: tuple[jax.Array]
) -> tuple[jax.Array, jax.Array]:
    return softplus(odds[0]), jax.nn.sigmoid(odds[0]) * slope[0]


@jax.custom_jvp
def log_mass(odds: jax.Array, yes: jax.Array) -> jax.Array:
    """log p where `yes`, log (1 - p) elsewhere: with the slope [yes] - p, smooth at even odds."""
    return -jax.nn.softplus(jnp.where(yes, -odds, odds))


@log_mass.defjvp
def _slope_of_log_mass(
    given: tuple[jax.Array, jax.Array], slope: tuple[jax.Array, object]
) -> tuple[jax.Array, jax.Array]:
    odds, yes = given
    return log_mass(odds, yes), (yes - jax.nn.sigmoid(odds)) * slope[0]

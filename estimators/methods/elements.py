"""Arrays with an entry per element of a draw: local axes are kept, others summed or split."""

import jax
import jax.numpy as jnp


def distant(rank: int, local: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that are not local."""
    return tuple(axis for axis in range(rank) if axis not in local)


def together(array: jax.Array, local: tuple[int, ...]) -> jax.Array:
    """The sum over all axes that are not local: the local axes are left."""
    return jnp.sum(array, distant(array.ndim, local))


def everywhere(total: jax.Array, rank: int, local: tuple[int, ...]) -> jax.Array:
    """What is left after `together`, for every element again."""
    return jnp.expand_dims(total, distant(rank, local))


def apart(array: jax.Array, local: tuple[int, ...]) -> jax.Array:
    """One row for each place along the axes that are not local: (places, *local)."""
    first = jnp.moveaxis(array, local, range(array.ndim - len(local), array.ndim))
    return jnp.reshape(first, (-1, *(array.shape[axis] for axis in local)))


def replaced(old: jax.Array, new: jax.Array, local: tuple[int, ...]) -> jax.Array:
    """The old array with one place of the distant axes from the new: (places, *shape)."""
    shape = tuple(1 if axis in local else size for axis, size in enumerate(old.shape))
    places = 1
    for size in shape:
        places *= size
    here = jnp.reshape(jnp.eye(places, dtype=bool), (places, *shape))
    return jnp.where(here, new, old)

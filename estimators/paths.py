"""Finite draws along a recurrence, summed exactly.

Where all that is below looks at one step at a time, the marginals of each step are enough: for z[0]
~ p and z[t] ~ P[t](z[t-1]) they are m[0] = p, m[t] = m[t-1] P[t], T K^2 numbers. Elsewhere the sum
is over all K^T paths.
"""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from .methods.elements import distant
from .methods.enumeration import joint_places
from .program import Path


def path_points(step: Path, local: tuple[int, ...]) -> jax.Array:
    """What is summed over, (points, *shape); along local axes all elements at once."""
    places = joint_places(step.shape, step.support, local)
    return jnp.broadcast_to(jnp.asarray(places), (len(places), *step.shape))


def path_weights(step: Path, given: Mapping[str, Any], local: tuple[int, ...]) -> jax.Array:
    """The probability of each point, for every place along the axes that are local."""
    points = path_points(step, local)
    if step.axis in local:
        mass = jnp.take_along_axis(_marginals(step, given), points, 0)
    else:
        mass = jax.vmap(lambda path: step.mass({**given, step.name: path}, path))(points)
    return jnp.prod(mass, [1 + axis for axis in distant(len(step.shape), local)])


def _marginals(step: Path, given: Mapping[str, Any]) -> jax.Array:
    """The probability of every value at every place: (support, *shape)."""
    values = jnp.arange(step.support)

    def after(before: jax.Array) -> jax.Array:
        known = {**given, step.name: jnp.full(step.shape, before)}
        return jax.vmap(lambda value: step.mass(known, jnp.full(step.shape, value)))(values)

    links = jnp.moveaxis(jax.vmap(after)(values), 2 + step.axis, 0)
    _, found = jax.lax.scan(_follow, links[0, 0], links[1:])
    return jnp.moveaxis(jnp.concatenate([links[:1, 0], found]), 0, 1 + step.axis)


def _follow(before: jax.Array, link: jax.Array) -> tuple[jax.Array, jax.Array]:
    after = jnp.sum(before[:, None] * link, 0)
    return after, after

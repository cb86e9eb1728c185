"""Enumeration: E[f(x)] = sum_x p(x) f(x), exactly, for finite supports (DI03).

Along a recurrence, where all that is below looks at one step at a time, the marginals of each step
are enough: for z[0] ~ p and z[t] ~ P[t](z[t-1]) they are m[0] = p, m[t] = m[t-1] P[t], T K^2
numbers. Elsewhere the sum is over all K^T paths.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpyro.distributions import Distribution

from ..program import Path
from . import distributions
from .distributions import BERNOULLI, CATEGORICAL
from .method import EstimatorError, Method, Points

LOG2_WAYS = 24


@dataclass(frozen=True)
class Enumeration(Method):
    """Along local axes all elements go through the support at once; others jointly."""

    name: ClassVar[str] = "enumerate"
    single: ClassVar[bool] = False
    free: ClassVar[bool] = True

    def points(self, key: Array, dist: Distribution, local: tuple[int, ...]) -> Points:
        shape = distributions.element_shape(dist)
        support = jnp.reshape(distributions.peeled(dist).enumerate_support(expand=False), -1)
        values = support[joint_places(shape, len(support), local)]
        values = jnp.broadcast_to(values, (values.shape[0], *shape))
        others = [axis + 1 for axis in distributions.distant(len(shape), local)]
        return Points(values, weights=jnp.prod(element_mass(dist, values), others))

    @classmethod
    def refusal(cls, dist: Distribution) -> str:
        return "" if dist.has_enumerate_support else "its support is not finite"


def element_mass(dist: Distribution, values: Array) -> Array:
    """The probability of each element, whose gradients are right where it is zero."""
    if isinstance(distributions.peeled(dist), BERNOULLI):
        yes = distributions.yes_probability(dist)
        return jnp.where(values > 0, yes, 1 - yes)
    if isinstance(distributions.peeled(dist), CATEGORICAL):
        table = distributions.class_probabilities(dist)
        rows = jnp.broadcast_to(table, (*values.shape, table.shape[-1]))
        return jnp.take_along_axis(rows, values[..., None], -1)[..., 0]
    return jnp.exp(distributions.element_log_prob(dist, values))


def joint_places(shape: tuple[int, ...], size: int, local: tuple[int, ...]) -> np.ndarray:
    """Every choice of values for the elements along distant axes: (ways, *shape), local axes 1."""
    shape = tuple(1 if axis in local else length for axis, length in enumerate(shape))
    elements = math.prod(shape)
    if elements * math.log2(size) > LOG2_WAYS:
        raise EstimatorError(
            f"{elements} elements of {size} values each have {size}^{elements} joint values, too "
            "many to enumerate: sample some of them, with `rloo` for one"
        )
    ways = np.unravel_index(np.arange(size**elements), (size,) * elements)
    return np.stack(ways, -1).reshape(-1, *shape)


def path_points(step: Path, local: tuple[int, ...]) -> Array:
    """What is summed over, (points, *shape); along local axes all elements at once."""
    places = joint_places(step.shape, step.support, local)
    return jnp.broadcast_to(jnp.asarray(places), (len(places), *step.shape))


def path_weights(step: Path, given: Mapping[str, Any], local: tuple[int, ...]) -> Array:
    """The probability of each point, for every place along the axes that are local."""
    points = path_points(step, local)
    if step.axis in local:
        mass = jnp.take_along_axis(_marginals(step, given), points, 0)
    else:
        mass = jax.vmap(lambda path: step.mass({**given, step.name: path}, path))(points)
    return jnp.prod(mass, [1 + axis for axis in distributions.distant(len(step.shape), local)])


def _marginals(step: Path, given: Mapping[str, Any]) -> Array:
    """The probability of every value at every place: (support, *shape)."""
    values = jnp.arange(step.support)

    def after(before: Array) -> Array:
        known = {**given, step.name: jnp.full(step.shape, before)}
        return jax.vmap(lambda value: step.mass(known, jnp.full(step.shape, value)))(values)

    links = jnp.moveaxis(jax.vmap(after)(values), 2 + step.axis, 0)

    def follow(before: Array, link: Array) -> tuple[Array, Array]:
        after = jnp.sum(before[:, None] * link, 0)
        return after, after

    _, found = jax.lax.scan(follow, links[0, 0], links[1:])
    return jnp.moveaxis(jnp.concatenate([links[:1, 0], found]), 0, 1 + step.axis)

"""Enumeration: E[f(x)] = sum_x p(x) f(x), exactly, for laws of finite support (DI03)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import Distribution

from ..errors import EstimatorError
from .elements import distant
from .laws import (
    BERNOULLI,
    CATEGORICAL,
    class_probabilities,
    element_log_prob,
    element_shape,
    peeled,
    yes_probability,
)
from .method import Method, Points

LOG2_WAYS = 24


@dataclass(frozen=True)
class Enumeration(Method):
    """Along local axes all elements go through the support at once; others jointly."""

    name: ClassVar[str] = "enumerate"
    single: ClassVar[bool] = False
    free: ClassVar[bool] = True

    def points(self, key: jax.Array, law: Distribution, local: tuple[int, ...]) -> Points:
        shape = element_shape(law)
        support = jnp.reshape(peeled(law).enumerate_support(expand=False), -1)
        values = support[joint_places(shape, len(support), local)]
        values = jnp.broadcast_to(values, (values.shape[0], *shape))
        mass = element_mass(law, values)
        return Points(
            values, weights=jnp.prod(mass, [axis + 1 for axis in distant(len(shape), local)])
        )

    @classmethod
    def refusal(cls, law: Distribution) -> str:
        return "" if law.has_enumerate_support else "its support is not finite"


def element_mass(law: Distribution, values: jax.Array) -> jax.Array:
    """The probability of each element, whose slopes are right where it is zero."""
    if isinstance(peeled(law), BERNOULLI):
        yes = yes_probability(law)
        return jnp.where(values > 0, yes, 1 - yes)
    if isinstance(peeled(law), CATEGORICAL):
        return _chosen(class_probabilities(law), values)
    return jnp.exp(element_log_prob(law, values))


def _chosen(table: jax.Array, values: jax.Array) -> jax.Array:
    """table[..., k] for each value k."""
    rows = jnp.broadcast_to(table, (*values.shape, table.shape[-1]))
    return jnp.take_along_axis(rows, values[..., None], -1)[..., 0]


def joint_places(shape: tuple[int, ...], size: int, local: tuple[int, ...]) -> np.ndarray:
    """Every choice of values for the elements along distant axes: (ways, *shape), local axes 1."""
    shape = tuple(1 if axis in local else length for axis, length in enumerate(shape))
    elements = math.prod(shape)
    if elements * math.log2(size) > LOG2_WAYS:
        raise EstimatorError(
            f"{elements} elements of {size} values each have {size}^{elements} joint values, too many to enumerate: "
            "sample some of them, with `rloo` for one"
        )
    return np.stack(np.unravel_index(np.arange(size**elements), (size,) * elements), -1).reshape(
        -1, *shape
    )

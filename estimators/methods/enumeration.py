"""Enumeration: E[f(x)] = sum_x p(x) f(x), exactly, for laws of finite support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import Distribution

from .method import Method, Points


@dataclass(frozen=True)
class Enumeration(Method):
    """Along local axes all elements go through the support at once; others are enumerated jointly."""

    name: ClassVar[str] = "enumerate"
    single: ClassVar[bool] = False
    free: ClassVar[bool] = True

    def points(self, key: jax.Array, law: Distribution, local: tuple[int, ...]) -> Points:
        rank = len(law.batch_shape)
        together = tuple(axis for axis in range(rank) if axis not in local)
        support = jnp.reshape(law.enumerate_support(expand=False), -1)
        values = support[_places(law, len(support), local)]
        values = jnp.broadcast_to(values, (values.shape[0], *law.batch_shape))
        log_prob = jnp.sum(law.log_prob(values), tuple(axis + 1 for axis in together))
        return Points(values, weights=jnp.exp(log_prob))

    @classmethod
    def refusal(cls, law: Distribution) -> str:
        return "" if law.has_enumerate_support else "its support is not finite"


def _places(law: Distribution, size: int, local: tuple[int, ...]) -> np.ndarray:
    """Every way to choose a value for each element that is not along a local axis: (ways, *batch), local axes 1."""
    shape = tuple(1 if axis in local else length for axis, length in enumerate(law.batch_shape))
    elements = int(np.prod(shape))
    return np.stack(np.unravel_index(np.arange(size**elements), (size,) * elements), -1).reshape(-1, *shape)

"""Pathwise: x = g(theta, noise), d E[f(x)] = E[f'(x) d g] (DI20, DI23); NumPyro's samplers.

Mirrored pairs of a symmetric distribution have an odd part without variance: E[f(x)] =
E[(f(x) + f(2 centre - x)) / 2]. `antithetic` differentiates the pair's path; `es`, evolution
strategies (CV14), weighs it with its score and needs no derivative of f.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from numpyro import distributions as numpyro_dist
from numpyro.distributions import Distribution

from .distributions import element_shape, kind_of, log_prob, peeled
from .method import Method, Points


@dataclass(frozen=True)
class Pathwise(Method):
    name: ClassVar[str] = "pathwise"

    def points(self, key: Array, dist: Distribution, local: tuple[int, ...]) -> Points:
        return Points(jax.tree.map(lambda x: x[None], _path(dist, key)))

    @classmethod
    def refusal(cls, dist: Distribution) -> str:
        reason = "its draws are no differentiable function of its parameters"
        return "" if _has_path(dist) else reason


DIFFERENTIABLE = (
    numpyro_dist.Levy,
    numpyro_dist.Wishart,
    numpyro_dist.WishartCholesky,
    numpyro_dist.InverseWishart,
    numpyro_dist.InverseWishartCholesky,
)
"""What `sample` draws by a path though NumPyro does not say so, and `rsample` raises.

The matrices are drawn by Bartlett's decomposition, whose gamma draws JAX differentiates by the
degrees of freedom.
"""


def _has_path(dist: Distribution) -> bool:
    return dist.has_rsample or isinstance(peeled(dist), DIFFERENTIABLE)


def _path(dist: Distribution, key: Array) -> Array:
    """A draw, as a differentiable function of the parameters."""
    path: Array = dist.rsample(key) if dist.has_rsample else dist.sample(key)
    return path


CENTRES: dict[type, Callable[[Distribution], Array]] = {
    numpyro_dist.Normal: attrgetter("loc"),
    numpyro_dist.Logistic: attrgetter("loc"),
    numpyro_dist.Cauchy: attrgetter("loc"),
    numpyro_dist.StudentT: attrgetter("loc"),
    numpyro_dist.MultivariateNormal: attrgetter("loc"),
    numpyro_dist.Laplace: attrgetter("loc"),
    numpyro_dist.Uniform: lambda dist: (dist.low + dist.high) / 2,
}
"""What a symmetric distribution is symmetric about; `add_distribution` adds to it."""

KINKED = {numpyro_dist.Laplace, numpyro_dist.Uniform}
"""Symmetric, with a density that is not smooth: a score leaves out what happens there."""


@dataclass(frozen=True)
class Antithetic(Method):
    name: ClassVar[str] = "antithetic"
    single: ClassVar[bool] = False

    def points(self, key: Array, dist: Distribution, local: tuple[int, ...]) -> Points:
        values = _pair(dist.rsample(key), dist)
        return Points(values, weights=_halves(dist, local, values.dtype))

    @classmethod
    def refusal(cls, dist: Distribution) -> str:
        return "" if kind_of(dist) in CENTRES else "it is not symmetric about a known centre"


@dataclass(frozen=True)
class EvolutionStrategies(Method):
    name: ClassVar[str] = "es"
    single: ClassVar[bool] = False

    def points(self, key: Array, dist: Distribution, local: tuple[int, ...]) -> Points:
        values = jax.lax.stop_gradient(_pair(dist.sample(key), dist))
        return Points(
            values,
            weights=_halves(dist, local, values.dtype),
            log_prob=jnp.stack([log_prob(dist, values[0]), log_prob(dist, values[1])]),
        )

    @classmethod
    def refusal(cls, dist: Distribution) -> str:
        reason = "its density is not both smooth and symmetric about a known centre"
        return "" if kind_of(dist) in CENTRES.keys() - KINKED else reason


def _pair(draw: Array, dist: Distribution) -> Array:
    base = peeled(dist)
    centre = CENTRES[kind_of(base)](base)
    return jnp.stack([draw, 2 * jnp.broadcast_to(centre, element_shape(dist)) - draw])


def _halves(dist: Distribution, local: tuple[int, ...], dtype: jnp.dtype) -> Array:
    return jnp.full((2, *(dist.batch_shape[axis] for axis in local)), 1 / 2, dtype)

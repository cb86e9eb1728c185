"""The score function: d E[f] = E[f d log p] (DI06), less a baseline free of x (DI12, DI13)."""

from dataclasses import dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from numpyro import distributions as numpyro_dist
from numpyro.distributions import Distribution, truncated

from .distributions import log_prob, peeled, sample
from .method import Baseline, LeaveOneOut, Method, Points

MOVING_ENDS: list[type] = [
    numpyro_dist.Uniform,
    numpyro_dist.LogUniform,
    numpyro_dist.Pareto,
    truncated.LeftTruncatedDistribution,
    truncated.RightTruncatedDistribution,
    truncated.TwoSidedTruncatedDistribution,
]


@dataclass(frozen=True)
class ScoreFunction(Method):
    name: ClassVar[str] = "sfe"
    baseline: Baseline | None = None  # type: ignore[misc]

    def points(self, key: Array, dist: Distribution, local: tuple[int, ...]) -> Points:
        value = sample(dist, key)
        wanted = self.baseline and self.baseline.squares
        squares = squared_score(dist, value)[None] if wanted else None
        values = jax.tree.map(lambda x: x[None], value)
        return Points(values, log_prob=log_prob(dist, value)[None], squares=squares)

    @classmethod
    def refusal(cls, dist: Distribution) -> str:
        reason = "its ends move with its parameters, which no score sees"
        moves = getattr(peeled(dist), "moving_ends", False)
        return reason if moves or isinstance(peeled(dist), tuple(MOVING_ENDS)) else ""


@dataclass(frozen=True)
class LeaveOneOutScore(ScoreFunction):
    """RLOO: each sample against the mean of the others."""

    name: ClassVar[str] = "rloo"
    baseline: Baseline | None = field(default_factory=LeaveOneOut)  # type: ignore[misc]


def squared_score(dist: Distribution, value: Array) -> Array:
    """|d log p(x) / d parameters|^2 along batch axes; shared parameters share theirs."""
    gradients = jax.grad(lambda dist: jnp.sum(log_prob(dist, value)), allow_int=True)(dist)
    base = dist.base_dist if isinstance(dist, numpyro_dist.ExpandedDistribution) else dist
    rank = len(base.batch_shape)
    total = jnp.zeros(dist.batch_shape)
    for gradient in jax.tree.leaves(gradients):
        if jnp.issubdtype(gradient.dtype, jnp.inexact):
            square = jnp.sum(jnp.square(gradient), tuple(range(rank, gradient.ndim)))
            total += jnp.broadcast_to(square, dist.batch_shape)
    return total

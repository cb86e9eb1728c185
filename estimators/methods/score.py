"""The score function: d E[f] = E[f d log p] (DI06), less a baseline free of x (DI12, DI13)."""

from dataclasses import dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp
from numpyro.distributions import Distribution, ExpandedDistribution, LogUniform, Pareto, Uniform
from numpyro.distributions.truncated import (
    LeftTruncatedDistribution,
    RightTruncatedDistribution,
    TwoSidedTruncatedDistribution,
)

from .baselines import Baseline, LeaveOneOut
from .distributions import log_prob, peeled, sample
from .method import Method, Points

MOVING_ENDS: list[type] = [
    Uniform,
    LogUniform,
    Pareto,
    LeftTruncatedDistribution,
    RightTruncatedDistribution,
    TwoSidedTruncatedDistribution,
]


@dataclass(frozen=True)
class ScoreFunction(Method):
    name: ClassVar[str] = "sfe"
    baseline: Baseline | None = None  # type: ignore[misc]

    def points(self, key: jax.Array, law: Distribution, local: tuple[int, ...]) -> Points:
        value = sample(law, key)
        spread = squared_score(law, value)[None] if self.baseline and self.baseline.spread else None
        return Points(
            jax.tree.map(lambda x: x[None], value),
            log_prob=log_prob(law, value)[None],
            spread=spread,
        )

    @classmethod
    def refusal(cls, law: Distribution) -> str:
        return (
            "its ends move with its parameters, which no score sees"
            if isinstance(peeled(law), tuple(MOVING_ENDS))
            else ""
        )


@dataclass(frozen=True)
class LeaveOneOutScore(ScoreFunction):
    """RLOO: each sample against the mean of the others."""

    name: ClassVar[str] = "rloo"
    baseline: Baseline | None = field(default_factory=LeaveOneOut)  # type: ignore[misc]


def squared_score(law: Distribution, value: jax.Array) -> jax.Array:
    """|d log p(x) / d parameters|^2 along batch axes; shared parameters share theirs."""
    slopes = jax.grad(lambda law: jnp.sum(log_prob(law, value)), allow_int=True)(law)
    rank = len(
        law.base_dist.batch_shape if isinstance(law, ExpandedDistribution) else law.batch_shape
    )
    total = jnp.zeros(law.batch_shape)
    for slope in jax.tree.leaves(slopes):
        if jnp.issubdtype(slope.dtype, jnp.inexact):
            square = jnp.sum(jnp.square(slope), tuple(range(rank, slope.ndim)))
            total += jnp.broadcast_to(square, law.batch_shape)
    return total

"""What is subtracted from the costs before they weigh a score: anything that does not depend on the
sample itself.

E[(f(x) - b) d log p(x)] = E[f(x) d log p(x)] for every b that is independent of x.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Baseline(ABC):
    """`needs`: how many samples it takes at least. `spread`: it wants the squared scores.

    `start`: what it remembers before the first costs, where it remembers anything.
    """

    needs: ClassVar[int] = 1
    spread: ClassVar[bool] = False
    start: ClassVar[float | None] = None

    @abstractmethod
    def values(
        self, costs: jax.Array, axis: int | None, spread: jax.Array | None, state: Any
    ) -> jax.Array:
        """One number for each sample, broadcast against the costs; the samples are along `axis`."""

    def update(self, costs: jax.Array, state: Any) -> Any:
        """The state after these costs have been seen."""
        return state


@dataclass(frozen=True)
class Constant(Baseline):
    value: float = 0.0

    def values(
        self, costs: jax.Array, axis: int | None, spread: jax.Array | None, state: Any
    ) -> jax.Array:
        return jnp.full_like(costs, self.value)


@dataclass(frozen=True)
class Moving(Baseline):
    """b = the average of earlier costs, updated after use: s' = decay s + (1 - decay) mean(f)."""

    decay: float = 0.9
    start: ClassVar[float | None] = 0.0

    def values(
        self, costs: jax.Array, axis: int | None, spread: jax.Array | None, state: Any
    ) -> jax.Array:
        return jnp.broadcast_to(jnp.asarray(state, costs.dtype), costs.shape)

    def update(self, costs: jax.Array, state: Any) -> Any:
        return self.decay * state + (1 - self.decay) * jnp.mean(costs)


@dataclass(frozen=True)
class LeaveOneOut(Baseline):
    """b_i = the mean of the costs of the other samples: (sum - f_i) / (n - 1)."""

    needs: ClassVar[int] = 2

    def values(
        self, costs: jax.Array, axis: int | None, spread: jax.Array | None, state: Any
    ) -> jax.Array:
        assert axis is not None
        count = costs.shape[axis]
        return (jnp.sum(costs, axis, keepdims=True) - costs) / (count - 1)


@dataclass(frozen=True)
class Optimal(Baseline):
    """b_i = sum_j s_j f_j / sum_j s_j over the others j, s = |d log p|^2: least variance."""

    needs: ClassVar[int] = 2
    spread: ClassVar[bool] = True

    def values(
        self, costs: jax.Array, axis: int | None, spread: jax.Array | None, state: Any
    ) -> jax.Array:
        assert axis is not None
        assert spread is not None
        total = jnp.sum(spread * costs, axis, keepdims=True) - spread * costs
        weight = jnp.sum(spread, axis, keepdims=True) - spread
        return jnp.where(weight > 0, total / jnp.where(weight > 0, weight, 1.0), 0.0)

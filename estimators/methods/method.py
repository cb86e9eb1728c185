"""What an estimator is: how a draw becomes weighted points that carry all derivatives.

E[f(x)] is estimated by sum over points of weight * f(value). The value of that sum must be an
unbiased estimate, and so must its derivatives, up to the `order` that the method claims.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from numpyro.distributions import Distribution

# ---- What is subtracted from costs without changing their mean: baselines and control variates
#
# E[(f(x) - b) d log p(x)] = E[f(x) d log p(x)] for every b that is independent of x, and E[f - a
# (h - E[h])] = E[f] for every a that is independent of h (DI14).


class SeenCosts(NamedTuple):
    """Costs with the samples along `axis`, their squared scores if wanted, what is remembered."""

    costs: Array
    axis: int | None
    squares: Array | None
    state: Any


@dataclass(frozen=True)
class Baseline(ABC):
    """`needs` so many samples; `squares`: wants the squared scores; `start`: its first memory."""

    needs: ClassVar[int] = 1
    squares: ClassVar[bool] = False
    start: ClassVar[float | None] = None

    @abstractmethod
    def values(self, seen: SeenCosts) -> Array:
        """One number for each sample, broadcast against the costs."""

    def update(self, costs: Array, state: Any) -> Any:
        """The state after these costs have been seen."""
        return state


@dataclass(frozen=True)
class Constant(Baseline):
    value: float = 0.0

    def values(self, seen: SeenCosts) -> Array:
        return jnp.full_like(seen.costs, self.value)


@dataclass(frozen=True)
class Moving(Baseline):
    """b = the average of earlier costs, updated after use: s' = decay s + (1 - decay) mean(f)."""

    decay: float = 0.9
    start: ClassVar[float | None] = 0.0

    def values(self, seen: SeenCosts) -> Array:
        return jnp.broadcast_to(jnp.asarray(seen.state, seen.costs.dtype), seen.costs.shape)

    def update(self, costs: Array, state: Any) -> Any:
        return self.decay * state + (1 - self.decay) * jnp.mean(costs)


@dataclass(frozen=True)
class LeaveOneOut(Baseline):
    """b_i = the mean of the costs of the other samples: (sum - f_i) / (n - 1)."""

    needs: ClassVar[int] = 2

    def values(self, seen: SeenCosts) -> Array:
        assert seen.axis is not None
        total = jnp.sum(seen.costs, seen.axis, keepdims=True)
        return (total - seen.costs) / (seen.costs.shape[seen.axis] - 1)


@dataclass(frozen=True)
class Optimal(Baseline):
    """b_i = sum_j s_j f_j / sum_j s_j over the others j, s = |d log p|^2: least variance."""

    needs: ClassVar[int] = 2
    squares: ClassVar[bool] = True

    def values(self, seen: SeenCosts) -> Array:
        costs, axis, squares, _ = seen
        assert axis is not None
        assert squares is not None
        total = jnp.sum(squares * costs, axis, keepdims=True) - squares * costs
        weight = jnp.sum(squares, axis, keepdims=True) - squares
        return jnp.where(weight > 0, total / jnp.where(weight > 0, weight, 1.0), 0.0)


def control_variate(cost: Array, variate: Array, mean: Array, coefficient: Array | float) -> Array:
    return cost - coefficient * (variate - mean)


def leave_one_out_coefficient(costs: Array, variates: Array, axis: int = 0) -> Array:
    """a_i = cov(f, h) / var(h) over the other samples, of least variance; 0 if h is constant."""
    count = costs.shape[axis]
    if count < 3:
        raise ValueError(
            "a coefficient without one's own sample takes at least 3 samples, and there are "
            f"{count}"
        )
    f, h = jax.lax.stop_gradient((costs - jnp.mean(costs, axis, keepdims=True), variates))
    h = h - jnp.mean(h, axis, keepdims=True)
    joint = _without_own(f, h, axis)
    own = _without_own(h, h, axis)
    return jnp.where(own > 0, joint / jnp.where(own > 0, own, 1), 0)


def _without_own(f: Array, h: Array, axis: int) -> Array:
    """sum_{j != i} (f_j - mean f)(h_j - mean h) with means over j != i, for centred f and h."""
    count = f.shape[axis]
    return jnp.sum(f * h, axis, keepdims=True) - f * h * count / (count - 1)


class Points(NamedTuple):
    """`values[m]` is a draw of all elements; `weights[m]` has the draw's local axes (None for 1).
    The weight of an element is multiplied by the magic box of its `log_prob[m]`. `squares` is the
    squared length of its score, for baselines that ask for it.
    """

    values: Any
    weights: Array | None = None
    log_prob: Array | None = None
    squares: Array | None = None


@dataclass(frozen=True)
class Method(ABC):
    """One way to differentiate a draw. `single`: there is one point, with no axis for points.
    `free`: the values do not depend on the parameters, so are the same for all parents. `order`: up
    to which derivative the estimate is unbiased; 0 where it is biased, as `bias` says. `relaxed`:
    values are real where the draw has truth values, on the simplex where it has an index.
    """

    name: ClassVar[str]
    single: ClassVar[bool] = True
    free: ClassVar[bool] = False
    order: ClassVar[int] = 2
    bias: ClassVar[str] = ""
    relaxed: ClassVar[bool] = False
    baseline: ClassVar[Baseline | None] = None

    @abstractmethod
    def points(self, key: Array, dist: Distribution, local: tuple[int, ...]) -> Points:
        """Points of one draw; along the batch axes `local` all downstream is elementwise."""

    @classmethod
    @abstractmethod
    def refusal(cls, dist: Distribution) -> str:
        """Why the method is not for this distribution; empty when it is."""


class EstimatorError(ValueError):
    """A program that cannot be estimated as asked; the message says what to do."""

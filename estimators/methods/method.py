"""What an estimator is: how a draw becomes weighted points that carry all derivatives.

E[f(x)] is estimated by sum over points of weight * f(value). The value of that sum must be an
unbiased estimate, and so must its derivatives, up to the `order` that the method claims.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
from numpyro.distributions import Distribution

from .baselines import Baseline


class Points(NamedTuple):
    """`values[m]` is a draw of all elements; `weights[m]` has the draw's local axes (None for 1).
    The weight of an element is multiplied by the magic box of its `log_prob[m]`. `squares` is the
    squared length of its score, for baselines that ask for it.
    """

    values: Any
    weights: jax.Array | None = None
    log_prob: jax.Array | None = None
    squares: jax.Array | None = None


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
    def points(self, key: jax.Array, dist: Distribution, local: tuple[int, ...]) -> Points:
        """Points of one draw; along the batch axes `local` all downstream is elementwise."""

    @classmethod
    @abstractmethod
    def refusal(cls, dist: Distribution) -> str:
        """Why the method is not for this distribution; empty when it is."""

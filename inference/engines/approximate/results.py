"""What an approximate method found, and what can be said of it; never passed off as exact."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError
from ...factors.factor_graph import Floats, Name
from ..numpy.decisions import Configuration
from ..numpy.functionals import Moments

BoundKind = Literal["estimate", "lower bound", "upper bound", "exact"]


class NotSubmodularError(InferenceError):
    """A model that minimum cuts cannot answer; the message names the factor."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """Answers to questions: a method gives some of them; `errors` are standard errors."""

    marginals: Mapping[Name, Floats] | None = None
    errors: Mapping[Name, Floats] | None = None
    mode: Configuration | None = None
    log_partition: float | None = None
    log_partition_error: float | None = None
    entropy: float | None = None
    samples: Mapping[Name, NDArray[np.intp]] | None = None
    joint: Floats | None = None
    joint_errors: Floats | None = None
    moments: Moments | None = None
    mean_error: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Approximation(Findings):
    """What a method gives, and how far it got: `residual` is its last change, in the measure that
    `measure` names. `guarantee` says what the numbers are; `is_exact`, that they are shown right.
    """

    method: str
    guarantee: str
    is_exact: bool = False
    converged: bool
    iterations: int
    residual: float
    measure: str = "largest change of a message"
    log_partition_is: BoundKind = "estimate"

    def __str__(self) -> str:
        state = "converged" if self.converged else "NOT converged"
        parts = [f"{state} after {self.iterations} iterations ({self.measure} {self.residual:.2g})"]
        if self.mode is not None:
            parts.append(f"log-score {self.mode.log_score:.6g}")
        if self.log_partition is not None:
            error = (
                "" if self.log_partition_error is None else f" +- {self.log_partition_error:.2g}"
            )
            parts.append(f"log-partition {self.log_partition:.6g}{error} ({self.log_partition_is})")
        return f"{self.method}: {self.guarantee}; {', '.join(parts)}"

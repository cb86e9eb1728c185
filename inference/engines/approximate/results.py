"""What an approximate method found, and what can be said of it; never passed off as exact."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError
from ...factors.factor_graph import Floats, Name
from ..numpy.decisions import Configuration
from ..numpy.functionals import Moments

BoundKind = Literal["estimate", "lower bound", "upper bound", "exact"]
SMALLEST = 1e-300


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
            given = self.log_partition_error
            error = "" if given is None else f" +- {given:.2g}"
            parts.append(f"log-partition {self.log_partition:.6g}{error} ({self.log_partition_is})")
        return f"{self.method}: {self.guarantee}; {', '.join(parts)}"


# ---- Split R-hat and effective sample size of many quantities at once, in NumPy


class Diagnosis(NamedTuple):
    """One entry per quantity."""

    mean: Floats
    standard_error: Floats
    effective_size: Floats
    r_hat: Floats


def diagnose(draws: Floats) -> Diagnosis:
    """`draws[draw, chain, quantity]`; se = sd / sqrt(ess), zero of a quantity that never moves;
    R-hat = sqrt(((n - 1) / n W + B / n) / W), infinite for constant halves of chains that differ.
    """
    half = draws.shape[0] // 2
    split = np.concatenate([draws[:half], draws[draws.shape[0] - half :]], axis=1)
    count = draws.shape[0] * draws.shape[1]
    size = effective_size(split)
    variance = draws.reshape(count, -1).var(axis=0)
    n = split.shape[0]
    within = split.var(axis=0, ddof=1).mean(axis=0)
    between = split.mean(axis=0).var(axis=0, ddof=1)
    pooled = (n - 1) / n * within + between
    ratio = np.sqrt(pooled / np.maximum(within, SMALLEST))
    r_hat = np.where(pooled <= SMALLEST, 1.0, np.where(within <= SMALLEST, np.inf, ratio))
    return Diagnosis(draws.mean(axis=(0, 1)), np.sqrt(variance / size), size, r_hat)


def effective_size(split: Floats) -> Floats:
    """n m / (1 + 2 sum_t rho_t), summed while sums of neighbours are positive and fall (Geyer)."""
    n, m = split.shape[:2]
    centred = split - split.mean(axis=0)[None]
    spectrum = np.fft.rfft(centred, 2 * n, axis=0)  # c_t = 1/n sum_i (x_i - mean)(x_i+t - mean)
    covariance = (np.fft.irfft(np.abs(spectrum) ** 2, 2 * n, axis=0)[:n] / n).mean(axis=1)
    within = covariance[0] * n / (n - 1)
    pooled = covariance[0] + split.mean(axis=0).var(axis=0, ddof=1)
    rho = 1 - (within[None] - covariance) / np.maximum(pooled, SMALLEST)[None]
    rho[0] = 1.0
    pairs = rho[: n // 2 * 2].reshape(n // 2, 2, -1).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    falling = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    time = np.maximum(2 * falling.sum(axis=0) - 1, 1 / np.log10(n * m + 10))
    size: Floats = np.where(pooled <= SMALLEST, n * m, n * m / time)
    return size

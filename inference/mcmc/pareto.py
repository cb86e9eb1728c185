"""Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao, Gabry 2024), by ArviZ.

The largest of S weights follow a generalised Pareto distribution with shape k; they are replaced
by its quantiles, and k says how far the estimates can be trusted: below 0.7 they can.
"""

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from .container import az

Array = np.ndarray[Any, Any]

TRUSTED = 0.7
EQUAL = 1e-6


class SmoothedWeights(NamedTuple):
    """`log_weights` add up to one."""

    log_weights: Array
    k: float

    @property
    def effective(self) -> float:
        """1 / sum of squared weights."""
        return float(1 / np.sum(np.exp(2 * self.log_weights)))


def smooth_weights(log_ratios: Array) -> SmoothedWeights:
    """Equal weights have no tail; where no weight is above zero, none can be trusted."""
    level = np.full(len(log_ratios), -np.log(len(log_ratios)))
    if not np.isfinite(np.max(log_ratios)):
        return SmoothedWeights(level, np.inf)
    logs = np.asarray(log_ratios, float) - np.max(log_ratios)
    if np.min(logs) > -EQUAL:
        return SmoothedWeights(level, -np.inf)
    with np.errstate(over="ignore"):  # a shape whose weight is 1 / infinity has none
        if az.__version__.startswith("0."):
            weights, k = az.psislw(logs)
        else:
            # Version 1 takes log likelihoods, whose inverses are the ratios of leave-one-out.
            weights, k = import_module("arviz_stats.base").array_stats.psislw(-logs)
    return SmoothedWeights(np.asarray(weights), float(k))

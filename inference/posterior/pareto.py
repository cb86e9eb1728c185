"""Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao, Gabry 2024).

The largest of S weights are those of a generalised Pareto law with shape k; they are replaced by its quantiles, and k
says how far the estimates can be trusted: below 0.7 they can.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

TRUSTED = 0.7
EQUAL = 1e-6


class Smoothed(NamedTuple):
    """`log_weights` add up to one."""

    log_weights: Array
    k: float

    @property
    def effective(self) -> float:
        """1 / sum of squared weights."""
        return float(1 / np.sum(np.exp(2 * self.log_weights)))


def smooth_weights(log_ratios: Array) -> Smoothed:
    """The tail is min(S/5, 3 sqrt(S)) weights long; fewer than 5 are left as they are, equal weights have no tail.

    Where no weight is above zero, none can be trusted.
    """
    if not np.isfinite(np.max(log_ratios)):
        return Smoothed(np.full(len(log_ratios), -np.log(len(log_ratios))), np.inf)
    logs = np.asarray(log_ratios, float) - np.max(log_ratios)
    if np.min(logs) > -EQUAL:
        return Smoothed(np.full(len(logs), -np.log(len(logs))), -np.inf)
    length = int(np.ceil(min(len(logs) / 5, 3 * np.sqrt(len(logs)))))
    cut = max(float(np.sort(logs)[-length - 1]), float(np.log(np.finfo(float).tiny)))
    tail = np.flatnonzero(logs > cut)
    tail = tail[np.argsort(logs[tail])]
    k = np.inf
    if len(tail) >= 5:
        k, scale = fit_pareto(np.exp(logs[tail]) - np.exp(cut))
        ranks = (np.arange(len(tail)) + 0.5) / len(tail)
        logs[tail] = np.minimum(np.log(pareto_quantile(ranks, k, scale) + np.exp(cut)), 0.0)
    return Smoothed(logs - _log_sum(logs), float(k))


def fit_pareto(excess: Array) -> tuple[float, float]:
    """Shape k and scale by the posterior mean of Zhang and Stephens (2009), shrunk towards k = 1/2 as by ten points.

    `excess` increases. With b on a grid, k(b) = mean log(1 - b x) and the profile likelihood weighs the b.
    """
    n = len(excess)
    count = 30 + int(np.sqrt(n))
    quartile = excess[int(n / 4 + 0.5) - 1]
    grid = (1 - np.sqrt(count / (np.arange(1, count + 1) - 0.5))) / (3 * quartile) + 1 / excess[-1]
    shapes = np.log1p(-grid[:, None] * excess).mean(axis=1)
    likelihood = n * (np.log(-grid / shapes) - shapes - 1)
    weights = np.exp(likelihood - _log_sum(likelihood))
    b = float(np.sum(grid * weights))
    k = float(np.log1p(-b * excess).mean())
    return (n * k + 10 * 0.5) / (n + 10), -k / b


def pareto_quantile(p: Array, k: float, scale: float) -> Array:
    found: Array = scale * (np.expm1(-k * np.log1p(-p)) / k if abs(k) > 1e-12 else -np.log1p(-p))
    return found


def _log_sum(logs: Array) -> float:
    top = np.max(logs)
    return float(top + np.log(np.sum(np.exp(logs - top))))

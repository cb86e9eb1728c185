"""Proximal operators and Moreau envelopes in NumPy, case by case; vectors by trying every set of
entries.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

Array = np.ndarray


def relu_case(x: Array, t: Array) -> Array:
    return np.where(x < 0, x, np.where(x <= t, 0, x - t))


def barrier(x: Array, t: Array) -> Array:
    return (x + np.sqrt(x**2 + 4 * t)) / 2


def onto_l1_ball(x: Array, r: float) -> Array:
    """The entries of some set are moved by one amount towards 0, all others are 0: the nearest such
    point.
    """
    if abs(x).sum() <= r:
        return x
    best = np.zeros_like(x)
    for size in range(1, len(x) + 1):
        for kept in map(list, combinations(range(len(x)), size)):
            y = np.zeros_like(x)
            sizes = abs(x[kept]) - (abs(x[kept]).sum() - r) / size
            y[kept] = np.sign(x[kept]) * sizes
            if sizes.min() >= 0 and np.sum((x - y) ** 2) < np.sum((x - best) ** 2):
                best = y
    return best


def onto_simplex(x: Array) -> Array:
    nearest, best = x, np.inf
    for size in range(1, len(x) + 1):
        for kept in map(list, combinations(range(len(x)), size)):
            p = np.zeros_like(x)
            p[kept] = x[kept] + (1 - x[kept].sum()) / size
            if p.min() >= 0 and np.sum((p - x) ** 2) < best:
                nearest, best = p, np.sum((p - x) ** 2)
    return nearest


def at_prox(
    f: Callable[[Array], float], prox: Callable[[Array, float], Array]
) -> Callable[[Array, float], float]:
    """t f(u) + |x - u|^2 / 2 at the proximal point."""

    def envelope(x: Array, t: float) -> float:
        u = prox(x, t)
        return t * f(u) + np.sum((x - u) ** 2) / 2

    return envelope


def max_prox(x: Array, t: float) -> Array:
    return x - t * onto_simplex(x / t)


def shorten(x: Array, t: float) -> Array:
    return x * max(1 - t / np.linalg.norm(x), 0)


ENVELOPES: dict[str, Callable[..., Array]] = {
    "branch_variance": lambda x: 0.0 * x,
    "prox_relu": relu_case,
    "moreau_relu": lambda x, t: t * np.maximum(relu_case(x, t), 0) + (x - relu_case(x, t)) ** 2 / 2,
    "prox_barrier": barrier,
    "moreau_barrier": lambda x, t: -t * np.log(barrier(x, t)) + (x - barrier(x, t)) ** 2 / 2,
    "hard_threshold": lambda x, t: x * (abs(x) > t),
    "truncated_square": lambda x, t: np.minimum(x**2, t**2) / 2,
    "moreau_interval": lambda x, low, high: (
        np.maximum(low - x, 0) ** 2 / 2 + np.maximum(x - np.maximum(low, high), 0) ** 2 / 2
    ),
    "moreau_norm": at_prox(np.linalg.norm, shorten),
    "prox_max": max_prox,
    "moreau_max": at_prox(np.max, max_prox),
    "prox_norm_inf": lambda x, t: x - onto_l1_ball(x, t),
    "moreau_norm_inf": at_prox(lambda u: abs(u).max(), lambda x, t: x - onto_l1_ball(x, t)),
    "project_ball": lambda x, r: x / max(np.linalg.norm(x) / r, 1),
    "moreau_ball": lambda x, r: max(np.linalg.norm(x) - r, 0) ** 2 / 2,
    "project_l1_ball": onto_l1_ball,
    "moreau_simplex": lambda x: np.sum((x - onto_simplex(x)) ** 2) / 2,
}

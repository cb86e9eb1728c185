"""k-means++ (Arthur and Vassilvitskii 2007), where some rows may have known clusters."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
ROUNDS = 10
MOST_ROWS = 20_000
"""Rows that centres are found from; all are assigned."""


def assign(features: Array, known: Array, count: int, rng: np.random.Generator) -> Array:
    """The cluster of each row, numbered by their first feature; random where there is none.
    Every other time rows also stand by how far out they are: states may differ in spread alone.
    """
    scaled = standardised(features)
    if not scaled.shape[1]:
        return np.where(known >= 0, known, rng.integers(0, count, len(known)))
    if rng.random() < 1 / 3:
        scaled = np.concatenate([scaled, np.abs(scaled)], axis=1)
    few = scaled
    if len(scaled) > MOST_ROWS:
        few = scaled[rng.choice(len(scaled), MOST_ROWS, replace=False)]
    centres = first_centres(scaled, few, known, count, rng)
    for _ in range(ROUNDS):
        nearest = distances(few, centres).argmin(axis=1)
        for k in set(nearest) - set(known):
            centres[k] = few[nearest == k].mean(axis=0)
    if not (known >= 0).any():
        centres = centres[np.lexsort(centres.T[::-1])]
    chosen = distances(scaled, centres).argmin(axis=1)
    return np.where(known >= 0, known, chosen)


def standardised(features: Array) -> Array:
    """Mean zero and standard deviation one; what is missing is at the mean."""
    rows = features[:, ~np.isnan(features).all(axis=0)]
    spread = np.nanstd(rows, axis=0)
    kept = spread > 0
    scaled = (rows[:, kept] - np.nanmean(rows[:, kept], axis=0)) / spread[kept]
    return np.asarray(np.nan_to_num(scaled))


def first_centres(
    rows: Array, few: Array, known: Array, count: int, rng: np.random.Generator
) -> Array:
    """Each far from those before it; clusters that are known are at their means."""
    centres = np.full((count, rows.shape[1]), np.nan)
    for k in set(known[known >= 0]):
        centres[k] = rows[known == k].mean(axis=0)
    for k in np.flatnonzero(np.isnan(centres).any(axis=1)):
        there = centres[~np.isnan(centres).any(axis=1)]
        weights = np.ones(len(few))
        if len(there):
            weights = distances(few, there).min(axis=1)
        total = weights.sum()
        share = weights / total if total > 0 else np.full(len(few), 1 / len(few))
        centres[k] = few[rng.choice(len(few), p=share)]
    return centres


def distances(rows: Array, centres: Array) -> Array:
    """Squared, [rows, centres]."""
    cross = rows @ centres.T
    squares = np.sum(rows**2, axis=1)[:, None] + np.sum(centres**2, axis=1) - 2 * cross
    return np.asarray(np.maximum(squares, 0))

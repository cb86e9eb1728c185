"""raw = centre + scale * free: parameters in units in which the loss curves by one for each datum.

A certificate that the gradient is small means nothing where data are in unknown units: with means
of 1e4 and standard deviations of 1e-3 it never holds, with both at 1e6 it holds everywhere. In the
units

    scale[k] = sqrt(count / |H[k, k]|)

an entry of the gradient, over the root of the count, is a distance from the minimum in standard
errors. The diagonal of H comes from differences of gradients, entry by entry where they are few,
else from random directions, one number for each leaf (Hutchinson).
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from .lbfgs import flatten, unflatten, value_and_gradient
from .method import Array

FEW = 40
"""Entries up to which each has a scale of its own."""
PROBES = 4
FIRST, STEP = 1e-5, 1e-3
"""Lengths of differences: relative to the entry, and then in the units that were found."""
NO_CURVATURE = 1e-12


class Units(NamedTuple):
    """Like the parameters, both."""

    centre: Any
    scale: Any


def plain_units(raw: Any) -> Units:
    return Units(jax.tree.map(np.zeros_like, raw), jax.tree.map(np.ones_like, raw))


def to_raw(free: Any, units: Units) -> Any:
    return jax.tree.map(lambda f, c, s: c + s * f, free, units.centre, units.scale)


def to_free(raw: Any, units: Units) -> Any:
    return jax.tree.map(lambda r, c, s: (r - c) / s, raw, units.centre, units.scale)


def in_units(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function(raw, data)` as one of free parameters and of the pair of units and data."""

    def scaled(free: Any, known: Any) -> Any:
        units, data = known
        return function(to_raw(free, units), data)

    return scaled


def find_units(
    loss: Callable[..., Any], raw: Any, data: Any, count: int, largest: Any = None
) -> Units:
    """At `raw`, for a loss that `in_units` made; no scale is above `largest`, like raw."""
    point = flatten(raw)
    most = np.full(point.size, np.inf) if largest is None else flatten(largest)
    gradient_at = partial(_gradient_at, loss, raw, data)
    lengths = FIRST * np.maximum(1.0, np.abs(point))
    scale = np.ones(point.size)
    for _ in range(2):
        with np.errstate(all="ignore"):  # what is not finite says nothing
            curvature = np.nan_to_num(_curvature(gradient_at, point, lengths, raw), posinf=0.0)
            known = curvature > NO_CURVATURE * curvature.max(initial=0.0)
            scale = np.where(known, np.sqrt(count / curvature), 1.0)
        scale = np.minimum(scale, most)
        lengths = STEP * scale
    return Units(raw, unflatten(scale, raw))


def _gradient_at(loss: Callable[..., Any], like: Any, data: Any, point: Array) -> Array:
    units = plain_units(like)
    return flatten(value_and_gradient(loss, unflatten(point, like), (units, data))[1])


def _curvature(
    gradient_at: Callable[[Array], Array], point: Array, lengths: Array, like: Any
) -> Array:
    """The absolute diagonal of the Hessian, or its mean over each leaf."""
    if point.size <= FEW:
        steps = np.diag(lengths)
        changes = [gradient_at(point + step) - gradient_at(point - step) for step in steps]
        return np.abs(np.diagonal(np.array(changes)) / (2 * lengths))
    rng = np.random.default_rng(0)
    total = np.zeros(point.size)
    for _ in range(PROBES):
        step = lengths * rng.choice([-1.0, 1.0], point.size)
        change = gradient_at(point + step) - gradient_at(point - step)
        total += change / (2 * step) / PROBES
    leaves = unflatten(total, like)
    return flatten(jax.tree.map(lambda leaf: np.full(leaf.shape, np.abs(leaf.mean())), leaves))

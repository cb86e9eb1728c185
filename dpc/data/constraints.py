"""What constrained arrays must satisfy, within a tolerance: one row for each constraint."""

from collections.abc import Callable

import numpy as np

from .raw import Array, Mask

TOLERANCE = 1e-6


def _sums_to_one(x: Array) -> Mask:
    return np.asarray((np.abs(x.sum(-1) - 1) <= TOLERANCE) & (x >= -TOLERANCE).all(-1))


def _increases(x: Array) -> Mask:
    return np.asarray((np.diff(x) > 0).all(-1))


def _increases_above_zero(x: Array) -> Mask:
    return _increases(x) & (x > 0).all(-1)


def _has_length_one(x: Array) -> Mask:
    return np.asarray(np.abs(np.sqrt((x**2).sum(-1)) - 1) <= TOLERANCE)


def _is_triangular(x: Array) -> Mask:
    above = np.abs(np.triu(x, 1)).max((-2, -1), initial=0)
    return np.asarray((above <= TOLERANCE) & (_diagonal(x) > 0).all(-1))


def _is_triangular_with_unit_rows(x: Array) -> Mask:
    return _is_triangular(x) & _has_length_one(x).all(-1)


def _is_positive_definite(x: Array) -> Mask:
    scale = np.maximum(1, np.abs(x).max((-2, -1), initial=0))
    finite = np.isfinite(scale)
    tame = np.where(finite[..., None, None], x, 0)
    skew = np.abs(tame - np.swapaxes(tame, -1, -2)).max((-2, -1), initial=0)
    return np.asarray(finite & (skew <= TOLERANCE * scale) & (np.linalg.eigvalsh(tame) > 0).all(-1))


def _is_correlation(x: Array) -> Mask:
    return np.asarray(_is_positive_definite(x) & (np.abs(_diagonal(x) - 1) <= TOLERANCE).all(-1))


def _diagonal(x: Array) -> Array:
    return np.diagonal(x, axis1=-2, axis2=-1)


# In words, and asked of arrays with leading axes, for each of which the test answers.
CONSTRAINTS: dict[str, tuple[str, Callable[[Array], Mask]]] = {
    "simplex": ("not negative, with sum 1", _sums_to_one),
    "ordered": ("in increasing order", _increases),
    "positive_ordered": ("positive and in increasing order", _increases_above_zero),
    "unit_vector": ("of length 1", _has_length_one),
    "cholesky": ("lower triangular with a positive diagonal", _is_triangular),
    "corr_cholesky": ("lower triangular with rows of length 1", _is_triangular_with_unit_rows),
    "covariance": ("symmetric and positive definite", _is_positive_definite),
    "correlation": ("symmetric and positive definite with ones on the diagonal", _is_correlation),
}

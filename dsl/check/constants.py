"""Whether arrays that are written out keep to what a distribution or a function asks of them."""

from __future__ import annotations

import numpy as np

from ..graph.facts import Numbers


def keeps(numbers: Numbers, word: str) -> bool:
    """Whether these numbers are a simplex, a covariance matrix, and so on."""
    rule = _RULES.get(word)
    return rule is None or rule(np.array(numbers))


def _is_covariance(x: np.ndarray) -> bool:
    return np.allclose(x, x.mT) and bool(np.all(np.linalg.eigvalsh(x) > 0))


def _is_cholesky(x: np.ndarray) -> bool:
    diagonal = np.diagonal(x, axis1=-2, axis2=-1)
    return np.array_equal(x, np.tril(x)) and bool(np.all(diagonal > 0))


def _is_ordered(x: np.ndarray) -> bool:
    return bool(np.all(np.diff(x) > 0))


def _is_simplex(x: np.ndarray) -> bool:
    return bool(np.all(x >= 0)) and np.allclose(x.sum(axis=-1), 1)


def _is_invertible(x: np.ndarray) -> bool:
    return bool(np.all(np.linalg.matrix_rank(x) == x.shape[-1]))


_RULES = {
    "invertible": _is_invertible,
    "simplex": _is_simplex,
    "ordered": _is_ordered,
    "positive_ordered": _is_ordered,
    "covariance": _is_covariance,
    "correlation": _is_covariance,
    "cholesky": _is_cholesky,
}

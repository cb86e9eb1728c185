"""Families of one natural parameter eta in NumPy, for regressions that compile nothing."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, gammaln

Array = np.ndarray[Any, Any]


class Link(NamedTuple):
    """A of eta and A', A' of eta, A'' of A', and what does not depend on eta: -log h(y)."""

    value: Callable[[Array, Array], Array]
    mean: Callable[[Array], Array]
    variance: Callable[[Array], Array]
    base: Callable[[Array], Array]


def _softplus(eta: Array, p: Array) -> Array:
    """log(1 + exp(eta)) from p = logistic(eta): log1p(exp(-|eta|)) is -log max(p, 1 - p)."""
    return np.asarray(np.maximum(eta, 0) - np.log(np.maximum(p, 1 - p)))


# Normal is that of scale one
LINKS = {
    "Bernoulli": Link(_softplus, expit, lambda p: p * (1 - p), np.zeros_like),
    "Poisson": Link(lambda _, mean: mean, np.exp, lambda mean: mean, lambda y: gammaln(y + 1)),
    "Normal": Link(lambda e, _: e**2 / 2, lambda e: e, np.ones_like, lambda y: y**2 / 2),
}

"""The record of an exponential family: p(x) = h(x) exp(<natural, T(x)> - A(natural)) (PL15).

The functions of a row are written for one point: a value has the shape of one draw, natural and
mean parameters are vectors of the same length. `features.py` and its neighbours carry them over
leading axes. Every row is minimal: its statistics are affinely independent, so the natural
parameters are unique and the Hessian of A is positive definite.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp

from ..errors import InferenceError

Array = Any
Usual = dict[str, Array]


@dataclass(frozen=True, eq=False)
class ConjugatePrior:
    """The prior exp(<theta, statistic> - sum_j counts_j A_j(theta)) of theta, sum_j A_j = A. With
    more than one piece A_j it is larger than the canonical family and updated as easily. The
    normaliser is that of the density of the natural parameters, not of the usual ones.
    """

    name: str
    of: str
    pieces: Callable[[Array], Array]
    log_normaliser: Callable[[Array, Array], Array]
    from_usual: Callable[..., tuple[Array, Array]]
    to_usual: Callable[[Array, Array], Usual]
    usual_ndims: Mapping[str, int]


def positive_first(mean: Array) -> Array:
    """The slack of a family whose only mean is any positive number."""
    return (mean[0] > 0).astype(mean.dtype)


def only_itself(x: Array) -> Array:
    return x[None]


def zero_like(theta: Array) -> Array:
    return jnp.zeros((), theta.dtype)


def all_finite(theta: Array) -> Array:
    return jnp.isfinite(theta).all()


@dataclass(frozen=True, eq=False)
class Family:
    """A row. `slack(mean)`, relative, is positive inside the set of means and not on its boundary.
    `natural_of_mean` inverts the gradient of A, or `start(mean)` is where Newton's method begins.
    `examples` are usual parameters on which the identities of the row are tested.
    """

    name: str
    support: str
    contains: Callable[[Array], Array]
    log_partition: Callable[[Array], Array]
    slack: Callable[[Array], Array]
    from_usual: Callable[..., Array]
    to_usual: Callable[[Array], Usual]
    usual_ndims: Mapping[str, int]
    examples: tuple[Mapping[str, Any], ...]
    event_ndim: int = 0
    statistic: Callable[[Array], Array] = only_itself
    log_base: Callable[[Array], Array] = jnp.zeros_like
    mean_log_base: Callable[[Array], Array] = zero_like
    in_domain: Callable[[Array], Array] = all_finite
    natural_of_mean: Callable[[Array], Array] | None = None
    start: Callable[[Array], Array] | None = None
    conjugate: ConjugatePrior | None = None
    known: Mapping[str, Any] = field(default_factory=dict)


class NoMaximumError(InferenceError):
    """The mean of the statistics is not inside the set of means: no maximum exists."""


class OutsideSupportError(InferenceError):
    """An observation that has density zero whatever the parameters."""


class NotConvergedError(InferenceError):
    """Newton's method stopped without a certificate."""


class NoClosedFormError(InferenceError):
    """The conjugate prior of this family has no normaliser in closed form."""

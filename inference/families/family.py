"""The record of an exponential family: p(x) = h(x) exp(<natural, T(x)> - A(natural)) (PL15).

The functions of a row are written for one point: a value has the shape of one draw, natural and
mean parameters are vectors of the same length. `features.py` and its neighbours carry them over
leading axes. Every row is minimal: its statistics are affinely independent, so the natural
parameters are unique and the Hessian of A is positive definite.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import InferenceError

Array = Any
Usual = dict[str, Array]
STEP = 0.25  # the trapezoid rule then errs by exp(-pi^2 / STEP), less than the last digit
NODES = np.exp(np.arange(-60.0, 4.0, STEP))


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

    @cached_property
    def usual_ndims(self) -> Mapping[str, int]:
        """How many axes each of the usual parameters has at one point."""
        return {name: np.ndim(value) for name, value in self.examples[0].items()}


class NoMaximumError(InferenceError):
    """The mean of the statistics is not inside the set of means: no maximum exists."""


class OutsideSupportError(InferenceError):
    """An observation that has density zero whatever the parameters."""


class NotConvergedError(InferenceError):
    """Newton's method stopped without a certificate."""


class NoClosedFormError(InferenceError):
    """The conjugate prior of this family has no normaliser in closed form."""


# ---- What rows share: leading axes, packed symmetric matrices, E log X!, log I0


def floats(x: Any) -> Array:
    """As an array of floats; a float array keeps its precision."""
    x = jnp.asarray(x)
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(float)


def over_leading(function: Callable[..., Any], *arguments: tuple[Array, int]) -> Any:
    """The function of one point over leading axes; each argument has so many axes of its own."""
    arrays = [(jnp.asarray(x), ndim) for x, ndim in arguments]
    lead = jnp.broadcast_shapes(*(x.shape[: x.ndim - ndim] for x, ndim in arrays))
    if not lead:
        return function(*(x for x, _ in arrays))
    flat = []
    for x, ndim in arrays:
        own = x.shape[x.ndim - ndim :]
        flat.append(jnp.broadcast_to(x, (*lead, *own)).reshape((-1, *own)))
    return jax.tree.map(lambda y: y.reshape((*lead, *y.shape[1:])), jax.vmap(function)(*flat))


def lower(matrix: Array) -> Array:
    """The entries of a symmetric matrix on and below its diagonal, row by row."""
    return matrix[np.tril_indices(matrix.shape[-1])]


def symmetric(packed: Array) -> Array:
    """The inverse of `lower`."""
    size = int((np.sqrt(8 * packed.shape[-1] + 1) - 1) / 2)
    rows, columns = np.tril_indices(size)
    lower_half = jnp.zeros((size, size), packed.dtype).at[rows, columns].set(packed)
    return lower_half.at[columns, rows].set(packed)


def dual_lower(matrix: Array) -> Array:
    """What pairs with `lower`: <dual_lower(S), lower(X)> = trace(S X)."""
    rows, columns = np.tril_indices(matrix.shape[-1])
    return jnp.where(rows == columns, 1, 2).astype(matrix.dtype) * lower(matrix)


def dual_symmetric(packed: Array) -> Array:
    """The inverse of `dual_lower`."""
    matrix = symmetric(packed)
    on_diagonal = np.eye(matrix.shape[-1], dtype=bool)
    return matrix / jnp.where(on_diagonal, 1, 2).astype(packed.dtype)


def is_positive_definite(matrix: Array) -> Array:
    return jnp.isfinite(jnp.linalg.cholesky(matrix)).all()


def log_det(matrix: Array) -> Array:
    """log |matrix| of a positive definite matrix."""
    return 2 * jnp.log(jnp.diagonal(jnp.linalg.cholesky(matrix))).sum()


def mean_log_factorial(mean: Array, complement: Callable[[Array], Array]) -> Array:
    """E log X! = int_0^1 (E X - c(z) / z) / -log(1 - z) dz, where c(z) = 1 - E (1 - z)^X.

    From Binet's integral of log Gamma, with z = 1 - exp(-exp(u)) and the trapezoid rule in u.
    """
    t = jnp.asarray(NODES, mean.dtype)
    z = -jnp.expm1(-t)
    return STEP * jnp.sum((mean - complement(z) / z) * jnp.exp(-t))


def log_bessel(square: Array) -> Array:
    """log I0(kappa) as a function of kappa squared, smooth at zero."""
    tiny = square < 1e-3
    kappa = jnp.sqrt(jnp.where(tiny, 1.0, square))
    series = square / 4 - square**2 / 64 + square**3 / 576 - 11 * square**4 / 49152
    return jnp.where(tiny, series, jnp.log(jax.scipy.special.i0e(kappa)) + kappa)

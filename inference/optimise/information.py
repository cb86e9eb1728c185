"""Standard errors from the observed information: roots of the diagonal of J H^-1 J' (delta method).

H is the Hessian of minus the log-likelihood at its minimum and J the Jacobian of the parameters
that are reported. Where H is singular, a reported number that moves along a flat direction is not
identified and has an infinite error; one that does not, such as a probability of logits whose level
is free, has a finite one, through the pseudo-inverse.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..factors.factor_graph import Floats
from .method import Array, Loss
from .newton import hessian

EXPOSED = 1e-6  # share of a number's dependence on raw that lies along flat directions


class StandardErrors(NamedTuple):
    """`errors` and `identified` are like the reported parameters; the rows of `flat` directions of
    raw; `reason` says in words what cannot be trusted, or is empty.
    """

    errors: Any
    identified: Any
    flat: Floats
    reason: str


def identity(raw: Any) -> Any:
    return raw


def standard_errors(
    loss: Loss, raw: Any, data: Any = None, constrain: Callable[[Any], Any] = identity
) -> StandardErrors:
    """Of constrain(raw) where the loss, minus a log-likelihood or log-posterior, is least."""
    matrix, jacobian = map(np.asarray, information(loss, constrain, data, raw))
    if not np.isfinite(matrix).all():
        return unknown_errors(constrain(raw), len(matrix))
    values, vectors = scaled_eigen(matrix)
    cutoff = len(matrix) * np.finfo(matrix.dtype).eps ** 0.75 * np.abs(values).max(initial=0.0)
    good, flat = values > cutoff, np.abs(values) <= cutoff
    along = jacobian @ vectors
    exposed = np.linalg.norm(along[:, ~good], axis=1) > EXPOSED * np.linalg.norm(along, axis=1)
    errors = np.sqrt(np.sum(along[:, good] ** 2 / values[good], axis=1))
    unravel = ravel_pytree(constrain(raw))[1]
    found = unravel(jnp.asarray(np.where(exposed, np.inf, errors)))
    directions = vectors[:, flat].T
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    reason = explain(int(flat.sum()), int((values < -cutoff).sum()), int(exposed.sum()))
    return StandardErrors(found, jax.tree.map(jnp.isfinite, found), directions, reason)


def unknown_errors(reported: Any, size: int) -> StandardErrors:
    errors = jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), reported)
    reason = (
        "the second derivatives are no numbers here, so there are no standard errors: is a "
        "probability zero?"
    )
    return StandardErrors(errors, jax.tree.map(jnp.isfinite, errors), np.zeros((0, size)), reason)


@partial(jax.jit, static_argnums=(0, 1))
def information(
    loss: Loss, constrain: Callable[[Any], Any], data: Any, raw: Any
) -> tuple[Array, Array]:
    """The Hessian of the loss and the Jacobian of what is reported, by entries of raw."""
    flat, unravel = ravel_pytree(raw)
    jacobian = jax.jacfwd(lambda point: ravel_pytree(constrain(unravel(point)))[0])(flat)
    return hessian(lambda point: loss(unravel(point), data), flat, data), jacobian


def scaled_eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Values and vectors V with V' H V diagonal, H scaled to a unit diagonal: free of units."""
    diagonal = np.diag(matrix)
    scales = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1))
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2 * scales * scales[:, None])
    return values, scales[:, None] * vectors


def explain(flat: int, negative: int, exposed: int) -> str:
    parts = []
    if flat:
        parts.append(f"the likelihood does not depend on {flat} directions of the parameters")
    if negative:
        parts.append(f"it is no minimum of the loss: {negative} directions have negative curvature")
    if exposed:
        parts.append(f"{exposed} reported numbers have no standard error: they are not identified")
    return "; ".join(parts)

"""Newton's method with the exact Hessian: raw' = raw - t |H|^-1 g, t halved until the loss falls.

|H| has the eigenvalues of H without their signs, so that the direction goes down from saddles too.
In a direction without curvature it is that of steepest descent. Half the squared Newton decrement,
g' H^-1 g / 2, says how far the value is above the minimum, up to third order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..factors.factor_graph import Floats
from . import method
from .method import Array, Drift, Loss, Minimiser, State, Verdict

HALVINGS = 50
ENOUGH = 1e-4  # of the fall that the gradient promises
AT_ONCE = 2**27  # numbers of the data times columns of the Hessian that are computed together
FEWEST = 4  # columns at once: one by one takes four times as long on 10^6 rows
EXPOSED = 1e-6  # share of a number's dependence on raw that lies along flat directions
NO_NUMBERS = (
    "the second derivatives are no numbers here, so there are no standard errors: is a "
    "probability zero?"
)


class Curved(NamedTuple):
    """The next direction, g' |H|^-1 g, flat directions, the lowest eigenvalue or 0, stalled."""

    direction: Array
    decrement: Array
    flat: Array
    lowest: Array
    stalled: Array
    drift: Drift


@dataclass(frozen=True, eq=False)
class Newton(Minimiser):
    """For tens to hundreds of parameters; `loss(raw, data)` is twice differentiable."""

    loss: Loss
    data: Any = None
    tolerance: float | None = None
    name: str = "Newton"

    def start(self, raw: Any) -> State:
        flat, _ = ravel_pytree(raw)
        nothing, zero = jnp.zeros((), jnp.int32), jnp.zeros((), flat.dtype)
        value, stalled = zero + jnp.inf, jnp.asarray(False)
        memory = Curved(jnp.zeros_like(flat), zero, nothing, zero, stalled, method.no_drift(flat))
        return self.advance(State(nothing - 1, raw, value, value, memory))

    def advance(self, state: State) -> State:
        tolerance = method.tolerance_for(state.raw, self.tolerance)
        after: State = advance(self.loss, self.data, tolerance, state)
        return after

    def verdict(self, state: State) -> Verdict | None:
        memory: Curved = state.memory
        gap = float(memory.decrement) / 2
        found = method.not_finite(state) or method.judge(state, self.tolerance, memory.drift, gap)
        if found is None and bool(memory.stalled):
            why = "it is not smooth, or all rounding"
            return Verdict(False, f"no step along Newton's direction lowers the loss: {why}")
        if found is None or not found.converged:
            return found
        if float(memory.lowest) < 0:
            curvature = f"the lowest curvature is {float(memory.lowest):.2g}"
            return Verdict(False, f"a saddle: {curvature}; start elsewhere")
        if flat := int(memory.flat):
            note = f"{flat} of its directions change nothing and are not identified"
            return found._replace(reason=f"{found.reason}; the Hessian is singular: {note}")
        return found


@partial(jax.jit, static_argnums=0)
def advance(loss: Loss, data: Any, tolerance: Array, state: State) -> State:
    """Along the remembered direction, then the next; from an infinite value all is accepted."""
    flat, unravel = ravel_pytree(state.raw)

    def at(point: Array) -> Array:
        return loss(unravel(point), data)

    memory: Curved = state.memory
    size = search(at, flat, state.value, memory.direction, memory.decrement)
    point = flat + size * memory.direction
    value, gradient = jax.value_and_grad(at)(point)
    direction, decrement, flats, lowest = curve(hessian(at, point, data), gradient, point)
    asked = method.asked_of(value, tolerance)
    drift = method.next_drift(memory.drift, direction, point, gradient, asked)
    curved = Curved(direction, decrement, flats, lowest, size == 0, drift)
    return State(state.step + 1, unravel(point), value, method.largest(gradient), curved)


def search(at: Any, flat: Array, value: Array, direction: Array, decrement: Array) -> Array:
    """The first of 1, 1/2, 1/4 ... with loss <= value - ENOUGH size decrement, or else zero."""

    def too_long(trial: tuple[Array, Array]) -> Array:
        size, halvings = trial
        there = at(flat + size * direction)
        enough = there <= value - ENOUGH * size * decrement + method.rounding(value)
        return ~(enough & jnp.isfinite(there)) & (halvings < HALVINGS) & jnp.isfinite(value)

    start = jnp.ones_like(value), jnp.zeros((), jnp.int32)
    size, halvings = jax.lax.while_loop(too_long, lambda trial: (trial[0] / 2, trial[1] + 1), start)
    return jnp.where(halvings < HALVINGS, size, 0)


def hessian(at: Any, point: Array, data: Any) -> Array:
    """Its columns by forward over reverse, as many at once as memory is likely to allow."""
    numbers = sum([leaf.size for leaf in jax.tree.leaves(data)]) + 1
    together = max(1, min(point.size, max(FEWEST, AT_ONCE // numbers)))
    gradient_of = jax.grad(at)
    basis = jnp.eye(point.size, dtype=point.dtype)
    return jax.lax.map(
        lambda v: jax.jvp(gradient_of, (point,), (v,))[1], basis, batch_size=together
    )


def curve(matrix: Array, gradient: Array, point: Array) -> tuple[Array, Array, Array, Array]:
    """The direction -|H|^-1 g, its decrement, what is flat (to rounding), lowest eigenvalue."""
    identity = jnp.eye(point.size, dtype=point.dtype)
    safe = jnp.where(jnp.isfinite(matrix).all(), (matrix + matrix.T) / 2, identity)
    values, vectors = jnp.linalg.eigh(safe)
    highest = method.largest(values)
    is_flat = jnp.abs(values) <= 8 * point.size * method.eps_of(point) * highest
    along = vectors.T @ gradient
    steepest = jnp.maximum(highest, method.largest(gradient) / (1 + method.largest(point)))
    steps = along / jnp.where(is_flat, jnp.where(steepest > 0, steepest, 1), jnp.abs(values))
    lowest = jnp.min(jnp.where(is_flat, 0, values), initial=0.0)
    return -vectors @ steps, along @ steps, is_flat.sum(dtype=jnp.int32), lowest


# ---- Standard errors: roots of the diagonal of J H^-1 J', from the observed information
#
# H is the Hessian of minus the log-likelihood at its minimum and J the Jacobian of the parameters
# that are reported. Where H is singular, a reported number that moves along a flat direction is
# not identified and has an infinite error; one that does not, such as a probability of logits
# whose level is free, has a finite one, through the pseudo-inverse.


class StandardErrors(NamedTuple):
    """`errors` and `identified` are like the reported parameters; the rows of `flat` directions of
    raw; `negative` the number of those along which the loss falls; `reason` says in words what
    cannot be trusted, or is empty.
    """

    errors: Any
    identified: Any
    flat: Floats
    negative: int
    reason: str


def standard_errors(
    loss: Loss, raw: Any, data: Any = None, constrain: Callable[[Any], Any] = lambda raw: raw
) -> StandardErrors:
    """Of constrain(raw) where the loss, minus a log-likelihood or log-posterior, is least."""
    matrix, jacobian = map(np.asarray, information(loss, constrain, data, raw))
    if not np.isfinite(matrix).all():
        unknown = jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), constrain(raw))
        nothing = jax.tree.map(jnp.isfinite, unknown), np.zeros((0, len(matrix)))
        return StandardErrors(unknown, *nothing, 0, NO_NUMBERS)
    # V' H V is diagonal, H scaled to a unit diagonal: free of units
    diagonal = np.diag(matrix)
    scales = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1))
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2 * scales * scales[:, None])
    vectors = scales[:, None] * vectors
    cutoff = len(matrix) * np.finfo(matrix.dtype).eps ** 0.75 * np.abs(values).max(initial=0.0)
    good, flat = values > cutoff, np.abs(values) <= cutoff
    along = jacobian @ vectors
    exposed = np.linalg.norm(along[:, ~good], axis=1) > EXPOSED * np.linalg.norm(along, axis=1)
    errors = np.sqrt(np.sum(along[:, good] ** 2 / values[good], axis=1))
    unravel = ravel_pytree(constrain(raw))[1]
    found = unravel(jnp.asarray(np.where(exposed, np.inf, errors)))
    directions = vectors[:, flat].T
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    negative = int((values < -cutoff).sum())
    reason = explain(int(flat.sum()), negative, int(exposed.sum()))
    return StandardErrors(found, jax.tree.map(jnp.isfinite, found), directions, negative, reason)


@partial(jax.jit, static_argnums=(0, 1))
def information(
    loss: Loss, constrain: Callable[[Any], Any], data: Any, raw: Any
) -> tuple[Array, Array]:
    """The Hessian of the loss and the Jacobian of what is reported, by entries of raw."""
    flat, unravel = ravel_pytree(raw)
    jacobian = jax.jacfwd(lambda point: ravel_pytree(constrain(unravel(point)))[0])(flat)
    return hessian(lambda point: loss(unravel(point), data), flat, data), jacobian


def explain(flat: int, negative: int, exposed: int) -> str:
    parts = []
    if flat:
        parts.append(f"the likelihood does not depend on {flat} directions of the parameters")
    if negative:
        parts.append(f"it is no minimum of the loss: {negative} directions have negative curvature")
    if exposed:
        parts.append(f"{exposed} reported numbers have no standard error: they are not identified")
    return "; ".join(parts)

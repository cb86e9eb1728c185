"""Newton's method with the exact Hessian: raw' = raw - t |H|^-1 g, t halved until the loss falls.

|H| has the eigenvalues of H without their signs, so that the direction goes down from saddles too.
In a direction without curvature it is that of steepest descent. Half the squared Newton decrement,
g' H^-1 g / 2, says how far the value is above the minimum, up to third order.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from .method import (
    Array,
    Drift,
    Loss,
    Minimiser,
    State,
    Verdict,
    asked_of,
    eps_of,
    judge,
    largest,
    next_drift,
    no_drift,
    not_finite,
    rounding,
    tolerance_for,
)

HALVINGS = 50
ENOUGH = 1e-4  # of the fall that the gradient promises
AT_ONCE = 2**27  # numbers of the data times columns of the Hessian that are computed together
FEWEST = 4  # columns at once: one by one takes four times as long on 10^6 rows


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
        memory = Curved(jnp.zeros_like(flat), zero, nothing, zero, stalled, no_drift(flat))
        return self.advance(State(nothing - 1, raw, value, value, memory))

    def advance(self, state: State) -> State:
        tolerance = tolerance_for(state.raw, self.tolerance)
        after: State = advance(self.loss, self.data, tolerance, state)
        return after

    def verdict(self, state: State) -> Verdict | None:
        memory: Curved = state.memory
        found = not_finite(state) or judge(
            state, self.tolerance, memory.drift, float(memory.decrement) / 2
        )
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
    drift = next_drift(memory.drift, direction, point, gradient, asked_of(value, tolerance))
    curved = Curved(direction, decrement, flats, lowest, size == 0, drift)
    return State(state.step + 1, unravel(point), value, largest(gradient), curved)


def search(at: Any, flat: Array, value: Array, direction: Array, decrement: Array) -> Array:
    """The first of 1, 1/2, 1/4 ... with loss <= value - ENOUGH size decrement, or else zero."""

    def too_long(trial: tuple[Array, Array]) -> Array:
        size, halvings = trial
        there = at(flat + size * direction)
        enough = there <= value - ENOUGH * size * decrement + rounding(value)
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
    safe = jnp.where(
        jnp.isfinite(matrix).all(), (matrix + matrix.T) / 2, jnp.eye(point.size, dtype=point.dtype)
    )
    values, vectors = jnp.linalg.eigh(safe)
    highest = largest(values)
    is_flat = jnp.abs(values) <= 8 * point.size * eps_of(point) * highest
    along = vectors.T @ gradient
    steepest = jnp.maximum(highest, largest(gradient) / (1 + largest(point)))
    steps = along / jnp.where(is_flat, jnp.where(steepest > 0, steepest, 1), jnp.abs(values))
    lowest = jnp.min(jnp.where(is_flat, 0, values), initial=0.0)
    return -vectors @ steps, along @ steps, is_flat.sum(dtype=jnp.int32), lowest

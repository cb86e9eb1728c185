"""L-BFGS: raw' = raw - t B g with B g from the last pairs of steps and changes of the gradient (two loops).

B starts from a diagonal that learns the scale of each parameter from all pairs (Gilbert and Lemarechal 1989): weights
of rare and of common features differ in curvature by orders of magnitude, and one number for all halves the speed.

The line search brackets a t that satisfies Wolfe's weak conditions: the value falls enough and the slope has risen. Too
long a step halves the bracket from above, too short a step doubles or halves it from below. Where values are equal to
rounding, slopes alone decide (the approximate conditions of Hager and Zhang).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from .certificate import Drift, asked_of, eps_of, judge, largest, next_drift, no_drift, rounding, tolerance_for
from .method import Array, Loss, Method, State, Verdict, norm_of, not_finite

TRIES = 40
MEMORY = 2**22
FALL, RISE, NEARLY = 1e-4, 0.9, 0.1


class Pairs(NamedTuple):
    """The gradient, the next direction, the inverse curvature along each axis, the last pairs (the newest last), how
    many there are; failures in a row."""

    gradient: Array
    direction: Array
    diagonal: Array
    steps: Array
    changes: Array
    count: Array
    failures: Array
    drift: Drift


class Trial(NamedTuple):
    """The size to try next, between `low`, whose value and gradient are known, and `high`; whether `low` will do."""

    size: Array
    low: Array
    high: Array
    value: Array
    gradient: Array
    good: Array
    tries: Array


@dataclass(frozen=True, eq=False)
class Lbfgs(Method):
    """For any number of parameters; `loss(raw, data)` is differentiable. `history` is the number of pairs kept.

    Without it as many are kept as MEMORY numbers hold, between 10 and 50: pairs are cheap beside a gradient.
    """

    loss: Loss
    data: Any = None
    tolerance: float | None = None
    history: int | None = None
    name: str = "L-BFGS"

    def start(self, raw: Any) -> State:
        flat, _ = ravel_pytree(raw)
        nothing, value = jnp.zeros((), jnp.int32), jnp.full((), jnp.inf, flat.dtype)
        history = max(10, min(50, MEMORY // max(flat.size, 1))) if self.history is None else self.history
        pairs = jnp.zeros((history, flat.size), flat.dtype)
        zeros = jnp.zeros_like(flat)
        memory = Pairs(zeros, zeros, zeros, pairs, pairs, nothing, nothing, no_drift(flat))
        return self.advance(State(nothing - 1, raw, value, value, memory))

    def advance(self, state: State) -> State:
        after: State = advance(self.loss, self.data, tolerance_for(state.raw, self.tolerance), state)
        return after

    def verdict(self, state: State) -> Verdict | None:
        """Without a pair nothing is known of the curvature, and the gradient alone proves nothing unless it is zero."""
        memory: Pairs = state.memory
        known = int(memory.count) > 0 or float(state.gradient_norm) == 0
        found = not_finite(state) or (judge(state, self.tolerance, memory.drift) if known else None)
        if found is None and int(memory.failures) > 1:
            reason = "no step lowers the loss, not even along the gradient: it is not smooth, or all rounding"
            return Verdict(False, f"{reason} (the largest entry of the gradient is {norm_of(state)})")
        return found


@partial(jax.jit, static_argnums=0)
def advance(loss: Loss, data: Any, tolerance: Array, state: State) -> State:
    """Along the direction that is remembered; then the next one. From an infinite value every step is accepted.

    A search that fails stays where it is and forgets the pairs: the next one goes along the gradient.
    """
    flat, unravel = ravel_pytree(state.raw)
    evaluate = jax.value_and_grad(lambda point: loss(unravel(point), data))
    old: Pairs = state.memory
    trial = search(evaluate, flat, state.value, old.gradient, old.direction)
    failed = trial.low == 0
    step = trial.low * old.direction
    point = flat + step
    pairs = remember(old, step, trial.gradient - old.gradient)
    pairs = pairs._replace(count=jnp.where(failed, 0, pairs.count))
    direction = -two_loops(pairs, trial.gradient)
    drift = next_drift(old.drift, direction, point, trial.gradient, asked_of(trial.value, tolerance))
    failures = jnp.where(failed, old.failures + 1, 0)
    memory = pairs._replace(gradient=trial.gradient, direction=direction, failures=failures, drift=drift)
    return State(state.step + 1, unravel(point), trial.value, largest(trial.gradient), memory)


def search(evaluate: Any, flat: Array, value: Array, gradient: Array, direction: Array) -> Trial:
    """Bisection on Wolfe's weak conditions."""
    slope = gradient @ direction

    def attempt(last: Trial) -> Trial:
        there, new_gradient = evaluate(flat + last.size * direction)
        new_slope = new_gradient @ direction
        falls = there <= value + FALL * last.size * slope
        nearly = (there <= value + rounding(value)) & (new_slope <= (2 * NEARLY - 1) * slope)
        short_enough = ((falls | nearly) & jnp.isfinite(new_gradient).all()) | ~jnp.isfinite(value)
        good = short_enough & (new_slope >= RISE * slope)
        high = jnp.where(short_enough, last.high, last.size)
        low, kept_value, kept_gradient = jax.tree.map(
            lambda new, old: jnp.where(short_enough, new, old),
            (last.size, there, new_gradient),
            (last.low, last.value, last.gradient),
        )
        size = jnp.where(jnp.isfinite(high), (low + high) / 2, 2 * low)
        return Trial(size, low, high, kept_value, kept_gradient, good, last.tries + 1)

    one = jnp.ones_like(value)
    start = Trial(
        one, 0 * one, jnp.full_like(value, jnp.inf), value, gradient, jnp.asarray(False), jnp.zeros((), jnp.int32)
    )
    return jax.lax.while_loop(lambda t: ~t.good & (t.tries < TRIES), attempt, start)


def remember(old: Pairs, step: Array, change: Array) -> Pairs:
    """With the newest pair last, if the curvature along it is positive beyond rounding."""
    curvature = step @ change
    keep = curvature > eps_of(step) * jnp.linalg.norm(step) * jnp.linalg.norm(change)
    ahead = next_diagonal(old, step, change, curvature)
    diagonal = jnp.where(keep & (ahead > 0) & jnp.isfinite(ahead), ahead, old.diagonal)
    shifted = [jnp.roll(rows, -1, axis=0).at[-1].set(new) for rows, new in ((old.steps, step), (old.changes, change))]
    steps, changes = (jnp.where(keep, new, kept) for new, kept in zip(shifted, (old.steps, old.changes), strict=True))
    count = jnp.minimum(old.count + keep.astype(jnp.int32), old.steps.shape[0])
    return old._replace(diagonal=diagonal, steps=steps, changes=changes, count=count)


def next_diagonal(old: Pairs, step: Array, change: Array, curvature: Array) -> Array:
    """The diagonal of the BFGS update of diag(d), after d is scaled to the curvature y's along the newest pair:

    d <- d y's / y'dy, then 1 / d' = 1 / d + y^2 / y's - (s / d)^2 / s'(s / d).
    """
    start = jnp.where(old.count > 0, old.diagonal, 1.0)
    scaled = start * (curvature / jnp.sum(start * change**2))
    moved = step / scaled
    return 1 / (1 / scaled + change**2 / curvature - moved**2 / (step @ moved))


def two_loops(pairs: Pairs, gradient: Array) -> Array:
    """B g, where B starts as the diagonal; g over its size where there is no pair yet."""
    history = pairs.steps.shape[0]
    used = jnp.arange(history, dtype=jnp.int32) >= history - pairs.count
    curvature = jnp.sum(pairs.steps * pairs.changes, axis=1)
    inverse = jnp.where(used, 1 / jnp.where(used, curvature, 1), 0)

    def down(q: Array, pair: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        step, change, weight = pair
        share = weight * (step @ q)
        return q - share * change, share

    def up(r: Array, pair: tuple[Array, Array, Array, Array]) -> tuple[Array, None]:
        step, change, weight, share = pair
        return r + step * (share - weight * (change @ r)), None

    rows = pairs.steps, pairs.changes, inverse
    q, shares = jax.lax.scan(down, gradient, rows, reverse=True)
    first = 1 / jnp.maximum(1, jnp.sum(jnp.abs(gradient)))
    scale = jnp.where(pairs.count > 0, pairs.diagonal, first)
    return jax.lax.scan(up, scale * q, (*rows, shares))[0]

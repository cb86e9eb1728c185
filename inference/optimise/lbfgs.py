"""L-BFGS: raw' = raw - t B g, B g by two loops over pairs of steps and changes of the gradient.

B starts from a diagonal that learns the scale of each parameter from all pairs (Gilbert and
Lemarechal 1989): weights of rare and of common features differ in curvature by orders of magnitude,
and one number for all halves the speed.

The line search brackets a t that satisfies Wolfe's weak conditions: the value falls enough and the
slope has risen. Too long a step halves the bracket from above, too short a step doubles or halves
it from below. Where values are equal to rounding, slopes alone decide (Hager and Zhang).

All but the loss runs in NumPy: a step is a few products with some dozens of vectors, which would
take seconds to compile.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from . import method
from .method import Array, Drift, Loss, Minimiser, State, Verdict

TRIES = 40
MEMORY = 2**22
FALL, RISE, NEARLY = 1e-4, 0.9, 0.1


class Pairs(NamedTuple):
    """The gradient, the next direction, the inverse curvature by axis, the pairs, newest last."""

    gradient: Array
    direction: Array
    diagonal: Array
    steps: Array
    changes: Array
    count: Array
    failures: Array
    drift: Drift


@dataclass(frozen=True, eq=False)
class Lbfgs(Minimiser):
    """For any number of parameters; `loss(raw, data)` is differentiable, `otherwise` is asked where
    it is NaN. `history` pairs are kept, or as many as MEMORY numbers hold, between 10 and 200.
    """

    loss: Loss
    data: Any = None
    tolerance: float | None = None
    history: int | None = None
    otherwise: Loss | None = None
    name: str = "L-BFGS"

    def start(self, raw: Any) -> State:
        return self.advance(self.like(raw))

    def like(self, raw: Any) -> State:
        """Before the loss was ever looked at."""
        flat = flatten(raw)
        nothing, before = np.array(0, np.int32), np.array(-1, np.int32)
        value = np.array(np.inf, flat.dtype)
        most = max(10, min(200, MEMORY // max(flat.size, 1)))
        history = most if self.history is None else self.history
        pairs = np.zeros((history, flat.size), flat.dtype)
        zeros = np.zeros_like(flat)
        memory = Pairs(zeros, zeros, zeros, pairs, pairs, nothing, nothing, method.no_drift(flat))
        return State(before, raw, value, value, memory)

    def advance(self, state: State) -> State:
        """Along the remembered direction; then the next one. From an infinite value every step is
        accepted. A search that fails forgets the pairs: the next one goes along the gradient.
        """
        old: Pairs = state.memory
        flat = flatten(state.raw)
        with np.errstate(all="ignore"):  # what is not finite is dealt with where it comes up
            size, value, gradient = self._search(flat, state, old)
            step = size * old.direction
            pairs = remember(old, step, gradient - old.gradient)
            pairs = pairs if size else pairs._replace(count=np.zeros_like(pairs.count))
            direction = -two_loops(pairs, gradient)
            asked = method.asked_of(value, method.tolerance_for(state.raw, self.tolerance))
            drift = method.next_drift(old.drift, direction, flat + step, gradient, asked)
        failures = np.zeros_like(old.failures) if size else old.failures + 1
        news = {"gradient": gradient, "direction": direction}
        memory = pairs._replace(**news, failures=failures, drift=drift)
        raw = unflatten(flat + step, state.raw)
        return State(state.step + 1, raw, value, method.largest(gradient), memory)

    def _search(self, flat: Array, state: State, old: Pairs) -> tuple[float, Array, Array]:
        """The size of the step (0 if none will do), value and gradient: bisection on Wolfe's."""
        value, direction, slope = state.value, old.direction, old.gradient @ old.direction
        found, size, high = (0.0, value, old.gradient), 1.0, np.inf
        for _ in range(TRIES):
            there, gradient = self._look(flat + flat.dtype.type(size) * direction, state.raw)
            new_slope = gradient @ direction
            falls = there <= value + FALL * size * slope
            equal = there <= value + method.rounding(value)
            nearly = equal and new_slope <= (2 * NEARLY - 1) * slope
            if ((falls or nearly) and np.isfinite(gradient).all()) or not np.isfinite(value):
                found = size, there, gradient
                if new_slope >= RISE * slope:
                    break
            else:
                high = size
            size = (found[0] + high) / 2 if np.isfinite(high) else 2 * found[0]
        return found

    def _look(self, point: Array, raw: Any) -> tuple[Array, Array]:
        there = unflatten(point, raw)
        value, gradient = value_and_gradient(self.loss, there, self.data)
        if self.otherwise is not None and np.isnan(value):
            value, gradient = value_and_gradient(self.otherwise, there, self.data)
        return np.asarray(value), flatten(gradient)

    def verdict(self, state: State) -> Verdict | None:
        """Without a pair no curvature is known, and a gradient that is not zero proves nothing."""
        memory: Pairs = state.memory
        known = int(memory.count) > 0 or float(state.gradient_norm) == 0
        found = method.not_finite(state) or (
            method.judge(state, self.tolerance, memory.drift) if known else None
        )
        if found is None and int(memory.failures) > 1:
            why = "it is not smooth, or all rounding"
            return method.stuck(
                f"no step lowers the loss, not even along the gradient: {why}", state
            )
        return found


@partial(jax.jit, static_argnums=0)
def value_and_gradient(loss: Loss, raw: Any, data: Any) -> tuple[Array, Any]:
    found: tuple[Array, Any] = jax.value_and_grad(loss)(raw, data)
    return found


def flatten(tree: Any) -> Array:
    """The numbers of all leaves as one vector."""
    leaves = map(np.ravel, jax.tree.leaves(tree))
    return np.concatenate([np.zeros(0, np.float32), *leaves])


def unflatten(flat: Array, like: Any) -> Any:
    """A vector as leaves of these shapes and types."""
    leaves, treedef = jax.tree.flatten(like)
    parts = np.split(flat, np.cumsum([np.size(leaf) for leaf in leaves])[:-1])
    shaped = zip(parts, leaves, strict=True)
    found = [part.reshape(np.shape(leaf)).astype(leaf.dtype) for part, leaf in shaped]
    return jax.tree.unflatten(treedef, found)


def remember(old: Pairs, step: Array, change: Array) -> Pairs:
    """With the newest pair last, if the curvature along it is positive beyond rounding."""
    curvature = step @ change
    if not curvature > method.eps_of(step) * np.linalg.norm(step) * np.linalg.norm(change):
        return old
    ahead = next_diagonal(old, step, change, curvature)
    diagonal = np.where((ahead > 0) & np.isfinite(ahead), ahead, old.diagonal)
    steps, changes = np.vstack([old.steps[1:], step]), np.vstack([old.changes[1:], change])
    count = np.minimum(old.count + 1, len(old.steps)).astype(np.int32)
    return old._replace(diagonal=diagonal, steps=steps, changes=changes, count=count)


def next_diagonal(old: Pairs, step: Array, change: Array, curvature: Array) -> Array:
    """The diagonal of the BFGS update of diag(d): d is scaled to the curvature along the pair, d <-
    d y's / y'dy, then 1 / d' = 1 / d + y^2 / y's - (s / d)^2 / s'(s / d).
    """
    start = old.diagonal if old.count > 0 else np.ones_like(step)
    scaled = start * (curvature / np.sum(start * change**2))
    moved = step / scaled
    return 1 / (1 / scaled + change**2 / curvature - moved**2 / (step @ moved))


def two_loops(pairs: Pairs, gradient: Array) -> Array:
    """B g, where B starts as the diagonal; g over its size where there is no pair yet."""
    if not pairs.count:
        return gradient / max(1, np.abs(gradient).sum())
    used = range(len(pairs.steps) - int(pairs.count), len(pairs.steps))
    weights = 1 / np.sum(pairs.steps * pairs.changes, axis=1)
    shares = np.zeros_like(weights)
    q = gradient
    for k in reversed(used):
        shares[k] = weights[k] * (pairs.steps[k] @ q)
        q = q - shares[k] * pairs.changes[k]
    r = pairs.diagonal * q
    for k in used:
        r = r + pairs.steps[k] * (shares[k] - weights[k] * (pairs.changes[k] @ r))
    return r

"""raw' = advance(raw) until a certificate holds: one interface, one file for each method.

`raw` is a pytree of float arrays that are free to take any value. A state is all arrays: kept in a
file and given back, it continues bit for bit. A certificate says why it is believed: that the
gradient is small is not enough, for it also vanishes on the way to infinity, where a likelihood
without a maximum approaches its supremum. There the curvature vanishes with it, so that their
quotient, the next step, does not: Newton's on log(1 + exp(-x)) is of length one for ever. Functions
of arrays are for those of NumPy and of JAX alike.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..errors import InferenceError

Array = Any
Loss = Callable[[Any, Any], Array]
LARGE = 1e8
SHORT = 1e-3  # of a step, relative to 1 + the largest parameter
SHRINKING = 0.8  # of a step, relative to the one before
PATIENCE = 5
VANISHED = 1e-3  # of a gradient, relative to what the certificate asks


class State(NamedTuple):
    """After `step` steps: the point, its value, its largest gradient entry, what is kept."""

    step: Array
    raw: Any
    value: Array
    gradient_norm: Array
    memory: Any


class Verdict(NamedTuple):
    """Why there is nothing more to do; `gap` bounds value - minimum, where that is known."""

    converged: bool
    reason: str
    gap: float | None = None


class Minimiser(ABC):
    """Deterministic: a state determines all that follow. Compiled once for loss and shape."""

    name: str

    @abstractmethod
    def start(self, raw: Any) -> State:
        """The state after no step."""

    def like(self, raw: Any) -> State:
        """A state of the shapes of all others."""
        found: State = jax.eval_shape(self.start, raw)
        return found

    @abstractmethod
    def advance(self, state: State) -> State:
        """One step, or one chunk of them."""

    @abstractmethod
    def verdict(self, state: State) -> Verdict | None:
        """None while there is more to do."""

    def is_done(self, state: State) -> bool:
        """Whether the certificate holds."""
        found = self.verdict(state)
        return found is not None and found.converged


class Minimised(NamedTuple):
    """Where a method stopped, and why."""

    raw: Any
    value: float
    gradient_norm: float
    steps: int
    converged: bool
    method: str
    reason: str
    gap: float | None


def minimise(
    method: Minimiser,
    raw: Any,
    steps: int,
    watch: Callable[[State], None] | None = None,
    state: State | None = None,
) -> Minimised:
    """At most `steps` steps, rounded up to whole chunks; `watch` sees every state, the first too.
    With `state`, one that a run of the same method came through, the run goes on from there.
    """
    if state is None:
        state = method.start(check_raw(raw))
    while True:
        if watch is not None:
            watch(state)
        found = method.verdict(state)
        if found is not None or int(state.step) >= steps:
            break
        state = method.advance(state)
    if found is None:
        seen = f"the largest entry of the gradient is {norm_of(state)}"
        found = Verdict(False, f"no certificate after {int(state.step)} steps: {seen}")
        furthest = float(np.abs(np.asarray(ravel_pytree(state.raw)[0])).max(initial=0.0))
        if furthest > LARGE:
            note = f"a parameter has reached {furthest:.2g}: there may be no minimum"
            found = Verdict(False, f"{found.reason}; {note}")
    converged, reason, gap = found
    value, norm = float(state.value), float(state.gradient_norm)
    return Minimised(state.raw, value, norm, int(state.step), converged, method.name, reason, gap)


def not_finite(state: State) -> Verdict | None:
    """The verdict on a value that is no number, or infinite."""
    if np.isfinite(float(state.value)):
        return None
    seen = f"the value at step {int(state.step)} is {float(state.value)}"
    return Verdict(False, f"{seen}: start from other parameters")


def stuck(reason: str, state: State) -> Verdict:
    return Verdict(False, f"{reason} (the largest entry of the gradient is {norm_of(state)})")


def norm_of(state: State) -> str:
    return f"{float(state.gradient_norm):.2g}"


def check_raw(raw: Any) -> Any:
    """The parameters as arrays of JAX; floats, all of them."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(raw):
        if not jnp.issubdtype(jnp.result_type(leaf), jnp.floating):
            where = jax.tree_util.keystr(path) or "the only one"
            raise InferenceError(
                f"parameter {where} is of type {jnp.result_type(leaf)}: give floats"
            )
    # of no weak type
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.result_type(leaf)), raw)


class Drift(NamedTuple):
    """The relative length of the next step, and how many were as long at a small gradient."""

    length: Array
    count: Array


def eps_of(array: Array) -> float:
    return float(np.finfo(array.dtype).eps)


def no_drift(flat: Array) -> Drift:
    return Drift(np.zeros((), flat.dtype), np.zeros((), np.int32))


def tolerance_for(raw: Any, tolerance: float | None) -> float:
    """If none is given, the square root of the rounding: 1.5e-8 in float64, 3.5e-4 in float32."""
    dtype = np.result_type(np.float32, *(leaf.dtype for leaf in jax.tree.leaves(raw)))
    return float(np.finfo(dtype).eps) ** 0.5 if tolerance is None else tolerance


def asked_of(value: Array, tolerance: Array | float) -> Array:
    """tolerance * max(1, |value|): a sum over n rows is asked n times as much as a mean."""
    return tolerance * abs(value).clip(1)


def largest(values: Array) -> Array:
    return abs(values).max(initial=0)


def next_drift(last: Drift, step: Array, point: Array, gradient: Array, asked: Array) -> Drift:
    length = largest(step) / (1 + largest(point))
    drifts = (largest(gradient) <= asked) & (length > SHORT) & (length > SHRINKING * last.length)
    return Drift(length, drifts.astype(np.int32) * (last.count + 1))


def judge(
    state: State, tolerance: float | None, drift: Drift, gap: float | None = None
) -> Verdict | None:
    value, norm = np.asarray(state.value), float(state.gradient_norm)
    asked = float(asked_of(value, tolerance_for(state.raw, tolerance)))
    if norm <= asked and float(drift.length) <= SHORT:
        seen = f"the largest entry of the gradient is {norm_of(state)}"
        reason = f"{seen}, at most {asked:.2g} was asked"
        return Verdict(True, reason, gap)
    if int(drift.count) >= (1 if norm <= VANISHED * asked else PATIENCE):
        reason = (
            f"the gradient is small ({norm_of(state)} for a value of {value:.2g}) but the steps "
            "are not: the value falls for ever, or approaches its infimum as parameters go to "
            "infinity (separable data, an estimate on the boundary), or hardly depends on some of "
            "them; a prior gives it a minimum"
        )
        return Verdict(False, reason)
    return None


def rounding(value: Array) -> Array:
    """How far two equal values may be apart."""
    return 8 * eps_of(value) * abs(value).clip(1)

"""When a point is a minimum: the gradient is small and so is the step that a model of the curvature
would take next.

On the way to infinity (separable data, a mean on the boundary) the gradient and the curvature
vanish together, so that their quotient, the step, does not: Newton's method on log(1 + exp(-x))
takes steps of length one for ever.

Functions of arrays are for those of NumPy and of JAX alike.
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from .method import Array, State, Verdict, norm_of

SHORT = 1e-3  # of a step, relative to 1 + the largest parameter
SHRINKING = 0.8  # of a step, relative to the one before
PATIENCE = 5
VANISHED = 1e-3  # of a gradient, relative to what the certificate asks


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
        reason = (
            f"the largest entry of the gradient is {norm_of(state)}, at most {asked:.2g} was asked"
        )
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

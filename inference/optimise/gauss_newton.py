"""Damped Gauss-Newton: raw' = raw - (J' H J + damping)^-1 g, H of a convex likelihood (SO02).

Where the outputs are the natural parameters of an exponential family, loss = sum_i A(f_i) - <f_i,
T_i>, H is the covariance of T and J' H J the Fisher information, so that the step is the natural
gradient (SO08, OP11); where besides they are linear in raw (generalised linear models with
canonical links), it is Newton's, which is iteratively reweighted least squares. No matrix is
formed: products with J, H and J' feed conjugate gradients (SO09). The damping follows Levenberg and
Marquardt: less where the quadratic model predicts the fall of the loss, more where it does not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from . import method
from .method import Array, Drift, Loss, Minimiser, State, Verdict

LEAST, MOST = 1e-8, 1e8  # damping other than none, relative to the curvature along the gradient
POOR, GOOD, CHANGE = 0.25, 0.75, 4.0
INNER_TOLERANCE = 1e-12


class Damped(NamedTuple):
    """The gradient, the next step, the fall that the quadratic model predicts, the damping."""

    gradient: Array
    step: Array
    predicted: Array
    damping: Array
    drift: Drift


@dataclass(frozen=True, eq=False)
class GaussNewton(Minimiser):
    """`likelihood(outputs(raw, data), data)` is minimised, convex in the outputs, which are any
    pytree; a convex penalty on raw belongs to it, with raw as one of the outputs. `damping` is that
    of the first step, relative to the curvature along the gradient; `inner_steps` bounds the
    conjugate gradients of one step.
    """

    outputs: Callable[[Any, Any], Any]
    likelihood: Loss
    data: Any = None
    tolerance: float | None = None
    damping: float = 0.0
    inner_steps: int = 200
    name: str = "Gauss-Newton"

    def start(self, raw: Any) -> State:
        flat, _ = ravel_pytree(raw)
        value = jnp.full((), jnp.inf, flat.dtype)
        damping = jnp.full((), self.damping, flat.dtype)
        zeros = jnp.zeros_like(flat)
        memory = Damped(zeros, zeros, jnp.zeros_like(value), damping, method.no_drift(flat))
        return self.advance(State(jnp.full((), -1, jnp.int32), raw, value, value, memory))

    def advance(self, state: State) -> State:
        functions = self.outputs, self.likelihood
        tolerance = method.tolerance_for(state.raw, self.tolerance)
        after: State = advance(functions, self.inner_steps, self.data, tolerance, state)
        return after

    def verdict(self, state: State) -> Verdict | None:
        """The gap is that of the damped quadratic model."""
        memory: Damped = state.memory
        gap = float(memory.predicted)
        found = method.not_finite(state) or method.judge(state, self.tolerance, memory.drift, gap)
        if found is None and float(memory.damping) > MOST:
            why = "the likelihood is not convex, or all rounding"
            return method.stuck(f"no damping makes a step that lowers the loss: {why}", state)
        return found


@partial(jax.jit, static_argnums=(0, 1))
def advance(functions: Any, inner_steps: int, data: Any, tolerance: Array, state: State) -> State:
    """Takes the remembered step if the loss falls, else raises the damping; makes the next."""
    flat, unravel = ravel_pytree(state.raw)
    outputs, likelihood = functions
    old: Damped = state.memory

    def of_point(point: Array) -> Any:
        return outputs(unravel(point), data)

    def at(point: Array) -> Array:
        return likelihood(of_point(point), data)

    there, new_gradient = jax.value_and_grad(at)(flat + old.step)
    falls = (there <= state.value + method.rounding(state.value)) & jnp.isfinite(new_gradient).all()
    taken = falls | ~jnp.isfinite(state.value)
    point = jnp.where(taken, flat + old.step, flat)
    value = jnp.where(taken, there, state.value)
    gradient = jnp.where(taken, new_gradient, old.gradient)
    changed = next_damping(old, state.value - there, taken, state.value)
    damping = jnp.where(state.step < 0, old.damping, changed)

    product = curvature(of_point, lambda out: likelihood(out, data), point)
    step, predicted = solve(product, gradient, damping, inner_steps)
    drift = method.next_drift(old.drift, step, point, gradient, method.asked_of(value, tolerance))
    memory = Damped(gradient, step, predicted, damping, drift)
    return State(state.step + 1, unravel(point), value, method.largest(gradient), memory)


def next_damping(old: Damped, fall: Array, taken: Array, value: Array) -> Array:
    """Falls below rounding say nothing against the model."""
    share = jnp.where(
        old.predicted > method.rounding(value),
        fall / jnp.where(old.predicted > 0, old.predicted, 1),
        1,
    )
    more = jnp.maximum(CHANGE * old.damping, 1e-3)
    less = jnp.where(old.damping > LEAST, old.damping / CHANGE, 0)
    kept = jnp.where(share > GOOD, less, jnp.where(share < POOR, more, old.damping))
    return jnp.where(taken, kept, CHANGE * more)


def curvature(outputs: Any, likelihood: Any, point: Array) -> Callable[[Array], Array]:
    """v -> J' H J v at a point."""
    out, push = jax.linearize(outputs, point)
    pull = jax.linear_transpose(push, point)
    gradient_of = jax.grad(likelihood)

    def product(v: Array) -> Array:
        return pull(jax.jvp(gradient_of, (out,), (push(v),))[1])[0]

    return product


def solve(
    product: Callable[[Array], Array], gradient: Array, damping: Array, inner_steps: int
) -> tuple[Array, Array]:
    """The step -(G + shift)^-1 g by conjugate gradients, and the fall that it promises."""
    square = gradient @ gradient
    along = gradient @ product(gradient) / jnp.where(square > 0, square, 1)
    shift = damping * along

    def shifted(v: Array) -> Array:
        return product(v) + shift * v

    step, _ = jax.scipy.sparse.linalg.cg(
        shifted, -gradient, tol=INNER_TOLERANCE, maxiter=inner_steps
    )
    return step, -(gradient @ step + step @ shifted(step) / 2)

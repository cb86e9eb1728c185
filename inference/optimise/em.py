"""Expectation-maximisation: raw' = maximise(raw, expected(raw)); the log-likelihood never falls.

`expect(raw, data)` gives the log-likelihood (or with a prior the log-posterior) and whatever
`maximise(raw, expected, data)` needs of the latent variables. The gradient comes from the first by
differentiation (by Fisher's identity that of the expected complete log-likelihood).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from . import method
from .method import Array, Minimiser, State, Verdict

Expect = Callable[[Any, Any], tuple[Array, Any]]
Maximise = Callable[[Any, Any, Any], Any]


class Expected(NamedTuple):
    """What is expected of the latent variables, and how much the last step gained."""

    of_latents: Any
    fall: Array


@dataclass(frozen=True, eq=False)
class ExpectationMaximisation(Minimiser):
    """Certifies a stationary point of the log-likelihood: no fall beyond tolerance, a small
    gradient. The value is minus the log-likelihood. `maximise` must give finite parameters: its
    caller bounds them or brings a prior. Where the value is NaN `otherwise` is asked in place of
    `expect`.
    """

    expect: Expect
    maximise: Maximise
    data: Any = None
    tolerance: float | None = None
    otherwise: Expect | None = None
    name: str = "expectation-maximisation"

    def start(self, raw: Any) -> State:
        before = jnp.full((), jnp.inf, ravel_pytree(raw)[0].dtype)
        return self._look(jnp.full((), -1, jnp.int32), raw, before)

    def like(self, raw: Any) -> State:
        step = jax.ShapeDtypeStruct((), np.int32)
        before = jax.ShapeDtypeStruct((), ravel_pytree(raw)[0].dtype)
        found: State = jax.eval_shape(partial(look, self.expect, self.data), step, raw, before)
        return found

    def advance(self, state: State) -> State:
        memory: Expected = state.memory
        raw = step(self.maximise, self.data, state.raw, memory.of_latents)
        return self._look(state.step, raw, state.value)

    def _look(self, step: Array, raw: Any, before: Array) -> State:
        found: State = look(self.expect, self.data, step, raw, before)
        if self.otherwise is not None and np.isnan(found.value):
            found = look(self.otherwise, self.data, step, raw, before)
        return found

    def verdict(self, state: State) -> Verdict | None:
        if (wrong := method.not_finite(state)) is not None:
            return wrong
        value, tolerance = np.asarray(state.value), method.tolerance_for(state.raw, self.tolerance)
        fall, asked = float(state.memory.fall), float(method.asked_of(value, tolerance))
        if fall < -1e3 * float(method.rounding(value)):
            why = "`maximise` does not belong to `expect`"
            return Verdict(False, f"the log-likelihood fell by {-fall:.2g}: {why}")
        if abs(fall) <= asked and float(state.gradient_norm) <= asked:
            seen = f"the largest entry of the gradient is {method.norm_of(state)}"
            why = f"at most {asked:.2g} was asked of both: a stationary point"
            return Verdict(True, f"{seen}, the last gain {fall:.2g}; {why}")
        return None


@partial(jax.jit, static_argnums=0)
def look(expect: Expect, data: Any, step: Array, raw: Any, before: Array) -> State:
    (value, latents), gradient = jax.value_and_grad(expect, has_aux=True)(raw, data)
    fall = before.astype(value.dtype) + value
    norm = method.largest(ravel_pytree(gradient)[0])
    return State(step + 1, raw, -value, norm, Expected(latents, fall))


@partial(jax.jit, static_argnums=0)
def step(maximise: Maximise, data: Any, raw: Any, latents: Any) -> Any:
    return maximise(raw, latents, data)

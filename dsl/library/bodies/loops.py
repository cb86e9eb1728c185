"""Bounded loops, hard and soft, over a state whose shape the step keeps."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from .elementary import as_real
from .soft import weighted


def loop_start(step: "Callable[[jax.Array], jax.Array]", start: jax.Array) -> jax.Array:
    """The start in the type that the step makes of it."""
    return jnp.asarray(start, jnp.result_type(start, jax.eval_shape(step, start)))


def bounded_loop(
    step: "Callable[[jax.Array], jax.Array]",
    keep_going: "Callable[[jax.Array], jax.Array]",
    start: jax.Array,
    limit: int,
) -> jax.Array:
    """s_{i+1} = step(s_i) while keep_going(s_i), at most limit times (CF25, CF26).

    A scan that stays where it stopped, so that derivatives pass backwards.
    """

    def advance(state: jax.Array, _: None) -> tuple[jax.Array, None]:
        return jnp.where(keep_going(state), step(state), state), None

    return lax.scan(advance, loop_start(step, start), None, length=limit)[0]


def soft_loop_path(
    step: "Callable[[jax.Array], jax.Array]",
    keep_going: "Callable[[jax.Array], jax.Array]",
    start: jax.Array,
    limit: int,
) -> tuple[jax.Array, jax.Array]:
    """The states s_0 .. s_limit, and P(stop at i) = [prod_{j<i} c_j] (1 - c_i) with c_limit = 0
    (CF26, CF28).

    c_i = keep_going(s_i) is the probability to go on. Once it is 0 the state stays where it is.
    """

    def advance(
        carry: tuple[jax.Array, jax.Array], _: None
    ) -> tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
        state, reached = carry
        going = as_real(keep_going(state))
        left = reached * going
        return (jnp.where(left > 0, step(state), state), left), (state, reached * (1 - going))

    start = loop_start(step, start)
    certain = jnp.ones_like(as_real(keep_going(start)))
    (last, left), (states, weights) = lax.scan(advance, (start, certain), None, length=limit)
    return jnp.concatenate([states, last[None]]), jnp.concatenate([weights, left[None]])


def soft_loop(
    step: "Callable[[jax.Array], jax.Array]",
    keep_going: "Callable[[jax.Array], jax.Array]",
    start: jax.Array,
    limit: int,
) -> jax.Array:
    """sum_i P(stop at i) s_i = E[s_I] (CF26, CF29)."""
    states, weights = soft_loop_path(step, keep_going, start, limit)
    return jnp.sum(weighted(weights, states), axis=0)

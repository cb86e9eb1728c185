"""Sequences out of a chain: the mode and exact samples. Nothing is stored on the way but messages: the choice among the
neighbours of a chosen state is made again on the way back."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.lax import scan

from .domains import Domain, choose_domain, verify_domain
from .functionals import score_by_time
from .layout import Array, ArrayLike, Chain, Transition, lay_out, pair_at, transitions
from .logs import log_backward
from .scaled import finite_top, is_safe, run_reverse


class Sequences(NamedTuple):
    """`states` [..., T], 0 in the padding, and their `score` [...]: minus infinity where nothing is possible."""

    states: Array
    score: Array


def mode(log_unary: ArrayLike, log_pair: ArrayLike, length: ArrayLike | None = None) -> Sequences:
    """The most probable sequence, and of those that tie the first in lexicographic order (GM14, book line 12127)."""
    chain, batch = lay_out(log_unary, log_pair, length)
    states = follow_best(chain, best_to_go(chain))
    scores = score_by_time(chain, states[:, None, :])
    return Sequences(states.T.reshape(*batch, chain.steps), scores.reshape(batch))


def best_to_go(chain: Chain) -> Array:
    """v_t(i) = unary[t, i] + max_j pair[t, i, j] + v_{t+1}(j), up to a constant of t; [T, B, K]."""

    def retreat(ahead: Array, read: tuple[Array, Transition]) -> tuple[Array, Array]:
        unary, step = read
        top = finite_top(ahead, (-1,))
        new = unary + best_next(chain, step, ahead) - top
        new = new if step.inside is None else jnp.where(step.inside, new, unary)
        return new, new

    last = chain.unary[-1]
    _, values = scan(retreat, last, (chain.unary[:-1], transitions(chain)), reverse=True)
    return jnp.concatenate([values, last[None]])


def best_next(chain: Chain, step: Transition, ahead: Array) -> Array:
    """max_j pair[i, j] + ahead[j]; a potential that stays the same is turned once, for the inner loop's sake."""
    if chain.same_pair:
        return jnp.max(jnp.swapaxes(chain.pair[:, 0], 1, 2) + ahead[:, :, None], axis=1)
    return jnp.max(pair_at(chain, step) + ahead[:, None, :], axis=2)


def follow_best(chain: Chain, values: Array) -> Array:
    """x_0 = argmax v_0, x_{t+1} = argmax_j pair[t, x_t, j] + v_{t+1}(j); [T, B]."""

    def advance(state: Array, read: tuple[Array, Array]) -> tuple[Array, Array]:
        time, ahead = read
        new = jnp.argmax(pair_rows(chain, time, state) + ahead, axis=-1)
        return new, new

    first = jnp.argmax(values[0], axis=-1)
    _, rest = scan(advance, first, (jnp.arange(chain.steps - 1), values[1:]))
    states = jnp.concatenate([first[None], rest])
    return states if chain.inside is None else jnp.where(chain.inside[:, :, 0], states, 0)


def pair_rows(chain: Chain, time: Array, states: Array) -> Array:
    """pair[b, t, x_b, :] for states [..., B], read in place: [..., B, K]."""
    batch = jnp.zeros(states.shape[-1], int) if chain.shared_pair else jnp.arange(states.shape[-1])
    return chain.pair[jnp.broadcast_to(batch, states.shape), 0 if chain.same_pair else time, states]


def sample(
    key: Array,
    log_unary: ArrayLike,
    log_pair: ArrayLike,
    length: ArrayLike | None = None,
    *,
    draws: int,
    domain: Domain = "auto",
) -> Array:
    """`draws` independent exact samples, [draws, ..., T]; p(x_{t+1} | x_t) is proportional to w(x_t, x_{t+1}) c(x_{t+1}).

    States are 0 in the padding. Where nothing is possible (log Z is minus infinity) they mean nothing.
    """
    verify_domain(domain)
    chain, batch = lay_out(log_unary, log_pair, length)
    uniforms = jax.random.uniform(key, (chain.steps, draws, chain.unary.shape[1]), chain.unary.dtype)
    states = draw_forwards(chain, log_messages(chain, domain), uniforms)
    if chain.inside is not None:
        states = jnp.where(chain.inside[:, None, :, 0], states, 0)
    return jnp.moveaxis(states, 0, -1).reshape(draws, *batch, chain.steps)


def log_messages(chain: Chain, domain: Domain) -> Array:
    """log c_t(i) = log sum of exp(score) over all that follows x_t = i, up to a constant of t; [T, B, K]."""
    if domain == "log":
        return chain.unary + log_backward(chain)
    reverse = run_reverse(chain)
    return choose_domain(  # type: ignore[no-any-return]
        domain,
        lambda: is_safe(chain, reverse),
        lambda: jnp.log(reverse.messages),
        lambda: chain.unary + log_backward(chain),
    )


def draw_forwards(chain: Chain, messages: Array, uniforms: Array) -> Array:
    """[T, draws, B]."""

    def advance(states: Array, read: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        time, message, uniform = read
        new = invert(pair_rows(chain, time, states) + message[None], uniform)
        return new, new

    first = invert(jnp.broadcast_to(messages[0], (uniforms.shape[1], *messages.shape[1:])), uniforms[0])
    _, rest = scan(advance, first, (jnp.arange(chain.steps - 1), messages[1:], uniforms[1:]))
    return jnp.concatenate([first[None], rest])


def invert(logs: Array, uniform: Array) -> Array:
    """The first state whose cumulative weight exceeds uniform times the whole; never one of weight zero."""
    heights = jnp.cumsum(jnp.exp(logs - finite_top(logs, (-1,))), axis=-1)
    whole = heights[..., -1:]
    below = jnp.sum(heights <= uniform[..., None] * whole, axis=-1)
    return jnp.minimum(below, jnp.sum(heights < whole, axis=-1))

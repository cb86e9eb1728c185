"""The mode, samples and the k best sequences of a chain, in order.

Messages are stored, choices among the neighbours of a chosen state are made again on the way back.
Each next best sequence leaves an earlier one at a step and goes on as best it can: with the best
scores to go known, what a departure costs is read off at once, for all steps and states. Departures
from the sequences found so far cover all that were not found, each once (Lawler's partition), so
the cheapest of them is next. Costs are counted from the best sequence: they stay small where scores
grow with the length.
"""

from collections.abc import Callable
from math import inf
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.lax import scan

from ...errors import InferenceError
from ..engine import Decoded
from . import layout
from .layout import Array, ArrayLike, Chain, Domain, Transition
from .scaled import Forward, finite_top, is_safe, log_backward, run_reverse
from .sums import score_by_time

TRIANGLE = 64


def mode(log_unary: ArrayLike, log_pair: ArrayLike, length: ArrayLike = None) -> Decoded:
    """The most probable sequence, of ties the lexicographic first (GM14, book line 12127)."""
    chain, batch = layout.lay_out(log_unary, log_pair, length)
    states = follow_best(chain, best_to_go(chain))
    scores = score_by_time(chain, states[:, None, :])
    return Decoded(states.T.reshape(*batch, chain.steps), scores.reshape(batch))


def best_to_go(chain: Chain) -> Array:
    """v_t(i) = unary[t, i] + max_j pair[t, i, j] + v_{t+1}(j), up to a constant of t; [T, B, K]."""
    turned = jnp.swapaxes(chain.pair[:, 0], 1, 2)  # once, for the inner loop

    def retreat(ahead: Array, read: tuple[Array, Transition]) -> tuple[Array, Array]:
        unary, step = read
        if chain.same_pair:
            best = jnp.max(turned + ahead[:, :, None], axis=1)
        else:
            best = jnp.max(layout.pair_at(chain, step) + ahead[:, None, :], axis=2)
        new = layout.keep_padding(step.inside, unary + best - finite_top(ahead, (-1,)), unary)
        return new, new

    last = chain.unary[-1]
    _, values = scan(retreat, last, (chain.unary[:-1], layout.transitions(chain)), reverse=True)
    return jnp.concatenate([values, last[None]])


def follow_best(chain: Chain, values: Array) -> Array:
    """x_0 = argmax v_0, x_{t+1} = argmax_j pair[t, x_t, j] + v_{t+1}(j); [T, B]."""

    def advance(state: Array, read: tuple[Array, Array]) -> tuple[Array, Array]:
        time, ahead = read
        new = first_best(pair_rows(chain, time, state) + ahead)
        return new, new

    first = first_best(values[0])
    _, rest = scan(advance, first, (jnp.arange(chain.steps - 1), values[1:]))
    states = jnp.concatenate([first[None], rest])
    return states if chain.inside is None else jnp.where(chain.inside[:, :, 0], states, 0)


def first_best(scores: Array) -> Array:
    """argmax along the last axis, the first of ties: two narrow reductions are the fastest."""
    index = jnp.arange(scores.shape[-1], dtype=jnp.int32).reshape(*[1] * (scores.ndim - 1), -1)
    top = jnp.max(scores, axis=-1, keepdims=True)
    return jnp.min(jnp.where(scores == top, index, scores.shape[-1] - 1), axis=-1).astype(int)


def pair_rows(chain: Chain, time: Array, states: Array) -> Array:
    """pair[b, t, x_b, :] for states [..., B], read in place: [..., B, K]."""
    return chain.pair[batch_of(chain, states), 0 if chain.same_pair else time, states]


def batch_of(chain: Chain, states: Array) -> Array:
    """Which pair potential each of the states [..., B] goes by."""
    batch = jnp.zeros(states.shape[-1], int) if chain.shared_pair else jnp.arange(states.shape[-1])
    return jnp.broadcast_to(batch, states.shape)


def sample(
    key: Array,
    log_unary: ArrayLike,
    log_pair: ArrayLike,
    length: ArrayLike = None,
    *,
    draws: int,
    domain: Domain = "auto",
) -> Array:
    """`draws` independent exact samples, [draws, ..., T]: p(x_{t+1} | x_t) ~ w(x_t, .) c(.). States
    are 0 in the padding, and mean nothing where nothing is possible (log Z is -inf).
    """
    layout.verify_domain(domain)
    chain, batch = layout.lay_out(log_unary, log_pair, length)
    shape = chain.steps, draws, chain.unary.shape[1]
    uniforms = jax.random.uniform(key, shape, chain.unary.dtype)
    if domain == "log":
        states = draw_in_logs(chain, uniforms)
    else:
        reverse = run_reverse(chain)
        states = layout.choose_domain(
            domain,
            lambda: is_safe(chain, reverse),
            lambda: draw_scaled(chain, reverse, uniforms),
            lambda: draw_in_logs(chain, uniforms),
        )
    return draws_first(chain, batch, states)


def draws_first(chain: Chain, batch: tuple[int, ...], states: Array) -> Array:
    """States [T, draws, B], 0 in the padding, as [draws, ..., T]."""
    if chain.inside is not None:
        states = jnp.where(chain.inside[:, None, :, 0], states, 0)
    return jnp.moveaxis(states, 0, -1).reshape(-1, *batch, chain.steps)


def draw_scaled(chain: Chain, reverse: Forward, uniforms: Array) -> Array:
    messages, weights = reverse.messages, reverse.weights

    def choose(time: Array, states: Array, message: Array, uniform: Array) -> Array:
        if weights.pair is not None:
            rows = weights.pair[batch_of(chain, states), states]
        else:
            tops = weights.pair_top[batch_of(chain, states), time, 0]
            rows = jnp.exp(pair_rows(chain, time, states) - tops)
        return invert(rows * message[None], uniform)

    return draw_forwards(chain, messages, uniforms, invert, choose)


def draw_in_logs(chain: Chain, uniforms: Array) -> Array:
    def choose(time: Array, states: Array, message: Array, uniform: Array) -> Array:
        return invert_logs(pair_rows(chain, time, states) + message[None], uniform)

    return draw_forwards(chain, chain.unary + log_backward(chain), uniforms, invert_logs, choose)


def draw_forwards(
    chain: Chain,
    messages: Array,
    uniforms: Array,
    choose_first: Callable[[Array, Array], Array],
    choose_next: Callable[[Array, Array, Array, Array], Array],
) -> Array:
    """x_0 from the first message, x_{t+1} from x_t and the next; [T, draws, B]."""

    def advance(states: Array, read: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        time, message, uniform = read
        new = choose_next(time, states, message, uniform)
        return new, new

    every = jnp.broadcast_to(messages[0], (uniforms.shape[1], *messages.shape[1:]))
    first = choose_first(every, uniforms[0])
    _, rest = scan(advance, first, (jnp.arange(chain.steps - 1), messages[1:], uniforms[1:]))
    return jnp.concatenate([first[None], rest])


def invert(weights: Array, uniform: Array) -> Array:
    """The first state of positive weight whose cumulative weight exceeds uniform * total."""
    count = weights.shape[-1]
    if count > TRIANGLE:
        heights = jnp.cumsum(weights, axis=-1)
    else:  # of few terms, a product with a triangle is faster
        heights = weights @ jnp.triu(jnp.ones((count, count), weights.dtype))
    index = jnp.arange(count).reshape(*[1] * uniform.ndim, -1)
    last = jnp.max(jnp.where(weights > 0, index, 0), axis=-1)
    reached = (heights > uniform[..., None] * heights[..., -1:]) & (weights > 0)
    return jnp.min(jnp.where(reached, index, last[..., None]), axis=-1)


def invert_logs(logs: Array, uniform: Array) -> Array:
    return invert(jnp.exp(logs - finite_top(logs, (-1,))), uniform)


class Departures(NamedTuple):
    """`costs` [k, T, B, K] of leaving sequence q for state j at step t; `states` [k, T, B]."""

    costs: Array
    states: Array


def kbest(
    log_unary: ArrayLike, log_pair: ArrayLike, length: ArrayLike = None, *, k: int
) -> Decoded:
    """The k best sequences, best first: `states` [k, ..., T], `score` [k, ...], -inf if fewer."""
    if k < 1:
        raise InferenceError(f"k is at least 1, not {k}")
    chain, batch = layout.lay_out(log_unary, log_pair, length)
    values = best_to_go(chain)
    states, possible = enumerate_best(chain, values, k)
    by_time = jnp.moveaxis(states, 1, 0)
    scores = jnp.where(possible, score_by_time(chain, by_time), -inf)
    return Decoded(draws_first(chain, batch, by_time), scores.reshape(k, *batch))


def enumerate_best(chain: Chain, values: Array, k: int) -> tuple[Array, Array]:
    """States [k, T, B], and whether there is such a sequence [k, B]."""
    first, never = follow_best(chain, values), jnp.full(chain.unary.shape[1], -1)
    nowhere = jnp.full((k, *values.shape), inf, values.dtype)
    start = Departures(
        nowhere.at[0].set(departures(chain, values, first, never)),
        jnp.zeros((k, *first.shape), first.dtype).at[0].set(first),
    )

    def add(found: Departures, number: Array) -> tuple[Departures, Array]:
        cost, (source, time, state) = cheapest(found.costs)
        rows = jnp.arange(cost.shape[0])
        states = follow_from(chain, values, found.states[source, :, rows].T, time, state)
        own = departures(chain, values, states, time) + cost[None, :, None]
        costs = found.costs.at[source, time, rows, state].set(inf).at[number].set(own)
        return Departures(costs, found.states.at[number].set(states)), cost < inf

    found, possible = scan(add, start, jnp.arange(1, k))
    return found.states, jnp.concatenate([jnp.max(values[0], axis=-1)[None] > -inf, possible])


def follow_from(chain: Chain, values: Array, prefix: Array, time: Array, state: Array) -> Array:
    """[T, B]: the prefix before `time`, `state` at it, and then the best of what follows."""

    def settle(now: Array | int, best: Array, given: Array) -> Array:
        return jnp.where(now < time, given, jnp.where(now == time, state, best))

    def advance(last: Array, read: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        now, ahead, given = read
        new = settle(now, first_best(pair_rows(chain, now - 1, last) + ahead), given)
        return new, new

    start = settle(0, first_best(values[0]), prefix[0])
    _, rest = scan(advance, start, (jnp.arange(1, chain.steps), values[1:], prefix[1:]))
    return jnp.concatenate([start[None], rest])


def departures(chain: Chain, values: Array, states: Array, after: Array) -> Array:
    """What it costs to leave the sequence for j at t, for t later than `after`; [T, B, K]."""
    times = jnp.arange(chain.steps)[:, None]
    pairs = pair_rows(chain, times[:-1], states[:-1])
    terms = values + jnp.concatenate([jnp.zeros_like(values[:1]), pairs])
    best = jnp.max(terms, axis=-1, keepdims=True)
    elsewhere = states[:, :, None] != jnp.arange(chain.states)[None, None]
    allowed = (times > after[None])[:, :, None] & elsewhere & (terms > -inf) & (best > -inf)
    allowed = layout.keep_padding(chain.inside, allowed, False)
    return jnp.where(allowed, jnp.where(allowed, best, 0.0) - jnp.where(allowed, terms, 0.0), inf)


def cheapest(costs: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    """The least of [k, T, B, K] for each b, and its (sequence, step, state), first of ties."""
    at_step = jnp.min(costs, axis=-1)
    flat = jnp.moveaxis(at_step, 2, 0).reshape(at_step.shape[2], -1)
    place = jnp.argmin(flat, axis=-1)
    source, time = place // costs.shape[1], place % costs.shape[1]
    rows = costs[source, time, jnp.arange(place.shape[0])]
    state = jnp.argmin(rows, axis=-1)
    return jnp.min(rows, axis=-1), (source, time, state)

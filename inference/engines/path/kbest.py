"""The k best sequences of a chain, in order: each next one leaves an earlier one at a step and goes
on as best it can.

With the best scores to go known, what a departure costs is read off at once, for all steps and
states of a sequence. Departures from the sequences found so far cover all that were not found, each
once (Lawler's partition), so the cheapest of them is next. Costs are counted from the best
sequence: they stay small where scores grow with the length.
"""

from math import inf
from typing import NamedTuple

import jax.numpy as jnp
from jax.lax import scan

from ...errors import InferenceError
from .decode import Sequences, best_to_go, first_best, follow_best, pair_rows
from .functionals import score_by_time
from .layout import Array, ArrayLike, Chain, lay_out


class Departures(NamedTuple):
    """`costs` [k, T, B, K] of leaving sequence q for state j at step t; `states` [k, T, B]."""

    costs: Array
    states: Array


def kbest(
    log_unary: ArrayLike, log_pair: ArrayLike, length: ArrayLike | None = None, *, k: int
) -> Sequences:
    """The k best sequences, best first: `states` [k, ..., T], `score` [k, ...], -inf if fewer."""
    if k < 1:
        raise InferenceError(f"k is at least 1, not {k}")
    chain, batch = lay_out(log_unary, log_pair, length)
    values = best_to_go(chain)
    states, possible = enumerate_best(chain, values, k)
    states = jnp.moveaxis(states, 1, 0)
    if chain.inside is not None:
        states = jnp.where(chain.inside[:, None, :, 0], states, 0)
    scores = jnp.where(possible, score_by_time(chain, states), -inf)
    return Sequences(
        jnp.moveaxis(states, 0, -1).reshape(k, *batch, chain.steps), scores.reshape(k, *batch)
    )


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

    def advance(last: Array, read: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        now, ahead, given = read
        best = first_best(pair_rows(chain, now - 1, last) + ahead)
        new = settle(now, best, given)
        return new, new

    def settle(now: Array | int, best: Array, given: Array) -> Array:
        return jnp.where(now < time, given, jnp.where(now == time, state, best))

    start = settle(0, first_best(values[0]), prefix[0])
    _, rest = scan(advance, start, (jnp.arange(1, chain.steps), values[1:], prefix[1:]))
    return jnp.concatenate([start[None], rest])


def departures(chain: Chain, values: Array, states: Array, after: Array) -> Array:
    """What it costs to leave the sequence for j at t, for t later than `after`; [T, B, K]."""
    times = jnp.arange(chain.steps)[:, None]
    pairs = pair_rows(chain, times[:-1], states[:-1])
    terms = values + jnp.concatenate([jnp.zeros_like(values[:1]), pairs])
    best = jnp.max(terms, axis=-1, keepdims=True)
    allowed = (times > after[None])[:, :, None] & (
        states[:, :, None] != jnp.arange(chain.states)[None, None]
    )
    allowed = allowed & (terms > -inf) & (best > -inf)
    if chain.inside is not None:
        allowed = allowed & chain.inside
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

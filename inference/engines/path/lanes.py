"""scaled.py for many sequences of few states and one pair potential: [T, K, B], batch last.

Every operation then runs along the batch, at the full width of the machine.
"""

from functools import reduce
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.lax import scan

from . import layout
from .layout import FEW_STATES, Array, Chain, Statistics, linked
from .scaled import finite_top, inverse, keeps_weight, log_or_zero

FEWEST = 32


class Lanes(NamedTuple):
    """`unary` [T, K, B] and `pair` [K, K] are exp(potential - top); `shares` [T, K, B] messages
    over their `totals` [T, 1, B], 0 where nothing is possible; `linked` [T - 1, 1, B] is False
    where a sequence starts and in the padding.
    """

    unary: Array
    unary_top: Array
    pair: Array
    pair_top: Array
    shares: Array
    totals: Array
    inside: Array | None
    linked: Array | None


def has_lanes(chain: Chain) -> bool:
    steps, batch, states = chain.unary.shape
    one_pair = chain.same_pair and chain.shared_pair
    return one_pair and states <= FEW_STATES and batch >= FEWEST and steps > 1


def turn(by_state: Array) -> Array:
    """[T, B, K] to [T, K, B], and back."""
    return jnp.swapaxes(by_state, 1, 2)


def push(pair: Array, message: Array) -> Array:
    """sum_i pair[i, j] message[i, b], written out: the compiler joins it with what follows."""
    terms = [pair[i, :, None] * message[i, None] for i in range(len(pair))]
    return reduce(jnp.add, terms)


def run_forward(chain: Chain) -> Lanes:
    """a_{t+1}(j) = u_{t+1}(j) sum_i a_t(i) / |a_t| w(i, j)."""
    unary_top, pair_top = finite_top(chain.unary, (-1,)), finite_top(chain.pair, (-2, -1))
    unary, pair = turn(jnp.exp(chain.unary - unary_top)), jnp.exp(chain.pair - pair_top)[0, 0]
    masks = chain.inside, chain.fresh, linked(layout.transitions(chain))
    inside, fresh, real = (None if mask is None else turn(mask) for mask in masks)

    def advance(share: Array, read: tuple[Array, Array | None, Array | None]) -> Any:
        unary, inside, fresh = read
        pushed = layout.keep_padding(inside, push(pair, share) * unary, share)
        new = layout.start_anew(fresh, pushed, unary)
        return divided(new)

    def divided(message: Array) -> tuple[Array, tuple[Array, Array]]:
        total = jnp.sum(message, axis=0, keepdims=True)
        share = message * inverse(total)
        return share, (share, total)

    first, (_, total) = divided(unary[0])
    inside_after, fresh_after = (None if mask is None else mask[1:] for mask in (inside, fresh))
    _, (shares, totals) = scan(advance, first, (unary[1:], inside_after, fresh_after))
    shares, totals = jnp.concatenate([first[None], shares]), jnp.concatenate([total[None], totals])
    return Lanes(unary, turn(unary_top), pair, pair_top, shares, totals, inside, real)


def is_safe(chain: Chain, lanes: Lanes) -> Array:
    """Whether nothing of weight was lost."""
    tops = turn(lanes.unary_top), lanes.pair_top
    return keeps_weight(chain, *tops, lambda: lanes.shares * lanes.totals)


def log_partition(chain: Chain, lanes: Lanes) -> Array:
    """log Z = sum_t log |a_t| + the tops that were taken out; [B]."""
    logs = layout.keep_padding(lanes.inside, log_or_zero(lanes.totals) + lanes.unary_top, 0.0)
    tops = jnp.broadcast_to(lanes.pair_top[0], (logs.shape[0] - 1, 1, 1))
    tops = jnp.broadcast_to(layout.keep_padding(lanes.linked, tops, 0.0), logs[1:].shape)
    return jnp.sum(logs, axis=(0, 1)) + jnp.sum(tops, axis=(0, 1))


def statistics(chain: Chain, lanes: Lanes, with_pairs: bool) -> Statistics:
    """b_t(i) = sum_j w(i, j) u_{t+1}(j) b_{t+1}(j) / |a_{t+1}|, p(x_t = i) = a_t(i) / |a_t| b_t(i),
    p(x_t = i, x_{t+1} = j) = left_t(i) w(i, j) right_{t+1}(j), summed over t on the way.
    """
    states, batch = lanes.shares.shape[1:]
    alive = jnp.where(lanes.totals > 0, 1.0, 0.0)
    onward = jnp.where(lanes.shares > 0, lanes.unary * inverse(lanes.totals), 0.0)
    turned = lanes.pair.T

    def retreat(last: tuple[Array, Array | None], read: Any) -> Any:
        after, sums = last
        left, onward, alive, real = read
        right = after * onward
        here = layout.keep_padding(real, push(turned, right), alive)
        if sums is not None:
            sums = sums + left[:, None] * layout.keep_padding(real, right, 0.0)[None]
        return (here, sums), here

    end = jnp.broadcast_to(alive[-1], (states, batch))
    nothing = jnp.zeros((states, states, batch), end.dtype) if with_pairs else None
    reads = lanes.shares[:-1], onward[1:], alive[:-1], lanes.linked
    (_, sums), found = scan(retreat, (end, nothing), reads, reverse=True)
    unary = lanes.shares * jnp.concatenate([found, end[None]])
    counts = None if sums is None else jnp.moveaxis(sums, -1, 0) * lanes.pair[None]
    return Statistics(turn(layout.keep_padding(lanes.inside, unary, 0.0)), counts)

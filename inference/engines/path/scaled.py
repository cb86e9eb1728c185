"""Forward-backward in the real domain, rescaled at every step, and its naive twin in logarithms."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import custom_jvp
from jax.lax import cond, dynamic_index_in_dim, optimization_barrier, scan, stop_gradient

from ...factors.semirings import log_sum_exp
from . import layout
from .layout import WIDE, Array, Chain, Sides, Statistics, Transition

sum_out = partial(log_sum_exp, xp=jnp)


class Weights(NamedTuple):
    """exp(potential - top); `pair`, if the same at every step, and `turned`, its states exchanged,
    are made once: within a scan they would be made at every step.
    """

    unary: Array
    unary_top: Array
    pair: Array | None
    turned: Array | None
    pair_top: Array


class Forward(NamedTuple):
    """`messages` [T, B, K] sum to `totals`; a step starts from message / total."""

    weights: Weights
    messages: Array
    totals: Array


def weigh(chain: Chain) -> Weights:
    unary_top = finite_top(chain.unary, (-1,))
    pair_top = finite_top(layout.masked_pair(chain), (-2, -1))
    pair = jnp.exp(chain.pair - pair_top)[:, 0] if chain.same_pair else None
    turned = None if pair is None else jnp.swapaxes(pair, 1, 2)
    return Weights(jnp.exp(chain.unary - unary_top), unary_top, pair, turned, pair_top)


def finite_top(logs: Array, axes: tuple[int, ...]) -> Array:
    """The maximum, without a gradient; 0 where all is minus infinity."""
    top = stop_gradient(jnp.max(logs, axis=axes, keepdims=True))
    return jnp.where(jnp.isneginf(top), jnp.zeros((), top.dtype), top)


@custom_jvp
def inverse(totals: Array) -> Array:
    """1 / total, and 0 where the total is 0: a dead message stays dead."""
    alive = totals > 0
    return jnp.where(alive, 1.0 / jnp.where(alive, totals, 1.0), 0.0)


@inverse.defjvp
def change_of_inverse(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """-(change / total) / total, in this order: 1 / total^2 can overflow, and meet a zero."""
    share = inverse(*primals)
    return share, -(tangents[0] * share) * share


def weight_at(chain: Chain, weights: Weights, step: Transition) -> Array:
    """exp(pair - top) of one step, [1 or B, K, K]."""
    if weights.pair is not None:
        return weights.pair
    top = dynamic_index_in_dim(weights.pair_top, step.time, 1, keepdims=False)
    return jnp.exp(layout.pair_at(chain, step) - top)


def all_weights(chain: Chain, weights: Weights) -> Array:
    """exp(pair - top), [1 or B, 1 or T-1, K, K]."""
    return jnp.exp(layout.masked_pair(chain) - weights.pair_top)


def push(message: Array, weight: Array) -> Array:
    """sum_i message[b, i] weight[b, i, j]; as matrices only where one serves many rows."""
    if weight.shape[0] == 1 < message.shape[0]:
        return message @ weight[0]
    return jnp.sum(message[:, :, None] * weight, axis=1)


def pull(chain: Chain, weights: Weights, step: Transition, message: Array) -> Array:
    """sum_j weight[b, i, j] message[b, j]. Weights that stay the same are turned so that the inner
    loop runs over i. Others are made before they are summed (the barrier): within a sum over the
    last axis the exponentials would be taken one by one.
    """
    if weights.turned is not None:
        return push(message, weights.turned)
    weight = weight_at(chain, weights, step)
    if weight.shape[0] == 1 < message.shape[0]:
        return message @ weight[0].T
    return jnp.sum(optimization_barrier(weight) * message[:, None, :], axis=2)


def run_forward(chain: Chain) -> Forward:
    """a_{t+1}(j) = u_{t+1}(j) sum_i a_t(i) / |a_t| w_t(i, j)  (GM14, book line 12020)."""
    weights = weigh(chain)

    def advance(message: Array, read: tuple[Array, Transition]) -> tuple[Array, Array]:
        unary, step = read
        share = inverse(jnp.sum(message, axis=-1, keepdims=True))
        new = push(message, weight_at(chain, weights, step)) * (unary * share)
        new = layout.keep_padding(step.inside, new, message * share)
        new = layout.start_anew(step.fresh, new, unary)
        return new, new

    first = weights.unary[0]
    _, rest = scan(advance, first, (weights.unary[1:], layout.transitions(chain)))
    messages = jnp.concatenate([first[None], rest])
    return Forward(weights, messages, jnp.sum(messages, axis=-1, keepdims=True))


def run_reverse(chain: Chain) -> Forward:
    """c_t(i) = u_t(i) sum_j w_t(i, j) c_{t+1}(j) / |c_{t+1}|: the same from the other end."""
    weights = weigh(chain)

    def retreat(message: Array, read: tuple[Array, Transition]) -> tuple[Array, Array]:
        unary, step = read
        share = inverse(jnp.sum(message, axis=-1, keepdims=True))
        pulled = pull(chain, weights, step, message) * (unary * share)
        new = layout.keep_padding(layout.linked(step), pulled, unary)
        return new, new

    last = weights.unary[-1]
    _, rest = scan(retreat, last, (weights.unary[:-1], layout.transitions(chain)), reverse=True)
    messages = jnp.concatenate([rest, last[None]])
    return Forward(weights, messages, jnp.sum(messages, axis=-1, keepdims=True))


def log_partition(chain: Chain, forward: Forward) -> Array:
    """log Z = sum_t log |a_t| + the tops that were taken out; [B]."""
    logs = log_or_zero(forward.totals) + forward.weights.unary_top
    pair_top = jnp.swapaxes(forward.weights.pair_top[..., 0], 0, 1)
    tops = jnp.broadcast_to(pair_top, (chain.steps - 1, *logs.shape[1:]))
    logs = layout.keep_padding(chain.inside, logs, 0.0)
    tops = layout.keep_padding(layout.linked(layout.transitions(chain)), tops, 0.0)
    return jnp.sum(logs, axis=(0, 2)) + jnp.sum(tops, axis=(0, 2))


def is_safe(chain: Chain, forward: Forward) -> Array:
    """Whether the scaled pass lost nothing of weight."""
    weights = forward.weights
    return keeps_weight(chain, weights.unary_top, weights.pair_top, lambda: forward.messages)


def keeps_weight(
    chain: Chain, unary_top: Array, pair_top: Array, messages: Callable[[], Array]
) -> Array:
    """(a) of layout.py, and (b) only where that fails."""

    def pair_below_top() -> Array:
        return stop_gradient(layout.masked_pair(chain) - pair_top)

    def messages_held() -> Array:
        unary = stop_gradient(chain.unary - unary_top)
        spans = -layout.lowest_finite(pair_below_top()) - layout.lowest_finite(unary)
        return layout.nothing_lost(spans, stop_gradient(messages()))

    limit = -WIDE * layout.exponent_range(chain.pair.dtype)
    narrow = jnp.min(pair_below_top(), initial=0.0) >= limit
    return cond(narrow, lambda: jnp.array(True), messages_held)  # type: ignore[no-any-return]


def run_backward(chain: Chain, forward: Forward) -> tuple[Array, Array, Array]:
    """b_t(i) = sum_j w_t(i, j) u_{t+1}(j) b_{t+1}(j) / |a_t|, p(x_t = i) = a_t b_t (GM14). With it
    left and right: p(x_t = i, x_{t+1} = j) = left[t, i] w_t(i, j) right[t, j].
    """
    weights, messages, totals = forward
    share = inverse(totals)
    onward = jnp.where(messages > 0, weights.unary * share, 0.0)

    def retreat(ahead: Array, read: tuple[Array, Array, Transition]) -> Any:
        onward, share, step = read
        last = jnp.where(share > 0, 1.0, 0.0)
        found = layout.keep_padding(layout.linked(step), pull(chain, weights, step, ahead), last)
        return found * onward, (found, ahead)

    last = jnp.where(totals[-1] > 0, jnp.ones_like(messages[-1]), 0.0)
    reads = onward[:-1], share[:-1], layout.transitions(chain)
    _, (found, right) = scan(retreat, onward[-1], reads, reverse=True)
    unary = messages * share * jnp.concatenate([found, last[None]])
    unary = layout.keep_padding(chain.inside, unary, 0.0)
    right = layout.keep_padding(layout.linked(layout.transitions(chain)), right, 0.0)
    return unary, (messages * share)[:-1], right


def marginals(chain: Chain, forward: Forward, with_pairs: bool) -> tuple[Array, Array | None]:
    """[T, B, K] and, if asked, [B, T-1, K, K]."""
    unary, left, right = run_backward(chain, forward)
    if not with_pairs:
        return unary, None
    left, right = jnp.swapaxes(left, 0, 1), jnp.swapaxes(right, 0, 1)
    return unary, (left[..., :, None] * right[..., None, :]) * all_weights(chain, forward.weights)


def statistics(chain: Chain, forward: Forward, with_pairs: bool) -> Statistics:
    unary, left, right = run_backward(chain, forward)
    if not with_pairs:
        return Statistics(unary)
    if forward.weights.pair is not None:
        return Statistics(unary, layout.sum_of_outer(left, right) * forward.weights.pair)
    if not layout.has_own_pairs(chain):
        return Statistics(unary, sides=Sides(left, right, jnp.array(True)))
    top = jnp.swapaxes(forward.weights.pair_top[..., 0], 0, 1)
    left, right = log_or_zero(left), log_or_zero(right) - top
    return Statistics(unary, sides=Sides(left, right, jnp.array(False)))


def log_or_zero(values: Array) -> Array:
    """Their logarithms, minus infinity with gradient zero where they are zero."""
    alive = values > 0
    return jnp.where(alive, jnp.log(jnp.where(alive, values, 1.0)), -jnp.inf)


# ---- the naive twin: the recursions in logarithms, for potentials of any range


class PairRead(NamedTuple):
    """The messages on both sides of one transition."""

    left: Array
    right: Array
    step: Transition


class LogForward(NamedTuple):
    """`messages` [T, B, K] have log-sum zero (or are dead); `totals` [T, B, 1] were subtracted."""

    messages: Array
    totals: Array


def normalise(logs: Array) -> tuple[Array, Array]:
    """Logs whose exponentials sum to one, and the log of that sum; dead ones stay -inf."""
    total = sum_out(logs, (-1,))[..., None]
    return logs - jnp.where(jnp.isneginf(total), 0.0, total), total


def log_forward(chain: Chain) -> LogForward:
    """log a_{t+1}(j) = log u_{t+1}(j) + log sum_i exp(log a_t(i) + log w_t(i, j))."""

    def advance(message: Array, read: tuple[Array, Transition]) -> Any:
        unary, step = read
        pushed = unary + sum_out(message[:, :, None] + layout.pair_at(chain, step), (1,))
        new, total = normalise(layout.start_anew(step.fresh, pushed, unary))
        new = layout.keep_padding(step.inside, new, message)
        return new, (new, layout.keep_padding(step.inside, total, jnp.zeros_like(total)))

    first, total = normalise(chain.unary[0])
    _, (messages, totals) = scan(advance, first, (chain.unary[1:], layout.transitions(chain)))
    messages = jnp.concatenate([first[None], messages])
    return LogForward(messages, jnp.concatenate([total[None], totals]))


def log_backward(chain: Chain) -> Array:
    """log b_t(i) = log sum_j w_t(i, j) u_{t+1}(j) b_{t+1}(j), up to a constant; [T, B, K]."""

    def retreat(ahead: Array, read: tuple[Array, Transition]) -> tuple[Array, Array]:
        unary, step = read
        new, _ = normalise(sum_out(layout.pair_at(chain, step) + (unary + ahead)[:, None, :], (2,)))
        new = layout.keep_padding(layout.linked(step), new, 0.0)
        return new, new

    last = jnp.zeros_like(chain.unary[-1])
    _, messages = scan(retreat, last, (chain.unary[1:], layout.transitions(chain)), reverse=True)
    return jnp.concatenate([messages, last[None]])


def log_smooth(chain: Chain, forward: LogForward, backward: Array) -> Array:
    """p(x_t = i) ~ a_t(i) b_t(i); 0 in the padding and where nothing is possible."""
    marginals = jnp.exp(normalise(forward.messages + backward)[0])
    return layout.keep_padding(chain.inside, marginals, 0.0)


def log_marginals(chain: Chain, with_pairs: bool) -> tuple[Array, Array | None]:
    """[T, B, K] and, if asked, [B, T-1, K, K]."""
    forward, backward = log_forward(chain), log_backward(chain)
    unary = log_smooth(chain, forward, backward)
    if not with_pairs:
        return unary, None

    def pair_marginal(_: None, read: PairRead) -> tuple[None, Array]:
        logs = normalise(pair_logs(chain, read))[0]
        found = jnp.exp(logs).reshape(-1, chain.states, chain.states)
        real = layout.linked(read.step)
        return None, found if real is None else jnp.where(real[:, :, None], found, 0.0)

    _, pairs = scan(pair_marginal, None, pair_reads(chain, forward, backward))
    return unary, jnp.swapaxes(pairs, 0, 1)


def log_statistics(chain: Chain, forward: LogForward, with_pairs: bool) -> Statistics:
    backward = log_backward(chain)
    unary = log_smooth(chain, forward, backward)
    if not with_pairs:
        return Statistics(unary)
    reads = pair_reads(chain, forward, backward)
    _, totals = scan(lambda _, read: (None, normalise(pair_logs(chain, read))[1]), None, reads)
    dead = layout.keep_padding(layout.linked(reads.step), jnp.isneginf(totals), True)
    right = jnp.where(dead, -jnp.inf, reads.right - jnp.where(dead, 0.0, totals))
    if not chain.same_pair:
        return Statistics(unary, sides=Sides(reads.left, right, jnp.array(False)))
    pairs = jnp.exp(reads.left[..., :, None] + chain.pair[None, :, 0] + right[..., None, :])
    return Statistics(unary, jnp.sum(pairs, axis=0))


def pair_reads(chain: Chain, forward: LogForward, backward: Array) -> PairRead:
    return PairRead(forward.messages[:-1], (chain.unary + backward)[1:], layout.transitions(chain))


def pair_logs(chain: Chain, read: PairRead) -> Array:
    """log a_t(i) + log w_t(i, j) + log u_{t+1}(j) b_{t+1}(j), [B, K K]."""
    logs = read.left[:, :, None] + layout.pair_at(chain, read.step) + read.right[:, None, :]
    return logs.reshape(logs.shape[0], -1)

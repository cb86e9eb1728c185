"""Forward-backward in the real domain, rescaled at every step."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.lax import cond, scan, stop_gradient

from .domains import WIDE, exponent_range, lowest_finite, nothing_lost
from .layout import Array, Chain, Transition, keep_padding, pair_at, transitions

READY = 1 << 22
"""Pair potentials of up to so many entries are exponentiated at once, larger ones step by step."""


class Weights(NamedTuple):
    """exp(potential - top); `pair` is None where it is made step by step."""

    unary: Array
    unary_top: Array
    pair: Array | None
    pair_top: Array


class Forward(NamedTuple):
    """`messages` [T, B, K] sum to `totals`; each step starts from the last message divided by its total."""

    weights: Weights
    messages: Array
    totals: Array


def weigh(chain: Chain) -> Weights:
    unary_top = finite_top(chain.unary, (-1,))
    pair_top = finite_top(masked_pair(chain), (-2, -1))
    unary = jnp.exp(chain.unary - unary_top)
    return Weights(unary, unary_top, exp_pair(chain, pair_top) if chain.pair.size <= READY else None, pair_top)


def exp_pair(chain: Chain, top: Array) -> Array:
    return jnp.exp(masked_pair(chain) - top)


def masked_pair(chain: Chain) -> Array:
    """The pair potentials, 0 in the padding."""
    if chain.inside is None or chain.same_pair:
        return chain.pair
    return jax.vmap(lambda step: pair_at(chain, step))(transitions(chain))


def finite_top(logs: Array, axes: tuple[int, ...]) -> Array:
    """The maximum, without a gradient; 0 where all is minus infinity."""
    top = stop_gradient(jnp.max(logs, axis=axes, keepdims=True))
    return jnp.where(jnp.isneginf(top), jnp.zeros((), top.dtype), top)


def inverse(totals: Array) -> Array:
    """1 / total, and 0 where the total is 0: a dead message stays dead."""
    alive = totals > 0
    return jnp.where(alive, 1.0 / jnp.where(alive, totals, 1.0), 0.0)


class WeighedStep(NamedTuple):
    """What one transition reads: its pair weights (None if the same for all), or its potentials and their top."""

    weight: Array | None
    step: Transition
    top: Array | None


def weighed_steps(chain: Chain, weights: Weights) -> WeighedStep:
    steps = transitions(chain)
    if weights.pair is None:
        return WeighedStep(None, steps, None if chain.same_pair else weights.pair_top)
    return WeighedStep(None if chain.same_pair else weights.pair, steps._replace(pair=None), None)


def weight_at(chain: Chain, weights: Weights, read: WeighedStep) -> Array:
    """exp(pair - top) of one step, [1 or B, K, K]."""
    if read.weight is not None:
        return read.weight
    if weights.pair is not None:
        return weights.pair[0]
    top = weights.pair_top[0] if read.top is None else read.top
    return jnp.exp(pair_at(chain, read.step) - top)


def push(message: Array, weight: Array) -> Array:
    """sum_i message[b, i] weight[b, i, j]."""
    if weight.shape[0] == 1:
        return message @ weight[0]
    return jnp.sum(message[:, :, None] * weight, axis=1)


def pull(weight: Array, message: Array) -> Array:
    """sum_j weight[b, i, j] message[b, j]."""
    if weight.shape[0] == 1:
        return message @ weight[0].T
    return jnp.sum(weight * message[:, None, :], axis=2)


def run_forward(chain: Chain) -> Forward:
    """a_{t+1}(j) = u_{t+1}(j) sum_i a_t(i) / |a_t| w_t(i, j)  (GM14, book line 12020)."""
    weights = weigh(chain)

    def advance(message: Array, read: tuple[Array, WeighedStep]) -> tuple[Array, Array]:
        unary, step = read
        share = inverse(jnp.sum(message, axis=-1, keepdims=True))
        new = push(message, weight_at(chain, weights, step)) * (unary * share)
        new = keep_padding(step.step.inside, new, message * share)
        return new, new

    first = weights.unary[0]
    _, rest = scan(advance, first, (weights.unary[1:], weighed_steps(chain, weights)))
    messages = jnp.concatenate([first[None], rest])
    return Forward(weights, messages, jnp.sum(messages, axis=-1, keepdims=True))


def scaled_log_partition(chain: Chain, forward: Forward) -> Array:
    """log Z = sum_t log |a_t| + the tops that were taken out; [B]."""
    alive = forward.totals > 0
    logs = jnp.where(alive, jnp.log(jnp.where(alive, forward.totals, 1.0)), -jnp.inf) + forward.weights.unary_top
    tops = jnp.broadcast_to(forward.weights.pair_top[:, :, :, 0], (chain.steps - 1, *logs.shape[1:]))
    if chain.inside is None:
        return jnp.sum(logs, axis=(0, 2)) + jnp.sum(tops, axis=(0, 2))
    logs, tops = jnp.where(chain.inside, logs, 0.0), jnp.where(chain.inside[1:], tops, 0.0)
    return jnp.sum(logs, axis=(0, 2)) + jnp.sum(tops, axis=(0, 2))


def is_safe(chain: Chain, forward: Forward) -> Array:
    """Whether the scaled pass lost nothing of weight: (a) or (b) of domains.py."""

    def pair_logs() -> Array:
        return stop_gradient(masked_pair(chain) - forward.weights.pair_top)

    def messages_held() -> Array:
        unary = stop_gradient(chain.unary - forward.weights.unary_top)
        return nothing_lost(-lowest_finite(pair_logs()) - lowest_finite(unary), stop_gradient(forward.messages))

    limit = WIDE * exponent_range(chain.pair.dtype)
    return cond(jnp.min(pair_logs(), initial=0.0) >= -limit, lambda: jnp.array(True), messages_held)


class Smoothed(NamedTuple):
    """p(x_t = i) = unary[t, i]; p(x_t = i, x_{t+1} = j) = left[t, i] w_t(i, j) right[t, j]."""

    unary: Array
    left: Array
    right: Array


def run_backward(chain: Chain, forward: Forward) -> Smoothed:
    """b_t(i) = sum_j w_t(i, j) u_{t+1}(j) b_{t+1}(j) / |a_t|, and p(x_t = i) = a_t(i) b_t(i)  (GM14)."""
    weights, messages, totals = forward
    share = inverse(totals)
    onward = jnp.where(messages > 0, weights.unary * share, 0.0)

    def retreat(ahead: Array, read: tuple[Array, Array, WeighedStep]) -> tuple[Array, tuple[Array, Array]]:
        onward, share, step = read
        found = pull(weight_at(chain, weights, step), ahead)
        if step.step.inside is None:
            return found * onward, (found, ahead)
        last = jnp.broadcast_to(jnp.where(share > 0, 1.0, 0.0), found.shape)
        found = jnp.where(step.step.inside, found, last)
        return found * onward, (found, ahead)

    last = jnp.where(totals[-1] > 0, jnp.ones_like(messages[-1]), 0.0)
    _, (found, right) = scan(
        retreat, onward[-1], (onward[:-1], share[:-1], weighed_steps(chain, weights)), reverse=True
    )
    unary = messages * share * jnp.concatenate([found, last[None]])
    if chain.inside is not None:
        unary = jnp.where(chain.inside, unary, 0.0)
        right = jnp.where(chain.inside[1:], right, 0.0)
    return Smoothed(unary, (messages * share)[:-1], right)


def scaled_marginals(chain: Chain, forward: Forward, with_pairs: bool) -> tuple[Array, Array | None]:
    """[T, B, K] and, if asked, [T-1, B, K, K]."""
    smoothed = run_backward(chain, forward)
    if not with_pairs:
        return smoothed.unary, None
    weight = all_weights(chain, forward.weights)
    return smoothed.unary, smoothed.left[..., :, None] * weight * smoothed.right[..., None, :]


def scaled_gradient(chain: Chain, forward: Forward, weight: Array, with_pairs: bool) -> tuple[Array, Array | None]:
    """Marginals times the weight of each sequence, those of the pairs summed to the shape of the potentials."""
    smoothed = run_backward(chain, forward)
    unary = smoothed.unary * weight[None, :, None]
    if not with_pairs:
        return unary, None
    axes = ("" if chain.same_pair else "t") + ("" if chain.pair.shape[1] == 1 else "b")
    counts = jnp.einsum(f"tbi,tbj->{axes}ij", smoothed.left, smoothed.right * weight[None, :, None])
    return unary, counts.reshape(chain.pair.shape) * all_weights(chain, forward.weights)


def all_weights(chain: Chain, weights: Weights) -> Array:
    return exp_pair(chain, weights.pair_top) if weights.pair is None else weights.pair

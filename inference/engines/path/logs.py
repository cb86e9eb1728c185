"""The naive twin of scaled.py: the recursions in logarithms, for potentials of any range."""

from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.lax import scan

from ...factors.semirings import log_sum_exp
from . import layout
from .layout import Array, Chain, Sides, Statistics, Transition

sum_out = partial(log_sum_exp, xp=jnp)


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
    messages, totals = (
        jnp.concatenate([first[None], messages]),
        jnp.concatenate([total[None], totals]),
    )
    return LogForward(messages, totals)


def log_domain_partition(forward: LogForward) -> Array:
    return jnp.sum(forward.totals, axis=(0, 2))


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
        logs, _ = normalise(pair_logs(chain, read))
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

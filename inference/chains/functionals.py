"""Numbers about a chain or two: scores of sequences, entropy, cross-entropy and divergence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax.lax import scan

from ..errors import InferenceError
from .domains import Domain, choose_domain, verify_domain
from .layout import Array, ArrayLike, Chain, lay_out, masked_pair, states_by_time
from .logs import PairRead, log_backward, log_forward, log_smooth, pair_marginal, pair_reads
from .scaled import Forward, all_weights, finite_top, is_safe, outer, run_backward, run_forward
from .sums import log_partition_by_batch


def score(log_unary: ArrayLike, log_pair: ArrayLike, states: ArrayLike, length: ArrayLike | None = None) -> Array:
    """sum_t unary[t, x_t] + sum_t pair[t, x_t, x_{t+1}] of `states` [draws..., batch..., T]."""
    laid = lay_out(log_unary, log_pair, length)
    by_time, shape = states_by_time(states, laid)
    return score_by_time(laid.chain, by_time).reshape(shape)


def log_prob(
    log_unary: ArrayLike,
    log_pair: ArrayLike,
    states: ArrayLike,
    length: ArrayLike | None = None,
    *,
    domain: Domain = "auto",
) -> Array:
    """score(x) - log Z of `states` [draws..., batch..., T]; minus infinity for sequences that cannot be (GM13)."""
    laid = lay_out(log_unary, log_pair, length)
    by_time, shape = states_by_time(states, laid)
    scores = score_by_time(laid.chain, by_time)
    log_z = log_partition_by_batch(domain, *laid.chain)[None]
    possible = jnp.broadcast_to(log_z > -jnp.inf, scores.shape) & (scores > -jnp.inf)
    found = jnp.where(possible, scores - jnp.where(log_z > -jnp.inf, log_z, 0.0), -jnp.inf)
    return found.reshape(shape)


def score_by_time(chain: Chain, states: Array) -> Array:
    """[T, draws, B] to [draws, B]."""
    rows = jnp.arange(states.shape[2])[None, None, :]
    unary = chain.unary[jnp.arange(chain.steps)[:, None, None], rows, states]
    times = jnp.zeros((1, 1, 1), int) if chain.same_pair else jnp.arange(chain.steps - 1)[:, None, None]
    columns = jnp.zeros_like(rows) if chain.shared_pair else rows
    pair = chain.pair[columns, times, states[:-1], states[1:]]
    if chain.inside is not None:
        unary = jnp.where(chain.inside[:, None, :, 0], unary, 0.0)
        pair = jnp.where(chain.inside[1:, None, :, 0], pair, 0.0)
    return jnp.sum(unary, axis=0) + jnp.sum(pair, axis=0)


def entropy(
    log_unary: ArrayLike, log_pair: ArrayLike, length: ArrayLike | None = None, *, domain: Domain = "auto"
) -> Array:
    """H = log Z - E[score], [...]; 0 where nothing is possible (GM15)."""
    chain, batch = lay_out(log_unary, log_pair, length)
    return cross_entropy_by_batch(chain, chain, domain).reshape(batch)


def cross_entropy(
    log_unary: ArrayLike,
    log_pair: ArrayLike,
    other_unary: ArrayLike,
    other_pair: ArrayLike,
    length: ArrayLike | None = None,
    *,
    domain: Domain = "auto",
) -> Array:
    """-E_p[log q] = log Z_q - E_p[score_q], [...]; infinity where p is and q is not possible."""
    chain, other, batch = lay_out_both(log_unary, log_pair, other_unary, other_pair, length)
    return cross_entropy_by_batch(chain, other, domain).reshape(batch)


def divergence(
    log_unary: ArrayLike,
    log_pair: ArrayLike,
    other_unary: ArrayLike,
    other_pair: ArrayLike,
    length: ArrayLike | None = None,
    *,
    domain: Domain = "auto",
) -> Array:
    """KL(p, q) = E_p[log p - log q], [...]; infinity where p is and q is not possible."""
    chain, other, batch = lay_out_both(log_unary, log_pair, other_unary, other_pair, length)
    gap = cross_entropy_by_batch(chain, other, domain) - cross_entropy_by_batch(chain, chain, domain)
    return gap.reshape(batch)


def lay_out_both(
    log_unary: ArrayLike, log_pair: ArrayLike, other_unary: ArrayLike, other_pair: ArrayLike, length: ArrayLike | None
) -> tuple[Chain, Chain, tuple[int, ...]]:
    (chain, batch), (other, other_batch) = (
        lay_out(log_unary, log_pair, length),
        lay_out(other_unary, other_pair, length),
    )
    if chain.unary.shape != other.unary.shape or batch != other_batch:
        raise InferenceError(
            "two chains are compared on the same variables: unary potentials "
            f"{jnp.shape(log_unary)} and {jnp.shape(other_unary)} differ"
        )
    return chain, other, batch


def cross_entropy_by_batch(chain: Chain, other: Chain, domain: Domain) -> Array:
    """log Z_q - E_p[score_q], the tops of q's potentials taken out first: they cancel, and would cost digits."""
    shifted = take_out_tops(other)
    log_z = log_partition_by_batch(domain, *shifted)
    never, finite = each_potential(shifted, is_zero), each_potential(shifted, without_zeros)
    mean, excluded = expected_sums(chain, (finite, never), domain)
    return jnp.where(excluded > 0, jnp.inf, jnp.where(log_z > -jnp.inf, log_z, 0.0) - mean)


def is_zero(logs: Array) -> Array:
    """1 where the potential is zero."""
    return jnp.where(jnp.isneginf(logs), 1.0, 0.0)


def without_zeros(logs: Array) -> Array:
    return jnp.where(jnp.isneginf(logs), 0.0, logs)


def each_potential(chain: Chain, change: Callable[[Array], Array]) -> Chain:
    return Chain(change(chain.unary), change(chain.pair), None)


def take_out_tops(chain: Chain) -> Chain:
    pair = masked_pair(chain)
    return Chain(chain.unary - finite_top(chain.unary, (-1,)), pair - finite_top(pair, (-2, -1)), chain.inside)


def expected_sums(chain: Chain, functions: tuple[Chain, ...], domain: Domain) -> Any:
    """E[sum_t f_t(x_t) + sum_t g_t(x_t, x_{t+1})] for each pair (f, g), laid out like potentials; [B] each."""
    verify_domain(domain)
    if domain == "log":
        return log_expected_sums(chain, functions)
    forward = run_forward(chain)
    return choose_domain(
        domain,
        lambda: is_safe(chain, forward),
        lambda: scaled_expected_sums(chain, forward, functions),
        lambda: log_expected_sums(chain, functions),
    )


def scaled_expected_sums(chain: Chain, forward: Forward, functions: tuple[Chain, ...]) -> tuple[Array, ...]:
    unary, left, right = run_backward(chain, forward)
    weights = all_weights(chain, forward.weights)

    def pair_sum(values: Array) -> Array:
        weighted = weights * values
        if weighted.shape[:2] == (1, 1):
            return jnp.sum((left @ weighted[0, 0]) * right, axis=(0, 2))
        return jnp.sum(outer(left, right) * weighted, axis=(1, 2, 3))

    return tuple(jnp.sum(unary * f.unary, axis=(0, 2)) + pair_sum(f.pair) for f in functions)


def log_expected_sums(chain: Chain, functions: tuple[Chain, ...]) -> tuple[Array, ...]:
    forward, backward = log_forward(chain), log_backward(chain)
    unary = log_smooth(chain, forward, backward)

    def add_step(totals: tuple[Array, ...], read: tuple[PairRead, tuple[Array, ...]]) -> tuple[tuple[Array, ...], None]:
        found = pair_marginal(chain, read[0])
        return tuple(x + jnp.sum(found * g, axis=(1, 2)) for x, g in zip(totals, read[1], strict=True)), None

    def by_time(pair: Array) -> Array:
        return jnp.broadcast_to(jnp.swapaxes(pair, 0, 1), (chain.steps - 1, pair.shape[0], *pair.shape[2:]))

    values = tuple(by_time(f.pair) for f in functions)
    singles = tuple(jnp.sum(unary * f.unary, axis=(0, 2)) for f in functions)
    return scan(add_step, singles, (pair_reads(chain, forward, backward), values))[0]

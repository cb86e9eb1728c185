"""The log-partition of a chain, whose gradient is its marginals, and the marginals themselves.

The derivative of log Z is written by hand: one forward and one backward pass, whose transpose is
the gradient. JAX differentiates it further, so Hessians are covariances. An impossible sequence
(log Z = -inf) has gradient and marginals zero. Many sequences run a few at a time: messages that
stay in the cache run several times faster.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from ...errors import InferenceError
from . import lanes, layout, scaled
from .layout import Array, ArrayLike, Chain, Domain, Statistics
from .scaled import finite_top, log_forward, log_marginals, log_statistics

Value = TypeVar("Value")
LARGE = 2**16  # numbers in the messages of all sequences from which blocks pay
CACHED = 2**14
FEWEST = 32


def block_size(chain: Chain) -> int | None:
    """Sequences of a block; None where all run together, as with pair potentials by step."""
    steps, batch, states = chain.unary.shape
    size = max(FEWEST, CACHED // (steps * states))
    return size if chain.same_pair and batch >= 2 * size and chain.unary.size >= LARGE else None


def in_blocks(answer: Callable[[Chain], Value], chain: Chain, axes: Any) -> Value:
    """`answer(chain)`, block by block; `axes` is where the sequences of each result lie."""
    size = block_size(chain)
    if size is None:
        return answer(chain)
    pair = None if chain.shared_pair else split(chain.pair, size, 0)
    unary, inside, fresh = (split(own, size, 1) for own in (chain.unary, chain.inside, chain.fresh))

    def of_block(own: Chain) -> Value:
        return answer(own._replace(pair=chain.pair) if chain.shared_pair else own)

    def join(axis: int, blocks: Array) -> Array:
        moved = jnp.moveaxis(blocks, 0, axis)
        merged = moved.reshape(*moved.shape[:axis], -1, *moved.shape[axis + 2 :])
        return jax.lax.slice_in_dim(merged, 0, chain.unary.shape[1], axis=axis)

    found = jax.lax.map(of_block, Chain(unary, pair, inside, fresh))  # type: ignore[arg-type]
    joined: Value = jax.tree.map(join, axes, found)
    return joined


def split(array: Array | None, size: int, axis: int) -> Any:
    """[..., B, ...] to [blocks, ..., size, ...]; the last sequence fills up the last block."""
    if array is None:
        return None
    blocks = -(-array.shape[axis] // size)
    missing = [(0, 0)] * array.ndim
    missing[axis] = (0, blocks * size - array.shape[axis])
    shape = (*array.shape[:axis], blocks, size, *array.shape[axis + 1 :])
    return jnp.moveaxis(jnp.pad(array, missing, mode="edge").reshape(shape), axis, 0)


class Marginals(NamedTuple):
    """`unary` [..., T, K]: 0 in the padding; `pair` [..., T-1, K, K]."""

    unary: Array
    pair: Array


def log_partition(
    log_unary: ArrayLike,
    log_pair: ArrayLike,
    length: ArrayLike = None,
    *,
    fresh: ArrayLike = None,
    domain: Domain = "auto",
) -> Array:
    """log sum_x exp(score(x)), [...]; -inf where nothing is possible (GM12, GM14). Of rows that
    hold several sequences, which start where `fresh` [..., T] says, the sum over these.
    """
    layout.verify_domain(domain, of_log_partition=True)
    chain, batch = layout.lay_out(log_unary, log_pair, length, fresh)
    return log_partition_by_batch(domain, *chain).reshape(batch)


def unary_marginals(
    log_unary: ArrayLike, log_pair: ArrayLike, length: ArrayLike = None, *, domain: Domain = "auto"
) -> Array:
    """p(x_t = i), [..., T, K]; 0 in the padding (GM14)."""
    laid = layout.lay_out(log_unary, log_pair, length)
    unary, _ = marginals_by_batch(laid.chain, domain, with_pairs=False)
    return layout.batch_first(unary, laid.batch)


def marginals(
    log_unary: ArrayLike, log_pair: ArrayLike, length: ArrayLike = None, *, domain: Domain = "auto"
) -> Marginals:
    """p(x_t = i) and p(x_t = i, x_{t+1} = j); the second takes T K K numbers a sequence (GM14)."""
    laid = layout.lay_out(log_unary, log_pair, length)
    unary, pair = marginals_by_batch(laid.chain, domain, with_pairs=True)
    pair = pair.reshape(*laid.batch, *pair.shape[1:])
    return Marginals(layout.batch_first(unary, laid.batch), pair)


def marginals_by_batch(chain: Chain, domain: Domain, with_pairs: bool) -> Any:
    """[T, B, K] and, if asked, [B, T-1, K, K]."""
    layout.verify_domain(domain)
    if domain == "log":
        return log_marginals(chain, with_pairs)
    forward = scaled.run_forward(chain)
    return layout.choose_domain(
        domain,
        lambda: scaled.is_safe(chain, forward),
        lambda: scaled.marginals(chain, forward, with_pairs),
        lambda: log_marginals(chain, with_pairs),
    )


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def log_partition_by_batch(
    domain: Domain, unary: Array, pair: Array, inside: Array | None, fresh: Array | None
) -> Array:
    """[B]."""
    chain = Chain(unary, pair, inside, fresh)
    found: Array = in_blocks(partial(infer_sums, domain, None), chain, 0)
    return found


def infer_sums(domain: Domain, with_pairs: bool | None, chain: Chain) -> Any:
    """log Z, and statistics with pairs or without; unless None is asked of them: log Z alone."""

    def in_logs() -> Any:
        forward = log_forward(chain)
        log_z = jnp.sum(forward.totals, axis=(0, 2))
        return log_z if with_pairs is None else (log_z, log_statistics(chain, forward, with_pairs))

    if domain == "log":
        return in_logs()
    real: Any = lanes if lanes.has_lanes(chain) else scaled
    forward = real.run_forward(chain)

    def in_scaled_numbers() -> Any:
        log_z = real.log_partition(chain, forward)
        return log_z if with_pairs is None else (log_z, real.statistics(chain, forward, with_pairs))

    return layout.choose_domain(
        domain, lambda: real.is_safe(chain, forward), in_scaled_numbers, in_logs
    )


def derivative(domain: Domain, primals: Any, tangents: Any) -> tuple[Array, Array]:
    """Forward and backward give value and gradient; constant pairs need no marginals."""
    chain = Chain(*primals)
    by_unary, by_pair, *_ = tangents
    with_pairs = not isinstance(by_pair, SymbolicZero)
    found = partial(infer_sums, domain, with_pairs)
    axes = 0, Statistics._make((1, 0 if with_pairs else None, None))
    log_z, statistics = in_blocks(found, chain, axes)
    change = jnp.zeros_like(log_z)
    if not isinstance(by_unary, SymbolicZero):
        change += jnp.sum(statistics.unary * by_unary, axis=(0, 2))
    if statistics.counts is not None:
        change += jnp.sum(statistics.counts * by_pair[:, 0], axis=(1, 2))
    if statistics.sides is not None:
        weights = scaled.all_weights(chain, scaled.weigh(chain))
        change += layout.change_by_pair(chain, statistics.sides, weights, by_pair)
    return log_z, change


log_partition_by_batch.defjvp(derivative, symbolic_zeros=True)


# ---- Numbers about a chain or two: scores of sequences, entropy, cross-entropy and divergence


def score(
    log_unary: ArrayLike, log_pair: ArrayLike, states: ArrayLike, length: ArrayLike = None
) -> Array:
    """sum_t unary[t, x_t] + sum_t pair[t, x_t, x_{t+1}] of `states` [draws..., batch..., T]."""
    laid = layout.lay_out(log_unary, log_pair, length)
    by_time, shape = layout.states_by_time(states, laid)
    return score_by_time(laid.chain, by_time).reshape(shape)


def log_prob(
    log_unary: ArrayLike,
    log_pair: ArrayLike,
    states: ArrayLike,
    length: ArrayLike = None,
    *,
    domain: Domain = "auto",
) -> Array:
    """score(x) - log Z of `states` [draws..., batch..., T]; -inf of the impossible (GM13)."""
    scores = score(log_unary, log_pair, states, length)
    log_z = log_partition(log_unary, log_pair, length, domain=domain)
    log_z = jnp.broadcast_to(log_z, scores.shape)
    possible = (log_z > -jnp.inf) & (scores > -jnp.inf)
    return jnp.where(possible, scores - jnp.where(log_z > -jnp.inf, log_z, 0.0), -jnp.inf)


def score_by_time(chain: Chain, states: Array) -> Array:
    """[T, draws, B] to [draws, B]."""
    rows = jnp.arange(states.shape[2])[None, None, :]
    unary = chain.unary[jnp.arange(chain.steps)[:, None, None], rows, states]
    times = jnp.arange(1 if chain.same_pair else chain.steps - 1)[:, None, None]
    columns = jnp.zeros_like(rows) if chain.shared_pair else rows
    pair = chain.pair[columns, times, states[:-1], states[1:]]
    if chain.inside is not None:
        unary = jnp.where(chain.inside[:, None, :, 0], unary, 0.0)
        pair = jnp.where(chain.inside[1:, None, :, 0], pair, 0.0)
    return jnp.sum(unary, axis=0) + jnp.sum(pair, axis=0)


def entropy(
    log_unary: ArrayLike, log_pair: ArrayLike, length: ArrayLike = None, *, domain: Domain = "auto"
) -> Array:
    """H = log Z - E[score], [...]; 0 where nothing is possible (GM15)."""
    chain, batch = layout.lay_out(log_unary, log_pair, length)
    return cross_entropy_by_batch(chain, chain, domain).reshape(batch)


def cross_entropy(
    log_unary: ArrayLike,
    log_pair: ArrayLike,
    other_unary: ArrayLike,
    other_pair: ArrayLike,
    length: ArrayLike = None,
    *,
    domain: Domain = "auto",
) -> Array:
    """-E_p[log q] = log Z_q - E_p[score_q], [...]; infinity where p is and q is not possible."""
    chain, batch = layout.lay_out(log_unary, log_pair, length)
    other, other_batch = layout.lay_out(other_unary, other_pair, length)
    if chain.unary.shape != other.unary.shape or batch != other_batch:
        raise InferenceError(
            "two chains are compared on the same variables: unary potentials "
            f"{jnp.shape(log_unary)} and {jnp.shape(other_unary)} differ"
        )
    return cross_entropy_by_batch(chain, other, domain).reshape(batch)


def divergence(
    log_unary: ArrayLike,
    log_pair: ArrayLike,
    other_unary: ArrayLike,
    other_pair: ArrayLike,
    length: ArrayLike = None,
    *,
    domain: Domain = "auto",
) -> Array:
    """KL(p, q) = E_p[log p - log q], [...]; infinity where p is and q is not possible."""
    both = log_unary, log_pair, other_unary, other_pair
    cross = cross_entropy(*both, length, domain=domain)
    return cross - entropy(log_unary, log_pair, length, domain=domain)


def cross_entropy_by_batch(chain: Chain, other: Chain, domain: Domain) -> Array:
    """log Z_q - E_p[score_q], without the tops of q's potentials: they would cost digits."""
    pair = layout.masked_pair(other)
    unary, pair = other.unary - finite_top(other.unary, (-1,)), pair - finite_top(pair, (-2, -1))
    log_z = log_partition_by_batch(domain, unary, pair, other.inside, None)
    no_unary, no_pair = jnp.isneginf(unary), jnp.isneginf(pair)
    never = Chain(no_unary.astype(unary.dtype), no_pair.astype(pair.dtype), None)
    finite = Chain(jnp.where(no_unary, 0.0, unary), jnp.where(no_pair, 0.0, pair), None)
    mean, excluded = expected_sums(chain, (finite, never), domain)
    return jnp.where(excluded > 0, jnp.inf, jnp.where(log_z > -jnp.inf, log_z, 0.0) - mean)


def expected_sums(chain: Chain, functions: tuple[Chain, ...], domain: Domain) -> list[Array]:
    """E[sum_t f_t(x_t) + sum_t g_t(x_t, x_{t+1})], [B], for each (f, g): a derivative of log Z."""
    layout.verify_domain(domain)
    shape = np.broadcast_shapes(chain.pair.shape, *[f.pair.shape for f in functions])
    pair = jnp.broadcast_to(chain.pair, shape)

    def log_z(unary: Array, pair: Array) -> Array:
        return log_partition_by_batch(domain, unary, pair, chain.inside, chain.fresh)

    _, along = jax.linearize(log_z, chain.unary, pair)
    return [along(f.unary, jnp.broadcast_to(f.pair, shape)) for f in functions]

"""Numbers about a chain or two: scores of sequences, entropy, cross-entropy and divergence."""

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import InferenceError
from . import layout
from .layout import Array, ArrayLike, Chain, Domain
from .scaled import finite_top
from .sums import log_partition_by_batch


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
    laid = layout.lay_out(log_unary, log_pair, length)
    by_time, shape = layout.states_by_time(states, laid)
    scores = score_by_time(laid.chain, by_time)
    log_z = log_partition_by_batch(domain, *laid.chain)[None]
    possible = jnp.broadcast_to(log_z > -jnp.inf, scores.shape) & (scores > -jnp.inf)
    found = jnp.where(possible, scores - jnp.where(log_z > -jnp.inf, log_z, 0.0), -jnp.inf)
    return found.reshape(shape)


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
    chain, other, batch = lay_out_both(log_unary, log_pair, other_unary, other_pair, length)
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
    chain, other, batch = lay_out_both(log_unary, log_pair, other_unary, other_pair, length)
    cross = cross_entropy_by_batch(chain, other, domain)
    return (cross - cross_entropy_by_batch(chain, chain, domain)).reshape(batch)


def lay_out_both(
    log_unary: ArrayLike,
    log_pair: ArrayLike,
    other_unary: ArrayLike,
    other_pair: ArrayLike,
    length: ArrayLike,
) -> tuple[Chain, Chain, tuple[int, ...]]:
    chain, batch = layout.lay_out(log_unary, log_pair, length)
    other, other_batch = layout.lay_out(other_unary, other_pair, length)
    if chain.unary.shape != other.unary.shape or batch != other_batch:
        raise InferenceError(
            "two chains are compared on the same variables: unary potentials "
            f"{jnp.shape(log_unary)} and {jnp.shape(other_unary)} differ"
        )
    return chain, other, batch


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

"""The log-partition of a chain, whose gradient is its marginals, and the marginals themselves.

The gradient of log Z is written by hand: one forward and one backward pass. It is a function of the potentials that
JAX differentiates further, so Hessians are covariances. A sequence that is impossible (log Z = minus infinity) has
gradient and marginals zero.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from .domains import Domain, choose_domain, verify_domain
from .layout import Array, ArrayLike, Chain, batch_first, lay_out
from .logs import log_domain_partition, log_forward, log_gradient, log_marginals
from .scaled import Forward, is_safe, run_forward, scaled_gradient, scaled_log_partition, scaled_marginals


class Marginals(NamedTuple):
    """`unary` [..., T, K]: 0 in the padding; `pair` [..., T-1, K, K]."""

    unary: Array
    pair: Array


def log_partition(
    log_unary: ArrayLike, log_pair: ArrayLike, length: ArrayLike | None = None, *, domain: Domain = "auto"
) -> Array:
    """log sum_x exp(score(x)), [...]; minus infinity where nothing is possible (GM12, GM14)."""
    verify_domain(domain)
    chain, batch = lay_out(log_unary, log_pair, length)
    return log_partition_by_batch(domain, *chain).reshape(batch)


def unary_marginals(
    log_unary: ArrayLike, log_pair: ArrayLike, length: ArrayLike | None = None, *, domain: Domain = "auto"
) -> Array:
    """p(x_t = i), [..., T, K]; 0 in the padding (GM14)."""
    laid = lay_out(log_unary, log_pair, length)
    return batch_first(marginals_by_batch(laid.chain, domain, with_pairs=False)[0], laid.batch)


def marginals(
    log_unary: ArrayLike, log_pair: ArrayLike, length: ArrayLike | None = None, *, domain: Domain = "auto"
) -> Marginals:
    """p(x_t = i) and p(x_t = i, x_{t+1} = j); the second takes T K K numbers a sequence (GM14)."""
    laid = lay_out(log_unary, log_pair, length)
    unary, pair = marginals_by_batch(laid.chain, domain, with_pairs=True)
    return Marginals(batch_first(unary, laid.batch), pair.reshape(*laid.batch, *pair.shape[1:]))


def marginals_by_batch(chain: Chain, domain: Domain, with_pairs: bool) -> Any:
    """[T, B, K] and, if asked, [B, T-1, K, K]."""
    verify_domain(domain)
    if domain == "log":
        return log_marginals(chain, with_pairs)
    forward = run_forward(chain)
    return choose_domain(
        domain,
        lambda: is_safe(chain, forward),
        lambda: scaled_marginals(chain, forward, with_pairs),
        lambda: log_marginals(chain, with_pairs),
    )


def log_partition_and_messages(domain: Domain, chain: Chain) -> tuple[Array, Forward | None]:
    """log Z [B], and the scaled messages where they are at hand."""
    if domain == "log":
        return log_domain_partition(log_forward(chain)), None
    forward = run_forward(chain)
    log_z = choose_domain(
        domain,
        lambda: is_safe(chain, forward),
        lambda: scaled_log_partition(chain, forward),
        lambda: log_domain_partition(log_forward(chain)),
    )
    return log_z, forward


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def log_partition_by_batch(domain: Domain, unary: Array, pair: Array, inside: Array | None) -> Array:
    return log_partition_and_messages(domain, Chain(unary, pair, inside))[0]


class Residuals(NamedTuple):
    """`pair_wanted` is () or None: whether the pair potentials are differentiated is known when tracing."""

    chain: Chain
    forward: Forward | None
    pair_wanted: tuple[()] | None


def keep_messages(domain: Domain, unary: Any, pair: Any, inside: Any) -> tuple[Array, Residuals]:
    chain = Chain(unary.value, pair.value, None if inside is None else inside.value)
    log_z, forward = log_partition_and_messages(domain, chain)
    return log_z, Residuals(chain, forward, () if pair.perturbed else None)


def gradient(domain: Domain, kept: Residuals, weight: Array | SymbolicZero) -> tuple[Array, Array | None, None]:
    """d log Z / d unary = p(x_t), d log Z / d pair = p(x_t, x_{t+1}), summed over what shares a potential."""
    chain, forward, wanted = kept
    if isinstance(weight, SymbolicZero):
        weight = jnp.zeros(weight.shape, weight.dtype)
    with_pairs = wanted is not None
    unary, pair = (
        log_gradient(chain, weight, with_pairs)
        if forward is None
        else choose_domain(
            domain,
            lambda: is_safe(chain, forward),
            lambda: scaled_gradient(chain, forward, weight, with_pairs),
            lambda: log_gradient(chain, weight, with_pairs),
        )
    )
    return unary, pair, None


log_partition_by_batch.defvjp(keep_messages, gradient, symbolic_zeros=True)

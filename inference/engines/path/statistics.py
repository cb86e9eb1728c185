"""d log Z = sum_t p(x_t) d unary_t + sum_t p(x_t, x_{t+1}) d pair_t, for each sequence.

The pair marginals, T K K numbers a sequence, are never kept, but made from two sides where they are
used: in scaled numbers p(i, j) = left_i exp(pair_ij - top) right_j, in logarithms p(i, j) =
exp(left_i + pair_ij + right_j). Where all steps share a potential, their sum over the steps is
enough; where the batch shares it, the first is a product of matrices; where each has its own, there
is one exponential to take for each number, and the second is as fast, and always safe.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from .domains import everywhere
from .layout import Array, Chain, masked_pair


class Sides(NamedTuple):
    """[T-1, B, K] each, as scaled numbers or as logarithms."""

    left: Array
    right: Array
    is_scaled: Array


class Statistics(NamedTuple):
    """`unary` [T, B, K]; of pairs `counts` [B, K, K] where steps share a potential, or `sides`."""

    unary: Array
    counts: Array | None = None
    sides: Sides | None = None


FEW_STATES = 8
"""Up to which a sum of products is faster than small products of matrices."""


def sum_of_outer(left: Array, right: Array) -> Array:
    """sum_t left[t, b, i] right[t, b, j]."""
    if left.shape[-1] > FEW_STATES:
        return jnp.einsum("tbi,tbj->bij", left, right)
    return jnp.sum(left[..., :, None] * right[..., None, :], axis=0)


def has_own_pairs(chain: Chain) -> bool:
    """A pair potential for each step of each sequence."""
    return not chain.same_pair and bool(chain.pair.shape[0] == chain.unary.shape[1])


def change_by_unary(statistics: Statistics, change: Array) -> Array:
    return jnp.sum(statistics.unary * change, axis=(0, 2))


def change_by_counts(counts: Array, change: Array) -> Array:
    """`change` [1 or B, 1, K, K]; [B]."""
    return jnp.sum(counts * change[:, 0], axis=(1, 2))


def change_by_pair(chain: Chain, sides: Sides, weights: Array, change: Array) -> Array:
    """`weights` are exp(pair - top), and `change` has the shape of the pair potentials; [B]."""
    if has_own_pairs(chain):
        return change_by_logs(chain, sides, change)
    # what the second branch computes from its arguments is not to be kept in case it is needed
    by_logs = jax.checkpoint(change_by_logs)
    scaled = everywhere(sides.is_scaled)

    def by_products() -> Array:
        """The batch shares the potentials of every step."""
        moved = jnp.einsum("tbi,tij->tbj", sides.left, (weights * change)[0])
        return jnp.sum(moved * sides.right, axis=(0, 2))

    return jax.lax.cond(scaled, by_products, lambda: by_logs(chain, sides, change))  # type: ignore[no-any-return]


def change_by_logs(chain: Chain, sides: Sides, change: Array) -> Array:
    left, right = jnp.swapaxes(sides.left, 0, 1), jnp.swapaxes(sides.right, 0, 1)
    marginals = jnp.exp(left[..., :, None] + masked_pair(chain) + right[..., None, :])
    return jnp.sum(marginals * change, axis=(1, 2, 3))

"""Many sequences a few at a time: messages that stay in the cache run several times faster."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from .layout import Array, Chain

Value = TypeVar("Value")
LARGE = 2**16
"""Numbers in the messages of all sequences from which blocks pay."""
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
    batch = chain.unary.shape[1]
    pair = None if chain.shared_pair else split(chain.pair, 0, size)
    inside, fresh = (
        None if mask is None else split(mask, 1, size) for mask in (chain.inside, chain.fresh)
    )

    def of_block(own: tuple[Array, Array | None, Array | None, Array | None]) -> Value:
        unary, own_pair, *masks = own
        return answer(Chain(unary, chain.pair if own_pair is None else own_pair, *masks))

    found = jax.lax.map(of_block, (split(chain.unary, 1, size), pair, inside, fresh))
    joined: Value = jax.tree.map(lambda axis, blocks: join(blocks, axis, batch), axes, found)
    return joined


def split(array: Array, axis: int, size: int) -> Array:
    """[..., B, ...] to [blocks, ..., size, ...]; the last sequence fills up the last block."""
    batch = array.shape[axis]
    blocks = -(-batch // size)
    filled = jnp.pad(
        array,
        [(0, blocks * size - batch if k == axis else 0) for k in range(array.ndim)],
        mode="edge",
    )
    shape = (*array.shape[:axis], blocks, size, *array.shape[axis + 1 :])
    return jnp.moveaxis(filled.reshape(shape), axis, 0)


def join(blocks: Array, axis: int, batch: int) -> Array:
    moved = jnp.moveaxis(blocks, 0, axis)
    merged = moved.reshape(*moved.shape[:axis], -1, *moved.shape[axis + 2 :])
    return jax.lax.slice_in_dim(merged, 0, batch, axis=axis)

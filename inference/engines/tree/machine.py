"""Walks the tiles of a circuit: one small program for all, the indices are its arguments."""

from collections.abc import Callable
from typing import Any

import jax
from jax import lax
from jax.custom_batching import custom_vmap

from .circuit import Tiles

Array = Any
Buffer = Any
Combine = Callable[[Buffer, Buffer], Buffer]
ENTRIES = lax.GatherDimensionNumbers(
    offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,)
)


def read(buffer: Buffer, places: Array) -> Buffer:
    """Entries of every array of the buffer; places are in range by construction."""
    return jax.tree.map(lambda x: take(x, places), buffer)


def take(x: Array, places: Array) -> Array:
    """x[places] without the care for negative and large indices that indexing takes."""
    indices = lax.expand_dims(places, (places.ndim,))
    return lax.gather(x, indices, ENTRIES, (1,), mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)


def lengthened(buffer: Buffer, length: int) -> Buffer:
    return jax.tree.map(lambda x: lax.pad(x, x.dtype.type(0), [(0, length - len(x), 0)]), buffer)


def walk(tiles: Tiles, buffer: Buffer, combine: Combine) -> Buffer:
    """buffer[start : start + columns] = combine(buffer[left], buffer[right]), tile after tile."""

    def turn(buffer: Buffer, tile: Tiles) -> tuple[Buffer, None]:
        out = combine(read(buffer, tile.left), read(buffer, tile.right))
        written = jax.tree.map(
            lambda x, y: lax.dynamic_update_slice(x, y, (tile.starts,)), buffer, out
        )
        return written, None

    return lax.scan(turn, buffer, tiles)[0]


def in_turn(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which a batch runs case after case on a CPU: there a walk over many cases at
    once is slower.

    What one case reads stays in the nearest cache, and reading is most of the time. Elsewhere cases
    run side by side.
    """
    turns: Any = custom_vmap(function)

    def batch(size: int, batched: Any, *arguments: Any) -> tuple[Any, Any]:
        on_cpu = jax.default_backend() == "cpu"
        leaves, tree = jax.tree.flatten(arguments)
        mapped = jax.tree.leaves(batched)

        def one(case: list[Any]) -> Any:
            own = iter(case)
            parts = [next(own) if m else x for x, m in zip(leaves, mapped, strict=True)]
            whole = jax.tree.unflatten(tree, parts)
            return turns(*whole) if on_cpu else function(*whole)

        cases = [x for x, m in zip(leaves, mapped, strict=True) if m]
        out = lax.map(one, cases, batch_size=None if on_cpu else size)
        return out, jax.tree.map(lambda _: True, out)

    turns.def_vmap(batch)
    return lambda *arguments: turns(*arguments)

"""A configuration of non-zero potential to start from: sampling with the zeros made unlikely instead of impossible."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..errors import InferenceError
from ..factors import Array
from .blocks import Block, Tables, blocks_of, resample, score, soften, tables_of
from .layout import Layout

SWEEPS, TRIES = 20, 10


@jax.jit
def sweep_chain(tables: Tables, blocks: Block, states: Array, key: Array) -> Array:
    """Every block of one chain drawn anew from its conditional, one block after another."""

    def step(states: Array, drawn: tuple[Block, Array]) -> tuple[Array, None]:
        block, key = drawn
        noise = jax.random.gumbel(key, tables.unary.shape, dtype=tables.unary.dtype)
        return resample(tables, block, states, noise, False), None

    keys = jax.random.split(key, blocks.rows.shape[0])
    return jax.lax.scan(step, states, (blocks, keys))[0]


@partial(jax.jit, static_argnames="count")
def sweep_many(tables: Tables, blocks: Block, states: Array, keys: Array, *, count: int) -> tuple[Array, Array]:
    """`count` sweeps of each chain: its last states, and the states after each sweep `[sweeps, chains, variables]`."""

    def step(states: Array, keys: Array) -> tuple[Array, Array]:
        new = jax.vmap(sweep_chain, in_axes=(None, None, 0, 0))(tables, blocks, states, keys)
        return new, new[:, :-1]

    return jax.lax.scan(step, states, jax.vmap(lambda key: jax.random.split(key, count), out_axes=1)(keys))


def find_start(layout: Layout, chains: int, seed: int) -> NDArray[np.int32]:
    """Random states for each chain, sampled on until none meets a zero; raises if that cannot be reached."""
    tables, blocks = tables_of(layout), blocks_of(layout)
    generator = np.random.default_rng(seed)
    sizes = np.array([*layout.sizes, 1])
    states = jnp.asarray((generator.random((chains, layout.count + 1)) * sizes[None]).astype(np.int32))
    keys = jax.random.split(jax.random.key(int(generator.integers(2**31))), TRIES)
    is_dead = dead_chains(tables, states)
    for key in keys:
        if not is_dead.any():
            return np.asarray(states)[:, :-1]
        moved, _ = sweep_many(soften(tables), blocks, states, jax.random.split(key, chains), count=SWEEPS)
        states = jnp.where(is_dead[:, None], moved, states)
        is_dead = dead_chains(tables, states)
    if is_dead.all():
        raise InferenceError(
            f"no configuration of non-zero potential was found in {SWEEPS * TRIES} sweeps of {chains} chains: the "
            "evidence may be impossible, or too constrained to be sampled; use exact inference or belief propagation"
        )
    alive = np.flatnonzero(~np.asarray(is_dead))
    return np.asarray(states)[np.resize(alive, chains), :-1]


@jax.jit
def dead_chains(tables: Tables, states: Array) -> Array:
    return jnp.isneginf(jax.vmap(score, in_axes=(None, 0))(tables, states))

"""A configuration of non-zero potential to start from: sampling with zeros made unlikely."""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError
from ...factors.factor_graph import Array
from .blocks import FlatTables, ForestBlock, blocks_of, resample, score, soften, tables_of
from .layout import FactorLayout

SEGMENT = 50  # sweeps that are compiled as one program
TRIES, CANDIDATES, KEY_WORDS = 6, 4, 4


def segment_keys(blocks: ForestBlock, *seeds: int) -> Array:
    """A key for each sweep and block, made on the host; this kind compiles ten times faster."""
    shape = (SEGMENT, blocks.rows.shape[0], KEY_WORDS)
    words = np.random.SeedSequence(seeds).generate_state(int(np.prod(shape))).reshape(shape)
    return jax.random.wrap_key_data(jnp.asarray(words), impl="rbg")


@jax.jit
def sweep_many(
    tables: FlatTables, blocks: ForestBlock, states: Array, keys: Array
) -> tuple[Array, Array]:
    """SEGMENT sweeps of each chain: its last states, and all `[sweep, chain, variable]`."""

    def draw(states: Array, drawn: tuple[ForestBlock, Array]) -> tuple[Array, None]:
        block, key = drawn
        noise = jax.random.gumbel(
            key, (states.shape[0], *tables.unary.shape), dtype=tables.unary.dtype
        )
        return jax.vmap(lambda x, g: resample(tables, block, x, g, False))(states, noise), None

    def sweep(states: Array, keys: Array) -> tuple[Array, Array]:
        new, _ = jax.lax.scan(draw, states, (blocks, keys))
        return new, new[:, :-1]

    return jax.lax.scan(sweep, states, keys)


def find_start(layout: FactorLayout, chains: int, seed: int) -> NDArray[np.int32]:
    """Random states for each chain, sampled on until none meets a zero; raises if that cannot be
    reached.

    With zeros about, several candidates are tried, and chains may start from the same one.
    """
    wanted, chains = chains, max(chains, CANDIDATES) if layout.has_zeros else chains
    tables, blocks = tables_of(layout), blocks_of(layout)
    generator = np.random.default_rng(seed)
    sizes = np.array([*layout.sizes, 1])
    states = jnp.asarray(
        (generator.random((chains, layout.count + 1)) * sizes[None]).astype(np.int32)
    )
    is_dead = dead_chains(tables, states)
    for attempt in range(TRIES):
        if not is_dead.any():
            return np.asarray(states)[:wanted, :-1]
        moved, _ = sweep_many(
            soften(tables), blocks, states, segment_keys(blocks, seed, attempt, 0)
        )
        states = jnp.where(is_dead[:, None], moved, states)
        is_dead = dead_chains(tables, states)
    if is_dead.all():
        raise InferenceError(
            f"no configuration of non-zero potential was found in {SEGMENT * TRIES} sweeps of "
            f"{chains} chains: the evidence may be impossible, or too constrained to be sampled; "
            "use exact inference or belief propagation"
        )
    alive = np.flatnonzero(~np.asarray(is_dead))
    return np.asarray(states)[np.resize(alive, wanted), :-1]


@jax.jit
def dead_chains(tables: FlatTables, states: Array) -> Array:
    return jnp.isneginf(jax.vmap(score, in_axes=(None, 0))(tables, states))

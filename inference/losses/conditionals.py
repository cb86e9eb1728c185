"""log p(x_v | rest) up to a constant, all states of many variables at once: the sum of the tables
that v is in.

Every table of v is read along the axis of v, the other axes at the states of the rest (GM21).
"""

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..engines.tree.structure import Structure
from ..optimise.method import Array
from .scores import Tables, places, strides_of


def conditional_logits(
    structure: Structure, tables: Tables, states: Array, wanted: NDArray[np.bool_] | None = None
) -> Array:
    """`[..., variables, most states]`, -inf beyond their states; zeros for those not wanted."""
    chosen = np.ones(len(structure.sizes), bool) if wanted is None else wanted
    dtype = jnp.result_type(*tables)
    sizes = np.array(structure.sizes, int)[:, None]
    exists = np.where(np.arange(structure.most_states)[None] < sizes, 0.0, -np.inf).astype(dtype)
    logits = jnp.broadcast_to(exists, (*states.shape[:-1], *exists.shape))
    for group, table in zip(structure.groups, tables, strict=True):
        for axis, stride in enumerate(strides_of(table.shape)):
            factors = np.flatnonzero(chosen[group.scopes[:, axis]])
            if factors.size:
                first = places(group.scopes, table.shape, states, skip=axis)[..., factors, None]
                steps = np.arange(table.shape[axis + 1], dtype=np.int32) * np.int32(stride)
                read = table.reshape(-1)[
                    first + jnp.broadcast_to(steps, (*first.shape[:-1], len(steps)))
                ]
                logits = logits.at[..., group.scopes[factors, axis], : len(steps)].add(read)
    return logits

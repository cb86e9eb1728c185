"""Tables read at given states: score(x) = sum over groups and factors of tables[group][factor, x of
its scope].

Tables are log-potentials, one array for each group of a structure; states are `[variables]` or
`[rows, variables]`. The gradient of a score is the indicator of the entries that were read.
"""

from collections.abc import Sequence
from math import prod

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..engines.tree.structure import Structure
from ..errors import InferenceError
from ..optimise.method import Array

Tables = Sequence[Array]


def score(structure: Structure, tables: Tables, states: Array) -> Array:
    """One number for each row of states."""
    verify_tables(structure, tables)
    verify_states(structure, states)
    total = jnp.zeros(states.shape[:-1], jnp.result_type(*tables))
    for group, table in zip(structure.groups, tables, strict=True):
        total = total + jnp.sum(
            table.reshape(-1)[places(group.scopes, table.shape, states)], axis=-1
        )
    return total


def strides_of(shape: tuple[int, ...]) -> list[int]:
    """Of the axes of one table, the first axis of the array being factors."""
    return [prod(shape[axis + 1 :]) for axis in range(1, len(shape))]


def places(
    scopes: NDArray[np.intp], shape: tuple[int, ...], states: Array, skip: int | None = None
) -> Array:
    """Where each table of a group is read, `[..., factors]`; axis `skip` at its first state."""
    starts = np.arange(len(scopes), dtype=np.int32) * np.int32(prod(shape[1:]))
    total = jnp.broadcast_to(starts, (*states.shape[:-1], len(scopes)))
    for axis, stride in enumerate(strides_of(shape)):
        if axis != skip:
            total = total + states[..., scopes[:, axis]].astype(jnp.int32) * np.int32(stride)
    return total


def verify_tables(structure: Structure, tables: Tables) -> None:
    found = tuple([jnp.shape(table) for table in tables])
    if found != structure.shapes:
        raise InferenceError(
            f"tables have the shapes {found}, the structure needs {structure.shapes}"
        )


def verify_states(structure: Structure, states: Array) -> None:
    if jnp.ndim(states) < 1 or jnp.shape(states)[-1] != len(structure.sizes):
        raise InferenceError(
            f"states have the shape {jnp.shape(states)}: the last axis needs {len(structure.sizes)}"
        )
    if not jnp.issubdtype(jnp.result_type(states), jnp.integer):
        raise InferenceError(
            f"states are numbers from 0, of an integer type, not {jnp.result_type(states)}"
        )

"""Cases over devices: the loss is a sum over cases, so each device sums over its own."""

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from dpc.inference.optimise.sharded import left_to_the_compiler, place, replicate, shard_rows

from .likelihood import Arrays


def spread_cases(groups: list[Arrays], mesh: Mesh) -> list[Arrays]:
    """Arrays by case are cut along cases; of a single case along the first axis, if possible."""
    return [_spread(own, mesh) for own in groups]


def _spread(own: Arrays, mesh: Mesh) -> Arrays:
    if own.stacked:
        stacked, weights = shard_rows(own.stacked, own.weights, mesh)
        return Arrays(replicate(own.shared, mesh), stacked, weights)
    shared = jax.tree.map(lambda array: _cut_evenly(np.asarray(array), mesh), own.shared)
    return Arrays(shared, {}, replicate(own.weights, mesh))


def _cut_evenly(array: np.ndarray, mesh: Mesh) -> Any:
    if not array.ndim or array.shape[0] % mesh.devices.shape[0]:
        return replicate(array, mesh)
    return place(
        array, NamedSharding(left_to_the_compiler(mesh), PartitionSpec(mesh.axis_names[0]))
    )

"""Rows over devices: sum_i w_i loss_i is a sum over devices of sums over their rows.

The leading axis of every array counts rows and is cut evenly over the devices of a mesh; missing
rows repeat the last one with weight zero, so the loss must take weights. The same compiled loss
then runs on all devices, of one process or of many that `jax.distributed` joined (each of which
calls this with all rows, and keeps its own).
"""

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ..errors import InferenceError
from .method import Array

ROWS = "rows"


def all_devices() -> Mesh:
    """Every device of every process in one row."""
    return Mesh(np.array(jax.devices()), (ROWS,))


def shard_rows(data: Any, weights: Any = None, mesh: Mesh | None = None) -> tuple[Any, Array]:
    """The data and the weights (ones where None), rows over the first axis of the mesh."""
    mesh = all_devices() if mesh is None else mesh
    count = count_rows(data)
    ones = np.ones(count, jax.numpy.result_type(float))
    weights = ones if weights is None else np.asarray(weights)
    if weights.shape != (count,):
        raise InferenceError(f"weights have the shape {weights.shape}, the data has {count} rows")
    missing = -count % mesh.devices.shape[0]
    rows = NamedSharding(left_to_the_compiler(mesh), PartitionSpec(mesh.axis_names[0]))
    padded = np.concatenate([weights, np.zeros(missing, weights.dtype)])

    def cut(leaf: Any) -> Array:
        array = np.asarray(leaf)
        return place(np.concatenate([array, np.repeat(array[-1:], missing, axis=0)]), rows)

    return jax.tree.map(cut, data), place(padded, rows)


def replicate(raw: Any, mesh: Mesh | None = None) -> Any:
    """Parameters, or a state, whole on every device."""
    own = all_devices() if mesh is None else left_to_the_compiler(mesh)
    everywhere = NamedSharding(own, PartitionSpec())
    return jax.tree.map(lambda leaf: place(np.asarray(leaf), everywhere), raw)


def left_to_the_compiler(mesh: Mesh) -> Mesh:
    """The mesh with automatic axes: under explicit ones losses cannot gather or scan."""
    return Mesh(mesh.devices, mesh.axis_names)


def place(array: np.ndarray, sharding: NamedSharding) -> Array:
    return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])


def count_rows(data: Any) -> int:
    leaves = jax.tree_util.tree_leaves_with_path(data)
    lengths = {jax.tree_util.keystr(path): np.shape(leaf)[:1] for path, leaf in leaves}
    if not lengths or () in lengths.values() or len(set(lengths.values())) > 1:
        raise InferenceError(
            f"arrays of the data need one leading axis of rows, all of one length, not {lengths}"
        )
    (count,) = next(iter(lengths.values()))
    if not count:
        raise InferenceError("the data has no rows")
    return int(count)

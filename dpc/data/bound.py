"""Data that has been checked against a model: a mapping of arrays that JAX takes as a pytree."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from .errors import problem

WIDE = "jax.config.update('jax_enable_x64', True) makes numbers 64 bits wide"
EXACT = 2**24
"""Whole numbers from which 32 bits round; densities of counts lose digits there."""


def in_width(name: str, given: Any) -> Any:
    """The array in the precision of JAX, 32 bits unless it is told otherwise: nothing wraps."""
    array = np.asarray(given)
    dtype = jax.dtypes.canonicalize_dtype(array.dtype)
    if dtype.itemsize < array.dtype.itemsize and array.size:
        with np.errstate(over="ignore", invalid="ignore"):
            found = array.astype(dtype)
        is_lost = found != array if dtype.kind in "iu" else np.isfinite(array) & ~np.isfinite(found)
        if np.any(is_lost):
            what = f"`{name}` has numbers that do not fit in 32 bits"
            raise problem(name, f"{what}, such as {array[is_lost].flat[0]}", WIDE)
        if dtype.kind in "iu" and max(abs(int(array.max())), abs(int(array.min()))) > EXACT:
            what = f"`{name}` has whole numbers above {EXACT:,}, which 32 bits round in densities"
            warnings.warn(f"{what}: {WIDE}", stacklevel=4)
        return found
    return given


class DataLayout(NamedTuple):
    """What JAX never traces: names, sizes and labels. Kept whole, so that comparing is cheap."""

    names: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...]
    labels: tuple[tuple[str, tuple[str, ...]], ...]


@jax.tree_util.register_pytree_node_class
class Data(Mapping[str, Any]):
    """Arrays by name, and sizes and labels of dims, never traced; a dim's name gives its size."""

    def __init__(
        self,
        arrays: Mapping[str, Any],
        sizes: Mapping[str, int],
        labels: Mapping[str, tuple[str, ...]],
    ):
        self.arrays = {name: jnp.asarray(in_width(name, a)) for name, a in arrays.items()}
        self.layout = DataLayout(tuple(arrays), tuple(sizes.items()), tuple(labels.items()))

    @property
    def sizes(self) -> dict[str, int]:
        return dict(self.layout.sizes)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        return dict(self.layout.labels)

    def __getitem__(self, name: str) -> Any:
        return self.arrays[name] if name in self.arrays else self.sizes[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self.arrays, *(name for name in self.sizes if name not in self.arrays)])

    def __len__(self) -> int:
        return len(set(self.arrays) | set(self.sizes))

    def tree_flatten(self) -> tuple[tuple[Any, ...], DataLayout]:
        return tuple(self.arrays.values()), self.layout

    @classmethod
    def tree_unflatten(cls, layout: DataLayout, arrays: tuple[Any, ...]) -> Self:
        found = object.__new__(cls)
        found.arrays = dict(zip(layout.names, arrays, strict=True))
        found.layout = layout
        return found

"""Data that has been checked against a model: a mapping of arrays that JAX takes as a pytree."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp


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
        self.arrays = {name: jnp.asarray(array) for name, array in arrays.items()}
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

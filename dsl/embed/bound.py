"""Data that has been checked against a model: a mapping of arrays that JAX takes as a pytree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class Data(Mapping[str, Any]):
    """Arrays by name, and beside them the sizes and labels of dims, which are never traced.

    A dim's name gives its size, so that programs can ask for either.
    """

    def __init__(self, arrays: Mapping[str, Any], sizes: Mapping[str, int], labels: Mapping[str, tuple[str, ...]]):
        self.arrays = {name: jnp.asarray(array) for name, array in arrays.items()}
        self.sizes = dict(sizes)
        self.labels = dict(labels)

    def __getitem__(self, name: str) -> Any:
        return self.arrays[name] if name in self.arrays else self.sizes[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self.arrays, *(name for name in self.sizes if name not in self.arrays)])

    def __len__(self) -> int:
        return len(set(self.arrays) | set(self.sizes))

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        names = tuple(self.arrays)
        return tuple(self.arrays.values()), (names, tuple(self.sizes.items()), tuple(self.labels.items()))

    @classmethod
    def tree_unflatten(cls, static: Any, arrays: tuple[Any, ...]) -> Self:
        names, sizes, labels = static
        found = cls({}, dict(sizes), dict(labels))
        found.arrays = dict(zip(names, arrays, strict=True))
        return found

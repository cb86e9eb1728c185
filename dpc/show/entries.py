"""Entries of arrays by name."""

from collections.abc import Mapping
from itertools import product
from typing import Any


def entry_names(
    name: str, node_type: Any, shape: tuple[int, ...], labels: Mapping[str, tuple[str, ...]]
) -> list[str]:
    """`W[O, 0]` for every entry: by the labels of dims where they have some, by position where
    not.
    """
    if not shape:
        return [name]
    axes = [
        getattr(axis, "labels", ()) or labels.get(str(axis), ()) or range(length)
        for axis, length in zip(node_type.shape, shape, strict=True)
    ]
    return [f"{name}[{', '.join(map(str, places))}]" for places in product(*axes)]

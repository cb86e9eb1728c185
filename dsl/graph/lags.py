"""How many steps back a node looks along each axis, read off its compiled pieces."""

from __future__ import annotations

from collections.abc import Iterator

from . import core as c
from .dependence import Edge
from .graph import Node, offset_of


def lagged_edges(node: Node) -> Iterator[Edge]:
    """What a node's pieces mention, with the steps back along each axis, None where they cannot be
    told.
    """
    for piece in node.pieces:
        for core in c.walk(piece.body):
            if isinstance(core, c.At) and isinstance(core.base, c.Ref):
                lags = tuple(
                    lag_along(i, used) for i, used in zip(piece.indices, core.indices, strict=False)
                )
                yield Edge(node.name, core.base.name, core.span, lags)


def lag_along(index: c.Bind | c.Core, used: c.Core) -> int | None:
    """How many steps before `index` the index `used` points."""
    offset = offset_of(used)
    if offset is None:
        return None
    name, value = offset
    if isinstance(index, c.Bind):
        if name == index.name:
            return -value
        is_earlier = name is None and not index.low.from_end and index.low.offset > value >= 0
        return index.low.offset - value if is_earlier else None
    return int(index.value) - value if isinstance(index, c.Const) and name is None else None

"""How much many draws, samples or configurations take, said before any array is made."""

from collections.abc import Iterable, Mapping
from math import prod

from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.types import Dim
from dpc.inference.errors import MemoryLimitError
from dpc.inference.planning.plan import CELL, SMALL, default_memory_limit, format_bytes

COMPUTED = 4 * 8
"""Bytes of an entry that is computed: of itself, of what it is computed from, of a derivative."""
SHOWN = CELL + COMPUTED
"""Bytes of an entry that is printed: a Python object, and its text."""


def verify_room(
    count: int, what: str, entries: int, each: int = COMPUTED, memory: int | None = None
) -> None:
    """Raises if `count` times so many entries take more than `memory`, or half of what is free.

    What is small is made even where `memory` is less: that is for the tables of a question.
    """
    needed = count * max(entries, 1) * each
    if needed < SMALL:
        return
    allowed = default_memory_limit() if memory is None else memory
    if needed > allowed:
        said = f"{count:,} {what} take {format_bytes(needed)}"
        limit = f"the limit is {format_bytes(allowed)}"
        raise MemoryLimitError(f"{said}, and {limit}: ask for fewer, or for some at a time")


def entries_of(graph: Graph, sizes: Mapping[str, int]) -> int:
    """Of all that is drawn or computed, once."""
    nodes: Iterable[Node] = graph.of_kind(Kind.DRAW, Kind.FUNCTION)
    return sum(prod(_length(axis, sizes) for axis in node.type.shape) for node in nodes)


def _length(axis: object, sizes: Mapping[str, int]) -> int:
    own = sizes.get(axis.name) if isinstance(axis, Dim) else None
    return int(own if own is not None else getattr(axis, "size", None) or 1)

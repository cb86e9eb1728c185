"""How large the arrays of a model are, told from the sizes of its dims before any is made."""

from collections.abc import Iterator, Mapping
from math import prod

from ..record import Record
from . import core as c
from .graph import Graph, Node
from .types import Dim

ENTRY = 8
"""Bytes of a number."""


class Extent(Record):
    """An array of `node` with an axis for each of these dims."""

    node: str
    dims: tuple[Dim, ...]

    def bytes(self, sizes: Mapping[str, int]) -> int:
        return ENTRY * prod(sizes.get(dim.name, dim.size or 1) for dim in self.dims)


def largest_extent(graph: Graph, sizes: Mapping[str, int]) -> Extent:
    """A sum over i and j is computed for all i and j at once: its array has both axes."""
    found = [Extent("", ())]
    for part in (graph, *filter(None, [graph.guide])):
        axes = _Axes(part)
        for node in part.nodes:
            found += {Extent(node.name, own) for own in axes.of_node(node)}
    return max(found, key=lambda extent: extent.bytes(sizes))


class _Axes:
    """The axes of all that an expression computes, those of what is around it included."""

    def __init__(self, graph: Graph):
        self.functions = {function.name: function for function in graph.functions}
        # The members of a recurrence are computed one step after the other.
        groups = graph.recurrences
        self.stepwise = {name for group in groups for name in group.members}
        # What a function has was said when it was looked into; another call adds nothing.
        self.bodies: set[tuple[str, tuple[Dim, ...]]] = set()

    def of_node(self, node: Node) -> Iterator[tuple[Dim, ...]]:
        yield tuple(axis for axis in node.type.shape if isinstance(axis, Dim))
        for piece in node.pieces:
            binders = [index for index in piece.indices if isinstance(index, c.Bind)]
            own = () if node.name in self.stepwise else tuple(bind.dim for bind in binders)
            yield from self.of_core(piece.body, own)

    def of_core(self, core: c.Core | c.Law, around: tuple[Dim, ...]) -> Iterator[tuple[Dim, ...]]:
        if isinstance(core, c.Reduce | c.Build):
            around = (*around, *(bind.dim for bind in core.binders))
            yield around
        if isinstance(core, c.CallFn):
            body = self.functions[core.function].body
            if body is not None and (core.function, around) not in self.bodies:
                self.bodies.add((core.function, around))
                yield from self.of_core(body, around)
        for part in c.parts(core):
            yield from self.of_core(part, around)

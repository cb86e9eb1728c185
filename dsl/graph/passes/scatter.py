"""Random arrays of known size as numbers, so that one element can be compared with another.

x[n in N] ~ D(n)  becomes  x[0] ~ D(0), x[1] ~ D(1), ...  and  x = [x[0], x[1], ...].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

from .. import core as c
from ..dependence import find_recurrences, lagged_edges
from ..graph import Graph, Kind, Node
from ..substitute import substitute
from ..typed import Piece
from ..types import Axis
from .entries import JOINED, constant, in_entries, places_of
from .standard import Unfit, fold, rewrite, run_passes

MOST_ELEMENTS = 64


@rewrite
def scatter(graph: Graph) -> Graph:
    """Every random array of known size is an array of numbers that are nodes of their own."""
    whole = {node.name: node for node in graph.nodes if _can_be_scattered(node)}
    elements = sum(prod(axis.size or 1 for axis in _axes(node)) for node in whole.values())
    members = {name for group in graph.recurrences for name in group.members}
    if elements > MOST_ELEMENTS or any(name in members - whole.keys() for name in _random(graph)):
        raise Unfit("", "too many elements", "")
    scattered = _Scattered(whole)
    nodes = [new for node in graph.nodes for new in scattered.nodes(node)]
    edges = [edge for node in nodes for edge in lagged_edges(node)]
    recurrences, _ = find_recurrences([node.name for node in nodes], edges)
    return run_passes(graph.replace(nodes=tuple(nodes), recurrences=tuple(recurrences)))


def _random(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes if node.random]


def _axes(node: Node) -> Sequence[Axis]:
    """Those that its statements bind."""
    return node.type.shape[: len(node.pieces[0].indices)]


def _can_be_scattered(node: Node) -> bool:
    if not node.random or node.observed or not node.pieces or not node.pieces[0].indices:
        return False
    if node.kind not in (Kind.DRAW, Kind.FUNCTION):
        return False
    known = all(axis.size is not None for axis in _axes(node))
    return known and all(piece.where is None for piece in node.pieces)


class _Scattered:
    def __init__(self, whole: dict[str, Node]):
        self.whole = whole

    def nodes(self, node: Node) -> Iterator[Node]:
        if node.name not in self.whole:
            pieces = (piece.replace(body=fold(self.read(piece.body))) for piece in node.pieces)
            yield node.replace(pieces=tuple(pieces)) if node.random else node
            return
        for piece in node.pieces:
            for one in product(*(places_of(index) for index in piece.indices)):
                yield self.element_node(node, piece, one)
        stacked = _stacked(node, ())
        piece = Piece(node.span, (), None, stacked)
        yield node.replace(kind=Kind.FUNCTION, pieces=(piece,))

    def element_node(self, node: Node, piece: Piece, at: tuple[int, ...]) -> Node:
        pairs = zip(piece.indices, at, strict=True)
        known = {b.name: constant(b, place) for b, place in pairs if isinstance(b, c.Bind)}
        body = fold(self.read(fold(substitute(piece.body, known))))
        rest = node.type.replace(shape=node.type.shape[len(at) :])
        own = Piece(piece.span, (), None, body, piece.settings)
        return node.replace(name=_name(node.name, at), type=rest, pieces=(own,))

    def read(self, core: Any) -> Any:
        """The same expression with elements by their names, and reductions of them written out."""
        terms = self.terms_of(core)
        if terms is not None:
            return self.read(terms)
        if isinstance(core, c.At) and isinstance(core.base, c.Ref) and core.base.name in self.whole:
            places = [fold(index) for index in core.indices]
            node = self.whole[core.base.name]
            if len(places) == len(_axes(node)) and all(isinstance(x, c.Const) for x in places):
                name = _name(node.name, tuple(int(x.value) for x in places))  # type: ignore[attr-defined]
                return c.Ref(core.span, core.type, name)
        return c.map_parts(core, self.read)

    def terms_of(self, core: Any) -> c.Core | None:
        """A reduction over arrays that are scattered, as a sum, a maximum, ... of numbers."""
        if not any(isinstance(p, c.Ref) and p.name in self.whole for p in c.walk(core)):
            return None
        is_joined = isinstance(core, c.Apply) and core.function in (*JOINED, "dot")
        return in_entries(core) if is_joined or isinstance(core, c.Reduce) else None


def _name(name: str, places: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, places))}]"


def _stacked(node: Node, places: tuple[int, ...]) -> c.Core:
    type_ = node.type.replace(shape=node.type.shape[len(places) :])
    axes = _axes(node)
    if len(places) == len(axes):
        return c.Ref(node.span, type_, _name(node.name, places))
    size = axes[len(places)].size or 0
    return c.Stack(node.span, type_, tuple(_stacked(node, (*places, k)) for k in range(size)))

"""Random arrays of known size as numbers, so that one element can be compared with another.

x[n in N] ~ D(n)  becomes  x[0] ~ D(0), x[1] ~ D(1), ...  and  x = [x[0], x[1], ...].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import product
from math import prod
from typing import Any

from .. import core as c
from ..dependence import find_recurrences, lagged_edges
from ..forms import arithmetic, compare, element, number, pair
from ..graph import Graph, Kind, Node
from ..substitute import substitute
from ..typed import Piece
from ..types import BOOL, Axis, IndexOf, Place, Type
from .standard import Unfit, fold, rewrite, run_passes

MOST_ELEMENTS = 64
EXTREME = "{0}(a: num, b: num) -> num"


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
            for places in product(*(_places(index) for index in piece.indices)):
                yield self.element_node(node, piece, places)
        stacked = _stacked(node, ())
        piece = Piece(node.span, (), None, stacked)
        yield node.replace(kind=Kind.FUNCTION, pieces=(piece,))

    def element_node(self, node: Node, piece: Piece, places: tuple[int, ...]) -> Node:
        pairs = zip(piece.indices, places, strict=True)
        known = {b.name: _constant(b, place) for b, place in pairs if isinstance(b, c.Bind)}
        body = fold(self.read(fold(substitute(piece.body, known))))
        rest = node.type.replace(shape=node.type.shape[len(places) :])
        own = Piece(piece.span, (), None, body, piece.settings)
        return node.replace(name=_name(node.name, places), type=rest, pieces=(own,))

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
        if isinstance(core, c.Reduce) and core.operator in JOINED and core.where is None:
            terms = list(_terms(core))
            return _joined(core, core.operator, terms) if terms else None
        if isinstance(core, c.Apply) and core.function in (*JOINED, "dot") and not core.type.shape:
            return _whole_array(core)
        return None


def _terms(core: c.Reduce) -> Iterator[c.Core]:
    """The body for every place of the binders; none where a size is not known."""
    for places in product(*(_places(bind) for bind in core.binders)):
        pairs = zip(core.binders, places, strict=True)
        yield substitute(core.body, {bind.name: _constant(bind, k) for bind, k in pairs})


def _whole_array(core: c.Apply) -> c.Core | None:
    """sum(x), max(x), dot(x, y), ... of vectors of known length."""
    values = [value for _, value in core.arguments]
    shapes = {value.type.shape for value in values}
    shape = shapes.pop()
    if shapes or len(shape) != 1 or not shape[0].size:
        return None
    entries = [_entries(value, shape[0]) for value in values]
    if core.function != "dot":
        return _joined(core, core.function, entries[0]) if len(entries) == 1 else None
    products = [arithmetic("multiply", a, b) for a, b in zip(*entries, strict=True)]
    return _joined(core, "sum", products)


def _entries(core: c.Core, axis: Axis) -> list[c.Core]:
    index = Type(IndexOf(axis))
    return [element(core, c.Const(core.span, index, k)) for k in range(axis.size or 0)]


def _places(index: c.Bind | c.Core) -> range:
    """The places of a statement's index, or none where its size is not known."""
    if isinstance(index, c.Const):
        return range(int(index.value), int(index.value) + 1)
    if not isinstance(index, c.Bind) or index.dim.size is None:
        return range(0)
    low, high = (_offset(place, index.dim.size) for place in (index.low, index.high))
    return range(low, high + 1)


def _offset(place: Place, size: int) -> int:
    return size + place.offset if place.from_end else place.offset


def _constant(bind: c.Bind, place: int) -> c.Core:
    type_ = Type(IndexOf(bind.dim, Place(place), Place(place)))
    return c.Const(bind.span, type_, place)


def _name(name: str, places: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, places))}]"


def _stacked(node: Node, places: tuple[int, ...]) -> c.Core:
    type_ = node.type.replace(shape=node.type.shape[len(places) :])
    axes = _axes(node)
    if len(places) == len(axes):
        return c.Ref(node.span, type_, _name(node.name, places))
    size = axes[len(places)].size or 0
    return c.Stack(node.span, type_, tuple(_stacked(node, (*places, k)) for k in range(size)))


def _extreme(word: str) -> Callable[[c.Core, c.Core], c.Core]:
    def join(a: c.Core, b: c.Core) -> c.Core:
        return c.Apply(a.span, a.type, word, pair(a, b), EXTREME.format(word))

    return join


JOINED: dict[str, Callable[[c.Core, c.Core], c.Core]] = {
    "sum": lambda a, b: arithmetic("add", a, b),
    "mean": lambda a, b: arithmetic("add", a, b),
    "max": _extreme("max"),
    "min": _extreme("min"),
    "any": lambda a, b: compare("or", a, b),
    "all": lambda a, b: compare("and", a, b),
}


def _joined(core: c.Core, operator: str, terms: list[c.Core]) -> c.Core:
    if operator == "sum" and terms[0].type == BOOL:
        terms = [c.If(t.span, core.type, t, number(t, 1.0), number(t, 0.0)) for t in terms]
    found = reduce(JOINED[operator], terms)
    if operator == "mean":
        found = arithmetic("multiply", found, number(core, 1 / len(terms)))
    return found.replace(span=core.span)

"""A graph as a picture: which box, which arrow, inside which plates."""

from __future__ import annotations

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import offset_of
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece

from . import picture as p

KINDS = {
    Kind.INPUT: p.Kind.INPUT,
    Kind.PARAMETER: p.Kind.PARAM,
    Kind.FUNCTION: p.Kind.FUNCTION,
    Kind.DRAW: p.Kind.DRAW,
    Kind.FACTOR: p.Kind.FACTOR,
    Kind.COST: p.Kind.COST,
}


def picture_of(graph: Graph) -> p.Picture:
    boxes = tuple(_box(node) for node in graph.nodes)
    arrows = tuple(arrow for node in graph.nodes for arrow in _arrows(node, graph))
    used = dict.fromkeys(key for box in boxes for key in box.plates)
    sizes = {dim.name: dim.size for dim in graph.dims}
    plates = tuple(p.Plate(key, _plate_label(key, sizes[key.rstrip("'")])) for key in used)
    return p.Picture(graph.name or graph.source.path, boxes, arrows, plates)


def _plate_label(key: str, size: int | None) -> str:
    name = key.rstrip("'")
    return name if size is None else f"{name} = {size}"


def _box(node: Node) -> p.Box:
    kind = p.Kind.LATENT if node.undirected else KINDS[node.kind]
    return p.Box(node.name, node.name, kind, node.observed, _detail(node), _plates(node))


def _plates(node: Node) -> tuple[str, ...]:
    """Parameters and matrices are one box; what is repeated by binders stands in plates. A dim used
    twice is primed.
    """
    if node.kind in (Kind.PARAMETER, Kind.INPUT) and len(node.plates) != 1:
        return ()
    if node.kind is Kind.PARAMETER:
        return ()
    found: list[str] = []
    for dim in node.plates:
        key = dim.name
        while key in found:
            key += "'"
        found.append(key)
    return tuple(found)


def _detail(node: Node) -> str:
    if node.laws:
        return node.laws[-1].name
    if node.kind in (Kind.INPUT, Kind.PARAMETER) or node.undirected:
        return str(node.type)
    return ""


def _arrows(node: Node, graph: Graph) -> list[p.Arrow]:
    found = []
    for parent in node.parents:
        lag = _lag(node, parent) if _same_recurrence(node.name, parent, graph) else ""
        touches = (
            node.kind is Kind.FACTOR and graph[parent].random and graph[parent].kind is Kind.DRAW
        )
        found.append(p.Arrow(parent, node.name, not touches, lag))
    return found


def _same_recurrence(a: str, b: str, graph: Graph) -> bool:
    return any(a in group.members and b in group.members for group in graph.recurrences)


def _lag(node: Node, parent: str) -> str:
    """`t-1`, or nothing when the parent is used at the same step."""
    offsets = [o for piece in node.pieces for o in _offsets(piece, parent) if o[1]]
    return ", ".join(dict.fromkeys(f"{name}{value:+d}" for name, value in offsets if name))


def _offsets(piece: Piece, parent: str) -> list[tuple[str | None, int]]:
    uses = [
        x
        for x in c.walk(piece.body)
        if isinstance(x, c.At) and isinstance(x.base, c.Ref) and x.base.name == parent
    ]
    return [offset for use in uses for index in use.indices if (offset := offset_of(index))]

"""What is drawn: the graph of a model, or a network with the marginals in its nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import offset_of
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece

from ...exits import UsageError
from .picture import Arrow, Box, BoxKind, Picture, Plate

if TYPE_CHECKING:
    from ...finite.discrete import Discrete

KINDS = {
    Kind.INPUT: BoxKind.INPUT,
    Kind.PARAMETER: BoxKind.PARAM,
    Kind.FUNCTION: BoxKind.FUNCTION,
    Kind.DRAW: BoxKind.DRAW,
    Kind.FACTOR: BoxKind.FACTOR,
    Kind.COST: BoxKind.COST,
}
MOST_MARGINALS = 400


def picture_of(graph: Graph) -> Picture:
    """Which box, which arrow, inside which plates."""
    boxes = tuple(_box(node) for node in graph.nodes)
    arrows = tuple(arrow for node in graph.nodes for arrow in _arrows(node, graph))
    used = dict.fromkeys(key for box in boxes for key in box.plates)
    sizes = {dim.name: dim.size for dim in graph.dims}
    plates = tuple(Plate(key, _plate_label(key.rstrip("'"), sizes)) for key in used)
    return Picture(graph.name or graph.source.path, boxes, arrows, plates)


def _plate_label(name: str, sizes: Mapping[str, int | None]) -> str:
    return name if sizes[name] is None else f"{name} = {sizes[name]}"


def _box(node: Node) -> Box:
    kind = BoxKind.LATENT if node.undirected else KINDS[node.kind]
    return Box(node.name, node.name, kind, node.observed, _detail(node), _plates(node))


def _plates(node: Node) -> tuple[str, ...]:
    """Parameters and matrices are one box; what binders repeat stands in plates.

    A dim used twice is primed.
    """
    is_matrix = node.kind is Kind.INPUT and len(node.plates) != 1
    if is_matrix or node.kind is Kind.PARAMETER:
        return ()
    keys: list[str] = []
    for dim in node.plates:
        key = dim.name
        while key in keys:
            key += "'"
        keys.append(key)
    return tuple(keys)


def _detail(node: Node) -> str:
    if node.laws:
        return node.laws[-1].name
    if node.kind in (Kind.INPUT, Kind.PARAMETER) or node.undirected:
        return str(node.type)
    return ""


def _arrows(node: Node, graph: Graph) -> list[Arrow]:
    arrows = []
    for parent in node.parents:
        ends = {node.name, parent}
        is_recurrent = any(ends <= set(group.members) for group in graph.recurrences)
        is_random = graph[parent].random and graph[parent].kind is Kind.DRAW
        touches = node.kind is Kind.FACTOR and is_random
        lag = _lag(node, parent) if is_recurrent else ""
        arrows.append(Arrow(parent, node.name, not touches, lag))
    return arrows


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


def picture_of_marginals(
    title: str, discrete: Discrete, marginals: Mapping[str, Any], given: Collection[str]
) -> Picture:
    """One chart for every variable, arrows from parents to children."""
    if len(marginals) > MOST_MARGINALS:
        raise UsageError(
            f"a picture of {len(marginals):,} variables cannot be read: ask for fewer, at most "
            f"{MOST_MARGINALS}"
        )
    kind = BoxKind.DRAW if discrete.directed else BoxKind.LATENT
    boxes = []
    for name, table in marginals.items():
        bars = tuple(zip(discrete.states[name], table.tolist(), strict=True))
        boxes.append(Box(name, name, kind, name in given, bars=bars))
    arrows: dict[tuple[str, str], Arrow] = {}
    for factor in discrete.factors.factors:
        for arrow in _factor_arrows([str(v) for v in factor.variables], factor.child, marginals):
            arrows.setdefault((arrow.source, arrow.target), arrow)
    return Picture(title, tuple(boxes), tuple(arrows.values()))


def _factor_arrows(variables: list[str], child: object, shown: Collection[str]) -> list[Arrow]:
    """From each parent to the child; between all of a factor without one."""
    if child is None:
        pairs = combinations([v for v in variables if v in shown], 2)
        return [Arrow(a, b, directed=False) for a, b in pairs]
    parents = [v for v in variables if v != child and v in shown]
    return [Arrow(parent, str(child)) for parent in parents] if child in shown else []

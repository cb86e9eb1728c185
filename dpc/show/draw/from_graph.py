"""What is drawn: the graph of a model, or a network with the marginals in its nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import offset_of
from dpc.dsl.graph.graph import Graph, Kind, Node

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
    boxes = []
    for node in graph.nodes:
        kind = BoxKind.LATENT if node.undirected else KINDS[node.kind]
        detail = node.laws[-1].name if node.laws else ""
        if not node.laws and (kind in (BoxKind.INPUT, BoxKind.PARAM) or node.undirected):
            detail = str(node.type)
        boxes.append(Box(node.name, node.name, kind, node.observed, detail, _plates(node)))
    arrows = tuple(arrow for node in graph.nodes for arrow in _arrows(node, graph))
    used = dict.fromkeys(key for box in boxes for key in box.plates)
    sizes = {dim.name: "" if dim.size is None else f" = {dim.size}" for dim in graph.dims}
    names = {key: key.rstrip("'") for key in used}
    plates = tuple(Plate(key, name + sizes[name]) for key, name in names.items())
    return Picture(graph.name or graph.source.path, tuple(boxes), arrows, plates)


def _plates(node: Node) -> tuple[str, ...]:
    """Parameters and matrices are one box; what binders repeat is in plates, primed if twice."""
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
    offsets: list[tuple[str | None, int]] = []
    for use in (part for piece in node.pieces for part in c.walk(piece.body)):
        if isinstance(use, c.At) and isinstance(use.base, c.Ref) and use.base.name == parent:
            offsets += filter(None, map(offset_of, use.indices))
    shown = [f"{name}{value:+d}" for name, value in offsets if name and value]
    return ", ".join(dict.fromkeys(shown))


def picture_of_marginals(
    title: str, discrete: Discrete, marginals: Mapping[str, Any], given: Collection[str]
) -> Picture:
    """One chart for every variable, arrows from parents to children."""
    if len(marginals) > MOST_MARGINALS:
        what = f"a picture of {len(marginals):,} variables cannot be read"
        raise UsageError(f"{what}: ask for fewer, at most {MOST_MARGINALS}")
    kind = BoxKind.DRAW if discrete.directed else BoxKind.LATENT
    boxes = []
    for name, table in marginals.items():
        bars = tuple(zip(discrete.states[name], table.tolist(), strict=True))
        boxes.append(Box(name, name, kind, name in given, bars=bars))
    arrows: dict[tuple[str, str], Arrow] = {}
    for factor in discrete.factors.factors:
        # From each parent to the child; between all of a factor without one.
        shown, child = [str(v) for v in factor.variables if str(v) in marginals], factor.child
        pairs = list(combinations(shown, 2))
        if child is not None:
            pairs = [(v, str(child)) for v in shown if v != child and child in marginals]
        for pair in pairs:
            arrows.setdefault(pair, Arrow(*pair, directed=child is not None))
    return Picture(title, tuple(boxes), tuple(arrows.values()))

"""What a drawing shows, before anything is placed: boxes, arrows and the plates around them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import offset_of
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.record import Record

from ...exits import UsageError

if TYPE_CHECKING:
    from ...finite.discrete import Discrete


# A rectangle is known by the keys of the plates from the outermost to it; the page is ().
PlatePath = tuple[str, ...]


class BoxKind(Enum):
    """The legend of the book: functions are boxes, draws circles, factors small squares."""

    INPUT = "data"
    PARAM = "parameter"
    FUNCTION = "function"
    DRAW = "draw"
    LATENT = "latent"
    FACTOR = "factor"
    COST = "objective"


class Box(Record):
    """One node; `plates` are the keys around it, outermost first, `bars` are shares with names."""

    name: str
    label: str
    kind: BoxKind
    observed: bool = False
    detail: str = ""
    plates: PlatePath = ()
    bars: tuple[tuple[str, float], ...] = ()

    @property
    def is_round(self) -> bool:
        """Draws are circles, unless a chart has to fit in."""
        return self.kind in {BoxKind.DRAW, BoxKind.LATENT} and not self.bars

    @property
    def is_shaded(self) -> bool:
        """Data is always shaded, and a factor is solid, so being observed changes neither."""
        return self.observed and self.kind not in {BoxKind.INPUT, BoxKind.FACTOR}


class Arrow(Record):
    """Factors touch their variables without direction; a recurrence carries its lag (`t-1`)."""

    source: str
    target: str
    directed: bool = True
    lag: str = ""

    @property
    def is_recurrence(self) -> bool:
        return bool(self.lag) or self.source == self.target


class Plate(Record):
    """A labelled rectangle around every box that names its key."""

    key: str
    label: str


class Picture(Record):
    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    plates: tuple[Plate, ...] = ()

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {box.name: number for number, box in enumerate(self.boxes)}

    def plate_label(self, path: PlatePath) -> str:
        return next((plate.label for plate in self.plates if plate.key == path[-1]), path[-1])

    def paths(self) -> dict[PlatePath, None]:
        """Every rectangle, an outer one before those inside it."""
        return dict.fromkeys(path for box in self.boxes for path in within(box.plates))


def within(home: PlatePath) -> Iterator[PlatePath]:
    """The rectangles around a box, outermost first: every nonempty prefix."""
    return (home[:depth] for depth in range(1, len(home) + 1))


def common_plate(one: PlatePath, other: PlatePath) -> PlatePath:
    return max({(), *within(one)} & {(), *within(other)}, key=len)


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

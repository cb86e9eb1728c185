"""The whole drawing: title above, the graph, and a legend of the kinds present below."""

from __future__ import annotations

from collections.abc import Iterator

from .geometry import Outline, Point, Rect
from .layout import Layout, infer_layout
from .measure import CORNERS, printable, text_width
from .paint import FAINT, INK, extent, is_shaded, paint_layout, shape_of
from .picture import Kind, Picture
from .scene import Ellipse, Group, Polygon, Rectangle, Scene, Shape, Stroke, Text

MARGIN = 24.0
TITLE_SIZE = 17.0
TITLE_ROOM = 40.0
LEGEND_SIZE = 11.0
LEGEND_ROW = 24.0
LEGEND_GAP = 20.0
LEGEND_ABOVE = 20.0
SYMBOL_HALF_WIDTH = 11.0
NARROWEST = 260.0
LEGEND_WIDEST = 560.0


def compose_scene(picture: Picture) -> Scene:
    layout = infer_layout(picture)
    graph = extent(layout)
    title = printable(picture.title)
    entries = list(_legend_entries(layout))
    width = max(
        NARROWEST, graph.width, text_width(title, TITLE_SIZE) * 1.08, _legend_width(entries)
    )
    top = MARGIN + (TITLE_ROOM if title else 0.0)
    shift = (MARGIN + (width - graph.width) / 2 - graph.left, top - graph.top)
    legend_top = top + graph.height + LEGEND_ABOVE
    legend, bottom = _legend(entries, width, legend_top)
    heading = Text((MARGIN, MARGIN + 8), title, TITLE_SIZE, INK, "start", bold=True)
    groups = (
        *([Group("", (heading,))] if title else []),
        *(_moved_group(group, shift) for group in paint_layout(layout)),
        *legend,
    )
    return Scene(title, _description(picture), width + 2 * MARGIN, bottom + MARGIN, groups)


def _description(picture: Picture) -> str:
    boxes = ", ".join(f"{printable(box.label)} ({box.kind.value})" for box in picture.boxes)
    return f"A graph of {len(picture.boxes)} boxes and {len(picture.arrows)} arrows: {boxes}."


Entry = tuple[str, Kind, bool]


def _legend_entries(layout: Layout) -> Iterator[Entry]:
    """Kinds in the order of the book, each once; an observed kind stands beside the unobserved
    one.
    """
    present = {
        (node.box.kind, is_shaded(node.box.kind, node.box.observed)) for node in layout.nodes
    }
    for kind in Kind:
        for shaded in (False, True):
            if (kind, shaded) in present:
                yield f"observed {kind.value}" if shaded else kind.value, kind, shaded


def _entry_width(entry: Entry) -> float:
    return 2 * SYMBOL_HALF_WIDTH + 6 + text_width(entry[0], LEGEND_SIZE) + LEGEND_GAP


def _legend_width(entries: list[Entry]) -> float:
    return min(LEGEND_WIDEST, sum(map(_entry_width, entries)) - LEGEND_GAP)


def _legend(entries: list[Entry], width: float, top: float) -> tuple[list[Group], float]:
    """The symbols with their words, wrapped to the page, and the bottom of the last line."""
    x, y = MARGIN, top + LEGEND_ROW / 2
    groups: list[Group] = []
    for entry in entries:
        if x > MARGIN and x + _entry_width(entry) - LEGEND_GAP > MARGIN + width + 1:
            x, y = MARGIN, y + LEGEND_ROW
        groups.append(_legend_group(entry, (x + SYMBOL_HALF_WIDTH, y)))
        x += _entry_width(entry)
    return groups, y + LEGEND_ROW / 2


def _legend_group(entry: Entry, centre: Point) -> Group:
    words, kind, observed = entry
    x, y = centre
    half_width, half_height = _symbol_half_size(kind)
    outline = Outline(
        x, y, half_width, half_height, kind in {Kind.DRAW, Kind.LATENT}, _symbol_corner(kind)
    )
    text = Text((x + SYMBOL_HALF_WIDTH + 6, y), words, LEGEND_SIZE, FAINT, "start")
    return Group("", (*shape_of(kind, observed, outline), text))


def _symbol_half_size(kind: Kind) -> Point:
    if kind is Kind.FACTOR:
        return 4.5, 4.5
    return (8.0, 8.0) if kind in {Kind.DRAW, Kind.LATENT} else (SYMBOL_HALF_WIDTH, 7.5)


def _symbol_corner(kind: Kind) -> float:
    return min(CORNERS.get(kind, 0.0), _symbol_half_size(kind)[1]) * 0.8


def _moved_group(group: Group, by: Point) -> Group:
    return Group(group.says, tuple(_moved(shape, by) for shape in group.shapes))


def _moved(shape: Shape, by: Point) -> Shape:
    match shape:
        case Ellipse() | Rectangle():
            rect = shape.rect
            left, top = _plus((rect.left, rect.top), by)
            right, bottom = _plus((rect.right, rect.bottom), by)
            return shape.replace(rect=Rect(left, top, right, bottom))
        case Stroke():
            return shape.replace(curve=tuple(_plus(point, by) for point in shape.curve))
        case Polygon():
            return shape.replace(points=tuple(_plus(point, by) for point in shape.points))
        case Text():
            return shape.replace(at=_plus(shape.at, by))


def _plus(point: Point, by: Point) -> Point:
    return point[0] + by[0], point[1] + by[1]

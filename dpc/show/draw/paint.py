"""From places to shapes: the legend of the book, in ink that reads on white."""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot

from .geometry import Curve, Outline, Point, Rect, between, bounding, sampled
from .lags import label_rect
from .layout import Frame, Layout, Node
from .measure import (
    BAR_GAP,
    BAR_LENGTH,
    CHART_HEAD,
    DETAIL_SIZE,
    LABEL_SIZE,
    LAG_SIZE,
    PLATE_SIZE,
    ROW_HEIGHT,
    names_width,
    row_width,
    shortened,
    text_width,
)
from .picture import Box, Kind
from .plates import Path, common_plate
from .route import Route
from .scene import Anchor, Ellipse, Group, Ink, Polygon, Rectangle, Shape, Stroke, Text

INK = "#1f2933"
LINE = "#52606d"
FAINT = "#66727f"
PAPER = "#ffffff"
SHADE = "#d3d8de"
PLATE_FILLS = ("#f7f9fb", "#f0f4f8", "#e8eef4")
PLATE_LINE = "#a5b1bd"
BAR_FILL = "#4a7fb5"
BAR_GROUND = "#e4e9ee"

OUTLINES = {
    Kind.INPUT: Ink(fill=SHADE, stroke="#3e4c59"),
    Kind.PARAM: Ink(fill="#fdf3d8", stroke="#c99a2e"),
    Kind.FUNCTION: Ink(fill="#e6f0fa", stroke="#4a7fb5"),
    Kind.DRAW: Ink(fill=PAPER, stroke="#3e4c59"),
    Kind.LATENT: Ink(fill="#f1ecf9", stroke="#6b4fa0"),
    Kind.FACTOR: Ink(fill="#323f4b", stroke="#323f4b"),
    Kind.COST: Ink(fill="#fdebe7", stroke="#b5473a"),
}

HEAD_LENGTH = 8.5
HEAD_HALF_WIDTH = 3.4
DOUBLE_BORDER = 3.2


def paint_layout(layout: Layout) -> tuple[Group, ...]:
    """Plates under arrows under boxes; words come after arrows so that no line covers them."""
    homes = {node.box.name: node.box.plates for node in layout.nodes}
    return (
        *map(_frame, layout.frames),
        *map(_arrow, layout.routes),
        *map(_frame_label, layout.frames),
        *map(_node, layout.nodes),
        *(_lag(route, homes) for route in layout.routes if route.lag),
    )


def _frame(frame: Frame) -> Group:
    return Group(
        f"plate {frame.label}",
        (Rectangle(frame.rect, Ink(_plate_fill(frame.path), PLATE_LINE, 1.1), 9.0),),
    )


def _frame_label(frame: Frame) -> Group:
    corner = (frame.label_rect.right, (frame.label_rect.top + frame.label_rect.bottom) / 2)
    return Group(
        "", (Text(corner, frame.label, PLATE_SIZE, FAINT, "end", halo=_plate_fill(frame.path)),)
    )


def _arrow(route: Route) -> Group:
    arrow = route.arrow
    ink = Ink(stroke=LINE, width=1.2, dashed=bool(route.lag) or arrow.source == arrow.target)
    if not arrow.directed:
        return Group(f"{arrow.source} touches {arrow.target}", (Stroke(route.curve, ink),))
    head, base = _arrow_head(route.curve)
    shaft = (*route.curve[:-1], base)
    return Group(f"{arrow.source} to {arrow.target}", (Stroke(shaft, ink), head))


def _arrow_head(curve: Curve) -> tuple[Polygon, Point]:
    """The head, and the point of its base where the shaft stops."""
    tip = curve[-1]
    tail = next(
        point
        for point in reversed(curve[:-1])
        if hypot(point[0] - tip[0], point[1] - tip[1]) > 1e-6
    )
    length = hypot(tip[0] - tail[0], tip[1] - tail[1])
    along = ((tip[0] - tail[0]) / length, (tip[1] - tail[1]) / length)
    base = (tip[0] - HEAD_LENGTH * along[0], tip[1] - HEAD_LENGTH * along[1])
    side = (-along[1] * HEAD_HALF_WIDTH, along[0] * HEAD_HALF_WIDTH)
    corners = (tip, (base[0] + side[0], base[1] + side[1]), (base[0] - side[0], base[1] - side[1]))
    return Polygon(corners, Ink(fill=LINE)), between(base, tip, 0.2)


def _lag(route: Route, homes: Mapping[str, Path]) -> Group:
    says = f"{route.arrow.source} to {route.arrow.target} at {route.lag}"
    halo = _plate_fill(common_plate(homes[route.arrow.source], homes[route.arrow.target]))
    return Group(
        says, (Text(route.label_at, shortened(route.lag), LAG_SIZE, FAINT, "start", halo=halo),)
    )


def _plate_fill(path: Path) -> str:
    return (PAPER, *PLATE_FILLS)[min(len(path), len(PLATE_FILLS))]


def _node(node: Node) -> Group:
    inside = _chart(node) if node.box.bars else _words(node)
    return Group(
        _sentence(node.box), (*shape_of(node.box.kind, node.box.observed, node.outline), *inside)
    )


def _sentence(box: Box) -> str:
    observed = "observed " if box.observed else ""
    shares = ", ".join(f"{name} {share:.3f}" for name, share in box.bars)
    detail = f", {box.detail or shares}" if box.detail or shares else ""
    return f"{box.label}: {observed}{box.kind.value}{detail}"


def is_shaded(kind: Kind, observed: bool) -> bool:
    """Data is always shaded, and a factor is solid, so being observed changes neither."""
    return observed and kind not in {Kind.INPUT, Kind.FACTOR}


def shape_of(kind: Kind, observed: bool, outline: Outline) -> tuple[Shape, ...]:
    ink = OUTLINES[kind]
    if is_shaded(kind, observed):
        ink = Ink(SHADE, ink.stroke, ink.width)
    if outline.is_round:
        return (Ellipse(outline.rect, ink),)
    body = Rectangle(outline.rect, ink, outline.corner)
    if kind is Kind.COST:
        return body, Rectangle(
            outline.rect.grown(-DOUBLE_BORDER), Ink(stroke=ink.stroke, width=1.0), 4.0
        )
    return (body,)


def _words(node: Node) -> tuple[Text, ...]:
    label, detail = shortened(node.box.label), shortened(node.box.detail)
    if node.box.kind is Kind.FACTOR:
        widest = max(text_width(label, LABEL_SIZE), text_width(detail, DETAIL_SIZE))
        return _two_lines((node.room.right - widest, node.outline.y), label, detail, beside=True)
    return _two_lines((node.outline.x, node.outline.y), label, detail, beside=False)


def _chart(node: Node) -> tuple[Shape, ...]:
    """The label above, and below it one row to a bar."""
    rect = node.outline.rect
    left = node.outline.x - row_width(node.box) / 2
    start = left + names_width(node.box) + BAR_GAP
    shapes: list[Shape] = [
        Text(
            (node.outline.x, rect.top + CHART_HEAD / 2 + 1),
            shortened(node.box.label),
            LABEL_SIZE,
            INK,
        )
    ]
    for k, (name, share) in enumerate(node.box.bars):
        y = rect.top + CHART_HEAD + (k + 0.5) * ROW_HEIGHT
        shapes.append(Text((left, y), shortened(name), DETAIL_SIZE, INK, "start"))
        shapes.append(
            Rectangle(Rect(start, y - 4.5, start + BAR_LENGTH, y + 4.5), Ink(fill=BAR_GROUND), 2.0)
        )
        if share > 0:
            filled = Rect(start, y - 4.5, start + max(1.0, BAR_LENGTH * share), y + 4.5)
            shapes.append(Rectangle(filled, Ink(fill=BAR_FILL), min(2.0, BAR_LENGTH * share / 2)))
        shapes.append(
            Text((start + BAR_LENGTH + BAR_GAP, y), f"{share:.3f}", DETAIL_SIZE, FAINT, "start")
        )
    return tuple(shapes)


def _two_lines(centre: Point, label: str, detail: str, beside: bool) -> tuple[Text, ...]:
    x, y = centre
    anchor: Anchor = "start" if beside else "middle"
    if not detail:
        return (Text((x, y), label, LABEL_SIZE, INK, anchor),)
    return (
        Text((x, y - 6), label, LABEL_SIZE, INK, anchor),
        Text((x, y + 8.5), detail, DETAIL_SIZE, FAINT, anchor),
    )


def extent(layout: Layout) -> Rect:
    """The smallest rectangle around everything placed."""
    rects = [node.room for node in layout.nodes] + [frame.rect for frame in layout.frames]
    rects += [label_rect(route, route.label_at) for route in layout.routes if route.lag]
    corners = [
        corner for rect in rects for corner in ((rect.left, rect.top), (rect.right, rect.bottom))
    ]
    corners += [point for route in layout.routes for point in sampled(route.curve, 20.0)]
    return bounding(corners or [(0.0, 0.0)])

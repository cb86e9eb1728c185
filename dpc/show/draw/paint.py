"""From places to shapes: the legend of the book, in ink that reads on white."""

from collections.abc import Iterator, Mapping
from math import dist

from . import measure
from .geometry import Outline, Point, Rect, between, bounding, pieces, split
from .layout import PictureLayout, infer_layout
from .picture import Box, BoxKind, Picture, PlatePath, common_plate
from .route import Frame, PlacedBox, Route
from .scene import Anchor, Ellipse, Ink, Polygon, Rectangle, Scene, Shape, ShapeGroup, Stroke, Text

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
    BoxKind.INPUT: Ink(fill=SHADE, stroke="#3e4c59"),
    BoxKind.PARAM: Ink(fill="#fdf3d8", stroke="#c99a2e"),
    BoxKind.FUNCTION: Ink(fill="#e6f0fa", stroke="#4a7fb5"),
    BoxKind.DRAW: Ink(fill=PAPER, stroke="#3e4c59"),
    BoxKind.LATENT: Ink(fill="#f1ecf9", stroke="#6b4fa0"),
    BoxKind.FACTOR: Ink(fill="#323f4b", stroke="#323f4b"),
    BoxKind.COST: Ink(fill="#fdebe7", stroke="#b5473a"),
}

HEAD_LENGTH = 8.5
HEAD_HALF_WIDTH = 3.4
DOUBLE_BORDER = 3.2


def paint_layout(layout: PictureLayout) -> tuple[ShapeGroup, ...]:
    """Plates under arrows under boxes; words come after arrows so that no line covers them."""
    homes = {node.box.name: node.box.plates for node in layout.nodes}
    return (
        *map(_frame, layout.frames),
        *map(_arrow, layout.routes),
        *map(_frame_label, layout.frames),
        *map(_node, layout.nodes),
        *(_lag(route, homes) for route in layout.routes if route.lag),
    )


def _frame(frame: Frame) -> ShapeGroup:
    ink = Ink(_plate_fill(frame.path), PLATE_LINE, 1.1)
    return ShapeGroup(f"plate {frame.label}", (Rectangle(frame.rect, ink, 9.0),))


def _frame_label(frame: Frame) -> ShapeGroup:
    rect, halo = frame.label_rect, _plate_fill(frame.path)
    at = (rect.right, (rect.top + rect.bottom) / 2)
    return ShapeGroup("", (Text(at, frame.label, measure.PLATE_SIZE, FAINT, "end", halo=halo),))


def _arrow(route: Route) -> ShapeGroup:
    arrow = route.arrow
    ink = Ink(stroke=LINE, width=1.2, dashed=bool(route.lag) or arrow.source == arrow.target)
    if not arrow.directed:
        return ShapeGroup(f"{arrow.source} touches {arrow.target}", (Stroke(route.curve, ink),))
    # The head, and the point of its base where the shaft stops.
    tip = route.curve[-1]
    tail = next(point for point in route.curve[-2::-1] if dist(point, tip) > 1e-6)
    length = dist(tail, tip)
    along = ((tip[0] - tail[0]) / length, (tip[1] - tail[1]) / length)
    base = (tip[0] - HEAD_LENGTH * along[0], tip[1] - HEAD_LENGTH * along[1])
    side = (-along[1] * HEAD_HALF_WIDTH, along[0] * HEAD_HALF_WIDTH)
    corners = (tip, (base[0] + side[0], base[1] + side[1]), (base[0] - side[0], base[1] - side[1]))
    head, base = Polygon(corners, Ink(fill=LINE)), between(base, tip, 0.2)
    shaft = (*route.curve[:-1], base)
    return ShapeGroup(f"{arrow.source} to {arrow.target}", (Stroke(shaft, ink), head))


def _lag(route: Route, homes: Mapping[str, PlatePath]) -> ShapeGroup:
    says = f"{route.arrow.source} to {route.arrow.target} at {route.lag}"
    halo = _plate_fill(common_plate(homes[route.arrow.source], homes[route.arrow.target]))
    text = Text(
        route.label_at, measure.shortened(route.lag), measure.LAG_SIZE, FAINT, "start", halo=halo
    )
    return ShapeGroup(says, (text,))


def _plate_fill(path: PlatePath) -> str:
    return (PAPER, *PLATE_FILLS)[min(len(path), len(PLATE_FILLS))]


def _node(node: PlacedBox) -> ShapeGroup:
    inside = _chart(node) if node.box.bars else _words(node)
    shape = shape_of(node.box.kind, node.box.is_shaded, node.outline)
    return ShapeGroup(_sentence(node.box), (*shape, *inside))


def _sentence(box: Box) -> str:
    observed = "observed " if box.observed else ""
    shares = ", ".join(f"{name} {share:.3f}" for name, share in box.bars)
    detail = f", {box.detail or shares}" if box.detail or shares else ""
    return f"{box.label}: {observed}{box.kind.value}{detail}"


def shape_of(kind: BoxKind, is_shaded: bool, outline: Outline) -> tuple[Shape, ...]:
    ink = OUTLINES[kind]
    if is_shaded:
        ink = Ink(SHADE, ink.stroke, ink.width)
    if outline.is_round:
        return (Ellipse(outline.rect, ink),)
    body = Rectangle(outline.rect, ink, outline.corner)
    if kind is not BoxKind.COST:
        return (body,)
    inner = outline.rect.grown(-DOUBLE_BORDER)
    return body, Rectangle(inner, Ink(stroke=ink.stroke, width=1.0), 4.0)


def _words(node: PlacedBox) -> tuple[Text, ...]:
    label, detail = measure.shortened(node.box.label), measure.shortened(node.box.detail)
    if node.box.kind is BoxKind.FACTOR:
        widest = max(
            measure.text_width(label, measure.LABEL_SIZE),
            measure.text_width(detail, measure.DETAIL_SIZE),
        )
        return _two_lines((node.room.right - widest, node.outline.y), label, detail, beside=True)
    return _two_lines((node.outline.x, node.outline.y), label, detail, beside=False)


def _chart(node: PlacedBox) -> tuple[Shape, ...]:
    """The label above, and below it one row to a bar."""
    rect = node.outline.rect
    left = node.outline.x - measure.row_width(node.box) / 2
    start = left + measure.names_width(node.box) + measure.BAR_GAP
    heading = (node.outline.x, rect.top + measure.CHART_HEAD / 2 + 1)
    shapes: list[Shape] = [
        Text(heading, measure.shortened(node.box.label), measure.LABEL_SIZE, INK)
    ]
    for k, (name, share) in enumerate(node.box.bars):
        y = rect.top + measure.CHART_HEAD + (k + 0.5) * measure.ROW_HEIGHT
        ground = Rect(start, y - 4.5, start + measure.BAR_LENGTH, y + 4.5)
        shapes.append(Text((left, y), measure.shortened(name), measure.DETAIL_SIZE, INK, "start"))
        shapes.append(Rectangle(ground, Ink(fill=BAR_GROUND), 2.0))
        if share > 0:
            filled = ground.replace(right=start + max(1.0, measure.BAR_LENGTH * share))
            shapes.append(
                Rectangle(filled, Ink(fill=BAR_FILL), min(2.0, measure.BAR_LENGTH * share / 2))
            )
        at = (ground.right + measure.BAR_GAP, y)
        shapes.append(Text(at, f"{share:.3f}", measure.DETAIL_SIZE, FAINT, "start"))
    return tuple(shapes)


def _two_lines(centre: Point, label: str, detail: str, beside: bool) -> tuple[Text, ...]:
    x, y = centre
    anchor: Anchor = "start" if beside else "middle"
    if not detail:
        return (Text((x, y), label, measure.LABEL_SIZE, INK, anchor),)
    return (
        Text((x, y - 6), label, measure.LABEL_SIZE, INK, anchor),
        Text((x, y + 8.5), detail, measure.DETAIL_SIZE, FAINT, anchor),
    )


# ---- the whole drawing: title above, the graph, and a legend of the kinds present below


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
    # The smallest rectangle around everything placed.
    rects = [node.room for node in layout.nodes] + [frame.rect for frame in layout.frames]
    rects += [route.label_rect for route in layout.routes if route.lag]
    corners = [corner for rect in rects for corner in rect.corners]
    for piece in (piece for route in layout.routes for piece in pieces(route.curve)):
        corners += (split(piece, eighths / 8)[0][-1] for eighths in range(9))
    graph = bounding(corners or [(0.0, 0.0)])
    title = measure.printable(picture.title)
    entries = list(_legend_entries(layout))
    width = max(
        NARROWEST, graph.width, measure.text_width(title, TITLE_SIZE) * 1.08, _legend_width(entries)
    )
    top = MARGIN + (TITLE_ROOM if title else 0.0)
    shift = (MARGIN + (width - graph.width) / 2 - graph.left, top - graph.top)
    legend_top = top + graph.height + LEGEND_ABOVE
    legend, bottom = _legend(entries, width, legend_top)
    heading = Text((MARGIN, MARGIN + 8), title, TITLE_SIZE, INK, "start", bold=True)
    groups = (
        *([ShapeGroup("", (heading,))] if title else []),
        *(group.replace(by=shift) for group in paint_layout(layout)),
        *legend,
    )
    return Scene(title, _description(picture), width + 2 * MARGIN, bottom + MARGIN, groups)


def _description(picture: Picture) -> str:
    boxes = ", ".join(f"{measure.printable(box.label)} ({box.kind.value})" for box in picture.boxes)
    return f"A graph of {len(picture.boxes)} boxes and {len(picture.arrows)} arrows: {boxes}."


Entry = tuple[str, BoxKind, bool]


def _legend_entries(layout: PictureLayout) -> Iterator[Entry]:
    """Kinds in the order of the book, each once; an observed kind beside the unobserved one."""
    present = {(node.box.kind, node.box.is_shaded) for node in layout.nodes}
    for kind in BoxKind:
        for shaded in (False, True):
            if (kind, shaded) in present:
                yield f"observed {kind.value}" if shaded else kind.value, kind, shaded


def _entry_width(entry: Entry) -> float:
    return 2 * SYMBOL_HALF_WIDTH + 6 + measure.text_width(entry[0], LEGEND_SIZE) + LEGEND_GAP


def _legend_width(entries: list[Entry]) -> float:
    return min(LEGEND_WIDEST, sum(map(_entry_width, entries)) - LEGEND_GAP)


def _legend(entries: list[Entry], width: float, top: float) -> tuple[list[ShapeGroup], float]:
    """The symbols with their words, wrapped to the page, and the bottom of the last line."""
    x, y = MARGIN, top + LEGEND_ROW / 2
    groups: list[ShapeGroup] = []
    for entry in entries:
        if x > MARGIN and x + _entry_width(entry) - LEGEND_GAP > MARGIN + width + 1:
            x, y = MARGIN, y + LEGEND_ROW
        groups.append(_legend_group(entry, (x + SYMBOL_HALF_WIDTH, y)))
        x += _entry_width(entry)
    return groups, y + LEGEND_ROW / 2


def _legend_group(entry: Entry, centre: Point) -> ShapeGroup:
    words, kind, is_shaded = entry
    x, y = centre
    is_round = kind in {BoxKind.DRAW, BoxKind.LATENT}
    half_width, half_height = (8.0, 8.0) if is_round else (SYMBOL_HALF_WIDTH, 7.5)
    if kind is BoxKind.FACTOR:
        half_width, half_height = 4.5, 4.5
    corner = min(measure.CORNERS.get(kind, 0.0), half_height) * 0.8
    outline = Outline(x, y, half_width, half_height, is_round, corner)
    text = Text((x + SYMBOL_HALF_WIDTH + 6, y), words, LEGEND_SIZE, FAINT, "start")
    return ShapeGroup("", (*shape_of(kind, is_shaded, outline), text))

"""From places to shapes: the legend of the book, in ink that reads on white."""

from collections.abc import Mapping
from itertools import product
from math import dist

from . import measure
from .geometry import Outline, Point, Rect, between, bounding, pieces, split
from .layout import PictureLayout, infer_layout
from .picture import BoxKind, Picture, PlatePath, common_plate
from .route import PlacedBox, Route
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
    plates, names = [], []
    for frame in layout.frames:
        fill, rect = _plate_fill(frame.path), frame.label_rect
        shape = Rectangle(frame.rect, Ink(fill, PLATE_LINE, 1.1), 9.0)
        plates.append(ShapeGroup(f"plate {frame.label}", (shape,)))
        at = (rect.right, (rect.top + rect.bottom) / 2)
        name = Text(at, frame.label, measure.PLATE_SIZE, FAINT, "end", halo=fill)
        names.append(ShapeGroup("", (name,)))
    lags = [_lag(route, homes) for route in layout.routes if route.lag]
    return (*plates, *map(_arrow, layout.routes), *names, *map(_node, layout.nodes), *lags)


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
    lag, size = measure.shortened(route.lag), measure.LAG_SIZE
    return ShapeGroup(says, (Text(route.label_at, lag, size, FAINT, "start", halo=halo),))


def _plate_fill(path: PlatePath) -> str:
    return (PAPER, *PLATE_FILLS)[min(len(path), len(PLATE_FILLS))]


def _node(node: PlacedBox) -> ShapeGroup:
    box, inside = node.box, _chart(node) if node.box.bars else _words(node)
    shape = shape_of(box.kind, box.is_shaded, node.outline)
    observed = "observed " if box.observed else ""
    detail = box.detail or ", ".join(f"{name} {share:.3f}" for name, share in box.bars)
    says = f"{box.label}: {observed}{box.kind.value}{detail and f', {detail}'}"
    return ShapeGroup(says, (*shape, *inside))


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
    x, y = node.outline.x, node.outline.y
    anchor: Anchor = "middle"
    if node.box.kind is BoxKind.FACTOR:
        wide = measure.text_width(label, measure.LABEL_SIZE)
        x = node.room.right - max(wide, measure.text_width(detail, measure.DETAIL_SIZE))
        anchor = "start"
    if not detail:
        return (Text((x, y), label, measure.LABEL_SIZE, INK, anchor),)
    return (
        Text((x, y - 6), label, measure.LABEL_SIZE, INK, anchor),
        Text((x, y + 8.5), detail, measure.DETAIL_SIZE, FAINT, anchor),
    )


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

Entry = tuple[str, BoxKind, bool]


def compose_scene(picture: Picture) -> Scene:
    """Title above, the graph, and a legend of the kinds present below."""
    layout = infer_layout(picture)
    graph = extent(layout)
    title = measure.printable(picture.title)
    # Kinds in the order of the book, each once; an observed kind beside the unobserved one.
    present = {(node.box.kind, node.box.is_shaded) for node in layout.nodes}
    entries: list[Entry] = []
    for kind, shaded in product(BoxKind, (False, True)):
        if (kind, shaded) in present:
            entries.append((f"observed {kind.value}" if shaded else kind.value, kind, shaded))
    legend_width = min(LEGEND_WIDEST, sum(map(_entry_width, entries)) - LEGEND_GAP)
    title_width = measure.text_width(title, TITLE_SIZE) * 1.08
    width = max(NARROWEST, graph.width, title_width, legend_width)
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
    boxes = ", ".join(f"{measure.printable(box.label)} ({box.kind.value})" for box in picture.boxes)
    about = f"A graph of {len(picture.boxes)} boxes and {len(picture.arrows)} arrows: {boxes}."
    return Scene(title, about, width + 2 * MARGIN, bottom + MARGIN, groups)


def extent(layout: PictureLayout) -> Rect:
    """The smallest rectangle around everything placed."""
    rects = [node.room for node in layout.nodes] + [frame.rect for frame in layout.frames]
    rects += [route.label_rect for route in layout.routes if route.lag]
    corners = [corner for rect in rects for corner in rect.corners]
    for piece in (piece for route in layout.routes for piece in pieces(route.curve)):
        corners += (split(piece, eighths / 8)[0][-1] for eighths in range(9))
    return bounding(corners or [(0.0, 0.0)])


def _entry_width(entry: Entry) -> float:
    return 2 * SYMBOL_HALF_WIDTH + 6 + measure.text_width(entry[0], LEGEND_SIZE) + LEGEND_GAP


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

"""The whole drawing: title above, the graph, and a legend of the kinds present below."""

from collections.abc import Iterator

from .geometry import Outline, Point
from .layout import PictureLayout, infer_layout
from .measure import CORNERS, printable, text_width
from .paint import FAINT, INK, extent, paint_layout, shape_of
from .picture import BoxKind, Picture
from .scene import Scene, ShapeGroup, Text

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
        *([ShapeGroup("", (heading,))] if title else []),
        *(group.replace(by=shift) for group in paint_layout(layout)),
        *legend,
    )
    return Scene(title, _description(picture), width + 2 * MARGIN, bottom + MARGIN, groups)


def _description(picture: Picture) -> str:
    boxes = ", ".join(f"{printable(box.label)} ({box.kind.value})" for box in picture.boxes)
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
    return 2 * SYMBOL_HALF_WIDTH + 6 + text_width(entry[0], LEGEND_SIZE) + LEGEND_GAP


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
    corner = min(CORNERS.get(kind, 0.0), half_height) * 0.8
    outline = Outline(x, y, half_width, half_height, is_round, corner)
    text = Text((x + SYMBOL_HALF_WIDTH + 6, y), words, LEGEND_SIZE, FAINT, "start")
    return ShapeGroup("", (*shape_of(kind, is_shaded, outline), text))

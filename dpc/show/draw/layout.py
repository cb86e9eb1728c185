"""From a picture to places: rows, order, positions, then plates and arrows around them (Sugiyama).

No library was found that keeps plates apart: they tie rows together, in the order and in x.
"""

from collections.abc import Mapping, Sequence

from dpc.dsl.record import Record

from .geometry import Outline, Rect
from .measure import CORNERS, PLATE_SIZE, BoxSize, box_size, shortened, text_width
from .order import infer_orders
from .picture import Box, Picture, PlatePath
from .place import awkwardness, infer_places
from .route import (
    PLATE_LABEL_INSET,
    Frame,
    Page,
    PlacedBox,
    Route,
    infer_routes,
    self_lags,
)
from .rows import infer_rows, oriented_edges
from .skeleton import Skeleton, build_skeleton

ROW_GAP = 42.0
LAG_GAP = 64.0
STEEP = 0.16
TALLEST_GAP = 110.0
PLATE_TOP = 13.0
PLATE_BOTTOM = 25.0
BETWEEN_PLATES = 20.0
# Vertices placed in all: of a small picture several orders are tried, of a large one the first.
PLACING_EFFORT = 400


class PictureLayout(Record):
    """Everything placed. Frames come outermost first, routes in the order of their arrows."""

    nodes: tuple[PlacedBox, ...]
    frames: tuple[Frame, ...]
    routes: tuple[Route, ...]


def infer_layout(picture: Picture) -> PictureLayout:
    homes = [box.plates for box in picture.boxes]
    rows = infer_rows(homes, oriented_edges(picture))
    number = picture.numbers
    arrows = [(number[arrow.source], number[arrow.target]) for arrow in picture.arrows]
    skeleton = build_skeleton(homes, rows, arrows)
    lags = self_lags(picture)
    sizes = [box_size(box, lags.get(box.name)) for box in picture.boxes]
    labels = {path: shortened(picture.plate_label(path)) for path in skeleton.spans}
    x = _best_places(skeleton, sizes, labels)
    margins = _plate_margins(skeleton)
    around = _row_margins(skeleton, margins)
    bands = _row_bands(skeleton, sizes, x, around, _lagged_gaps(picture, rows))
    nodes = [
        _placed(box, size, x[place], sum(bands[rows[place]]) / 2)
        for place, (box, size) in enumerate(zip(picture.boxes, sizes, strict=True))
    ]
    frames = []
    for path, (first, last) in sorted(skeleton.spans.items(), key=lambda item: len(item[0])):
        (left, *_), (right, *_) = skeleton.borders[path]
        top, bottom = bands[first][0] - margins[path][0], bands[last][1] + margins[path][1]
        frames.append(Frame(path, labels[path], Rect(x[left], top, x[right], bottom)))
    plate_bands = [
        (top - above, bottom + below)
        for (top, bottom), (above, below) in zip(bands, around, strict=True)
    ]
    page = Page(skeleton, x, nodes, frames, bands, plate_bands)
    return PictureLayout(tuple(nodes), tuple(frames), infer_routes(picture, page))


def _best_places(
    skeleton: Skeleton, sizes: Sequence[BoxSize], labels: Mapping[PlatePath, str]
) -> list[float]:
    """Of the orders with the fewest crossings, the least awkward."""
    widths = {
        path: text_width(label, PLATE_SIZE) + 2 * PLATE_LABEL_INSET
        for path, label in labels.items()
    }
    tries = max(1, PLACING_EFFORT // (len(skeleton.vertices) + 1))
    orders = infer_orders(skeleton)[:tries]
    placed = [infer_places(skeleton, order, sizes, widths) for order in orders]
    return min(placed, key=lambda x: awkwardness(skeleton, x))


def _placed(box: Box, size: BoxSize, x: float, y: float) -> PlacedBox:
    room = Rect(x - size.half_width, y - size.reach, x + size.right, y + size.reach)
    corner = min(CORNERS.get(box.kind, 0.0), size.half_height)
    outline = Outline(x, y, size.half_width, size.half_height, box.is_round, corner)
    return PlacedBox(box, outline, room)


def _plate_margins(skeleton: Skeleton) -> dict[PlatePath, tuple[float, float]]:
    """How far a plate reaches above its first row and below its last, around those inside it."""
    margins: dict[PlatePath, tuple[float, float]] = {}
    for path, (first, last) in sorted(skeleton.spans.items(), key=lambda item: -len(item[0])):
        inner = [child for child in margins if child[:-1] == path]
        above = [margins[child][0] for child in inner if skeleton.spans[child][0] == first]
        below = [margins[child][1] for child in inner if skeleton.spans[child][1] == last]
        margins[path] = (
            PLATE_TOP + max(above, default=0.0),
            PLATE_BOTTOM + max(below, default=0.0),
        )
    return margins


def _row_margins(
    skeleton: Skeleton, margins: Mapping[PlatePath, tuple[float, float]]
) -> list[tuple[float, float]]:
    """How far the plates that begin with a row reach above it, and those that end, below."""
    rows = [(0.0, 0.0)] * skeleton.row_count
    for path, (first, last) in skeleton.spans.items():
        above, below = margins[path]
        rows[first] = max(rows[first][0], above), rows[first][1]
        rows[last] = rows[last][0], max(rows[last][1], below)
    return rows


def _lagged_gaps(picture: Picture, rows: Sequence[int]) -> set[int]:
    """The rows under which a recurrence between two boxes runs: its words need room."""
    lagged: set[int] = set()
    for arrow in picture.arrows:
        if arrow.lag and arrow.source != arrow.target:
            ends = (rows[picture.numbers[name]] for name in (arrow.source, arrow.target))
            upper, lower = sorted(ends)
            lagged.update(range(upper, max(lower, upper + 1)))
    return lagged


def _row_bands(
    skeleton: Skeleton,
    sizes: Sequence[BoxSize],
    x: Sequence[float],
    around: Sequence[tuple[float, float]],
    lagged: set[int],
) -> list[tuple[float, float]]:
    """Top and bottom of each row; more room where plates meet and where arrows run sideways."""
    heights, sideways = [0.0] * skeleton.row_count, [0.0] * skeleton.row_count
    for size, vertex in zip(sizes, skeleton.vertices, strict=False):
        heights[vertex.row] = max(heights[vertex.row], 2 * size.reach)
    for upper, lower in skeleton.links:
        row = skeleton.vertices[upper].row
        sideways[row] = max(sideways[row], abs(x[upper] - x[lower]))
    bands: list[tuple[float, float]] = []
    for row, height in enumerate(heights):
        top = 0.0
        if row > 0:
            least = LAG_GAP if row - 1 in lagged else ROW_GAP
            plates = around[row - 1][1] + around[row][0] + BETWEEN_PLATES
            steep = min(STEEP * sideways[row - 1], TALLEST_GAP)
            top = bands[-1][1] + max(least, plates, steep)
        bands.append((top, top + height))
    return bands

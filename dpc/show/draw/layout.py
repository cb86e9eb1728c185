"""From a picture to places: rows, order, positions, then plates and arrows around them
(Sugiyama).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpc.dsl.record import Record

from .geometry import Outline, Rect
from .lags import place_lags
from .measure import CORNERS, PLATE_SIZE, Size, box_size, shortened, text_width
from .order import infer_orders
from .orient import Edge, oriented_edges
from .picture import Box, Picture
from .place import awkwardness, infer_places
from .plates import Path
from .rank import infer_rows
from .route import Page, Route, infer_routes, self_lags
from .skeleton import Skeleton, build_skeleton

ROW_GAP = 42.0
LAG_GAP = 64.0
STEEP = 0.16
TALLEST_GAP = 110.0
PLATE_TOP = 13.0
PLATE_BOTTOM = 25.0
BETWEEN_PLATES = 20.0
PLATE_LABEL_INSET = 9.0
PLATE_LABEL_LIFT = 5.5
PLACING_EFFORT = 400


class Node(Record):
    """A placed box. `room` also covers what hangs out of its right side."""

    box: Box
    outline: Outline
    room: Rect


class Frame(Record):
    """A placed plate, known by the keys from the outermost plate to it."""

    path: Path
    label: str
    rect: Rect

    @property
    def label_rect(self) -> Rect:
        right, bottom = self.rect.right - PLATE_LABEL_INSET, self.rect.bottom - PLATE_LABEL_LIFT
        return Rect(right - text_width(self.label, PLATE_SIZE), bottom - PLATE_SIZE, right, bottom)


class Layout(Record):
    """Everything placed. Frames come outermost first, routes in the order of their arrows."""

    nodes: tuple[Node, ...]
    frames: tuple[Frame, ...]
    routes: tuple[Route, ...]


class _Band(Record):
    """The vertical room of one row."""

    top: float
    bottom: float

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


def infer_layout(picture: Picture) -> Layout:
    homes = [box.plates for box in picture.boxes]
    rows = infer_rows(homes, oriented_edges(picture))
    skeleton = build_skeleton(homes, rows, _numbered_arrows(picture))
    lags = self_lags(picture)
    sizes = [box_size(box, lags.get(box.name)) for box in picture.boxes]
    labels = _frame_labels(picture, skeleton)
    x = _best_places(skeleton, sizes, {path: _label_room(label) for path, label in labels.items()})
    bands = _row_bands(skeleton, sizes, x, _lagged_gaps(picture, rows))
    nodes = tuple(
        _node(box, size, x[number], bands[rows[number]].middle)
        for number, (box, size) in enumerate(zip(picture.boxes, sizes, strict=True))
    )
    frames = tuple(
        Frame(path, labels[path], _frame_rect(skeleton, path, x, bands))
        for path in sorted(skeleton.spans, key=len)
    )
    page = Page(
        skeleton=skeleton,
        x=x,
        outlines=[node.outline for node in nodes],
        rooms=[node.room for node in nodes],
        bands=[(band.top, band.bottom) for band in bands],
        plate_margins=[
            (_starting(skeleton, row), _ending(skeleton, row)) for row in range(len(bands))
        ],
        frames={frame.path: frame.rect for frame in frames},
        frame_labels={frame.path: frame.label_rect for frame in frames},
    )
    return Layout(nodes, frames, place_lags(infer_routes(picture, page), page.rooms))


def _numbered_arrows(picture: Picture) -> list[Edge]:
    number = {box.name: place for place, box in enumerate(picture.boxes)}
    return [(number[arrow.source], number[arrow.target]) for arrow in picture.arrows]


def _best_places(
    skeleton: Skeleton, sizes: Sequence[Size], widths: Mapping[Path, float]
) -> list[float]:
    """Of the orders with the fewest crossings, the least awkward."""
    tries = max(1, PLACING_EFFORT // (len(skeleton.vertices) + 1))
    placed = [
        infer_places(skeleton, order, sizes, widths) for order in infer_orders(skeleton)[:tries]
    ]
    return min(placed, key=lambda x: awkwardness(skeleton, x)) if len(placed) > 1 else placed[0]


def _frame_labels(picture: Picture, skeleton: Skeleton) -> dict[Path, str]:
    labels = {plate.key: plate.label for plate in picture.plates}
    return {path: shortened(labels.get(path[-1], path[-1])) for path in skeleton.spans}


def _label_room(label: str) -> float:
    return text_width(label, PLATE_SIZE) + 2 * PLATE_LABEL_INSET


def _node(box: Box, size: Size, x: float, y: float) -> Node:
    room = Rect(x - size.left, y - size.reach, x + size.right, y + size.reach)
    corner = min(CORNERS.get(box.kind, 0.0), size.half_height)
    return Node(box, Outline(x, y, size.half_width, size.half_height, box.is_round, corner), room)


def _lagged_gaps(picture: Picture, rows: Sequence[int]) -> set[int]:
    """The rows under which a recurrence between two boxes runs: its words need room."""
    lagged = picture.replace(arrows=tuple(arrow for arrow in picture.arrows if arrow.lag))
    pairs = [
        sorted((rows[source], rows[target]))
        for source, target in _numbered_arrows(lagged)
        if source != target
    ]
    return {row for upper, lower in pairs for row in range(upper, max(lower, upper + 1))}


def _row_bands(
    skeleton: Skeleton, sizes: Sequence[Size], x: Sequence[float], lagged: set[int]
) -> list[_Band]:
    heights = [0.0] * skeleton.row_count
    for number, size in enumerate(sizes):
        row = skeleton.vertices[number].row
        heights[row] = max(heights[row], 2 * size.reach)
    bands: list[_Band] = []
    for row, height in enumerate(heights):
        least = LAG_GAP if row - 1 in lagged else ROW_GAP
        top = bands[-1].bottom + max(least, _row_gap(skeleton, row - 1, x)) if bands else 0.0
        bands.append(_Band(top, top + height))
    return bands


def _row_gap(skeleton: Skeleton, row: int, x: Sequence[float]) -> float:
    """Room below a row for plates that end there and begin next, more where arrows run far
    sideways.
    """
    ending, starting = _ending(skeleton, row), _starting(skeleton, row + 1)
    sideways = max(
        (
            abs(x[upper] - x[lower])
            for upper, lower in skeleton.links
            if skeleton.vertices[upper].row == row
        ),
        default=0.0,
    )
    return max(ending + starting + BETWEEN_PLATES, min(STEEP * sideways, TALLEST_GAP))


def _ending(skeleton: Skeleton, row: int) -> float:
    """How far plates reach below the row that they end with."""
    return max(
        (_below(skeleton, path) for path, span in skeleton.spans.items() if span[1] == row),
        default=0.0,
    )


def _starting(skeleton: Skeleton, row: int) -> float:
    return max(
        (_above(skeleton, path) for path, span in skeleton.spans.items() if span[0] == row),
        default=0.0,
    )


def _above(skeleton: Skeleton, path: Path) -> float:
    """How far a plate's top is over its first row: its own margin and those of plates inside it."""
    first = skeleton.spans[path][0]
    inner = [
        _above(skeleton, child)
        for child in _children(skeleton, path)
        if skeleton.spans[child][0] == first
    ]
    return PLATE_TOP + max(inner, default=0.0)


def _below(skeleton: Skeleton, path: Path) -> float:
    last = skeleton.spans[path][1]
    inner = [
        _below(skeleton, child)
        for child in _children(skeleton, path)
        if skeleton.spans[child][1] == last
    ]
    return PLATE_BOTTOM + max(inner, default=0.0)


def _children(skeleton: Skeleton, path: Path) -> list[Path]:
    return [child for child in skeleton.spans if child[:-1] == path]


def _frame_rect(skeleton: Skeleton, path: Path, x: Sequence[float], bands: Sequence[_Band]) -> Rect:
    (left, *_), (right, *_) = skeleton.borders[path]
    first, last = skeleton.spans[path]
    return Rect(
        x[left],
        bands[first].top - _above(skeleton, path),
        x[right],
        bands[last].bottom + _below(skeleton, path),
    )

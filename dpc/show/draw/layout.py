"""From a picture to places: rows, order, positions, then plates and arrows around them (Sugiyama).

No library was found that keeps plates apart: they tie rows together, in the order and in x.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence
from math import inf

from dpc.dsl.record import Record

from . import route
from .geometry import Outline, Rect
from .measure import CORNERS, PLATE_SIZE, BoxSize, box_size, shortened, text_width
from .picture import Box, Picture, PlatePath, within
from .place import awkwardness, infer_places
from .rows import Role, Skeleton, build_skeleton, infer_rows, oriented_edges

# ---- the order along each row: barycentre sweeps with transposition, plates kept whole
#
# Two plates that share rows stand in the same order in all of them. Sweeping away from a row keeps
# the order that row gave, and rows of a plate are consecutive: all orders fit on one page.


# An arrow that crosses a plate's border disturbs more than one that crosses another arrow.
BORDER_WEIGHT = 3
ENOUGH_SWEEPS = 24
PATIENCE = 6
LARGE = 1500

Order = tuple[tuple[int, ...], ...]


def infer_orders(skeleton: Skeleton) -> list[Order]:
    """The orders of the rows with the fewest crossings that any start and sweep has met."""
    met: dict[Order, int] = {}
    for mirrored in [False] if len(skeleton.vertices) > LARGE else [False, True]:
        met.update(_Sweeper(skeleton, mirrored).met())
    fewest = min(met.values())
    return [order for order, crossings in met.items() if crossings == fewest]


class _Sweeper:
    """`up` and `down` name a border's neighbours as often as their links weigh."""

    def __init__(self, skeleton: Skeleton, mirrored: bool) -> None:
        self.skeleton = skeleton
        vertices = skeleton.vertices
        self.up: list[list[int]] = [[] for _ in vertices]
        self.down: list[list[int]] = [[] for _ in vertices]
        for upper, lower in skeleton.links:
            weight = BORDER_WEIGHT if vertices[upper].role in (Role.LEFT, Role.RIGHT) else 1
            self.up[lower] += [upper] * weight
            self.down[upper] += [lower] * weight
        self.rows: list[list[int]] = [[] for _ in range(skeleton.row_count)]
        for number, vertex in enumerate(vertices):
            self.rows[vertex.row].append(number)
        self.place = list(range(len(vertices)))
        self._start(mirrored)

    def met(self) -> dict[Order, int]:
        """Every order on the way, with its crossings, until sweeping no longer helps."""
        fewest = self.crossings()
        met = {tuple(map(tuple, self.rows)): fewest}
        stale = 0
        for sweep in range(ENOUGH_SWEEPS):
            near, step = (self.up, 1) if sweep % 2 == 0 else (self.down, -1)
            for row in range(len(self.rows))[::step][1:]:
                key = self._barycentres(row, near)
                plate_key = {}
                for path in self.skeleton.spans:
                    if self.skeleton.spans_row(path, row):
                        plate_key[path] = self._plate_key(path, row, row - step, key)
                self._sort_row(row, key, plate_key)
            self._transpose(turn_ties=sweep % 4 >= 2)
            crossings = self.crossings()
            met[tuple(map(tuple, self.rows))] = crossings
            stale = 0 if crossings < fewest else stale + 1
            fewest = min(fewest, crossings)
            if stale >= PATIENCE:
                break
        return met

    def crossings(self) -> int:
        return sum(count_crossings(row, self.down, self.place) for row in self.rows)

    def _start(self, mirrored: bool) -> None:
        """In the order in which a depth-first walk over links in either direction meets them."""
        met: dict[int, None] = {}
        starts = range(len(self.place))
        for start in reversed(starts) if mirrored else starts:
            stack = [start]
            while stack:
                vertex = stack.pop()
                if vertex not in met:
                    met[vertex] = None
                    stack.extend(reversed(self.up[vertex] + self.down[vertex]))
        key = {vertex: -time if mirrored else time for time, vertex in enumerate(met)}
        plate_key = dict.fromkeys(self.skeleton.spans, inf)
        for vertex, (_, _, home) in enumerate(self.skeleton.vertices):
            if home:
                plate_key[home] = min(plate_key[home], key[vertex])
        for row in range(len(self.rows)):
            self._sort_row(row, key, plate_key)

    def _sort_row(
        self, row: int, key: Mapping[int, float], plate_key: Mapping[PlatePath, float]
    ) -> None:
        """By the keys of the plates around a vertex, then by its own; equal ones stay in order."""

        def nested_key(number: int) -> list[tuple[float, int]]:
            role, _, home = self.skeleton.vertices[number]
            path_keys = [
                (plate_key[path], self.place[self.skeleton.border(path, row)[0]])
                for path in within(home)
            ]
            own = {Role.LEFT: -inf, Role.RIGHT: inf}.get(role)
            return [*path_keys, (key[number] if own is None else own, self.place[number])]

        self.rows[row].sort(key=nested_key)
        for place, vertex in enumerate(self.rows[row]):
            self.place[vertex] = place

    def _plate_key(self, path: PlatePath, row: int, fixed: int, key: Mapping[int, float]) -> float:
        """The middle of where the plate stands in the fixed row, or of what it holds in this."""
        if self.skeleton.spans_row(path, fixed):
            return sum(self.place[border] for border in self.skeleton.border(path, fixed)) / 2
        left, right = (self.place[border] for border in self.skeleton.border(path, row))
        inside = self.rows[row][left : right + 1]
        return sum(key[vertex] for vertex in inside) / len(inside)

    def _barycentres(self, row: int, near: Sequence[Sequence[int]]) -> dict[int, float]:
        """A vertex without links stays between its neighbours: the mean of the nearest means."""
        order = self.rows[row]
        means = [
            sum(self.place[other] for other in near[vertex]) / len(near[vertex])
            if near[vertex]
            else None
            for vertex in order
        ]
        before, after = _carried(means), _carried(means[::-1])[::-1]
        filled = [
            mean if mean is not None else (one + other) / 2
            for mean, one, other in zip(means, before, after, strict=True)
        ]
        return dict(zip(order, filled, strict=True))

    def _transpose(self, turn_ties: bool) -> None:
        """Neighbours that cross less the other way round change places; ties open new orders."""
        for attempt in range(4):
            least_gain = 0 if turn_ties and attempt == 0 else 1
            if sum(self._transpose_row(row, least_gain) for row in self.rows) == 0:
                return

    def _transpose_row(self, order: list[int], least_gain: int) -> int:
        """How many neighbouring items changed places; each goes on as far as that helps."""
        changes = start = 0
        while start < len(order):
            middle = self._end(order, start)
            end = self._end(order, middle)
            lefts, rights = order[start:middle], order[middle:end]
            is_free = lefts and rights and not self._bound_together(lefts[0], rights[0])
            if not is_free or self._gain(lefts, rights) < least_gain:
                start += 1
                continue
            order[start:end] = rights + lefts
            for place in range(start, end):
                self.place[order[place]] = place
            start += len(rights)
            changes += 1
        return changes

    def _end(self, order: Sequence[int], start: int) -> int:
        """Where the item that begins there ends: a plate is one item, a right border is none."""
        if start == len(order):
            return start
        role, row, home = self.skeleton.vertices[order[start]]
        if role is Role.LEFT:
            return self.place[self.skeleton.border(home, row)[1]] + 1
        return start + (role is not Role.RIGHT)

    def _bound_together(self, left: int, right: int) -> bool:
        """Plates that share a second row could only change places in all of them at once."""
        one, other = self.skeleton.vertices[left], self.skeleton.vertices[right]
        if not one.role is other.role is Role.LEFT:
            return False
        spans = [self.skeleton.spans[vertex.home] for vertex in (one, other)]
        return max(first for first, _ in spans) < min(last for _, last in spans)

    def _gain(self, lefts: Sequence[int], rights: Sequence[int]) -> int:
        """How many crossings go when two neighbouring items change places."""
        gain = 0
        for near in (self.up, self.down):
            ends = sorted(self.place[other] for vertex in rights for other in near[vertex])
            for vertex in lefts:
                for other in near[vertex]:
                    place = self.place[other]
                    gain += bisect_left(ends, place) + bisect_right(ends, place) - len(ends)
        return gain


def count_crossings(
    upper: Sequence[int], down: Sequence[Sequence[int]], place: Sequence[int]
) -> int:
    """Pairs of links with a's upper end left of b's and its lower end right of b's."""
    crossings = 0
    seen: list[int] = []
    for vertex in upper:
        ends = sorted(place[lower] for lower in down[vertex])
        crossings += sum(len(seen) - bisect_right(seen, end) for end in ends)
        for end in ends:
            insort(seen, end)
    return crossings


def _carried(means: Sequence[float | None]) -> list[float]:
    """Each mean, or where there is none the last before it, or the first of all."""
    last = next((mean for mean in means if mean is not None), 0.0)
    carried = []
    for mean in means:
        last = mean if mean is not None else last
        carried.append(last)
    return carried


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

    nodes: tuple[route.PlacedBox, ...]
    frames: tuple[route.Frame, ...]
    routes: tuple[route.Route, ...]


def infer_layout(picture: Picture) -> PictureLayout:
    homes = [box.plates for box in picture.boxes]
    rows = infer_rows(homes, oriented_edges(picture))
    number = picture.numbers
    arrows = [(number[arrow.source], number[arrow.target]) for arrow in picture.arrows]
    skeleton = build_skeleton(homes, rows, arrows)
    lags = route.self_lags(picture)
    sizes = [box_size(box, lags.get(box.name)) for box in picture.boxes]
    labels = {path: shortened(picture.plate_label(path)) for path in skeleton.spans}
    # Of the orders with the fewest crossings, the least awkward.
    widths = {
        path: text_width(label, PLATE_SIZE) + 2 * route.PLATE_LABEL_INSET
        for path, label in labels.items()
    }
    tries = max(1, PLACING_EFFORT // (len(skeleton.vertices) + 1))
    orders = infer_orders(skeleton)[:tries]
    placed = [infer_places(skeleton, order, sizes, widths) for order in orders]
    x = min(placed, key=lambda x: awkwardness(skeleton, x))
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
        frames.append(route.Frame(path, labels[path], Rect(x[left], top, x[right], bottom)))
    plate_bands = [
        (top - above, bottom + below)
        for (top, bottom), (above, below) in zip(bands, around, strict=True)
    ]
    page = route.Page(skeleton, x, nodes, frames, bands, plate_bands)
    return PictureLayout(tuple(nodes), tuple(frames), route.infer_routes(picture, page))


def _placed(box: Box, size: BoxSize, x: float, y: float) -> route.PlacedBox:
    room = Rect(x - size.half_width, y - size.reach, x + size.right, y + size.reach)
    corner = min(CORNERS.get(box.kind, 0.0), size.half_height)
    outline = Outline(x, y, size.half_width, size.half_height, box.is_round, corner)
    return route.PlacedBox(box, outline, room)


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

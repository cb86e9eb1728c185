"""The curves of the arrows: straight where nothing is in the way, else swaying between the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import hypot

from dpc.dsl.record import Record

from .geometry import Curve, Outline, Point, Rect, between, bounding, joined, line, pieces, sampled
from .measure import LOOP_LABEL_GAP, LOOP_REACH
from .orient import Edge
from .picture import Arrow, Picture
from .plates import Path, within
from .skeleton import Skeleton

CLEARANCE = 4.0
FLATTEST = 0.3
PARALLEL_GAP = 30.0
ARC_DEPTH = 26.0
SAMPLE_STEP = 7.0
PULLS = (0.5, 1.0, 1.3)
BULGE = 30.0


class Route(Record):
    """A placed arrow from its source's border to its target's; `label_at` is the left end of its
    lag.
    """

    arrow: Arrow
    curve: Curve
    lag: str = ""
    label_at: Point = (0.0, 0.0)


class Page(Record):
    """What the arrows must go around."""

    skeleton: Skeleton
    x: Sequence[float]
    outlines: Sequence[Outline]
    rooms: Sequence[Rect]
    bands: Sequence[tuple[float, float]]
    plate_margins: Sequence[tuple[float, float]]
    frames: Mapping[Path, Rect]
    frame_labels: Mapping[Path, Rect]

    @cached_property
    def boxes_by_row(self) -> list[list[int]]:
        rows: list[list[int]] = [[] for _ in self.bands]
        for box in range(len(self.outlines)):
            rows[self.row(box)].append(box)
        return rows

    @cached_property
    def cleared(self) -> list[Rect]:
        return [room.grown(CLEARANCE) for room in self.rooms]

    def band(self, row: int, past_plates: bool) -> tuple[float, float]:
        """Top and bottom of a row, or of the plates that begin and end with it."""
        above, below = self.plate_margins[row] if past_plates else (0.0, 0.0)
        return self.bands[row][0] - above, self.bands[row][1] + below

    def row(self, vertex: int) -> int:
        return self.skeleton.vertices[vertex].row

    def home(self, box: int) -> Path:
        return self.skeleton.vertices[box].home


def infer_routes(picture: Picture, page: Page) -> tuple[Route, ...]:
    """One route for every distinct arrow; the self-arrows of a box share one loop and list their
    lags.
    """
    number = {box.name: place for place, box in enumerate(picture.boxes)}
    parallel = _parallel_arrows(picture, number)
    loops = self_lags(picture)
    routes: list[Route] = []
    for arrow in dict.fromkeys(picture.arrows):
        source, target = number[arrow.source], number[arrow.target]
        if source != target:
            beside = parallel[min(source, target), max(source, target)]
            routes.append(_route(page, arrow, source, target, _shift(beside, arrow)))
        elif arrow.source in loops:
            routes.append(_loop(page, arrow, source, loops.pop(arrow.source)))
    return tuple(routes)


def self_lags(picture: Picture) -> dict[str, str]:
    """The text beside each box's loop, for boxes that point to themselves."""
    lags: dict[str, dict[str, None]] = {}
    for arrow in picture.arrows:
        if arrow.source == arrow.target:
            lags.setdefault(arrow.source, {})[arrow.lag] = None
    return {name: ", ".join(filter(None, found)) for name, found in lags.items()}


def _parallel_arrows(picture: Picture, number: Mapping[str, int]) -> dict[Edge, list[Arrow]]:
    parallel: dict[Edge, list[Arrow]] = {}
    for arrow in dict.fromkeys(picture.arrows):
        ends = sorted((number[arrow.source], number[arrow.target]))
        parallel.setdefault((ends[0], ends[1]), []).append(arrow)
    return parallel


def _shift(beside: Sequence[Arrow], arrow: Arrow) -> float:
    return PARALLEL_GAP * (beside.index(arrow) - (len(beside) - 1) / 2)


def _loop(page: Page, arrow: Arrow, box: int, lag: str) -> Route:
    outline = page.outlines[box]
    reach = LOOP_REACH * 4 / 3
    lift = min(13.0, 0.6 * outline.half_height)
    start = outline.towards((outline.x + outline.half_width * 1.2, outline.y - lift))
    end = outline.towards((outline.x + outline.half_width * 1.2, outline.y + lift))
    far = outline.x + outline.half_width + reach
    curve = (start, (far, start[1] - 12), (far, end[1] + 12), end)
    return Route(
        arrow, curve, lag, (outline.x + outline.half_width + LOOP_REACH + LOOP_LABEL_GAP, outline.y)
    )


def _route(page: Page, arrow: Arrow, source: int, target: int, shift: float) -> Route:
    if page.row(source) == page.row(target):
        curve = _arc(page, source, target, shift)
    else:
        upper, lower = (source, target) if page.row(source) < page.row(target) else (target, source)
        curve = _descent(page, upper, lower, shift)
        curve = curve if source == upper else curve[::-1]
    return Route(arrow, curve, arrow.lag)


def _arc(page: Page, source: int, target: int, shift: float) -> Curve:
    """Under the row, from one box to another that stands on it too."""
    one, other = page.outlines[source], page.outlines[target]
    lean = 0.4 if one.x < other.x else -0.4
    start, end = one.below(lean * one.half_width), other.below(-lean * other.half_width)
    depth = page.bands[page.row(source)][1] + ARC_DEPTH + abs(shift)
    return (start, (between(start, end, 0.2)[0], depth), (between(start, end, 0.8)[0], depth), end)


def _descent(page: Page, upper: int, lower: int, shift: float) -> Curve:
    """The first candidate that meets neither box nor foreign plate, else the first that meets no
    box.
    """
    candidates = list(_candidates(page, upper, lower, shift))
    reach = bounding([point for curve in candidates for point in curve])
    boxes = [box for box in _boxes_in_the_way(page, upper, lower) if box.overlaps(reach)]
    plates = list(_foreign_plates(page, upper, lower))
    for obstacles in (boxes + plates, boxes):
        for curve in candidates:
            if _is_clear(curve, obstacles):
                return curve
    return candidates[-1]


def _candidates(page: Page, upper: int, lower: int, shift: float) -> Iterator[Curve]:
    """The most pleasing first; the last keeps to the gaps between rows and so meets no box."""
    one, other = page.outlines[upper], page.outlines[lower]
    for direct in (_bowed(one, other, shift), *([] if shift else _to_ports(one, other))):
        if direct[-1][1] - direct[0][1] >= FLATTEST * abs(direct[-1][0] - direct[0][0]):
            yield direct
    stops = [stop[0] for stop in _stops(page, page.skeleton.chains[upper, lower])]
    for pull in PULLS if stops else ():
        sweeping = _sweeping(one, other, stops[0], stops[-1], pull)
        if _stays_within(sweeping, (one.x, other.x, *stops)):
            yield sweeping
    yield _swaying(page, upper, lower, shift, leads=False)
    yield _swaying(page, upper, lower, shift, leads=True)
    yield _swaying(page, upper, lower, shift, leads=True, past_plates=True)


def _bowed(one: Outline, other: Outline, shift: float) -> Curve:
    """Straight from centre to centre, or bent aside to make room for another arrow between the same
    boxes.
    """
    across, down = other.x - one.x, other.y - one.y
    scale = shift / hypot(across, down)
    aside = (down * scale, -across * scale)
    first = (one.x + across / 3 + aside[0], one.y + down / 3 + aside[1])
    second = (one.x + across * 2 / 3 + aside[0], one.y + down * 2 / 3 + aside[1])
    start, end = one.towards(first), other.towards(second)
    return (start, first, second, end) if shift else line(start, end)


def _to_ports(one: Outline, other: Outline) -> tuple[Curve, Curve]:
    """Straight to the middle of the lower box's top, or from the upper one's bottom: past a
    factor's name.
    """
    top, bottom = other.above(0.0), one.below(0.0)
    return line(one.towards(top), top), line(bottom, other.towards(bottom))


def _sweeping(one: Outline, other: Outline, first_x: float, last_x: float, pull: float) -> Curve:
    """One cubic that leans out to where the bends are; pull 1 passes through a bend halfway
    down.
    """
    down = other.y - one.y
    first = (
        one.x + _third(one.x, other.x) + pull * _lean(one.x, other.x, first_x),
        one.y + down / 3,
    )
    second = (
        other.x - _third(one.x, other.x) + pull * _lean(one.x, other.x, last_x),
        other.y - down / 3,
    )
    return (one.towards(first), first, second, other.towards(second))


def _stays_within(curve: Curve, across: Sequence[float]) -> bool:
    return all(min(across) - BULGE <= point[0] <= max(across) + BULGE for point in curve)


def _third(start: float, end: float) -> float:
    return (end - start) / 3


def _lean(start: float, end: float, bend: float) -> float:
    return (bend - (start + end) / 2) * 4 / 3


def _capped(shift: float, outline: Outline) -> float:
    most = 0.6 * outline.half_width
    return max(-most, min(most, shift))


def _swaying(
    page: Page, upper: int, lower: int, shift: float, leads: bool, past_plates: bool = False
) -> Curve:
    """Upright beside boxes and bends, swaying over only between the rows, or even only between the
    plates.
    """
    stops = _stops(page, page.skeleton.chains[upper, lower], past_plates)
    one, other = page.outlines[upper], page.outlines[lower]
    first = stops[0][0] if stops else other.x
    last = stops[-1][0] if stops else one.x
    start = one.below(_capped(shift + 0.2 * (first - one.x), one))
    end = other.above(_capped(shift + 0.2 * (last - other.x), other))
    start_out = page.band(page.row(upper), past_plates)[1] if leads else start[1]
    end_in = page.band(page.row(lower), past_plates)[0] if leads else end[1]
    runs = [(start[0], start[1], start_out), *stops, (end[0], end_in, end[1])]
    curves = [line((runs[0][0], runs[0][1]), (runs[0][0], runs[0][2]))]
    for above, below in pairwise(runs):
        curves.append(_sway((above[0], above[2]), (below[0], below[1])))
        curves.append(line((below[0], below[1]), (below[0], below[2])))
    return joined(*curves)


def _sway(start: Point, end: Point) -> Curve:
    middle = (start[1] + end[1]) / 2
    return (start, (start[0], middle), (end[0], middle), end)


def _stops(
    page: Page, chain: Sequence[int], past_plates: bool = False
) -> list[tuple[float, float, float]]:
    """The vertical runs (x, top, bottom) of a chain's bends, straight ones joined."""
    stops: list[tuple[float, float, float]] = []
    for bend in chain[1:-1]:
        top, bottom = page.band(page.row(bend), past_plates)
        if stops and abs(stops[-1][0] - page.x[bend]) < 0.5:
            stops[-1] = (stops[-1][0], stops[-1][1], bottom)
        else:
            stops.append((page.x[bend], top, bottom))
    return stops


def _is_clear(curve: Curve, obstacles: Sequence[Rect]) -> bool:
    return all(_is_piece_clear(piece, obstacles) for piece in pieces(curve))


def _is_piece_clear(piece: Curve, obstacles: Sequence[Rect]) -> bool:
    """Obstacles stand in rows, so most points of a long piece are in no row and need no look."""
    bounds = bounding(piece)
    near = [obstacle for obstacle in obstacles if obstacle.overlaps(bounds)]
    bands = {(obstacle.top, obstacle.bottom) for obstacle in near}
    if not bands:
        return True
    for point in sampled(piece, SAMPLE_STEP):
        is_in_a_row = any(top < point[1] < bottom for top, bottom in bands)
        if is_in_a_row and any(obstacle.holds(point) for obstacle in near):
            return False
    return True


def _boxes_in_the_way(page: Page, upper: int, lower: int) -> Iterator[Rect]:
    for row in range(page.row(upper), page.row(lower) + 1):
        for box in page.boxes_by_row[row]:
            yield _beside(page, box) if box in (upper, lower) else page.cleared[box]


def _foreign_plates(page: Page, upper: int, lower: int) -> Iterator[Rect]:
    """Whole plates that hold neither end, and the names of those that do."""
    at_home = {*within(page.home(upper)), *within(page.home(lower))}
    for path, frame in page.frames.items():
        yield page.frame_labels[path] if path in at_home else frame


def _beside(page: Page, box: int) -> Rect:
    """What hangs out of a box's right side is in the way even of its own arrows."""
    room, outline = page.rooms[box], page.outlines[box]
    return Rect(outline.rect.right + 1, room.top, room.right, room.bottom)

"""The curves of the arrows: straight where nothing is in the way, else swaying between the rows."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, pairwise, product
from math import hypot

from dpc.dsl.record import Record

from .geometry import Curve, Outline, Point, Rect, between, joined, line, meets, pieces, sampled
from .measure import LAG_SIZE, LOOP_LABEL_GAP, LOOP_REACH, PLATE_SIZE, shortened, text_width
from .picture import Arrow, Box, Picture, PlatePath, within
from .rows import Skeleton

CLEARANCE = 4.0
FLATTEST = 0.3
PARALLEL_GAP = 30.0
ARC_DEPTH = 26.0
PLATE_LABEL_INSET = 9.0
PLATE_LABEL_LIFT = 5.5
PULLS = (0.5, 1.0, 1.3)
BULGE = 30.0

# Where along and how far beside its arrow a lag is tried; what lies under it, in cells of a grid.
SHARES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)
ASIDE = 6.0
CELL = 6.0
OVERLAP = 10


class Route(Record):
    """An arrow from its source's border to its target's; `label_at` is the left end of its lag."""

    arrow: Arrow
    curve: Curve
    lag: str = ""
    label_at: Point = (0.0, 0.0)

    @property
    def label_rect(self) -> Rect:
        x, y = self.label_at
        width = text_width(shortened(self.lag), LAG_SIZE)
        return Rect(x, y - LAG_SIZE / 2, x + width, y + LAG_SIZE / 2)


class PlacedBox(Record):
    """`room` also covers what hangs out of its right side."""

    box: Box
    outline: Outline
    room: Rect


class Frame(Record):
    """A placed plate."""

    path: PlatePath
    label: str
    rect: Rect

    @property
    def label_rect(self) -> Rect:
        right, bottom = self.rect.right - PLATE_LABEL_INSET, self.rect.bottom - PLATE_LABEL_LIFT
        return Rect(right - text_width(self.label, PLATE_SIZE), bottom - PLATE_SIZE, right, bottom)


class Page(Record):
    """What the arrows must go around: boxes, rows, and rows with the plates that begin and end."""

    skeleton: Skeleton
    x: Sequence[float]
    nodes: Sequence[PlacedBox]
    frames: Sequence[Frame]
    bands: Sequence[tuple[float, float]]
    plate_bands: Sequence[tuple[float, float]]

    @cached_property
    def cleared(self) -> list[list[tuple[int, Rect]]]:
        """The boxes of each row, with what an arrow between others must keep away from."""
        rows: list[list[tuple[int, Rect]]] = [[] for _ in self.bands]
        for box, node in enumerate(self.nodes):
            rows[self.row(box)].append((box, node.room.grown(CLEARANCE)))
        return rows

    def row(self, vertex: int) -> int:
        return self.skeleton.vertices[vertex].row


def infer_routes(picture: Picture, page: Page) -> tuple[Route, ...]:
    """One for every distinct arrow; the self-arrows of a box share one loop and list their lags."""
    number = picture.numbers
    parallel: dict[frozenset[str], list[Arrow]] = {}
    for arrow in dict.fromkeys(picture.arrows):
        parallel.setdefault(frozenset((arrow.source, arrow.target)), []).append(arrow)
    loops = self_lags(picture)
    routes: list[Route] = []
    for arrow in dict.fromkeys(picture.arrows):
        source, target = number[arrow.source], number[arrow.target]
        if source != target:
            beside = parallel[frozenset((arrow.source, arrow.target))]
            shift = PARALLEL_GAP * (beside.index(arrow) - (len(beside) - 1) / 2)
            routes.append(Route(arrow, _curve(page, source, target, shift), arrow.lag))
        elif arrow.source in loops:
            routes.append(_loop(arrow, page.nodes[source].outline, loops.pop(arrow.source)))
    return _with_lags(routes, [node.room for node in page.nodes])


def self_lags(picture: Picture) -> dict[str, str]:
    """The text beside each box's loop, for boxes that point to themselves."""
    lags: dict[str, dict[str, None]] = {}
    for arrow in picture.arrows:
        if arrow.source == arrow.target:
            lags.setdefault(arrow.source, {})[arrow.lag] = None
    return {name: ", ".join(filter(None, found)) for name, found in lags.items()}


def _loop(arrow: Arrow, outline: Outline, lag: str) -> Route:
    lift = min(13.0, 0.6 * outline.half_height)
    right = outline.x + outline.half_width
    beside = outline.x + 1.2 * outline.half_width
    start, end = (
        outline.towards((beside, outline.y - lift)),
        outline.towards((beside, outline.y + lift)),
    )
    far = right + LOOP_REACH * 4 / 3
    curve = (start, (far, start[1] - 12), (far, end[1] + 12), end)
    return Route(arrow, curve, lag, (right + LOOP_REACH + LOOP_LABEL_GAP, outline.y))


def _curve(page: Page, source: int, target: int, shift: float) -> Curve:
    """Between rows, or under the row from one box to another that stands on it too."""
    if page.row(source) > page.row(target):
        return _descent(page, target, source, shift)[::-1]
    if page.row(source) < page.row(target):
        return _descent(page, source, target, shift)
    one, other = page.nodes[source].outline, page.nodes[target].outline
    lean = 0.4 if one.x < other.x else -0.4
    start, end = one.below(lean * one.half_width), other.below(-lean * other.half_width)
    depth = page.bands[page.row(source)][1] + ARC_DEPTH + abs(shift)
    return (start, (between(start, end, 0.2)[0], depth), (between(start, end, 0.8)[0], depth), end)


def _descent(page: Page, upper: int, lower: int, shift: float) -> Curve:
    """The first candidate that meets neither box nor foreign plate, else that meets no box."""
    boxes = []
    for box, room in chain.from_iterable(page.cleared[page.row(upper) : page.row(lower) + 1]):
        node = page.nodes[box]
        # What hangs out of a box's right side is in the way even of its own arrows.
        beside = node.room.replace(left=node.outline.rect.right + 1)
        boxes.append(beside if box in (upper, lower) else room)
    # Whole plates that hold neither end, and the names of those that do.
    homes = (page.skeleton.vertices[box].home for box in (upper, lower))
    at_home = {path for home in homes for path in within(home)}
    plates = [frame.label_rect if frame.path in at_home else frame.rect for frame in page.frames]
    clear = []
    for curve in _candidates(page, upper, lower, shift):
        last = curve
        if not any(meets(piece, boxes) for piece in pieces(curve)):
            clear.append(curve)
            if not any(meets(piece, plates) for piece in pieces(curve)):
                return curve
    return clear[0] if clear else last


def _candidates(page: Page, upper: int, lower: int, shift: float) -> Iterator[Curve]:
    """The most pleasing first; the last keeps to the gaps between rows and so meets no box."""
    one, other = page.nodes[upper].outline, page.nodes[lower].outline
    directs = [_bowed(one, other, shift)]
    if not shift:
        # To the lower box's top middle, or from the upper's bottom: past a factor's name.
        top, bottom = other.above(0.0), one.below(0.0)
        directs += [line(one.towards(top), top), line(bottom, other.towards(bottom))]
    for direct in directs:
        if direct[-1][1] - direct[0][1] >= FLATTEST * abs(direct[-1][0] - direct[0][0]):
            yield direct
    stops = [stop[0] for stop in _stops(page, upper, lower, page.bands)]
    for pull in PULLS if stops else ():
        # A cubic that leans out to where the bends are; pull 1 passes through a bend halfway down.
        third_across, third_down = (other.x - one.x) / 3, (other.y - one.y) / 3
        middle, lean = (one.x + other.x) / 2, pull * 4 / 3
        first = one.x + third_across + lean * (stops[0] - middle), one.y + third_down
        second = other.x - third_across + lean * (stops[-1] - middle), other.y - third_down
        sweeping = (one.towards(first), first, second, other.towards(second))
        across = (one.x, other.x, *stops)
        if all(min(across) - BULGE <= x <= max(across) + BULGE for x, _ in sweeping):
            yield sweeping
    yield _swaying(page, upper, lower, shift, None)
    yield _swaying(page, upper, lower, shift, page.bands)
    yield _swaying(page, upper, lower, shift, page.plate_bands)


def _bowed(one: Outline, other: Outline, shift: float) -> Curve:
    """Straight between centres, or bent aside for another arrow between the same boxes."""
    across, down = other.x - one.x, other.y - one.y
    scale = shift / hypot(across, down)
    aside = (down * scale, -across * scale)
    first = (one.x + across / 3 + aside[0], one.y + down / 3 + aside[1])
    second = (one.x + across * 2 / 3 + aside[0], one.y + down * 2 / 3 + aside[1])
    start, end = one.towards(first), other.towards(second)
    return (start, first, second, end) if shift else line(start, end)


def _swaying(
    page: Page, upper: int, lower: int, shift: float, bands: Sequence[tuple[float, float]] | None
) -> Curve:
    """Upright beside boxes and bends, swaying over only between these bands, if any are given."""
    stops = _stops(page, upper, lower, bands or page.bands)
    one, other = page.nodes[upper].outline, page.nodes[lower].outline
    first = stops[0][0] if stops else other.x
    last = stops[-1][0] if stops else one.x
    start = one.below(_port(one, shift + 0.2 * (first - one.x)))
    end = other.above(_port(other, shift + 0.2 * (last - other.x)))
    start_out = bands[page.row(upper)][1] if bands else start[1]
    end_in = bands[page.row(lower)][0] if bands else end[1]
    runs = [(start[0], start[1], start_out), *stops, (end[0], end_in, end[1])]
    curves = [line((start[0], start[1]), (start[0], start_out))]
    for (x, _, leave), (next_x, enter, bottom) in pairwise(runs):
        middle = (leave + enter) / 2
        curves.append(((x, leave), (x, middle), (next_x, middle), (next_x, enter)))
        curves.append(line((next_x, enter), (next_x, bottom)))
    return joined(*curves)


def _port(outline: Outline, shift: float) -> float:
    most = 0.6 * outline.half_width
    return max(-most, min(most, shift))


def _stops(
    page: Page, upper: int, lower: int, bands: Sequence[tuple[float, float]]
) -> list[tuple[float, float, float]]:
    """The vertical runs (x, top, bottom) of a chain's bends, straight ones joined."""
    stops: list[tuple[float, float, float]] = []
    for bend in page.skeleton.chains[upper, lower][1:-1]:
        top, bottom = bands[page.row(bend)]
        if stops and abs(stops[-1][0] - page.x[bend]) < 0.5:
            stops[-1] = (stops[-1][0], stops[-1][1], bottom)
        else:
            stops.append((page.x[bend], top, bottom))
    return stops


def _with_lags(routes: Sequence[Route], rooms: Sequence[Rect]) -> tuple[Route, ...]:
    """On their arrow or beside it, where it is least crowded; a loop's have their own room."""
    if not any(route.lag for route in routes):
        return tuple(routes)
    lines = [sampled(route.curve, CELL) for route in routes]
    marks = [{(int(x // CELL), int(y // CELL)) for x, y in points} for points in lines]
    crowd: Counter[tuple[int, int]] = Counter()
    loops = [route.label_rect for route in routes if route.arrow.source == route.arrow.target]
    for rect in (*rooms, *loops):
        crowd.update(dict.fromkeys(_cells(rect), OVERLAP))
    for mark in marks:
        crowd.update(mark)

    def crowding(route: Route) -> int:
        return sum(crowd[cell] for cell in _cells(route.label_rect))

    placed = list(routes)
    for number, route in enumerate(routes):
        if route.lag and route.arrow.source != route.arrow.target:
            crowd.subtract(marks[number])
            # On the line first, which its halo interrupts, then beside it.
            width = text_width(shortened(route.lag), LAG_SIZE)
            drawn, shifts = lines[number], (-width / 2, ASIDE, -ASIDE - width)
            points = [drawn[round(share * (len(drawn) - 1))] for share in SHARES]
            spots = [route.replace(label_at=(x + by, y)) for by in shifts for x, y in points]
            placed[number] = min(spots, key=crowding)
            crowd.update(marks[number])
            crowd.update(dict.fromkeys(_cells(placed[number].label_rect), OVERLAP))
    return tuple(placed)


def _cells(rect: Rect) -> list[tuple[int, int]]:
    across = range(int(rect.left // CELL), int(rect.right // CELL) + 1)
    down = range(int(rect.top // CELL), int(rect.bottom // CELL) + 1)
    return list(product(across, down))

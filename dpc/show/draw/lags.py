"""Where the words on recurrences go: on their arrow or beside it, clear of boxes and other
arrows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .geometry import Point, Rect, sampled
from .measure import LAG_SIZE, shortened, text_width
from .route import Route

STEP = 6.0
ASIDE = 6.0
OVERLAP = 10
SHARES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)


def place_lags(routes: Sequence[Route], rooms: Sequence[Rect]) -> tuple[Route, ...]:
    """Self-arrows keep the place their box reserved; the others take the least crowded one."""
    placed = list(routes)
    taken = [label_rect(route, route.label_at) for route in routes if _is_loop(route)]
    lines = (
        [sampled(route.curve, STEP) for route in routes]
        if any(route.lag for route in routes)
        else []
    )
    for number, route in enumerate(routes):
        if route.lag and not _is_loop(route):
            others = [
                point for other, line in enumerate(lines) if other != number for point in line
            ]
            spot = _least_crowded(route, lines[number], others, [*rooms, *taken])
            taken.append(label_rect(route, spot))
            placed[number] = route.replace(label_at=spot)
    return tuple(placed)


def _is_loop(route: Route) -> bool:
    return route.arrow.source == route.arrow.target


def _least_crowded(
    route: Route, line: Sequence[Point], others: Sequence[Point], occupied: Sequence[Rect]
) -> Point:
    def crowding(spot: Point) -> int:
        label = label_rect(route, spot).grown(2)
        return sum(map(label.holds, others)) + OVERLAP * sum(map(label.overlaps, occupied))

    return min(_spots(route, line), key=crowding)


def _spots(route: Route, line: Sequence[Point]) -> Iterator[Point]:
    """On the line first, which its halo interrupts, then beside it."""
    width = text_width(shortened(route.lag), LAG_SIZE)
    for shift in (-width / 2, ASIDE, -ASIDE - width):
        for share in SHARES:
            x, y = line[round(share * (len(line) - 1))]
            yield x + shift, y


def label_rect(route: Route, at: Point) -> Rect:
    width = text_width(shortened(route.lag), LAG_SIZE)
    return Rect(at[0], at[1] - LAG_SIZE / 2, at[0] + width, at[1] + LAG_SIZE / 2)

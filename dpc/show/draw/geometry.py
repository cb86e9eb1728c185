"""Points, rectangles and curves. A curve is a chain of cubics: one start, three points a piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import ceil, hypot, sqrt

from dpc.dsl.record import Record

Point = tuple[float, float]
Curve = tuple[Point, ...]


class Rect(Record):
    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def corners(self) -> tuple[Point, Point]:
        return (self.left, self.top), (self.right, self.bottom)

    def grown(self, by: float) -> Rect:
        return Rect(self.left - by, self.top - by, self.right + by, self.bottom + by)

    def holds(self, point: Point) -> bool:
        return self.left < point[0] < self.right and self.top < point[1] < self.bottom

    def overlaps(self, other: Rect) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


class Outline(Record):
    """The border of a box: an ellipse, or a rectangle with rounded corners, around a centre."""

    x: float
    y: float
    half_width: float
    half_height: float
    is_round: bool
    corner: float = 0.0

    @property
    def rect(self) -> Rect:
        across, down = self.half_width, self.half_height
        return Rect(self.x - across, self.y - down, self.x + across, self.y + down)

    def towards(self, point: Point) -> Point:
        """Where the ray from the centre to a point outside leaves the border."""
        across, down = point[0] - self.x, point[1] - self.y
        share = self._share_inside(abs(across), abs(down))
        return self.x + share * across, self.y + share * down

    def _share_inside(self, across: float, down: float) -> float:
        """How far along (across, down) the border is."""
        if self.is_round:
            return 1 / hypot(across / self.half_width, down / self.half_height)
        share = 1 / max(across / self.half_width, down / self.half_height)
        inner_width, inner_height = self.half_width - self.corner, self.half_height - self.corner
        if share * across <= inner_width or share * down <= inner_height:
            return share
        # In a corner: the larger s with |s (across, down) - (inner_width, inner_height)| = corner.
        length = across**2 + down**2
        along = across * inner_width + down * inner_height
        apart = inner_width**2 + inner_height**2 - self.corner**2
        return (along + sqrt(max(0.0, along**2 - length * apart))) / length

    def below(self, shift: float) -> Point:
        return self.x + shift, self.y + self._half_height_at(shift)

    def above(self, shift: float) -> Point:
        return self.x + shift, self.y - self._half_height_at(shift)

    def _half_height_at(self, shift: float) -> float:
        if self.is_round:
            return self.half_height * sqrt(max(0.0, 1 - (shift / self.half_width) ** 2))
        into_corner = max(0.0, abs(shift) - (self.half_width - self.corner))
        return self.half_height - self.corner + sqrt(self.corner**2 - into_corner**2)


def bounding(points: Iterable[Point]) -> Rect:
    """The smallest rectangle around points; a cubic stays within its control points' one."""
    across, down = zip(*points, strict=True)
    return Rect(min(across), min(down), max(across), max(down))


def line(start: Point, end: Point) -> Curve:
    return (start, between(start, end, 1 / 3), between(start, end, 2 / 3), end)


def between(start: Point, end: Point, share: float) -> Point:
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def joined(*curves: Curve) -> Curve:
    """Curves end to end; pieces of no length are left out."""
    points: list[Point] = [curves[0][0]]
    for curve in curves:
        for piece in pieces(curve):
            if hypot(piece[3][0] - points[-1][0], piece[3][1] - points[-1][1]) > 1e-9:
                points.extend(piece[1:])
    return tuple(points)


def pieces(curve: Curve) -> Iterator[Curve]:
    return (curve[start : start + 4] for start in range(0, len(curve) - 1, 3))


def split(piece: Sequence[Point], time: float) -> tuple[Curve, Curve]:
    """A cubic as two, by means of means of its points (de Casteljau)."""
    first, last = [piece[0]], [piece[-1]]
    while len(piece) > 1:
        piece = [between(start, end, time) for start, end in pairwise(piece)]
        first.append(piece[0])
        last.append(piece[-1])
    return tuple(first), tuple(last[::-1])


def sampled(curve: Curve, step: float) -> list[Point]:
    """Points along a curve, no further apart than about `step`."""
    points = [curve[0]]
    for piece in pieces(curve):
        length = sum(hypot(end[0] - start[0], end[1] - start[1]) for start, end in pairwise(piece))
        count = max(1, ceil(length / step))
        points += (split(piece, number / count)[0][-1] for number in range(1, count + 1))
    return points


def meets(piece: Curve, obstacles: Iterable[Rect], finest: float = 7.0) -> bool:
    """Halves what may lie in an obstacle until it is `finest` or misses all of them."""
    bounds = bounding(piece)
    near = [obstacle for obstacle in obstacles if obstacle.overlaps(bounds)]
    if max(bounds.width, bounds.height) <= finest:
        return any(obstacle.holds(end) for obstacle in near for end in (piece[0], piece[-1]))
    return bool(near) and any(meets(half, near) for half in split(piece, 0.5))

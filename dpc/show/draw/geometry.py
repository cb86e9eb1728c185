"""Points, rectangles and curves. A curve is a chain of cubics: one start, then three points a
piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

    def grown(self, by: float) -> Rect:
        return Rect(self.left - by, self.top - by, self.right + by, self.bottom + by)

    def holds(self, point: Point) -> bool:
        return self.left < point[0] < self.right and self.top < point[1] < self.bottom

    def overlaps(self, other: Rect) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def contains(self, other: Rect) -> bool:
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.top <= other.top
            and other.bottom <= self.bottom
        )


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
        return Rect(
            self.x - self.half_width,
            self.y - self.half_height,
            self.x + self.half_width,
            self.y + self.half_height,
        )

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
        return _far_circle_share((across, down), (inner_width, inner_height), self.corner)

    def below(self, shift: float) -> Point:
        return self.x + shift, self.y + self._half_height_at(shift)

    def above(self, shift: float) -> Point:
        return self.x + shift, self.y - self._half_height_at(shift)

    def _half_height_at(self, shift: float) -> float:
        if self.is_round:
            return self.half_height * sqrt(max(0.0, 1 - (shift / self.half_width) ** 2))
        into_corner = max(0.0, abs(shift) - (self.half_width - self.corner))
        return self.half_height - self.corner + sqrt(self.corner**2 - into_corner**2)


def _far_circle_share(ray: Point, centre: Point, radius: float) -> float:
    """The larger s with |s ray - centre| = radius."""
    length = ray[0] ** 2 + ray[1] ** 2
    along = ray[0] * centre[0] + ray[1] * centre[1]
    apart = centre[0] ** 2 + centre[1] ** 2 - radius**2
    return (along + sqrt(max(0.0, along**2 - length * apart))) / length


def bounding(points: Sequence[Point]) -> Rect:
    """The smallest rectangle around points; a cubic stays within its control points' one."""
    across, down = [point[0] for point in points], [point[1] for point in points]
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


def pieces(curve: Curve) -> Iterator[tuple[Point, Point, Point, Point]]:
    for start in range(0, len(curve) - 1, 3):
        yield curve[start], curve[start + 1], curve[start + 2], curve[start + 3]


def cubic_point(piece: Sequence[Point], time: float) -> Point:
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = piece
    rest = 1 - time
    a, b, c, d = rest**3, 3 * rest * rest * time, 3 * rest * time * time, time**3
    return a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3


def sampled(curve: Curve, step: float) -> list[Point]:
    """Points along a curve, no further apart than about `step`."""
    points = [curve[0]]
    for piece in pieces(curve):
        count = max(1, ceil(_control_length(piece) / step))
        points.extend(cubic_point(piece, number / count) for number in range(1, count + 1))
    return points


def _control_length(piece: Sequence[Point]) -> float:
    return sum(hypot(end[0] - start[0], end[1] - start[1]) for start, end in pairwise(piece))

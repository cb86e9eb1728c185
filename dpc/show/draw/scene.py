"""One drawing, for every writer: shapes in painting order, grouped by what they stand for."""

from __future__ import annotations

from typing import Literal

from dpc.dsl.record import Record

from .geometry import Curve, Point, Rect

Anchor = Literal["start", "middle", "end"]


class Ink(Record):
    """How a shape is painted; an empty colour paints nothing."""

    fill: str = ""
    stroke: str = ""
    width: float = 1.3
    dashed: bool = False


class Ellipse(Record):
    rect: Rect
    ink: Ink


class Rectangle(Record):
    rect: Rect
    ink: Ink
    corner: float = 0.0


class Stroke(Record):
    """A chain of cubics."""

    curve: Curve
    ink: Ink


class Polygon(Record):
    points: tuple[Point, ...]
    ink: Ink


class Text(Record):
    """One line; `at` is on the line's vertical middle. A halo keeps it legible over what lies
    below.
    """

    at: Point
    text: str
    size: float
    colour: str
    anchor: Anchor = "middle"
    bold: bool = False
    halo: str = ""


Shape = Ellipse | Rectangle | Stroke | Polygon | Text


class Group(Record):
    """The shapes of one box, arrow or plate, with the words that say what it is."""

    says: str
    shapes: tuple[Shape, ...]


class Scene(Record):
    title: str
    description: str
    width: float
    height: float
    groups: tuple[Group, ...]

"""One drawing, for every writer: shapes in painting order, grouped by what they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .geometry import Curve, Point, Rect

Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Ink:
    """How a shape is painted; an empty colour paints nothing."""

    fill: str = ""
    stroke: str = ""
    width: float = 1.3
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Ellipse:
    rect: Rect
    ink: Ink


@dataclass(frozen=True, slots=True)
class Rectangle:
    rect: Rect
    ink: Ink
    corner: float = 0.0


@dataclass(frozen=True, slots=True)
class Stroke:
    """A chain of cubics."""

    curve: Curve
    ink: Ink


@dataclass(frozen=True, slots=True)
class Polygon:
    points: tuple[Point, ...]
    ink: Ink


@dataclass(frozen=True, slots=True)
class Text:
    """One line; `at` is on the line's vertical middle. A halo keeps it legible over what lies below."""

    at: Point
    text: str
    size: float
    colour: str
    anchor: Anchor = "middle"
    bold: bool = False
    halo: str = ""


Shape = Ellipse | Rectangle | Stroke | Polygon | Text


@dataclass(frozen=True, slots=True)
class Group:
    """The shapes of one box, arrow or plate, with the words that say what it is."""

    says: str
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    title: str
    description: str
    width: float
    height: float
    groups: tuple[Group, ...]

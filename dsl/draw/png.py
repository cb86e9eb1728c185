"""The drawing as PNG: painted large with Pillow, then reduced for smooth edges."""

from __future__ import annotations

import io
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING

from .geometry import Point, sampled
from .glyphs import text_font
from .scene import Ellipse, Ink, Polygon, Rectangle, Scene, Shape, Stroke, Text

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw as Draw

SCALE = 2.0
OVERSAMPLING = 3
DASH, PAUSE = 5.0, 3.5
MOST_PIXELS = 16_000_000
MOST_CANVAS_PIXELS = 64_000_000


def emit_png(scene: Scene) -> bytes:
    from PIL import Image, ImageDraw

    scale = _scale(scene)
    finer = _oversampling(scene, scale)
    width, height = _pixels(scene.width, scale), _pixels(scene.height, scale)
    canvas = Image.new("RGB", (width * finer, height * finer), "white")
    _Painter(ImageDraw.Draw(canvas), scale * finer).paint(scene)
    image = canvas.reduce(finer)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _scale(scene: Scene) -> float:
    """Pixels per unit of the drawing: fewer for a very large page."""
    return min(SCALE, sqrt(MOST_PIXELS / (scene.width * scene.height)))


def _pixels(length: float, zoom: float) -> int:
    return max(1, round(length * zoom))


def _oversampling(scene: Scene, scale: float) -> int:
    affordable = sqrt(MOST_CANVAS_PIXELS / (scene.width * scene.height)) / scale
    return max(1, min(OVERSAMPLING, int(affordable)))


class _Painter:
    def __init__(self, draw: Draw, zoom: float) -> None:
        self.draw, self.zoom = draw, zoom

    def paint(self, scene: Scene) -> None:
        for group in scene.groups:
            for shape in group.shapes:
                self._shape(shape)

    def _at(self, point: Point) -> Point:
        return point[0] * self.zoom, point[1] * self.zoom

    def _shape(self, shape: Shape) -> None:
        match shape:
            case Ellipse(rect=rect, ink=ink):
                corners = (*self._at((rect.left, rect.top)), *self._at((rect.right, rect.bottom)))
                self.draw.ellipse(corners, ink.fill or None, ink.stroke or None, self._width(ink))
            case Rectangle(rect=rect, ink=ink):
                corners = (*self._at((rect.left, rect.top)), *self._at((rect.right, rect.bottom)))
                radius = shape.corner * self.zoom
                self.draw.rounded_rectangle(corners, radius, ink.fill or None, ink.stroke or None, self._width(ink))
            case Polygon(points=points, ink=ink):
                self.draw.polygon([self._at(point) for point in points], fill=ink.fill)
            case Stroke():
                self._stroke(shape)
            case Text():
                self._text(shape)

    def _width(self, ink: Ink) -> int:
        return max(1, round(ink.width * self.zoom)) if ink.stroke else 0

    def _stroke(self, stroke: Stroke) -> None:
        points = sampled(stroke.curve, 2.0)
        for run in _dashes(points) if stroke.ink.dashed else [points]:
            self.draw.line([self._at(p) for p in run], stroke.ink.stroke, self._width(stroke.ink), joint="curve")

    def _text(self, text: Text) -> None:
        font = text_font(text.size * self.zoom)
        shown = font.shown(text.text)
        x, y = self._at(text.at)
        x -= font.width(shown) * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor]
        halo = round(2.5 * self.zoom) if text.halo else 0
        if halo:
            font.draw(self.draw, (x, y), shown, text.halo, stroke=halo)
        font.draw(self.draw, (x, y), shown, text.colour, stroke=round(0.22 * self.zoom) if text.bold else 0)


def _dashes(points: list[Point]) -> list[list[Point]]:
    """The drawn runs of a dashed line through these points."""
    runs: list[list[Point]] = [[points[0]]]
    left, drawing = DASH, True
    for start, end in pairwise(points):
        length = ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5
        done = 0.0
        while length - done > left:
            done += left
            share = done / length
            turn = (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))
            if drawing:
                runs[-1].append(turn)
            else:
                runs.append([turn])
            drawing = not drawing
            left = DASH if drawing else PAUSE
        left -= length - done
        if drawing:
            runs[-1].append(end)
    return [run for run in runs if len(run) > 1]

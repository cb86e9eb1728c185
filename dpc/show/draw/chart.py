"""Charts of numbers, as scenes: curves over steps, and dots in rows."""

import os
from collections.abc import Sequence
from itertools import pairwise, starmap
from math import ceil, floor, isfinite, log10
from pathlib import Path

from dpc.dsl.files import write_whole
from dpc.dsl.record import Record

from . import scene
from .geometry import Point, Rect, joined, line
from .measure import shortened, text_width
from .paint import BAR_FILL, FAINT, INK, PAPER, PLATE_LINE
from .write import png_of_svg

COLOURS = (BAR_FILL, "#b5473a", "#6b4fa0", "#c99a2e", "#3e4c59")
PALE = "#b9cfe4"
GRID = scene.Ink(stroke="#e4e9ee", width=1.0)
SIZE = 11.0
MARGIN = 16.0
DOT = 3.6
MOST_POINTS = 250


class Series(Record):
    """A line through points; a pale one lies behind the others."""

    name: str
    points: tuple[Point, ...]
    pale: bool = False


class Panel(Record):
    """A number for each row, on a logarithmic scale of their own, and the text beside its dot."""

    name: str
    values: tuple[float, ...]
    texts: tuple[str, ...]


class Scale(Record):
    """From numbers between `low` and `high` to places between `start` and `end`."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def write_chart(chart: scene.Scene, path: str | os.PathLike[str]) -> None:
    """As SVG or PNG, by the file's ending; the file appears whole or not at all."""
    svg = scene.emit_svg(chart)
    is_png = Path(path).suffix.lower() == ".png"
    write_whole(path, png_of_svg(svg) if is_png else svg.encode())


def curve_chart(title: str, across: str, up: str, series: Sequence[Series]) -> scene.Scene:
    width, height = 640.0, 360.0
    points = [point for own in series for point in own.points if isfinite(point[1])]
    frame = Rect(72.0, 44.0, width - MARGIN, height - 48.0)
    x = _spanning([p[0] for p in points], frame.left, frame.right, loose=False)
    y = _spanning([p[1] for p in points], frame.bottom, frame.top)
    axes: list[scene.Shape] = [scene.Rectangle(frame, scene.Ink(PAPER, PLATE_LINE, 1.0))]
    for value in _ticks(x.low, x.high):
        axes.append(_text((x.place(value), frame.bottom + 12), f"{value:g}", FAINT))
    for value in _ticks(y.low, y.high):
        height_of = y.place(value)
        axes.append(_line([(frame.left, height_of), (frame.right, height_of)], GRID))
        axes.append(_text((frame.left - 6, height_of), f"{value:g}", FAINT, "end"))
    axes.append(_text(((frame.left + frame.right) / 2, height - 16), across, INK))
    axes.append(_text((frame.left, 32.0), up, INK, "start"))
    axes.append(scene.Text((MARGIN, 14.0), shortened(title), 13.0, INK, "start", bold=True))
    groups = [scene.ShapeGroup("axes", tuple(axes))]
    behind_first = sorted(series, key=lambda own: not own.pale)
    groups += [_curve(own, k, x, y) for k, own in enumerate(behind_first)]
    names = ", ".join(own.name for own in series)
    return scene.Scene(title, f"{up} over {across}: {names}", width, height, tuple(groups))


def _curve(series: Series, number: int, x: Scale, y: Scale) -> scene.ShapeGroup:
    colour = COLOURS[number % len(COLOURS)]
    ink = scene.Ink(stroke=PALE, width=1.0) if series.pale else scene.Ink(stroke=colour, width=1.8)
    places = [(x.place(a), y.place(b)) for a, b in _thinned(series.points) if isfinite(b)]
    return scene.ShapeGroup(series.name, (_line(places, ink),) if len(places) > 1 else ())


def _thinned(points: Sequence[Point]) -> Sequence[Point]:
    """One point in so many, and the last: no more than a page can show."""
    every = ceil(len(points) / MOST_POINTS)
    return [*points[::every], points[-1]] if every > 1 else points


def row_chart(title: str, note: str, rows: Sequence[str], panels: Sequence[Panel]) -> scene.Scene:
    """A line for each row, a column for each panel; a zero, without logarithm, is a ring left."""
    names = MARGIN + max(text_width(shortened(row), SIZE) for row in rows) + 14
    column, row_height, head = 190.0, 22.0, 64.0
    width, height = names + column * len(panels) + MARGIN, head + row_height * len(rows) + MARGIN
    words: list[scene.Shape] = [
        scene.Text((MARGIN, 16.0), shortened(title), 13.0, INK, "start", bold=True)
    ]
    words.append(_text((MARGIN, 34.0), note, FAINT, "start"))
    for k, row in enumerate(rows):
        y = head + row_height * (k + 0.5)
        words.append(_text((MARGIN, y), shortened(row), INK, "start"))
        words.append(_line([(names, y), (width - MARGIN, y)], GRID))
    groups = [scene.ShapeGroup("rows", tuple(words))]
    for k, panel in enumerate(panels):
        left = names + column * k
        groups.append(_panel(panel, Rect(left, head, left + column, height), row_height))
    about = f"{note}; {', '.join(panel.name for panel in panels)} of {', '.join(rows)}"
    return scene.Scene(title, about, width, height, tuple(groups))


def _panel(panel: Panel, room: Rect, row_height: float) -> scene.ShapeGroup:
    logs = [log10(value) for value in panel.values if value > 0 and isfinite(value)]
    scale = _spanning(logs or [0.0], room.left + 8, room.right - 78)
    shapes: list[scene.Shape] = [_text((room.left, room.top - 10), panel.name, INK, "start")]
    for k, (value, text) in enumerate(zip(panel.values, panel.texts, strict=True)):
        y = room.top + row_height * (k + 0.5)
        positive = value > 0 and isfinite(value)
        x = scale.place(log10(value)) if positive else room.left + 4
        ink = scene.Ink(fill=BAR_FILL) if positive else scene.Ink(PAPER, BAR_FILL)
        shapes.append(scene.Ellipse(Rect(x - DOT, y - DOT, x + DOT, y + DOT), ink))
        shapes.append(scene.Text((x + 8, y), text, 10.0, FAINT, "start", halo=PAPER))
    return scene.ShapeGroup(panel.name, tuple(shapes))


def _text(at: Point, text: str, colour: str, anchor: scene.Anchor = "middle") -> scene.Text:
    return scene.Text(at, text, SIZE, colour, anchor)


def _line(points: Sequence[Point], ink: scene.Ink) -> scene.Stroke:
    """Straight pieces, as cubics whose handles lie on them."""
    return scene.Stroke(joined(*starmap(line, pairwise(points))), ink)


def _spanning(values: Sequence[float], start: float, end: float, loose: bool = True) -> Scale:
    """A scale that holds all values, with a little room around them."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    room = 0.04 * (high - low) if loose else 0.0
    return Scale(low - room, high + room, start, end)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers, four to nine of them."""
    step = 10 ** floor(log10((high - low) / 4))
    step *= next((factor for factor in (5, 2) if (high - low) / (step * factor) >= 4), 1)
    return [k * step for k in range(ceil(low / step), floor(high / step) + 1)]

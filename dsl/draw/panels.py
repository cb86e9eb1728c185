"""Many small charts on one page: lines and dots in a grid of panels with scales of their own."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite

from ..record import Record
from .chart import COLOURS, MARGIN, Scale, _line, _spanning, _text, _ticks
from .geometry import Point, Rect
from .measure import shortened
from .paint import FAINT, INK, PAPER, PLATE_LINE
from .scene import Anchor, Ellipse, Group, Ink, Rectangle, Scene, Shape, Text

HEAD = 34.0
TITLE = 20.0
FOOT = 18.0
SIDE = 14.0
ROW = 16.0
ENDS = 14.0
"""How far the lines of a row chart stay away from its frame."""


class Line(Record):
    points: tuple[Point, ...]
    colour: str
    width: float = 1.2
    dashed: bool = False


class Dots(Record):
    points: tuple[Point, ...]
    colour: str
    radius: float = 1.1


Mark = Line | Dots


class Chart(Record):
    """`rows`, from the top down, name the places 0, 1, 2, ... of the upright axis; `upright` writes its numbers."""

    title: str
    marks: tuple[Mark, ...]
    rows: tuple[str, ...] = ()
    across: str = ""
    upright: bool = False


class Grid(Record):
    """How many charts stand side by side, and how large each is."""

    columns: int
    width: float = 280.0
    height: float = 130.0


def panel_page(title: str, note: str, charts: Sequence[Chart | None], grid: Grid) -> Scene:
    """Row by row; None leaves a place empty."""
    columns = min(grid.columns, len(charts))
    gutters = [max((_gutter(chart) for chart in charts[k::columns] if chart), default=0.0) for k in range(columns)]
    step = grid.height + TITLE + FOOT
    width = 2 * MARGIN + columns * (grid.width + SIDE) - SIDE
    height = HEAD + 14 + step * ceil(len(charts) / columns) + MARGIN
    words: list[Shape] = [Text((MARGIN, 16.0), shortened(title), 13.0, INK, "start", bold=True)]
    words.append(_text((MARGIN, 34.0), note, FAINT, "start"))
    groups = [Group("words", tuple(words))]
    for k, chart in enumerate(charts):
        if chart is not None:
            left = MARGIN + (k % columns) * (grid.width + SIDE)
            top = HEAD + 14 + (k // columns) * step + TITLE
            room = Rect(left, top, left + grid.width, top + grid.height)
            groups.append(_panel(chart, room, gutters[k % columns]))
    return Scene(title, f"{note}: {', '.join(chart.title for chart in charts if chart)}", width, height, tuple(groups))


def _gutter(chart: Chart) -> float:
    """What stands to the left of the frame: names of rows, or numbers. Charts of one column have it alike."""
    if chart.rows:
        return max(len(row) for row in chart.rows) * 6.2
    numbers = _numbers(_upright_values(chart)) if chart.upright else []
    return max((len(f"{v:.6g}") for v in numbers), default=0) * 5.2 + 6 * bool(numbers)


def _numbers(values: Sequence[float]) -> list[float]:
    y = _spanning(values, 0.0, 1.0)
    return _few(_ticks(y.low, y.high), 3)


def _upright_values(chart: Chart) -> list[float]:
    return [point[1] for mark in chart.marks for point in _points(mark)]


def _panel(chart: Chart, room: Rect, gutter: float) -> Group:
    frame = Rect(room.left + gutter, room.top, room.right, room.bottom)
    points = [point for mark in chart.marks for point in _points(mark)]
    x = _spanning(
        [p[0] for p in points],
        frame.left,
        frame.right,
        loose=bool(chart.rows) or any(isinstance(m, Dots) for m in chart.marks),
    )
    y = _upright(chart, _upright_values(chart), frame)
    shapes: list[Shape] = [Rectangle(frame, Ink(PAPER, PLATE_LINE, 1.0))]
    shapes.append(_text((room.left, room.top - 9), shortened(chart.title), INK, "start"))
    shapes += [_tick(v, x, frame) for v in _few(_ticks(x.low, x.high), 6)]
    shapes += [_text((frame.left - 6, y.place(k)), row, INK, "end") for k, row in enumerate(chart.rows)]
    shapes += [_text((frame.right - 4, room.top - 9), chart.across, FAINT, "end")] if chart.across else []
    for mark in chart.marks:
        shapes += _shapes(mark, x, y)
    if chart.upright:
        shapes += [
            Text((frame.left - 4, y.place(v)), f"{v:.6g}", 9.0, FAINT, "end") for v in _numbers(_upright_values(chart))
        ]
    return Group(chart.title, tuple(shapes))


def _upright(chart: Chart, values: Sequence[float], frame: Rect) -> Scale:
    if chart.rows:
        return Scale(0.0, max(1.0, len(chart.rows) - 1.0), frame.top + ENDS, frame.bottom - ENDS)
    return _spanning(values, frame.bottom, frame.top)


def _few(ticks: list[float], most: int) -> list[float]:
    """No more than there is room for."""
    return ticks[:: ceil(len(ticks) / most)]


def _tick(value: float, x: Scale, frame: Rect) -> Text:
    """Below the frame; at its ends, not beyond it."""
    at = x.place(value)
    anchor: Anchor = "start" if at < frame.left + 8 else "end" if at > frame.right - 8 else "middle"
    return _text((at, frame.bottom + 9), f"{value:.6g}", FAINT, anchor)


def _points(mark: Mark) -> Sequence[Point]:
    return [point for point in mark.points if isfinite(point[0]) and isfinite(point[1])]


def _shapes(mark: Mark, x: Scale, y: Scale) -> list[Shape]:
    places = [(x.place(a), y.place(b)) for a, b in _points(mark)]
    if isinstance(mark, Line):
        return [_line(places, Ink(stroke=mark.colour, width=mark.width, dashed=mark.dashed))] if len(places) > 1 else []
    r = mark.radius
    return [Ellipse(Rect(a - r, b - r, a + r, b + r), Ink(fill=mark.colour)) for a, b in places]


def colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def row_height(count: int) -> float:
    """Of a chart with so many rows."""
    return 2 * ENDS + ROW * max(1, count - 1)

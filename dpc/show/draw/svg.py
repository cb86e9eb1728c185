"""The drawing as SVG text that stands alone: a title and description for readers, a name on every
group.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from .geometry import Curve, pieces
from .measure import printable
from .scene import Ellipse, Group, Ink, Polygon, Rectangle, Scene, Shape, Stroke, Text

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
DASHES = "5 3.5"
# From the middle of a line of text down to its baseline, as a share of the font size.
BASELINE = 0.35


def emit_svg(scene: Scene) -> str:
    return "\n".join(_lines(scene)) + "\n"


def _lines(scene: Scene) -> Iterator[str]:
    width, height = _number(scene.width), _number(scene.height)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-labelledby="title desc" '
        f"font-family={quoteattr(FONTS)}>"
    )
    yield f'<title id="title">{escape(scene.title)}</title>'
    yield f'<desc id="desc">{escape(scene.description)}</desc>'
    yield f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    for group in scene.groups:
        yield from _group(group)
    yield "</svg>"


def _group(group: Group) -> Iterator[str]:
    yield "<g>"
    if group.says:
        yield f"<title>{escape(printable(group.says))}</title>"
    yield from map(_shape, group.shapes)
    yield "</g>"


def _shape(shape: Shape) -> str:
    match shape:
        case Ellipse(rect=rect):
            centre = (rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2
            return _element(
                "ellipse",
                shape.ink,
                cx=centre[0],
                cy=centre[1],
                rx=rect.width / 2,
                ry=rect.height / 2,
            )
        case Rectangle(rect=rect):
            return _element(
                "rect",
                shape.ink,
                x=rect.left,
                y=rect.top,
                width=rect.width,
                height=rect.height,
                rx=shape.corner,
            )
        case Stroke():
            return f'<path d="{_path(shape.curve)}"{_paint(shape.ink)}/>'
        case Polygon():
            points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
            return f'<polygon points="{points}"{_paint(shape.ink)}/>'
        case Text():
            return _text(shape)


def _element(name: str, ink: Ink, **numbers: float) -> str:
    attributes = "".join(f' {key}="{_number(value)}"' for key, value in numbers.items())
    return f"<{name}{attributes}{_paint(ink)}/>"


def _paint(ink: Ink) -> str:
    paint = f' fill="{ink.fill or "none"}"'
    if ink.stroke:
        paint += f' stroke="{ink.stroke}" stroke-width="{_number(ink.width)}"'
    if ink.dashed:
        paint += f' stroke-dasharray="{DASHES}"'
    return paint


def _path(curve: Curve) -> str:
    steps = [f"M{_number(curve[0][0])} {_number(curve[0][1])}"]
    for piece in pieces(curve):
        steps.append("C" + " ".join(f"{_number(x)} {_number(y)}" for x, y in piece[1:]))
    return "".join(steps)


def _text(text: Text) -> str:
    x, y = _number(text.at[0]), _number(text.at[1] + BASELINE * text.size)
    weight = ' font-weight="600"' if text.bold else ""
    halo = (
        f' stroke="{text.halo}" stroke-width="5" stroke-linejoin="round" paint-order="stroke"'
        if text.halo
        else ""
    )
    return (
        f'<text x="{x}" y="{y}" font-size="{_number(text.size)}" text-anchor="{text.anchor}" '
        f'fill="{text.colour}"{weight}{halo}>{escape(text.text)}</text>'
    )


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")

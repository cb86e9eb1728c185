"""One drawing, as SVG that stands alone: shapes in painting order, a name on every group."""

from collections.abc import Iterator
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from dpc.dsl.record import Record

from .geometry import Curve, Point, Rect, pieces
from .measure import printable

Anchor = Literal["start", "middle", "end"]

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
DASHES = "5 3.5"
# From the middle of a line of text down to its baseline, as a share of the font size.
BASELINE = 0.35


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
    """One line, `at` its vertical middle; a halo keeps it legible over what lies below."""

    at: Point
    text: str
    size: float
    colour: str
    anchor: Anchor = "middle"
    bold: bool = False
    halo: str = ""


Shape = Ellipse | Rectangle | Stroke | Polygon | Text


class ShapeGroup(Record):
    """The shapes of one box, arrow or plate, with the words that say what it is, moved by `by`."""

    says: str
    shapes: tuple[Shape, ...]
    by: Point = (0.0, 0.0)


class Scene(Record):
    title: str
    description: str
    width: float
    height: float
    groups: tuple[ShapeGroup, ...]


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
        moved = f' transform="translate({_point(group.by)})"' if any(group.by) else ""
        yield f"<g{moved}>"
        if group.says:
            yield f"<title>{escape(printable(group.says))}</title>"
        yield from map(_shape, group.shapes)
        yield "</g>"
    yield "</svg>"


def _shape(shape: Shape) -> str:
    match shape:
        case Ellipse(rect=rect):
            x, y = (rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2
            places = {"cx": x, "cy": y, "rx": rect.width / 2, "ry": rect.height / 2}
            return f"<ellipse{_numbers(places)}{_paint(shape.ink)}/>"
        case Rectangle(rect=rect, corner=corner):
            places = {"x": rect.left, "y": rect.top, "width": rect.width, "height": rect.height}
            return f"<rect{_numbers(places)}{_numbers({'rx': corner})}{_paint(shape.ink)}/>"
        case Stroke(curve=curve):
            steps = ["C" + " ".join(map(_point, piece[1:])) for piece in pieces(curve)]
            return f'<path d="M{_point(curve[0])}{"".join(steps)}"{_paint(shape.ink)}/>'
        case Polygon(points=points):
            return f'<polygon points="{" ".join(map(_point, points))}"{_paint(shape.ink)}/>'
        case Text(at=(x, y), size=size):
            places = {"x": x, "y": y + BASELINE * size, "font-size": size}
            weight = ' font-weight="600"' if shape.bold else ""
            halo = ' stroke-width="5" stroke-linejoin="round" paint-order="stroke"'
            edge = f' stroke="{shape.halo}"{halo}' if shape.halo else ""
            how = f'text-anchor="{shape.anchor}" fill="{shape.colour}"{weight}{edge}'
            return f"<text{_numbers(places)} {how}>{escape(shape.text)}</text>"


def _paint(ink: Ink) -> str:
    paint = f' fill="{ink.fill or "none"}"'
    if ink.stroke:
        paint += f' stroke="{ink.stroke}" stroke-width="{_number(ink.width)}"'
    if ink.dashed:
        paint += f' stroke-dasharray="{DASHES}"'
    return paint


def _numbers(places: dict[str, float]) -> str:
    return "".join(f' {name}="{_number(value)}"' for name, value in places.items())


def _point(point: Point) -> str:
    return f"{_number(point[0])} {_number(point[1])}"


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")

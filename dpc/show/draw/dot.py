"""The graph as Graphviz DOT: a cluster for every plate, and the kinds' shapes."""

from __future__ import annotations

from collections.abc import Iterator

from .measure import printable
from .orient import pointing_down
from .paint import FAINT, INK, LINE, OUTLINES, PLATE_FILLS, PLATE_LINE, SHADE, is_shaded
from .picture import Arrow, Box, Kind, Picture
from .plates import PAGE, Path, within

SHAPES = {
    Kind.INPUT: "shape=box",
    Kind.PARAM: 'shape=box, style="rounded,filled"',
    Kind.FUNCTION: 'shape=box, style="rounded,filled"',
    Kind.DRAW: "shape=ellipse",
    Kind.LATENT: "shape=ellipse",
    Kind.FACTOR: 'shape=square, label="", width=0.16, height=0.16, fixedsize=true',
    Kind.COST: "shape=box, peripheries=2",
}


def emit_dot(picture: Picture) -> str:
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    yield "digraph {"
    yield (
        f"  graph [label={_quoted(picture.title)}, labelloc=t, "
        'fontname="Helvetica,Arial,sans-serif"]'
    )
    yield f'  node [style=filled, fontname="Helvetica,Arial,sans-serif", fontcolor="{INK}"]'
    yield f'  edge [color="{LINE}", arrowsize=0.7, fontsize=10, fontcolor="{FAINT}"]'
    names = {box.name: f"n{number}" for number, box in enumerate(picture.boxes)}
    yield from _inside(picture, PAGE, names)
    for arrow in pointing_down(picture):
        yield "  " + _edge(arrow, names)
    yield "}"


def _inside(picture: Picture, path: Path, names: dict[str, str]) -> Iterator[str]:
    indent = "  " * (len(path) + 1)
    for box in picture.boxes:
        if box.plates == path:
            yield f"{indent}{names[box.name]} [{_node(box)}]"
    children = dict.fromkeys(inner for box in picture.boxes for inner in within(box.plates))
    labels = {plate.key: plate.label for plate in picture.plates}
    for number, child in enumerate(children):
        if child[:-1] == path:
            fill = PLATE_FILLS[min(len(child), len(PLATE_FILLS)) - 1]
            yield f"{indent}subgraph cluster_{number} {{"
            yield (
                f"{indent}  label={_quoted(labels.get(child[-1], child[-1]))}; labelloc=b; "
                "labeljust=r"
            )
            yield (
                f'{indent}  style="rounded,filled"; fillcolor="{fill}"; color="{PLATE_LINE}"; '
                "fontsize=11"
            )
            yield from _inside(picture, child, names)
            yield f"{indent}}}"


def _node(box: Box) -> str:
    ink = OUTLINES[box.kind]
    fill = SHADE if is_shaded(box.kind, box.observed) else ink.fill
    colours = f'fillcolor="{fill}", color="{ink.stroke}"'
    words = "xlabel" if box.kind is Kind.FACTOR else "label"
    return f"{SHAPES[box.kind]}, {words}={_quoted(box.label, box.detail)}, {colours}"


def _edge(arrow: Arrow, names: dict[str, str]) -> str:
    options = [] if arrow.directed else ["dir=none"]
    if arrow.lag or arrow.source == arrow.target:
        options += [f"label={_quoted(arrow.lag)}", "style=dashed", "constraint=false"]
    attributes = f" [{', '.join(options)}]" if options else ""
    return f"{names[arrow.source]} -> {names[arrow.target]}{attributes}"


def _quoted(*lines: str) -> str:
    """A DOT string. Graphviz reads backslash escapes and HTML entities inside quotes."""
    escaped = (
        printable(line).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
        for line in lines
        if line
    )
    return '"' + "\\n".join(escaped) + '"'

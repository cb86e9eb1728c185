"""The graph as text that other programs draw, Graphviz DOT and Mermaid: shapes by kind, plates."""

import json
import re
from collections.abc import Callable, Iterator

from .measure import printable
from .paint import FAINT, INK, LINE, OUTLINES, PLATE_FILLS, PLATE_LINE, SHADE
from .picture import Arrow, Box, BoxKind, Picture, PlatePath
from .rows import pointing_down

DOT_SHAPES = {
    BoxKind.INPUT: "shape=box",
    BoxKind.PARAM: 'shape=box, style="rounded,filled"',
    BoxKind.FUNCTION: 'shape=box, style="rounded,filled"',
    BoxKind.DRAW: "shape=ellipse",
    BoxKind.LATENT: "shape=ellipse",
    BoxKind.FACTOR: 'shape=square, label="", width=0.16, height=0.16, fixedsize=true',
    BoxKind.COST: "shape=box, peripheries=2",
}
MERMAID_BRACKETS = {
    BoxKind.INPUT: ("[", "]"),
    BoxKind.PARAM: ("([", "])"),
    BoxKind.FUNCTION: ("(", ")"),
    BoxKind.DRAW: ("((", "))"),
    BoxKind.LATENT: ("((", "))"),
    BoxKind.FACTOR: ("[", "]"),
    BoxKind.COST: ("[[", "]]"),
}
# All else is written as a character code, since Mermaid gives most punctuation a meaning.
PLAIN = re.compile(r"[^\W_]|[ _(),=:./+-]")
LIST_MARK = re.compile(r"\s*(?:\d+\.|[-+])")

# A plate's number, label and path to the lines before and after what it holds.
Bracketed = Callable[[int, str, PlatePath], tuple[list[str], list[str]]]


def emit_dot(picture: Picture) -> str:
    names = _names(picture)
    font = 'fontname="Helvetica,Arial,sans-serif"'
    lines = [
        "digraph {",
        f"  graph [label={_quoted(picture.title)}, labelloc=t, {font}]",
        f'  node [style=filled, {font}, fontcolor="{INK}"]',
        f'  edge [color="{LINE}", arrowsize=0.7, fontsize=10, fontcolor="{FAINT}"]',
        *_nested(picture, (), lambda box: f"{names[box.name]} [{_dot_node(box)}]", _dot_plate),
        *(f"  {_dot_edge(arrow, names)}" for arrow in pointing_down(picture)),
        "}",
    ]
    return "\n".join(lines) + "\n"


def emit_mermaid(picture: Picture) -> str:
    names = _names(picture)
    title = json.dumps(printable(picture.title), ensure_ascii=False)
    lines = [
        *(["---", f"title: {title}", "---"] if picture.title else []),
        "flowchart TB",
        *_nested(picture, (), lambda box: f"{names[box.name]}{_mermaid_node(box)}", _mermaid_plate),
        *(
            f"  {names[arrow.source]} {_mermaid_link(arrow)} {names[arrow.target]}"
            for arrow in pointing_down(picture)
        ),
        *_mermaid_classes(picture),
    ]
    return "\n".join(lines) + "\n"


def _names(picture: Picture) -> dict[str, str]:
    return {name: f"n{number}" for name, number in picture.numbers.items()}


def _nested(
    picture: Picture, path: PlatePath, node: Callable[[Box], str], plate: Bracketed
) -> Iterator[str]:
    """The boxes of a plate, then the plates inside it, each with what it holds."""
    indent = "  " * (len(path) + 1)
    yield from (indent + node(box) for box in picture.boxes if box.plates == path)
    for number, child in enumerate(picture.paths()):
        if child[:-1] == path:
            before, after = plate(number, picture.plate_label(child), child)
            yield from (indent + line for line in before)
            yield from _nested(picture, child, node, plate)
            yield from (indent + line for line in after)


def _fill(box: Box) -> str:
    return SHADE if box.is_shaded else OUTLINES[box.kind].fill


# ---- DOT


def _dot_plate(number: int, label: str, path: PlatePath) -> tuple[list[str], list[str]]:
    fill = PLATE_FILLS[min(len(path), len(PLATE_FILLS)) - 1]
    style = f'style="rounded,filled"; fillcolor="{fill}"; color="{PLATE_LINE}"; fontsize=11'
    place = f"label={_quoted(label)}; labelloc=b; labeljust=r"
    return [f"subgraph cluster_{number} {{", f"  {place}", f"  {style}"], ["}"]


def _dot_node(box: Box) -> str:
    colours = f'fillcolor="{_fill(box)}", color="{OUTLINES[box.kind].stroke}"'
    words = "xlabel" if box.kind is BoxKind.FACTOR else "label"
    return f"{DOT_SHAPES[box.kind]}, {words}={_quoted(box.label, box.detail)}, {colours}"


def _dot_edge(arrow: Arrow, names: dict[str, str]) -> str:
    options = [] if arrow.directed else ["dir=none"]
    if arrow.is_recurrence:
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


# ---- Mermaid


def _mermaid_plate(number: int, label: str, path: PlatePath) -> tuple[list[str], list[str]]:
    style = f"fill:{PLATE_FILLS[0]},stroke:{PLATE_LINE},color:{FAINT}"
    return [f'subgraph p{number}["{_escaped(label)}"]'], ["end", f"style p{number} {style}"]


def _mermaid_node(box: Box) -> str:
    opening, closing = MERMAID_BRACKETS[box.kind]
    words = "<br/>".join(_escaped(line) for line in (box.label, box.detail) if line) or " "
    return f'{opening}"{words}"{closing}:::{_class_name(box)}'


def _mermaid_link(arrow: Arrow) -> str:
    if arrow.lag:
        return f'-. "{_escaped(arrow.lag)}" .-' + (">" if arrow.directed else "")
    if arrow.source == arrow.target:
        return "-.->" if arrow.directed else "-.-"
    return "-->" if arrow.directed else "---"


def _class_name(box: Box) -> str:
    return ("observed_" if box.is_shaded else "") + box.kind.value


def _mermaid_classes(picture: Picture) -> Iterator[str]:
    for name, box in {_class_name(box): box for box in picture.boxes}.items():
        text = "#ffffff" if box.kind is BoxKind.FACTOR else INK
        stroke = OUTLINES[box.kind].stroke
        yield f"  classDef {name} fill:{_fill(box)},stroke:{stroke},color:{text}"


def _escaped(text: str) -> str:
    """Safe inside a quoted Mermaid label; a label that looks like a list item would be refused."""
    shown = printable(text)
    mark = LIST_MARK.match(shown)
    start = mark.end() - 1 if mark else -1
    return "".join(
        character if PLAIN.fullmatch(character) and index != start else f"#{ord(character)};"
        for index, character in enumerate(shown)
    )

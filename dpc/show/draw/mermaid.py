"""The graph as a Mermaid flowchart: a subgraph for every plate, a class for every kind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from .measure import printable
from .orient import pointing_down
from .paint import FAINT, INK, OUTLINES, PLATE_FILLS, PLATE_LINE, SHADE, is_shaded
from .picture import Arrow, Box, Kind, Picture
from .plates import PAGE, Path, within

BRACKETS = {
    Kind.INPUT: ("[", "]"),
    Kind.PARAM: ("([", "])"),
    Kind.FUNCTION: ("(", ")"),
    Kind.DRAW: ("((", "))"),
    Kind.LATENT: ("((", "))"),
    Kind.FACTOR: ("[", "]"),
    Kind.COST: ("[[", "]]"),
}
# Everything but these is written as a character code, since Mermaid gives most punctuation a
# meaning.
PLAIN = re.compile(r"[^\W_]|[ _(),=:./+-]")
LIST_MARK = re.compile(r"\s*(?:\d+\.|[-+])")


def emit_mermaid(picture: Picture) -> str:
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    if picture.title:
        yield from (
            "---",
            f"title: {json.dumps(printable(picture.title), ensure_ascii=False)}",
            "---",
        )
    yield "flowchart TB"
    names = {box.name: f"n{number}" for number, box in enumerate(picture.boxes)}
    yield from _inside(picture, PAGE, names)
    for arrow in pointing_down(picture):
        yield f"  {names[arrow.source]} {_link(arrow)} {names[arrow.target]}"
    yield from _classes(picture)


def _inside(picture: Picture, path: Path, names: dict[str, str]) -> Iterator[str]:
    indent = "  " * (len(path) + 1)
    for box in picture.boxes:
        if box.plates == path:
            opening, closing = BRACKETS[box.kind]
            yield f'{indent}{names[box.name]}{opening}"{_words(box)}"{closing}:::{_class_name(box)}'
    labels = {plate.key: plate.label for plate in picture.plates}
    children = dict.fromkeys(inner for box in picture.boxes for inner in within(box.plates))
    for number, child in enumerate(children):
        if child[:-1] == path:
            yield f'{indent}subgraph p{number}["{escaped(labels.get(child[-1], child[-1]))}"]'
            yield from _inside(picture, child, names)
            yield f"{indent}end"
            yield f"{indent}style p{number} fill:{PLATE_FILLS[0]},stroke:{PLATE_LINE},color:{FAINT}"


def _words(box: Box) -> str:
    return "<br/>".join(escaped(line) for line in (box.label, box.detail) if line) or " "


def _link(arrow: Arrow) -> str:
    head = ">" if arrow.directed else "-"
    if arrow.lag:
        return f'-. "{escaped(arrow.lag)}" .-' + (">" if arrow.directed else "")
    if arrow.source == arrow.target:
        return "-.->" if arrow.directed else "-.-"
    return f"--{head}"


def _class_name(box: Box) -> str:
    return ("observed_" if is_shaded(box.kind, box.observed) else "") + box.kind.value


def _classes(picture: Picture) -> Iterator[str]:
    for name, box in {_class_name(box): box for box in picture.boxes}.items():
        ink = OUTLINES[box.kind]
        fill = SHADE if is_shaded(box.kind, box.observed) else ink.fill
        text = "#ffffff" if box.kind is Kind.FACTOR else INK
        yield f"  classDef {name} fill:{fill},stroke:{ink.stroke},color:{text}"


def escaped(text: str) -> str:
    """Safe inside a quoted Mermaid label; a label that looks like a list item would be refused."""
    shown = printable(text)
    mark = LIST_MARK.match(shown)
    start = mark.end() - 1 if mark else -1
    return "".join(
        character if PLAIN.fullmatch(character) and place != start else f"#{ord(character)};"
        for place, character in enumerate(shown)
    )

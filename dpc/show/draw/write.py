"""A picture as a file: the format is a row of a table, chosen by name or by the file's ending."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import Literal

from dpc.dsl.files import write_whole
from dpc.dsl.printable import InWords

from ...exits import UsageError
from .measure import printable
from .paint import FAINT, INK, LINE, OUTLINES, PLATE_FILLS, PLATE_LINE, SHADE, compose_scene
from .picture import Box, BoxKind, Picture, PlatePath
from .rows import pointing_down
from .scene import emit_svg

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

    def node(box: Box) -> str:
        colours = f'fillcolor="{_fill(box)}", color="{OUTLINES[box.kind].stroke}"'
        words = "xlabel" if box.kind is BoxKind.FACTOR else "label"
        shown = f"{DOT_SHAPES[box.kind]}, {words}={_quoted(box.label, box.detail)}, {colours}"
        return f"{names[box.name]} [{shown}]"

    lines = [
        "digraph {",
        f"  graph [label={_quoted(picture.title)}, labelloc=t, {font}]",
        f'  node [style=filled, {font}, fontcolor="{INK}"]',
        f'  edge [color="{LINE}", arrowsize=0.7, fontsize=10, fontcolor="{FAINT}"]',
        *_nested(picture, (), node, _dot_plate),
    ]
    for arrow in pointing_down(picture):
        options = [] if arrow.directed else ["dir=none"]
        if arrow.is_recurrence:
            options += [f"label={_quoted(arrow.lag)}", "style=dashed", "constraint=false"]
        attributes = f" [{', '.join(options)}]" if options else ""
        lines.append(f"  {names[arrow.source]} -> {names[arrow.target]}{attributes}")
    return "\n".join([*lines, "}"]) + "\n"


def emit_mermaid(picture: Picture) -> str:
    names = _names(picture)
    title = json.dumps(printable(picture.title), ensure_ascii=False)

    def node(box: Box) -> str:
        opening, closing = MERMAID_BRACKETS[box.kind]
        words = "<br/>".join(_escaped(line) for line in (box.label, box.detail) if line) or " "
        return f'{names[box.name]}{opening}"{words}"{closing}:::{_class_name(box)}'

    lines = ["---", f"title: {title}", "---"] if picture.title else []
    lines += ["flowchart TB", *_nested(picture, (), node, _mermaid_plate)]
    for arrow in pointing_down(picture):
        link = "-->" if arrow.directed else "---"
        if arrow.source == arrow.target:
            link = "-.->" if arrow.directed else "-.-"
        if arrow.lag:
            link = f'-. "{_escaped(arrow.lag)}" .-' + (">" if arrow.directed else "")
        lines.append(f"  {names[arrow.source]} {link} {names[arrow.target]}")
    for name, box in {_class_name(box): box for box in picture.boxes}.items():
        text = "#ffffff" if box.kind is BoxKind.FACTOR else INK
        stroke = OUTLINES[box.kind].stroke
        lines.append(f"  classDef {name} fill:{_fill(box)},stroke:{stroke},color:{text}")
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


def _dot_plate(number: int, label: str, path: PlatePath) -> tuple[list[str], list[str]]:
    fill = PLATE_FILLS[min(len(path), len(PLATE_FILLS)) - 1]
    style = f'style="rounded,filled"; fillcolor="{fill}"; color="{PLATE_LINE}"; fontsize=11'
    place = f"label={_quoted(label)}; labelloc=b; labeljust=r"
    return [f"subgraph cluster_{number} {{", f"  {place}", f"  {style}"], ["}"]


def _quoted(*lines: str) -> str:
    """A DOT string. Graphviz reads backslash escapes and HTML entities inside quotes."""
    escaped = (
        printable(line).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
        for line in lines
        if line
    )
    return '"' + "\\n".join(escaped) + '"'


def _mermaid_plate(number: int, label: str, path: PlatePath) -> tuple[list[str], list[str]]:
    style = f"fill:{PLATE_FILLS[0]},stroke:{PLATE_LINE},color:{FAINT}"
    return [f'subgraph p{number}["{_escaped(label)}"]'], ["end", f"style p{number} {style}"]


def _class_name(box: Box) -> str:
    return ("observed_" if box.is_shaded else "") + box.kind.value


def _escaped(text: str) -> str:
    """Safe inside a quoted Mermaid label; a label that looks like a list item would be refused."""
    shown = printable(text)
    mark = LIST_MARK.match(shown)
    start = mark.end() - 1 if mark else -1
    return "".join(
        character if PLAIN.fullmatch(character) and index != start else f"#{ord(character)};"
        for index, character in enumerate(shown)
    )


Engine = Literal["auto", "builtin", "graphviz"]

# Pixels for each unit of a drawing, fewer for a very large page.
SCALE = 2.0
MOST_PIXELS = 16_000_000
SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"')
FAMILY = "DejaVu Sans"
TIMEOUT_SECONDS = 30

WRITERS: dict[str, Callable[[Picture], bytes]] = {
    "svg": lambda picture: emit_svg(compose_scene(picture)).encode(),
    "png": lambda picture: png_of_svg(emit_svg(compose_scene(picture))),
    "dot": lambda picture: emit_dot(picture).encode(),
    "mermaid": lambda picture: emit_mermaid(picture).encode(),
}
ENDINGS = {
    ".svg": "svg",
    ".png": "png",
    ".dot": "dot",
    ".gv": "dot",
    ".mermaid": "mermaid",
    ".mmd": "mermaid",
}


class UnknownFormat(InWords, ValueError):
    """The file's ending or the format's name is in no table."""


class GraphvizError(RuntimeError):
    """The `dot` program is missing or failed."""


class PngUnavailable(UsageError):
    """The renderer or its font is not installed."""


def render_picture(picture: Picture, format_name: str, engine: Engine = "auto") -> bytes:
    """Ours, unless Graphviz is asked for: they look the same everywhere, and have a legend."""
    if format_name not in WRITERS:
        raise UnknownFormat(f"unknown format {format_name!r}; choose one of {', '.join(WRITERS)}")
    if engine == "graphviz" and format_name in ("svg", "png"):
        return _run_graphviz(emit_dot(picture), format_name)
    return WRITERS[format_name](picture)


def format_of(path: str | os.PathLike[str]) -> str:
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        what = f"cannot tell the format of {os.fspath(path)!r}"
        raise UnknownFormat(f"{what}; endings are {', '.join(ENDINGS)}")
    return ENDINGS[ending]


def write_picture(
    picture: Picture,
    path: str | os.PathLike[str],
    format_name: str | None = None,
    engine: Engine = "auto",
) -> None:
    """The file appears whole or not at all."""
    write_whole(path, render_picture(picture, format_name or format_of(path), engine))


def png_of_svg(svg: str) -> bytes:
    """By resvg, an extra of the package: it leaves out text without a font, so we name a file."""
    try:
        import resvg_py
    except ImportError as error:
        raise PngUnavailable(_missing("resvg_py")) from error
    # Matplotlib brings the font that every letter we write is in; it need not be imported.
    package = find_spec("matplotlib")
    if package is None or package.origin is None:
        raise PngUnavailable(_missing("matplotlib, for its font"))
    folder = Path(package.origin).parent / "mpl-data" / "fonts" / "ttf"
    if not (folder / "DejaVuSans.ttf").is_file():
        raise PngUnavailable(f"PNG needs the font DejaVuSans.ttf, and {folder} has none")
    size = SIZE.search(svg)
    assert size, "an SVG of ours says its size"
    width, height = map(float, size.groups())
    zoom = min(SCALE, sqrt(MOST_PIXELS / (width * height)))
    where = [str(folder)]
    return bytes(resvg_py.svg_to_bytes(svg, zoom=zoom, font_dirs=where, sans_serif_family=FAMILY))


def _missing(what: str) -> str:
    return f"PNG needs {what}: `pip install 'dpc[png]'`, or write SVG"


def _run_graphviz(dot_text: str, format_name: str) -> bytes:
    program = shutil.which("dot")
    if program is None:
        raise GraphvizError("Graphviz is not installed: no `dot` on the path")
    options = ["-Gdpi=144"] if format_name == "png" else []
    try:
        done = subprocess.run(
            [program, f"-T{format_name}", *options],
            input=dot_text.encode(),
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GraphvizError(f"`dot` did not run: {error}") from error
    if done.returncode != 0 or not done.stdout:
        raise GraphvizError(f"`dot` failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout

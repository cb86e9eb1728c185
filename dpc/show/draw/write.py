"""A picture as a file: the format is a row of a table, chosen by name or by the file's ending."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from dpc.dsl.files import write_whole

from .compose import compose_scene
from .dot import emit_dot
from .graphviz import run_graphviz
from .mermaid import emit_mermaid
from .picture import Picture
from .png import png_of_svg
from .svg import emit_svg

Engine = Literal["auto", "builtin", "graphviz"]

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


class UnknownFormat(ValueError):
    """The file's ending or the format's name is in no table."""


def render_picture(picture: Picture, format_name: str, engine: Engine = "auto") -> bytes:
    """Ours, unless Graphviz is asked for: they look the same everywhere, and have a legend."""
    if format_name not in WRITERS:
        raise UnknownFormat(f"unknown format {format_name!r}; choose one of {', '.join(WRITERS)}")
    if engine == "graphviz" and format_name in ("svg", "png"):
        return run_graphviz(emit_dot(picture), "svg" if format_name == "svg" else "png")
    return WRITERS[format_name](picture)


def format_of(path: str | os.PathLike[str]) -> str:
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise UnknownFormat(
            f"cannot tell the format of {os.fspath(path)!r}; endings are {', '.join(ENDINGS)}"
        )
    return ENDINGS[ending]


def write_picture(
    picture: Picture,
    path: str | os.PathLike[str],
    format_name: str | None = None,
    engine: Engine = "auto",
) -> None:
    """The file appears whole or not at all."""
    content = render_picture(picture, format_name or format_of(path), engine)
    write_whole(path, content)

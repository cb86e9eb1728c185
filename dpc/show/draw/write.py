"""A picture as a file: the format is a row of a table, chosen by name or by the file's ending."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import Literal

from dpc.dsl.files import write_whole

from ...exits import UsageError
from .compose import compose_scene
from .markup import emit_dot, emit_mermaid
from .picture import Picture
from .scene import emit_svg

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


class UnknownFormat(ValueError):
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
    write_whole(path, render_picture(picture, format_name or format_of(path), engine))


# ---- PNG: our SVG, rendered by resvg, which is an extra of the package


def png_of_svg(svg: str) -> bytes:
    """resvg leaves out text for which it has no font, without a word.

    So the font is a file that we name; fonts of the system stand in for letters that it lacks.
    """
    try:
        import resvg_py
    except ImportError as error:
        raise PngUnavailable(_missing("resvg_py")) from error
    size = SIZE.search(svg)
    assert size, "an SVG of ours says its size"
    width, height = map(float, size.groups())
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=min(SCALE, sqrt(MOST_PIXELS / (width * height))),
            font_dirs=[str(_font_folder())],
            sans_serif_family=FAMILY,
        )
    )


def _font_folder() -> Path:
    """Matplotlib brings the font that every letter we write is in; it need not be imported."""
    package = find_spec("matplotlib")
    if package is None or package.origin is None:
        raise PngUnavailable(_missing("matplotlib, for its font"))
    folder = Path(package.origin).parent / "mpl-data" / "fonts" / "ttf"
    if not (folder / "DejaVuSans.ttf").is_file():
        raise PngUnavailable(f"PNG needs the font DejaVuSans.ttf, and {folder} has none")
    return folder


def _missing(what: str) -> str:
    return f"PNG needs {what}: `pip install 'dpc[png]'`, or write SVG"


# ---- Graphviz, where it is installed


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

"""A drawing as PNG: its SVG, rendered by resvg, which is an extra of the package."""

from __future__ import annotations

import re
from importlib.util import find_spec
from math import sqrt
from pathlib import Path

from ...exits import UsageError

SCALE = 2.0
MOST_PIXELS = 16_000_000
SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"')
FAMILY = "DejaVu Sans"


class PngUnavailable(UsageError):
    """The renderer or its font is not installed."""


def png_of_svg(svg: str) -> bytes:
    """Two pixels per unit of the drawing, fewer for a very large page.

    resvg leaves out text for which it has no font, without a word. So the font is a file that we
    name; fonts of the system stand in for letters that it lacks.
    """
    try:
        import resvg_py
    except ImportError as error:
        raise PngUnavailable(_missing("resvg_py")) from error
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=_scale(svg),
            font_dirs=[str(font_folder())],
            sans_serif_family=FAMILY,
        )
    )


def font_folder() -> Path:
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


def _scale(svg: str) -> float:
    found = SIZE.search(svg)
    assert found, "an SVG of ours says its size"
    width, height = map(float, found.groups())
    return min(SCALE, sqrt(MOST_PIXELS / (width * height)))

"""Text in Pillow's built-in font, which knows little beyond ASCII.

Other letters come from a system font. Where no installed font has a letter, a Greek one is spelled out and
another is shown by its code.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from ..record import Record
from .geometry import Point

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw as Draw
    from PIL.ImageFont import FreeTypeFont

SYSTEM_FONTS = (
    "DejaVuSans.ttf",
    "NotoSans-Regular.ttf",
    "Arial.ttf",
    "Helvetica.ttc",
    "LiberationSans-Regular.ttf",
)
MISSING = "\uffff"
PROBE_SIZE = 16.0


class TextFont(Record):
    """The built-in font and those that may stand in for a letter it lacks."""

    faces: tuple[FreeTypeFont, ...]

    def shown(self, text: str) -> str:
        return "".join(character if self._face(character) else spelled(character) for character in text)

    def width(self, text: str) -> float:
        return sum(face.getlength(run) for face, run in self._runs(text))

    def draw(self, draw: Draw, at: Point, text: str, colour: str, stroke: int = 0) -> None:
        """`at` is the left end of the text, on the middle of its capitals."""
        x, y = at
        for face, run in self._runs(text):
            baseline = y - (face.getbbox("x", anchor="ls")[1] + face.getbbox("H", anchor="ls")[1]) / 4
            draw.text((x, baseline), run, colour, face, anchor="ls", stroke_width=stroke, stroke_fill=colour)
            x += face.getlength(run)

    def _runs(self, text: str) -> list[tuple[FreeTypeFont, str]]:
        runs: list[tuple[FreeTypeFont, str]] = []
        for character in text:
            face = self._face(character) or self.faces[0]
            if runs and runs[-1][0] is face:
                runs[-1] = (face, runs[-1][1] + character)
            else:
                runs.append((face, character))
        return runs

    def _face(self, character: str) -> FreeTypeFont | None:
        number = _face_number(character)
        return None if number is None else self.faces[number]


@lru_cache(maxsize=64)
def text_font(size: float) -> TextFont:
    from PIL import ImageFont

    built_in = ImageFont.load_default(size)
    assert isinstance(built_in, ImageFont.FreeTypeFont), "Pillow was built without FreeType"
    return TextFont((built_in, *_system_faces(size)))


def _system_faces(size: float) -> Iterator[FreeTypeFont]:
    from PIL import ImageFont

    for name in SYSTEM_FONTS:
        with suppress(OSError):
            yield ImageFont.truetype(name, size)


@lru_cache(maxsize=4096)
def _face_number(character: str) -> int | None:
    faces = text_font(PROBE_SIZE).faces
    return next((number for number, face in enumerate(faces) if _has_glyph(face, character)), None)


def _has_glyph(face: FreeTypeFont, character: str) -> bool:
    if character.isspace():
        return True
    return bytes(face.getmask(character)) != bytes(face.getmask(MISSING))


def spelled(character: str) -> str:
    """A Greek letter by its name, an accented one without its accent, another by its code."""
    name = unicodedata.name(character, "")
    if name.startswith("GREEK") and " LETTER " in name:
        word = name.split(" LETTER ")[1].split(" ")[-1 if "FINAL" in name else 0]
        return word.lower() if "SMALL" in name else word.capitalize()
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return plain or f"U+{ord(character):04X}"

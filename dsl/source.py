"""A source text and places in it."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

from .record import Record


class Span(NamedTuple):
    """The half-open range of character offsets [start, end)."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        return Span(self.start, other.end)


class Position(NamedTuple):
    """Line and column as people count them, from 1."""

    line: int
    column: int


class Source(Record):
    """`import_paths` are folders that imports may come from, besides that of the root file."""

    path: str
    text: str
    import_paths: tuple[str, ...] = ()

    @cached_property
    def line_starts(self) -> list[int]:
        return [0, *(i + 1 for i, char in enumerate(self.text) if char == "\n")]

    def position(self, offset: int) -> Position:
        line = bisect_right(self.line_starts, offset)
        return Position(line, offset - self.line_starts[line - 1] + 1)

    def line(self, number: int) -> str:
        return self.text[self.line_starts[number - 1] :].partition("\n")[0].rstrip("\r")

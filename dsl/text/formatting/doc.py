"""What is to be written, before it is known where lines end.

A text is a list of parts: words, places where a line may end, comments, and brackets that hold more
such lists. Flat widths are known when a part is made, so that a decision is one comparison and the
work is linear.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

LIMIT = 100
INDENT = 4
WORTH_BREAKING = 16


class Break(NamedTuple):
    """A space where a line inside brackets may end; the lowest level ends first."""

    level: int


class Note(NamedTuple):
    """A comment; `own_line` says that nothing stood before it on its line."""

    text: str
    own_line: bool
    blank: bool = False


class BracketPart:
    """`entries` are separated by commas; a comment stands after the comma that precedes it.

    A `kept` bracket was written over several lines and stays so.
    """

    def __init__(self, opening: str, entries: list[Parts | Note], closing: str, kept: bool = False):
        self.opening, self.entries, self.closing = opening, entries, closing
        sizes = [measure(entry) for entry in entries if not isinstance(entry, Note)]
        self.count = len(sizes)
        self.width = (
            len(opening) + len(closing) + sum(s.width for s in sizes) + 2 * max(len(sizes) - 1, 0)
        )
        self.forced = kept or len(sizes) < len(entries) or any(s.forced for s in sizes)
        self.widest = max((s.width for s in sizes), default=0)


class TableRow(NamedTuple):
    keys: list[str]
    values: list[Parts]
    blank: bool


class TableRows:
    """The part of a table between braces."""

    opening, closing = "{", "}"

    def __init__(self, entries: list[TableRow | Note], kept: bool):
        self.entries = entries
        self.flat_rows = [flat_row(entry) for entry in entries if isinstance(entry, TableRow)]
        values = (
            value for entry in entries if isinstance(entry, TableRow) for value in entry.values
        )
        has_notes = len(self.flat_rows) < len(entries)
        self.forced = bool(entries) and (
            kept or has_notes or any(measure(v).forced for v in values)
        )
        self.width = len(self.flat())

    def flat(self) -> str:
        return f"{{ {'; '.join(self.flat_rows)} }}" if self.flat_rows else "{}"


Part: TypeAlias = str | Break | Note | BracketPart | TableRows
Parts: TypeAlias = list[Part]


class FlatSize(NamedTuple):
    width: int
    forced: bool


def measure(parts: Sequence[Part]) -> FlatSize:
    """The width on one line, and whether something forbids that line."""
    width, forced = 0, False
    for part in parts:
        if isinstance(part, BracketPart | TableRows):
            width += part.width
            forced = forced or part.forced
        elif isinstance(part, Note):
            forced = True
        else:
            width += 1 if isinstance(part, Break) else len(part)
    return FlatSize(width, forced)


def flat(parts: Sequence[Part]) -> str:
    pieces: list[str] = []
    _flatten(parts, pieces)
    return "".join(pieces)


def _flatten(parts: Sequence[Part], pieces: list[str]) -> None:
    for part in parts:
        if isinstance(part, str):
            pieces.append(part)
        elif isinstance(part, Break):
            pieces.append(" ")
        elif isinstance(part, TableRows):
            pieces.append(part.flat())
        elif isinstance(part, BracketPart):
            pieces.append(part.opening)
            for i, entry in enumerate(part.entries):
                pieces.append(", " if i else "")
                _flatten(entry if isinstance(entry, list) else (), pieces)
            pieces.append(part.closing)


def flat_row(row: TableRow) -> str:
    return f"{', '.join(row.keys)} => {', '.join(map(flat, row.values))}"


def common_column(widths: Iterable[int], limit: int) -> int:
    """Where cells of these widths end when padded alike; cells wider than this stay as they are."""
    known = list(widths)
    cap = min(known, default=0) + limit
    return max((width for width in known if width <= cap), default=0)


def align_cells(rows: Sequence[Sequence[str]], limit: int) -> Iterator[str]:
    """Joins each row's cells with one space, padding all but the last to the column's width."""
    depth = max(map(len, rows), default=1) - 1
    columns = [
        common_column((len(r[k]) for r in rows if len(r) > k + 1), limit) for k in range(depth)
    ]
    for row in rows:
        yield " ".join([*(cell.ljust(columns[k]) for k, cell in enumerate(row[:-1])), row[-1]])

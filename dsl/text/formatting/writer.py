"""What is to be written, and where its lines end.

A text is a list of parts: words, places where a line may end, comments, and brackets that hold more
such lists. What fits stands on one line, else it is broken inside brackets, with its comments in
place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeAlias

LIMIT = 100
INDENT = 4
WORTH_BREAKING = 16
COMMENT_GAP = 2
COMMENT_COLUMN = 40
TAIL_SHIFT = 40
CELL_SHIFT = 16
SHORT_ITEM = 12


class LineBreak(NamedTuple):
    """A space where a line inside brackets may end; the lowest level ends first."""

    level: int


class Note(NamedTuple):
    """A comment; `own_line` says that nothing stood before it on its line."""

    text: str
    own_line: bool
    blank: bool = False


class TableRow(NamedTuple):
    keys: list[str]
    values: list[Parts]
    blank: bool

    @property
    def parts(self) -> Parts:
        return [f"{', '.join(self.keys)} => ", *joined(self.values, ", ")]


class BracketPart:
    """Items between commas or rows between braces; `kept` was written over several lines."""

    def __init__(self, signs: str, entries: Sequence[Parts | TableRow | Note], kept: bool = False):
        self.opening, self.closing = signs[0], signs[1]
        self.entries = entries
        self.rows = [entry for entry in entries if isinstance(entry, TableRow)]
        plain = [entry for entry in entries if isinstance(entry, list)]
        self.items = [row.parts for row in self.rows] or plain
        space, comma = (" ", "; ") if self.rows else ("", ", ")
        inside = comma.join(map(flat, self.items))
        self.flat = f"{self.opening}{space}{inside}{space}{self.closing}"
        has_notes = len(self.items) < len(entries)
        self.forced = bool(entries) and (kept or has_notes or any(map(is_forced, self.items)))

    @property
    def is_short_list(self) -> bool:
        short = all(len(flat(item)) <= SHORT_ITEM for item in self.items)
        return self.opening == "[" and not self.forced and short


Part: TypeAlias = str | LineBreak | Note | BracketPart
Parts: TypeAlias = list[Part]


def flat(parts: Iterable[Part]) -> str:
    """All on one line, without the comments."""
    text = ""
    for part in parts:
        if isinstance(part, BracketPart):
            text += part.flat
        elif not isinstance(part, Note):
            text += " " if isinstance(part, LineBreak) else part
    return text


def is_forced(parts: Iterable[Part]) -> bool:
    """Whether something forbids that line."""
    return any(isinstance(p, Note) or (isinstance(p, BracketPart) and p.forced) for p in parts)


def joined(cells: Iterable[Parts], separator: str) -> Parts:
    found: Parts = []
    for i, cell in enumerate(cells):
        found += [separator, *cell] if i else cell
    return found


# ---- columns


def common_column(widths: Sequence[int], limit: int) -> int:
    """Where cells of these widths end when padded alike; cells wider than this stay as they are."""
    cap = min(widths, default=0) + limit
    return max((width for width in widths if width <= cap), default=0)


def align_cells(rows: Sequence[Sequence[str]], limit: int) -> Iterator[str]:
    """Joins each row's cells with one space, padding all but the last to the column's width."""
    columns = []
    for k in range(max(map(len, rows), default=1) - 1):
        columns.append(common_column([len(row[k]) for row in rows if len(row) > k + 1], limit))
    for row in rows:
        yield " ".join([*(cell.ljust(columns[k]) for k, cell in enumerate(row[:-1])), row[-1]])


def _with_commas(items: list[str]) -> list[str]:
    return [*(f"{item}," for item in items[:-1]), items[-1]]


def _aligned_matrix(bracket: BracketPart) -> list[str]:
    """The rows of an array of arrays of short items, all of one length; else empty texts."""
    firsts = [item[0] for item in bracket.items if len(item) == 1]
    arrays = [row for row in firsts if isinstance(row, BracketPart) and row.is_short_list]
    rows = [[*map(flat, array.items)] for array in arrays]
    lengths = {len(row) for row in rows}
    fits = len(lengths) == 1 and max(lengths) * (SHORT_ITEM + 2) <= LIMIT - INDENT
    if not fits or len(rows) < len(bracket.entries):
        return [""] * len(bracket.items)
    return [f"[{row}]" for row in align_cells([_with_commas(row) for row in rows], CELL_SHIFT)]


def _aligned_rows(table: BracketPart, indent: int) -> Iterator[str]:
    """The text of each row, empty for one that does not fit on a line of its own."""
    short = [indent + len(flat(row)) <= LIMIT and not is_forced(row) for row in table.items]
    cells = []
    for row, fits in zip(table.rows, short, strict=True):
        if fits:
            first, *others = map(flat, row.values)
            cells.append([*_with_commas(row.keys), *_with_commas([f"=> {first}", *others])])
    aligned = align_cells(cells, CELL_SHIFT)
    for item, fits in zip(table.items, short, strict=True):
        padded = next(aligned) if fits else ""
        yield padded if indent + len(padded) <= LIMIT else flat(item)


# ---- lines


class NoteGroup:
    """Comments that are aligned; those of a paragraph start at their own column."""

    def __init__(self, is_paragraph: bool = False):
        self.is_paragraph = is_paragraph
        self.widths: list[int] = []

    @cached_property
    def column(self) -> int:
        if self.is_paragraph:
            return max(common_column(self.widths, TAIL_SHIFT) + COMMENT_GAP, COMMENT_COLUMN)
        return common_column(self.widths, CELL_SHIFT) + COMMENT_GAP


class LineWriter:
    def __init__(self) -> None:
        self._lines: list[tuple[str, str, NoteGroup]] = []
        self._code = ""
        self.indent = 0

    @property
    def column(self) -> int:
        return self.indent + len(self._code)

    def newline(
        self, indent: int, blank: bool = False, note: str = "", group: NoteGroup | None = None
    ) -> None:
        """Ends the line, with a comment behind it, and starts one at this indent."""
        line = (" " * self.indent + self._code).rstrip(" ")
        group = group or NoteGroup()
        if note:
            group.widths.append(len(line))
        if line:
            self._lines.append((line, note, group))
        if blank and self._lines:
            self._lines.append(("", "", group))
        self.indent, self._code = indent, ""

    def text(self, text: str) -> None:
        self._code += text if self._code else text.lstrip(" ")

    def note(self, note: Note, indent: int, group: NoteGroup | None = None) -> None:
        """Whatever follows starts a new line at this indent."""
        if not note.own_line and self._code:
            self.newline(indent, note=note.text, group=group)
            return
        self.newline(indent, note.blank)
        self.text(note.text)
        self.newline(indent)

    def result(self) -> str:
        self.newline(0)
        text = ""
        for line, note, group in self._lines:
            padded = line.ljust(max(group.column, len(line) + COMMENT_GAP)) if note else line
            text += f"{padded}{note}\n"
        return text

    # ---- expressions

    def parts(
        self, parts: Sequence[Part], tail: int = 0, splittable: bool = False, step: int = INDENT
    ) -> None:
        """`tail` columns stay free at the end; a line may end inside `splittable` parts."""
        text, forced, indent = flat(parts), is_forced(parts), self.indent + step
        fits = self.column + len(text) + tail <= LIMIT
        has_notes = forced and any(isinstance(part, Note) for part in parts)
        levels = [part.level for part in parts if isinstance(part, LineBreak)] if splittable else []
        if fits and not forced:
            self.text(text)
        elif levels and (has_notes or not fits):
            places = [i for i, part in enumerate(parts) if part == LineBreak(min(levels))]
            for first, last in pairwise([-1, *places, len(parts)]):
                if first >= 0:
                    self.newline(indent)
                self.parts(parts[first + 1 : last], tail if last == len(parts) else 0, step=0)
        else:
            chosen = self._choose(parts, tail)
            for i, part in enumerate(parts):
                if isinstance(part, Note):
                    self.note(part, indent)
                elif isinstance(part, BracketPart) and i in chosen:
                    self._bracket(part)
                else:
                    self.text(flat((part,)))

    def _choose(self, parts: Sequence[Part], tail: int) -> set[int]:
        """The brackets to break: none, else the widest, else all worth it; and those that must be.

        What must be has no say in the rest: a bracket broken here may be among them when the text
        is read again.
        """
        brackets = {i: part for i, part in enumerate(parts) if isinstance(part, BracketPart)}
        forced = {i for i, part in brackets.items() if part.forced}
        widths = {i: len(part.flat) for i, part in brackets.items()}
        able = {i: width for i, width in widths.items() if width >= WORTH_BREAKING}
        if not able or self._fits(parts, set(), tail):
            return forced
        widest = {max(able, key=able.__getitem__)}
        return forced | (widest if self._fits(parts, widest, tail) else able.keys())

    def _fits(self, parts: Sequence[Part], broken: set[int], tail: int) -> bool:
        column = self.column
        for i, part in enumerate(parts):
            if i in broken:
                if column + 1 > LIMIT:
                    return False
                column = self.indent + 1
            else:
                column += len(flat((part,)))
            if column > LIMIT:
                return False
        return column + tail <= LIMIT

    def _bracket(self, bracket: BracketPart) -> None:
        outer = self.indent
        self.text(bracket.opening)
        # A list inside a call needs no level of its own: Dirichlet([ ... ]).
        is_one = bracket.opening == "(" and len(bracket.entries) == len(bracket.items) == 1
        only = bracket.items[0][0] if is_one and len(bracket.items[0]) == 1 else None
        if isinstance(only, BracketPart) and only.entries:
            self._bracket(only)
        else:
            self._content(bracket, outer + INDENT)
            self.newline(outer)
        self.text(bracket.closing)

    def _content(self, bracket: BracketPart, indent: int) -> None:
        # A list of short items takes as few lines as it can; rows of an array keep a line each.
        has_arrays = any(isinstance(item[0], BracketPart) for item in bracket.items)
        if bracket.is_short_list and not has_arrays:
            self.newline(indent)
            for text in _with_commas([*map(flat, bracket.items)]):
                if self.column + 1 + len(text) > LIMIT:
                    self.newline(indent)
                self.text(f" {text}")
            return
        aligned = _aligned_rows(bracket, indent) if bracket.rows else _aligned_matrix(bracket)
        texts = iter(aligned)
        left, group = len(bracket.items), NoteGroup()
        step = 0 if len(bracket.items) == 1 else INDENT
        for i, entry in enumerate(bracket.entries):
            if isinstance(entry, Note):
                self.note(entry, indent, group if i else None)
                continue
            left -= 1
            self.newline(indent, isinstance(entry, TableRow) and entry.blank)
            if text := next(texts):
                self.text(text)
            elif isinstance(entry, TableRow):
                self.parts(entry.parts)
            else:
                self.parts(entry, tail=min(left, 1), splittable=True, step=step)
            self.text("," if left and not bracket.rows else "")

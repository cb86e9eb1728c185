"""What is to be written, and where its lines end.

A text is a list of parts: words, places where a line may end, comments, and brackets that hold more
such lists. Flat widths are known when a part is made, so that a decision is one comparison. What
fits stands on one line, else it is broken inside brackets, with its comments in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, pairwise
from typing import NamedTuple, TypeAlias, TypeGuard

LIMIT = 100
INDENT = 4
WORTH_BREAKING = 16
COMMENT_GAP = 2
COMMENT_COLUMN = 40
TAIL_SHIFT = 40
CELL_SHIFT = 16
SHORT_ITEM = 12


class Break(NamedTuple):
    """A space where a line inside brackets may end; the lowest level ends first."""

    level: int


class Note(NamedTuple):
    """A comment; `own_line` says that nothing stood before it on its line."""

    text: str
    own_line: bool
    blank: bool = False


class BracketPart:
    """`items` between commas, `entries` with comments; `kept` was written over several lines."""

    def __init__(self, opening: str, entries: list[Parts | Note], closing: str, kept: bool = False):
        self.opening, self.entries, self.closing = opening, entries, closing
        self.items = [entry for entry in entries if not isinstance(entry, Note)]
        sizes = [measure(item) for item in self.items]
        widths = [size.width for size in sizes]
        self.width = len(opening) + sum(widths) + 2 * max(len(sizes) - 1, 0) + len(closing)
        self.forced = kept or len(sizes) < len(entries) or any(size.forced for size in sizes)
        self.widest = max(widths, default=0)


class TableRow(NamedTuple):
    keys: list[str]
    values: list[Parts]
    blank: bool


class TableRows:
    """The part of a table between braces."""

    opening, closing = "{", "}"

    def __init__(self, entries: list[TableRow | Note], kept: bool):
        self.entries = entries
        self.rows = [entry for entry in entries if isinstance(entry, TableRow)]
        self.flat_rows = [f"{', '.join(r.keys)} => {_flat_list(r.values)}" for r in self.rows]
        broken = any(measure(value).forced for row in self.rows for value in row.values)
        has_notes = len(self.rows) < len(entries)
        self.forced = bool(entries) and (kept or has_notes or broken)
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
    return "".join(map(_flat_part, parts))


def _flat_part(part: Part) -> str:
    if isinstance(part, BracketPart):
        return f"{part.opening}{_flat_list(part.items)}{part.closing}"
    if isinstance(part, TableRows):
        return part.flat()
    return part if isinstance(part, str) else " " * isinstance(part, Break)


def _flat_list(items: Iterable[Sequence[Part]]) -> str:
    return ", ".join(map(flat, items))


def common_column(widths: Iterable[int], limit: int) -> int:
    """Where cells of these widths end when padded alike; cells wider than this stay as they are."""
    known = list(widths)
    cap = min(known, default=0) + limit
    return max((width for width in known if width <= cap), default=0)


def align_cells(rows: Sequence[Sequence[str]], limit: int) -> Iterator[str]:
    """Joins each row's cells with one space, padding all but the last to the column's width."""
    columns = []
    for k in range(max(map(len, rows), default=1) - 1):
        columns.append(common_column((len(row[k]) for row in rows if len(row) > k + 1), limit))
    for row in rows:
        yield " ".join([*(cell.ljust(columns[k]) for k, cell in enumerate(row[:-1])), row[-1]])


# ---- lines


class _Line(NamedTuple):
    code: str
    note: str
    group: int


class LineWriter:
    def __init__(self) -> None:
        self._lines: list[_Line] = []
        self._pieces: list[str] = []
        self._note = ""
        self._group = 0
        self._groups = count(1)
        self._paragraphs: set[int] = set()
        self.indent = self.column = 0

    def new_group(self, is_paragraph: bool = False) -> int:
        """Comments of one group are aligned; those of a paragraph start at their own column."""
        group = next(self._groups)
        if is_paragraph:
            self._paragraphs.add(group)
        return group

    def newline(self, indent: int, blank: bool = False) -> None:
        self._close()
        if blank and self._lines:
            self._lines.append(_Line("", "", 0))
        self.indent = self.column = indent

    def _close(self) -> None:
        code = "".join(self._pieces).rstrip(" ")
        if code:
            self._lines.append(_Line(" " * self.indent + code, self._note, self._group))
        self._pieces, self._note = [], ""

    def text(self, text: str) -> None:
        if not self._pieces:
            text = text.lstrip(" ")
        if text:
            self._pieces.append(text)
            self.column += len(text)

    def note(self, note: Note, indent: int, group: int) -> None:
        """Whatever follows starts a new line at this indent."""
        if note.own_line or not self._pieces:
            self.newline(indent, note.blank)
            self._pieces = [note.text]
        else:
            self._note, self._group = note.text, group
        self.newline(indent)

    def result(self) -> str:
        self._close()
        widths: dict[int, list[int]] = {}
        for line in self._lines:
            if line.note:
                widths.setdefault(line.group, []).append(len(line.code))
        columns = {group: self._note_column(group, found) for group, found in widths.items()}
        return "".join(f"{_with_note(line, columns)}\n" for line in self._lines)

    def _note_column(self, group: int, widths: list[int]) -> int:
        if group in self._paragraphs:
            return max(common_column(widths, TAIL_SHIFT) + COMMENT_GAP, COMMENT_COLUMN)
        return common_column(widths, CELL_SHIFT) + COMMENT_GAP

    # ---- expressions

    def parts(
        self, parts: Sequence[Part], tail: int = 0, splittable: bool = False, step: int = INDENT
    ) -> None:
        """`tail` columns stay free at the end; a line may end inside `splittable` parts."""
        size = measure(parts)
        fits = self.column + size.width + tail <= LIMIT
        has_notes = size.forced and any(isinstance(part, Note) for part in parts)
        levels = [part.level for part in parts if isinstance(part, Break)] if splittable else []
        if fits and not size.forced:
            self.text(flat(parts))
        elif levels and (has_notes or not fits):
            level = min(levels)
            places = [i for i, part in enumerate(parts) if part == Break(level)]
            indent = self.indent + step
            for first, last in pairwise([-1, *places, len(parts)]):
                if first >= 0:
                    self.newline(indent)
                self.parts(parts[first + 1 : last], tail if last == len(parts) else 0, step=0)
        else:
            self._broken(parts, tail, step)

    def _broken(self, parts: Sequence[Part], tail: int, step: int) -> None:
        chosen = self._choose(parts, tail)
        indent = self.indent + step
        for i, part in enumerate(parts):
            if isinstance(part, Note):
                self.note(part, indent, self.new_group())
            elif isinstance(part, BracketPart) and i in chosen:
                self._bracket(part)
            elif isinstance(part, TableRows) and i in chosen:
                self._rows(part)
            else:
                self.text(flat((part,)))

    def _choose(self, parts: Sequence[Part], tail: int) -> set[int]:
        """The brackets to break: none, else the widest, else all worth it; and those that must be.

        What must be has no say in the rest: a bracket broken here may be among them when the text
        is read again.
        """
        brackets = {i: p for i, p in enumerate(parts) if isinstance(p, BracketPart | TableRows)}
        forced = {i for i, part in brackets.items() if part.forced}
        able = {i: part.width for i, part in brackets.items() if part.width >= WORTH_BREAKING}
        if not able or self._fits(parts, set(), tail):
            return forced
        widest = {max(able, key=able.__getitem__)}
        return forced | (widest if self._fits(parts, widest, tail) else able.keys())

    def _fits(self, parts: Sequence[Part], broken: set[int], tail: int) -> bool:
        column = self.column
        for i, part in enumerate(parts):
            if i in broken and isinstance(part, BracketPart | TableRows):
                if column + len(part.opening) > LIMIT:
                    return False
                column = self.indent + len(part.closing)
            else:
                column += measure((part,)).width
            if column > LIMIT:
                return False
        return column + tail <= LIMIT

    def _bracket(self, bracket: BracketPart) -> None:
        outer, inner = self.indent, self.indent + INDENT
        # A list inside a call needs no level of its own: Dirichlet([ ... ]).
        is_one = bracket.opening == "(" and len(bracket.entries) == len(bracket.items) == 1
        only = bracket.items[0][0] if is_one and len(bracket.items[0]) == 1 else None
        hugged = only if isinstance(only, BracketPart) and only.entries else None
        self.text(bracket.opening)
        if hugged:
            self._bracket(hugged)
        else:
            self._content(bracket, inner)
            self.newline(outer)
        self.text(bracket.closing)

    def _content(self, bracket: BracketPart, indent: int) -> None:
        # A list of short items takes as few lines as it can; rows of an array keep a line each.
        has_rows = any(isinstance(item[0], BracketPart) for item in bracket.items)
        if _is_short_list(bracket) and not has_rows:
            self._fill(bracket, indent)
        elif matrix := _matrix_rows(bracket):
            aligned = align_cells([_with_commas(row) for row in matrix], CELL_SHIFT)
            for text in _with_commas([f"[{row}]" for row in aligned]):
                self.newline(indent)
                self.text(text)
        else:
            left, group = len(bracket.items), self.new_group()
            for i, entry in enumerate(bracket.entries):
                if isinstance(entry, Note):
                    self.note(entry, indent, group if i else self.new_group())
                    continue
                left -= 1
                self.newline(indent)
                step = 0 if len(bracket.items) == 1 else INDENT
                self.parts(entry, tail=min(left, 1), splittable=True, step=step)
                self.text("," if left else "")

    def _fill(self, bracket: BracketPart, indent: int) -> None:
        self.newline(indent)
        for text in _with_commas([*map(flat, bracket.items)]):
            if self.column + 1 + len(text) > LIMIT:
                self.newline(indent)
            self.text(f" {text}")

    def _rows(self, table: TableRows) -> None:
        outer, inner, group = self.indent, self.indent + INDENT, self.new_group()
        self.text(table.opening)
        aligned = _aligned_rows(table, inner)
        for i, entry in enumerate(table.entries):
            if isinstance(entry, Note):
                self.note(entry, inner, group if i else self.new_group())
                continue
            self.newline(inner, entry.blank)
            text = next(aligned)
            if text:
                self.text(text)
            else:
                self.parts(_row_parts(entry))
        self.newline(outer)
        self.text(table.closing)


def _with_note(line: _Line, columns: dict[int, int]) -> str:
    if not line.note:
        return line.code
    return line.code.ljust(max(columns[line.group], len(line.code) + COMMENT_GAP)) + line.note


def _is_short_list(part: Part) -> TypeGuard[BracketPart]:
    if not isinstance(part, BracketPart) or part.opening != "[" or part.forced:
        return False
    return part.widest <= SHORT_ITEM


def _matrix_rows(bracket: BracketPart) -> list[list[str]] | None:
    """The cells of an array of arrays of short items, all of one length."""
    firsts = [item[0] for item in bracket.items if len(item) == 1]
    rows = [[*map(flat, row.items)] for row in firsts if _is_short_list(row)]
    if len(rows) < len(bracket.entries):
        return None
    one_length = len({len(row) for row in rows}) == 1
    return rows if one_length and len(rows[0]) * (SHORT_ITEM + 2) <= LIMIT - INDENT else None


def _aligned_rows(table: TableRows, indent: int) -> Iterator[str]:
    """The text of each row, empty for one that does not fit on a line of its own."""
    forced = [any(measure(value).forced for value in row.values) for row in table.rows]
    short = [indent + len(text) <= LIMIT for text in table.flat_rows]
    short = [fits and not must for fits, must in zip(short, forced, strict=True)]
    cells = [_cells(row) for row, fits in zip(table.rows, short, strict=True) if fits]
    aligned = align_cells(cells, CELL_SHIFT)
    for text, fits in zip(table.flat_rows, short, strict=True):
        padded = next(aligned) if fits else ""
        yield padded if indent + len(padded) <= LIMIT else text


def _cells(row: TableRow) -> list[str]:
    first, *others = map(flat, row.values)
    return [*_with_commas(row.keys), *_with_commas([f"=> {first}", *others])]


def _with_commas(items: list[str]) -> list[str]:
    return [*(f"{item}," for item in items[:-1]), items[-1]]


def _row_parts(row: TableRow) -> Parts:
    parts: Parts = [f"{', '.join(row.keys)} => "]
    for i, value in enumerate(row.values):
        parts += [", ", *value] if i else value
    return parts

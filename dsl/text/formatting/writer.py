"""Ends lines: what fits on one line, else broken inside brackets, with comments in place."""

from collections.abc import Iterator, Sequence
from itertools import count, pairwise

from .doc import (
    INDENT,
    LIMIT,
    WORTH_BREAKING,
    BracketPart,
    Break,
    Note,
    Part,
    Parts,
    TableRow,
    TableRows,
    align_cells,
    common_column,
    flat,
    measure,
)

COMMENT_GAP = 2
COMMENT_COLUMN = 40
TAIL_SHIFT = 40
CELL_SHIFT = 16
SHORT_ITEM = 12


class _Line:
    def __init__(self, code: str, note: str, group: int):
        self.code, self.note, self.group = code, note, group


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
        columns = {
            group: _note_column(group in self._paragraphs, found) for group, found in widths.items()
        }
        return "".join(f"{_with_note(line, columns)}\n" for line in self._lines)

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
            self._segments(parts, min(levels), tail, step)
        else:
            self._broken(parts, tail, step)

    def _segments(self, parts: Sequence[Part], level: int, tail: int, step: int) -> None:
        places = [
            i for i, part in enumerate(parts) if isinstance(part, Break) and part.level == level
        ]
        indent = self.indent + step
        for first, last in pairwise([-1, *places, len(parts)]):
            if first >= 0:
                self.newline(indent)
            self.parts(parts[first + 1 : last], tail if last == len(parts) else 0, step=0)

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
        """The brackets to break: none, else the widest, else all that are worth it; and those that
        must be.

        What must be has no say in the rest: a bracket broken here may be among them when the text
        is read again.
        """
        brackets = {
            i: part for i, part in enumerate(parts) if isinstance(part, BracketPart | TableRows)
        }
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
        hugged = _only_bracket(bracket)
        self.text(bracket.opening)
        if hugged:
            self._bracket(hugged)
        else:
            self._content(bracket, inner)
            self.newline(outer)
        self.text(bracket.closing)

    def _content(self, bracket: BracketPart, indent: int) -> None:
        if _is_filled(bracket):
            self._fill(bracket, indent)
        elif matrix := _matrix_rows(bracket):
            self._matrix(matrix, indent)
        else:
            self._entries(bracket, indent)

    def _entries(self, bracket: BracketPart, indent: int) -> None:
        left, group = bracket.count, self.new_group()
        for i, entry in enumerate(bracket.entries):
            if isinstance(entry, Note):
                self.note(entry, indent, group if i else self.new_group())
                continue
            left -= 1
            self.newline(indent)
            step = 0 if bracket.count == 1 else INDENT
            self.parts(entry, tail=min(left, 1), splittable=True, step=step)
            self.text("," if left else "")

    def _fill(self, bracket: BracketPart, indent: int) -> None:
        self.newline(indent)
        for text in _with_commas(
            [flat(entry) for entry in bracket.entries if isinstance(entry, list)]
        ):
            if self.column + 1 + len(text) > LIMIT:
                self.newline(indent)
            self.text(f" {text}")

    def _matrix(self, rows: list[list[str]], indent: int) -> None:
        aligned = align_cells([_with_commas(row) for row in rows], CELL_SHIFT)
        for text in _with_commas([f"[{row}]" for row in aligned]):
            self.newline(indent)
            self.text(text)

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


def _note_column(is_paragraph: bool, widths: list[int]) -> int:
    if is_paragraph:
        return max(common_column(widths, TAIL_SHIFT) + COMMENT_GAP, COMMENT_COLUMN)
    return common_column(widths, CELL_SHIFT) + COMMENT_GAP


def _only_bracket(bracket: BracketPart) -> BracketPart | None:
    """A list inside a call needs no level of its own: Dirichlet([ ... ])."""
    entry = bracket.entries[0] if len(bracket.entries) == 1 else None
    only = entry[0] if isinstance(entry, list) and len(entry) == 1 else None
    return (
        only if isinstance(only, BracketPart) and bracket.opening == "(" and only.entries else None
    )


def _is_filled(bracket: BracketPart) -> bool:
    """A list of short items takes as few lines as it can; rows of an array keep a line each."""
    if bracket.opening != "[" or bracket.forced or bracket.widest > SHORT_ITEM:
        return False
    return not any(
        isinstance(entry, list) and isinstance(entry[0], BracketPart) for entry in bracket.entries
    )


def _matrix_rows(bracket: BracketPart) -> list[list[str]] | None:
    """The cells of an array of arrays of short items, all of one length."""
    rows: list[list[str]] = []
    for entry in bracket.entries:
        row = entry[0] if isinstance(entry, list) and len(entry) == 1 else None
        if (
            not isinstance(row, BracketPart)
            or row.opening != "["
            or row.forced
            or row.widest > SHORT_ITEM
        ):
            return None
        rows.append([flat(item) for item in row.entries if isinstance(item, list)])
    one_length = len({len(row) for row in rows}) == 1
    return rows if one_length and len(rows[0]) * (SHORT_ITEM + 2) <= LIMIT - INDENT else None


def _aligned_rows(table: TableRows, indent: int) -> Iterator[str]:
    """The text of each row, empty for one that does not fit on a line of its own."""
    rows = [entry for entry in table.entries if isinstance(entry, TableRow)]
    short = [
        indent + len(text) <= LIMIT and not any(measure(value).forced for value in row.values)
        for row, text in zip(rows, table.flat_rows, strict=True)
    ]
    aligned = align_cells(
        [_cells(row) for row, fits in zip(rows, short, strict=True) if fits], CELL_SHIFT
    )
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

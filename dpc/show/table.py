"""Tables: typed cells, and how they look in a terminal, in a CSV file and in a notebook."""

import csv
import io
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from dpc.dsl.record import Record

BAR = 24
EIGHTHS = " ▏▎▍▌▋▊▉█"


class AnswerTable(Record):
    """`head` names the columns, none for a table that needs no names; cells are as they are.

    `formats` say how numbers of a column are written. The column `bars` is drawn beside the
    others. With `grouped`, a first cell that repeats the one above it is left blank.
    """

    head: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    formats: Mapping[str, str] = {}
    bars: str = ""
    grouped: bool = False
    most: int = 10**9
    more: str = ""

    def lines(self) -> list[str]:
        """Aligned columns; rows beyond `most` are counted, and `more` says where they are."""
        shown = self.text_rows(self.rows[: self.most])
        found = columns([self._text_head(), *shown] if self.head else shown)
        left = len(self.rows) - self.most
        return [*found, f"... and {left} more: {self.more}"] if left > 0 else found

    def text_rows(self, rows: Sequence[tuple[Any, ...]]) -> list[tuple[str, ...]]:
        names = self.head or ("",) * (len(rows[0]) if rows else 0)
        found = []
        last = None
        for row in rows:
            cells = [
                cell_text(cell, self.formats.get(name, ".6g"))
                for name, cell in zip(names, row, strict=True)
            ]
            if self.bars:
                cells.append(bar(row[self.head.index(self.bars)]))
            if self.grouped and cells[0] == last:
                cells[0] = ""
            else:
                last = cells[0]
            found.append(tuple(cells))
        return found

    def _text_head(self) -> tuple[str, ...]:
        return (*self.head, "") if self.bars else self.head

    def csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([self.head, *self.rows] if self.head else self.rows)
        return text.getvalue()

    def html(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self._text_head())
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
            for row in self.text_rows(self.rows[: self.most])
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def cell_text(cell: Any, form: str = ".6g") -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return format(cell, form)
    if isinstance(cell, list):
        shown = ", ".join(cell_text(item, form) for item in cell[:6])
        return f"[{shown}{', ...' if len(cell) > 6 else ''}]"
    return "" if cell is None else str(cell)


def columns(rows: Sequence[tuple[str, ...]], indent: str = "") -> list[str]:
    """Rows as aligned columns."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    cells = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    return [indent + "  ".join(row).rstrip() for row in cells]


def bar(probability: float) -> str:
    """A bar of up to BAR blocks, to the eighth of one."""
    eighths = round(probability * BAR * 8)
    return "█" * (eighths // 8) + (EIGHTHS[eighths % 8] if eighths % 8 else "")

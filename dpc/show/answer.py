"""What every answer can do: print as the shell prints it, show in a notebook, become data."""

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from html import escape
from itertools import product
from pathlib import Path
from typing import Any

from dpc.dsl.files import write_whole
from dpc.dsl.printable import printable, printable_lines
from dpc.dsl.record import Record

from ..exits import UsageError

BAR = 24
EIGHTHS = " ▏▎▍▌▋▊▉█"


class AnswerTable(Record):
    """`head` names the columns, none for a table that needs no names; cells are as they are.
    `formats` say how numbers of a column are written. The column `bars` is drawn beside the others.
    With `grouped`, a first cell that repeats the one above it is left blank.
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
        head = tuple(map(printable, self.head))
        return (*head, "") if self.bars else head

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
    return "" if cell is None else printable(str(cell))


def columns(rows: Sequence[tuple[str, ...]], indent: str = "") -> list[str]:
    """Rows as aligned columns."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    cells = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    return [indent + "  ".join(row).rstrip() for row in cells]


def bar(probability: float) -> str:
    """A bar of up to BAR blocks, to the eighth of one."""
    eighths = round(probability * BAR * 8)
    return "█" * (eighths // 8) + (EIGHTHS[eighths % 8] if eighths % 8 else "")


class Answer(ABC):
    """An answer to a question. A kind of answer says what it is as plain data and as tables.
    `before` and `after` are lines around its tables. `warnings` are what has to be said of it; the
    shell says them on stderr.
    """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and texts: what `--json` prints."""

    def tables(self) -> list[AnswerTable]:
        """All that it says in rows."""
        return []

    def before(self) -> list[str]:
        return []

    def after(self) -> list[str]:
        return []

    @property
    def warnings(self) -> tuple[str, ...]:
        return ()

    def __str__(self) -> str:
        parts = [self.before(), *(table.lines() for table in self.tables()), self.after()]
        return "\n\n".join("\n".join(map(printable_lines, lines)) for lines in parts if lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        parts = [_paragraphs([*self.warnings, *self.before()])]
        parts += [table.html() for table in self.tables()]
        return "".join([*parts, _paragraphs(self.after())])

    def save(self, path: str | Path) -> None:
        """Everything, as .json, or a single table as .csv."""
        path = str(path)
        if not path.endswith((".csv", ".json")):
            raise UsageError(f"an answer is saved as .json or .csv, not {path}")
        if path.endswith(".json"):
            write_whole(path, (json.dumps(self.to_dict()) + "\n").encode())
            return
        tables = self.tables()
        if len(tables) != 1:
            heads = ", ".join(f"[{', '.join(table.head)}]" for table in tables) or "none"
            raise UsageError(f"a CSV holds one table, and here are {heads}: save it as .json")
        write_whole(path, tables[0].csv().encode())

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each row of the table."""
        import pandas

        tables = [table for table in self.tables() if table.rows]
        if len(tables) != 1:
            raise UsageError(f"a DataFrame holds one table, and here are {len(tables)}")
        return pandas.DataFrame(tables[0].rows, columns=tables[0].head or None)


def _paragraphs(lines: list[str]) -> str:
    return "".join(f"<p>{escape(printable_lines(line))}</p>" for line in lines if line)


def entry_names(
    name: str, node_type: Any, shape: tuple[int, ...], labels: Mapping[str, tuple[str, ...]]
) -> list[str]:
    """`W[O, 0]` for every entry: by the labels of dims where they have some, else by position."""
    if not shape:
        return [name]
    axes = [
        getattr(axis, "labels", ()) or labels.get(str(axis), ()) or range(length)
        for axis, length in zip(node_type.shape, shape, strict=True)
    ]
    return [f"{name}[{', '.join(map(str, places))}]" for places in product(*axes)]

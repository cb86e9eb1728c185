"""What every answer can do: print as the shell prints it, show in a notebook, become data."""

import json
from abc import ABC, abstractmethod
from html import escape
from pathlib import Path
from typing import Any

from dpc.dsl.files import write_whole

from ..exits import UsageError
from .table import AnswerTable


class Answer(ABC):
    """An answer to a question. A kind of answer says what it is as plain data and as tables.

    `before` and `after` are lines around its tables. `warnings` are what has to be said of it; the
    shell says them on stderr.
    """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and texts: what `--json` prints."""

    @abstractmethod
    def tables(self) -> list[AnswerTable]:
        """All that it says, in rows."""

    def before(self) -> list[str]:
        return []

    def after(self) -> list[str]:
        return []

    @property
    def warnings(self) -> tuple[str, ...]:
        return ()

    def __str__(self) -> str:
        parts = [self.before(), *(table.lines() for table in self.tables()), self.after()]
        return "\n\n".join("\n".join(lines) for lines in parts if lines)

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
    return "".join(f"<p>{escape(line)}</p>" for line in lines if line)

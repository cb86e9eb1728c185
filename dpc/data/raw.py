"""Data as a source gives them: named arrays, what is known of their axes, where each entry is."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpc.dsl.record import Record

from .errors import DataError, problem

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Index = tuple[int, ...]

MAX_BYTES = 1 << 31
MAX_RANK = 32


class Origin(Record):
    """An entry of a file or object that holds arrays by name."""

    where: str
    name: str

    def whole(self) -> str:
        return self.where

    def at(self, index: Index) -> str:
        return f"{self.where}, {self.name}[{', '.join(map(str, index))}]" if index else self.where


class ColumnOrigin(Origin):
    """A column of a text file, counted from 1, and the line of each of its cells."""

    column: int
    lines: Sequence[int]

    def whole(self) -> str:
        return f"{self.where}, column {self.column}"

    def at(self, index: Index) -> str:
        return f"{self.where}, line {self.lines[index[0]]}, column {self.column}"


class SpreadOrigin(Origin):
    """An array whose last axis is spread over columns."""

    columns: tuple[Origin, ...]

    def at(self, index: Index) -> str:
        *row, column = index
        return self.columns[column].at(tuple(row))


class RawVariable(Record):
    """An array as it was given. `values` are of kind b, i, u or f, or objects that are text.
    `missing` marks entries without a value. `axes` and `labels` say what each axis is, where that
    is known. `levels` are the labels that text may take, in their order. `rows` is the index
    that pandas has for its rows, where it is no text. `written`: cells of a text file, which mean
    what the declared type says.
    """

    values: Array
    origin: Origin
    missing: Mask | None = None
    axes: tuple[str, ...] = ()
    labels: tuple[tuple[str, ...], ...] = ()
    levels: tuple[str, ...] = ()
    rows: Any = None
    written: bool = False

    @property
    def name(self) -> str:
        return self.origin.name

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def is_text(self) -> bool:
        return self.values.dtype.kind == "O"

    def refuse(self, message: str, at: Index | None = None, help: str = "") -> DataError:
        place = self.origin.whole() if at is None else self.origin.at(at)
        return problem(self.name, f"`{self.name}` {message}", help, place)


class Raw(Record):
    """Everything a source gives. `table`: its variables are columns over one axis."""

    where: str
    variables: dict[str, RawVariable]
    table: bool = False


def verify_size(bytes_needed: int, where: str) -> None:
    if bytes_needed > MAX_BYTES:
        held = f"{where} holds {bytes_needed:.3g} bytes of data"
        message = f"{held}, and at most {MAX_BYTES:.3g} are read from a file"
        raise problem("", message, "larger data can be given from Python, as arrays", where)


def repeated(names: Iterable[str]) -> str | None:
    """The first name that comes twice."""
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]


def first_true(mask: Mask) -> Index:
    return tuple(int(k) for k in np.unravel_index(int(np.argmax(mask)), mask.shape))


def show_sizes(shape: Iterable[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"

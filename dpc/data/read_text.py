"""CSV and TSV: a header and rows of cells as long as it. Cells stay text until a type is known."""

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from . import raw
from .errors import DataError, counted, problem, quoted
from .raw import ColumnOrigin, Raw, RawVariable, repeated, verify_size

Row = list[str]
TEXT: dict[str, Any] = {"encoding": "utf-8-sig", "newline": ""}


def read_csv(path: Path) -> Raw:
    return _read_table(path, ",")


def read_tsv(path: Path) -> Raw:
    return _read_table(path, "\t")


def _read_table(path: Path, separator: str) -> Raw:
    where = path.name
    rows, lines = _split(read_text(path), separator, where)
    _verify_header(rows[0] if rows else [], where)
    return _table(rows[0], rows[1:], lines[1:], where)


def _table(header: Row, body: list[Row], lines: Sequence[int], where: str) -> Raw:
    _verify_rows(header, body, lines, where)
    columns = zip(*body, strict=True) if body else [()] * len(header)
    variables = {}
    for k, (name, cells) in enumerate(zip(header, columns, strict=True), start=1):
        values = np.fromiter(cells, dtype=object, count=len(body))
        origin = ColumnOrigin(where, name, k, lines)
        variables[name] = RawVariable(values, origin, written=True)
    return Raw(where, variables, table=True)


def read_csv_parts(path: Path, count: int) -> Iterator[Raw]:
    """The table `count` rows at a time, for files of any size; each part is a table."""
    where = path.name
    is_packed = where.lower().endswith(".gz")
    try:
        with gzip.open(path, "rt", **TEXT) if is_packed else path.open(**TEXT) as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            _verify_header(header, where)
            while part := list(islice(_with_lines(reader), count)):
                while part and not part[-1][1]:
                    part.pop()
                if part:
                    lines, rows = zip(*part, strict=True)
                    yield _table(header, list(rows), lines, where)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise problem("", f"cannot read {where}: {reason}", place=str(path)) from None
    except UnicodeDecodeError as error:
        message = f"{where} is not UTF-8 text: {error.reason}"
        raise problem("", message, "save it as UTF-8", where) from None
    except csv.Error as error:
        raise _malformed(error, reader, where) from None


def _malformed(error: csv.Error, reader: Any, where: str) -> DataError:
    return problem("", f"{where} is malformed: {error}", place=f"{where}, line {reader.line_num}")


def _with_lines(reader: Any) -> Iterator[tuple[int, Row]]:
    """Each row, and the line that it starts on."""
    start = reader.line_num + 1
    for row in reader:
        yield start, row
        start = reader.line_num + 1


def read_text(path: Path) -> str:
    """The file as UTF-8, unpacked if its name ends in .gz."""
    if path.name.lower().endswith(".gz"):
        with gzip.open(path) as file:
            content = file.read(raw.MAX_BYTES + 1)
        verify_size(len(content), path.name)
    else:
        verify_size(path.stat().st_size, path.name)
        content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"{path.name} is not UTF-8 text: it has the byte {content[error.start]:#04x}"
        raise problem("", message, "save it as UTF-8", f"{path.name}, line {line}") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        message = f"{path.name} is not text: it has a zero byte"
        raise problem("", message, place=f"{path.name}, line {line}")
    return text


def _split(text: str, separator: str, where: str) -> tuple[list[Row], Sequence[int]]:
    """The rows, and the line that each starts on; empty lines at the end are no rows."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        raise _malformed(error, reader, where) from None
    lines: Sequence[int] = range(1, len(rows) + 1)
    if reader.line_num != len(rows):  # a quoted cell may hold line breaks
        again = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        lines = [line for line, _ in _with_lines(again)]
    while rows and not rows[-1]:
        rows.pop()
    return rows, lines[: len(rows)]


def _verify_header(header: Row, where: str) -> None:
    if not header:
        help = "the first line holds the names of the columns"
        raise problem("", f"{where} is empty", help, where)
    twice = repeated(header)
    if twice is not None:
        raise problem(twice, f"the column {quoted(twice)} comes twice", place=f"{where}, line 1")
    if "" in header:
        help = "row numbers are left out by index=False in pandas, row.names=FALSE in R"
        raise problem("", f"column {header.index('') + 1} has no name", help, f"{where}, line 1")


def _verify_rows(header: Row, body: list[Row], lines: Sequence[int], where: str) -> None:
    width = len(header)
    if set(map(len, body)) <= {width}:
        return
    k = next(k for k, row in enumerate(body) if len(row) != width)
    found = f"has {counted(len(body[k]), 'cell')}" if body[k] else "is empty"
    message = f"a row of {where} {found}, but the header has {counted(width, 'column')}"
    raise problem("", message, place=f"{where}, line {lines[k]}")

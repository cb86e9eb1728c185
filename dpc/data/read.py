"""Reading data files: one row for each format. Sizes are checked before anything is unpacked."""

import csv
import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from dpc.dsl.files import read_text, reason_of
from dpc.dsl.record import Record

from ..jsons import parse_json
from . import raw
from .errors import DataError, counted, problem, quoted
from .kinds import raw_of, variable_from_array, variable_from_items, variable_from_nested
from .netcdf import read_netcdf
from .npz import arrays_of_npz
from .raw import ColumnOrigin, Origin, Raw, RawVariable, repeated, verify_size

Row = list[str]
MOST_OF_LINE = 10_000_000
TEXT: dict[str, Any] = {"encoding": "utf-8-sig", "newline": ""}


def read_table(path: Path, separator: str) -> Raw:
    """A header and rows of cells as long as it, which stay text until a type is known."""
    where = path.name
    # The rows, and the line that each starts on; empty lines at the end are no rows.
    text = read_text(path, raw.MAX_BYTES)
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
    _verify_header(rows[0] if rows else [], where)
    return _table(rows[0], rows[1:], lines[1 : len(rows)], where)


def _table(header: Row, body: list[Row], lines: Sequence[int], where: str) -> Raw:
    width = len(header)
    if not set(map(len, body)) <= {width}:
        k = next(k for k, row in enumerate(body) if len(row) != width)
        found = f"has {counted(len(body[k]), 'cell')}" if body[k] else "is empty"
        message = f"a row of {where} {found}, but the header has {counted(width, 'column')}"
        raise problem("", message, place=f"{where}, line {lines[k]}")
    columns = zip(*body, strict=True) if body else [()] * width
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
            reader = csv.reader(_lines_of(file, where), strict=True)
            header = next(reader, [])
            _verify_header(header, where)
            while part := list(islice(_with_lines(reader), count)):
                while part and not part[-1][1]:
                    part.pop()
                if part:
                    lines, rows = zip(*part, strict=True)
                    yield _table(header, list(rows), lines, where)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise problem("", f"cannot read {where}: {reason}", place=str(path)) from None
    except UnicodeDecodeError as error:
        message = f"{where} is not UTF-8 text: {error.reason}"
        raise problem("", message, "save it as UTF-8", where) from None
    except csv.Error as error:
        raise _malformed(error, reader, where) from None


def _lines_of(file: IO[str], where: str) -> Iterator[str]:
    """A file of any size has lines of some size: what is no CSV may be one line alone."""
    while line := file.readline(MOST_OF_LINE):
        if len(line) == MOST_OF_LINE:
            message = f"{where} has a line of more than {MOST_OF_LINE:,} characters"
            raise problem("", message, "a row of a table is a line", where)
        yield line


def _malformed(error: csv.Error, reader: Any, where: str) -> DataError:
    return problem("", f"{where} is malformed: {error}", place=f"{where}, line {reader.line_num}")


def _with_lines(reader: Any) -> Iterator[tuple[int, Row]]:
    """Each row, and the line that it starts on."""
    start = reader.line_num + 1
    for row in reader:
        yield start, row
        start = reader.line_num + 1


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


LARGEST_ENTRY = 8


def read_data(path: str | os.PathLike[str]) -> Raw:
    """What a file holds, read by its ending; a file that cannot be read is a DataError."""
    file = Path(path)
    rows = [row for row in FORMATS if file.name.lower().endswith(row.endings)]
    if not rows:
        endings = ", ".join(ending for row in FORMATS for ending in row.endings)
        message = f"{file.name} has no ending that is known"
        raise problem("", message, f"data are read from {endings}", str(file))
    try:
        return rows[0].read(file)
    except (DataError, MemoryError):
        raise
    except OSError as error:
        message = f"cannot read {file.name}: {reason_of(error)}"
        raise problem("", message, place=str(file)) from error
    except Exception as error:  # libraries raise anything on a damaged file
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        message = f"{file.name} is not a {rows[0].title} file: {reason}"
        raise problem("", message, place=str(file)) from error


def read_json(path: Path) -> Raw:
    """Stan's layout: one object, whose values are scalars and nested lists."""
    where = path.name
    entries = json_of(read_text(path, raw.MAX_BYTES), where, _Object)
    if not isinstance(entries, _Object):
        help = 'as in {"N": 3, "y": [1.5, 2, 4]}'
        raise problem("", f"{where} holds no object of names and values", help, where)
    return raw_of(where, entries.pairs, variable_from_nested)


def json_of(text: str, where: str, pairs: Callable[[list[tuple[str, Any]]], Any] = dict) -> Any:
    """What a text of JSON holds, or a DataError that says where it is wrong."""
    try:
        return parse_json(text, pairs)
    except json.JSONDecodeError as error:
        place = f"{where}, line {error.lineno}, column {error.colno}"
        raise problem("", f"{where} is not JSON: {error.msg}", place=place) from None
    except ValueError as error:
        raise problem("", f"{where} {error}", place=where) from None


class _Object:
    """Keeps what a dict would lose: that a name comes twice."""

    def __init__(self, pairs: list[tuple[str, Any]]):
        self.pairs = pairs


def read_npz(path: Path) -> Raw:
    """Named arrays in a zip file."""
    return raw_of(path.name, list(arrays_of_npz(path).items()), variable_from_array)


def read_parquet(path: Path) -> Raw:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        message = f"{path.name} cannot be read: Parquet files need pyarrow"
        raise problem("", message, "pip install 'dpc[parquet]'", str(path)) from None
    with path.open("rb") as stream:
        file = parquet.ParquetFile(stream)
        facts = file.metadata
        packed = sum(facts.row_group(k).total_byte_size for k in range(facts.num_row_groups))
        verify_size(max(packed, facts.num_rows * facts.num_columns * LARGEST_ENTRY), path.name)
        return raw_from_arrow(file.read(), path.name)


def raw_from_arrow(table: Any, where: str) -> Raw:
    columns = list(zip(table.column_names, table.columns, strict=True))
    return raw_of(where, columns, _arrow_variable, table=True)


def _arrow_variable(column: Any, origin: Origin) -> RawVariable:
    """Columns have types, missing entries and dictionaries of levels."""
    types = import_module("pyarrow.types")
    column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    kind = column.type
    if types.is_dictionary(kind):
        texts = [None if item is None else str(item) for item in column.to_pylist()]
        levels = tuple(map(str, column.dictionary.to_pylist()))
        return variable_from_items(texts, (len(texts),), origin).replace(levels=levels)
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        filled = column.fill_null(False if str(kind) == "bool" else 0)
        numbers = (filled if column.null_count else column).to_numpy(zero_copy_only=False)
        return variable_from_array(numbers, origin).replace(missing=missing)
    if types.is_null(kind) or str(kind) in ("string", "large_string", "string_view"):
        return variable_from_items(column.to_pylist(), (len(column),), origin)
    message = f"is a column of {kind}, neither numbers, truth values nor text"
    raise RawVariable(np.zeros(0), origin).refuse(message)


class FileFormat(Record):
    title: str
    endings: tuple[str, ...]
    read: Callable[[Path], Raw]


FORMATS = (
    FileFormat("CSV", (".csv", ".csv.gz"), partial(read_table, separator=",")),
    FileFormat("TSV", (".tsv", ".tsv.gz"), partial(read_table, separator="\t")),
    FileFormat("JSON", (".json",), read_json),
    FileFormat("NPZ", (".npz",), read_npz),
    FileFormat("netCDF", (".nc",), read_netcdf),
    FileFormat("Parquet", (".parquet",), read_parquet),
)

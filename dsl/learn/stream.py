"""Tables from a CSV that is read a part at a time: counts of parts add up."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from ..data.errors import problem
from ..data.raw import ColumnOrigin, Raw, Variable
from ..graph import Graph
from .cases import Cases, read_cases
from .choose import Choice, NotApplicable
from .counts import table_uses
from .fit import Options, fit_tables
from .result import Fit
from .roles import find_roles

PART = 100_000


def fit_csv(graph: Graph, path: str, options: Options) -> Fit:
    """Every case is read once and forgotten."""
    parts = csv_cases(graph, path)
    first = next(parts, None)
    if first is None:
        raise problem("", f"{path} has no rows below its header")
    roles = find_roles(graph, first.given, rows_are_cases=True)
    if table_uses(roles) is None:
        raise NotApplicable("a CSV is streamed for tables alone, with a column for every draw")

    def chunks() -> Iterator[Cases]:
        for cases in _and(first, parts):
            verify_complete(cases)
            yield cases

    why = "the data are complete and all that is unknown are tables: relative frequencies, a part of the file at a time"
    return fit_tables(roles, chunks(), options, Choice("counts", why), ())


def _and(first: Cases, rest: Iterator[Cases]) -> Iterator[Cases]:
    yield first
    yield from rest


def verify_complete(cases: Cases) -> None:
    for group in cases.groups:
        for name in group.missing:
            raise NotApplicable(f"`{name}` has missing entries, which cannot be summed over in a stream")


def csv_cases(graph: Graph, path: str) -> Iterator[Cases]:
    """The rows of a file as cases, PART at a time."""
    where = Path(path).name
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            while rows := list(islice(reader, PART)):
                yield read_cases(graph, _raw(header, rows, where, reader.line_num - len(rows) + 1))
    except OSError as error:
        raise problem("", f"cannot read {where}: {error.strerror or error}", place=path) from None


def _raw(header: list[str], rows: list[list[str]], where: str, line: int) -> Raw:
    for number, row in enumerate(rows):
        if len(row) != len(header):
            raise problem(
                "", f"{where} has {len(row)} cells in a row of {len(header)}", place=f"{where}, line {line + number}"
            )
    lines = range(line, line + len(rows))
    variables = {
        name: Variable(np.array(cells, dtype=object), ColumnOrigin(where, name, k, lines), written=True)
        for k, (name, cells) in enumerate(zip(header, zip(*rows, strict=True), strict=True), 1)
    }
    return Raw(where, variables, table=True)

"""Cells of a text file, read as the declared type says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dpc.dsl.graph.types import Bool, Domain, IndexOf

from .errors import quoted
from .raw import Array, RawVariable, first_true

NO_NUMBER = frozenset({"", "NA", "NaN", "nan", "null"})
NO_LABEL = frozenset({""})
LEADING_ZERO = re.compile(r"[+-]?0\d")


def read_cells(variable: RawVariable, domain: Domain) -> RawVariable:
    """The same variable with typed values. Numbers may be missing as NA; for a label only an empty
    cell is missing.
    """
    blank = NO_LABEL if isinstance(domain, IndexOf) else NO_NUMBER
    variable = _mark_missing(variable, blank)
    if isinstance(domain, Bool):
        return variable
    if isinstance(domain, IndexOf) and not _is_numeric(variable):
        return variable.replace(written=False)
    return variable.replace(values=_numbers(variable, str(domain)), written=False)


def _mark_missing(variable: RawVariable, blank: frozenset[str]) -> RawVariable:
    cells = variable.values
    if blank.isdisjoint(cells.ravel().tolist()):
        return variable
    missing = np.array([cell in blank for cell in cells.ravel()], dtype=bool).reshape(cells.shape)
    return variable.replace(missing=missing, values=np.where(missing, "0", cells).astype(object))


def _is_numeric(variable: RawVariable) -> bool:
    """Labels such as 007 are text: nobody writes a position like that."""
    present = variable.values if variable.missing is None else variable.values[~variable.missing]
    return all(
        not LEADING_ZERO.match(cell) and _reads(cell, float)
        for cell in dict.fromkeys(present.ravel().tolist())
    )


def _numbers(variable: RawVariable, wanted: str) -> Array:
    """Whole numbers where all cells are, else decimals."""
    cells: list[str] = variable.values.ravel().tolist()
    for convert, dtype in ((int, np.int64), (float, np.float64)):
        try:
            found: Array = np.fromiter(map(convert, cells), dtype=dtype, count=len(cells))
        except (ValueError, OverflowError):
            continue
        if not any("_" in cell for cell in cells):
            return found.reshape(variable.shape)
    bad = np.array([not _reads(cell, float) for cell in cells], dtype=bool).reshape(variable.shape)
    at = first_true(bad)
    raise variable.refuse(f"is {wanted}, but has the entry {quoted(variable.values[at])}", at)


def _reads(cell: str, convert: Callable[[str], Any]) -> bool:
    try:
        convert(cell)
    except ValueError:
        return False
    return "_" not in cell

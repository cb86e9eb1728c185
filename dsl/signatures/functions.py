"""The functions of the language: one row each, no code. Adding a row is adding a function to the checker.

Rows of one name differ in the number or the rank of their arguments, or take whole numbers first. They never
differ in bounds alone: what is only known as real may be positive, so the first row would take it.
"""

from __future__ import annotations

from functools import cache

from .functions_arrays import CONSTRUCTORS, LINEAR_ALGEBRA, LISTS, REDUCTIONS
from .functions_elementary import ELEMENTARY
from .functions_smooth import SMOOTH
from .rows import Function

__all__ = ["FUNCTIONS", "Function", "functions_by_name"]

FUNCTIONS: tuple[Function, ...] = ELEMENTARY + REDUCTIONS + SMOOTH + CONSTRUCTORS + LINEAR_ALGEBRA + LISTS


@cache
def functions_by_name() -> dict[str, tuple[Function, ...]]:
    """Rows of one name are alternatives, tried in order."""
    table: dict[str, tuple[Function, ...]] = {}
    for row in FUNCTIONS:
        table[row.name] = (*table.get(row.name, ()), row)
    return table

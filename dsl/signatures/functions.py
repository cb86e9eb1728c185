"""The functions of the language: one row each, no code. Adding a row is adding a function to the checker."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .notation import Signature, parse_signature


@dataclass(frozen=True, slots=True)
class Function:
    """`hard` functions have a zero or undefined derivative somewhere that matters: no gradient may pass."""

    text: str
    doc: str
    hard: bool = False

    @property
    def name(self) -> str:
        return self.text.partition("(")[0]

    @property
    def signature(self) -> Signature:
        return parse_signature(self.text)


ELEMENTARY = (
    Function("exp(x: real) -> positive", "e to the power x"),
    Function("log(x: nonnegative) -> real", "natural logarithm"),
)

LINEAR_ALGEBRA = (Function("dot(a: real[N], b: real[N]) -> real", "inner product"),)

FUNCTIONS: tuple[Function, ...] = ELEMENTARY + LINEAR_ALGEBRA


@cache
def functions_by_name() -> dict[str, tuple[Function, ...]]:
    """Rows of one name are alternatives, tried in order."""
    table: dict[str, tuple[Function, ...]] = {}
    for row in FUNCTIONS:
        table[row.name] = (*table.get(row.name, ()), row)
    return table

"""The functions of the language: one row each, no code. Adding a row is adding a function to the
checker.

Rows of one name differ in the number or the rank of their arguments, or take whole numbers first.
They never differ in bounds alone: what is only known as real may be positive, so the first row
would take it.
"""

from functools import cache

from .functions_arrays import CONSTRUCTORS, LINEAR_ALGEBRA, LISTS, REDUCTIONS
from .functions_elementary import ELEMENTARY
from .functions_smooth import SMOOTH
from .rows import FunctionRow

__all__ = [
    "FUNCTIONS",
    "OPERATORS",
    "FunctionRow",
    "add_row",
    "all_functions",
    "functions_by_name",
    "functions_by_text",
]

FUNCTIONS: tuple[FunctionRow, ...] = (
    ELEMENTARY + REDUCTIONS + SMOOTH + CONSTRUCTORS + LINEAR_ALGEBRA + LISTS
)

OPERATORS: dict[str, FunctionRow] = {
    "divide": FunctionRow("divide(a: real, b: real) -> real", "a / b", divisor="b"),
    "power": FunctionRow("power(a: real, b: real) -> real", "a ^ b"),
    "multiply": FunctionRow("multiply(a: num, b: num) -> num", "a * b"),
    "add": FunctionRow("add(a: num, b: num) -> num", "a + b"),
    "subtract": FunctionRow("subtract(a: num, b: num) -> num", "a - b"),
}
"""What the signs of the language mean."""

INVERTED = (
    *("exp", "expm1", "sqrt", "logistic", "Phi", "tanh", "erf", "erfc", "softplus"),
    *("atan", "asin", "acos"),
)
"""Of which the inverse has ends, and is infinite beyond: `inverse_exp`, ..."""
INSIDE = (
    FunctionRow("interval_masses(levels: real[K]) -> simplex[K+1]", "of the sides of cuts"),
    FunctionRow("sampled_masses(levels: real[K]) -> simplex[K+1]", "of sides that are drawn"),
    FunctionRow("interval_level(levels: real[K], side: index[S], noise: unit) -> unit", "within"),
    FunctionRow("is_above(levels: real[K], side: index[S], cut: count) -> bool", "of a side"),
    FunctionRow("is_true_above(is_above: bool, slope: real) -> bool", "whichever way it slopes"),
    FunctionRow("threshold(difference: real, slope: real) -> real", "where a line crosses"),
    FunctionRow("inverse_power(x: real, exponent: real) -> real", "of a power"),
    FunctionRow("inverse_positive_power(x: real, exponent: real) -> real", "of a base above 0"),
    *(FunctionRow(f"inverse_{f}(x: real) -> real", f"of {f}") for f in INVERTED),
    FunctionRow("guarded(is_taken: bool, x: real) -> real", "x, a constant where it is not taken"),
)
"""Functions that rewrites use and programs cannot name."""

_ADDED: list[FunctionRow] = []


def all_functions() -> tuple[FunctionRow, ...]:
    """The rows of the language, and those that were added from outside."""
    return FUNCTIONS + tuple(_ADDED)


@cache
def functions_by_name() -> dict[str, tuple[FunctionRow, ...]]:
    """Rows of one name are alternatives, tried in order."""
    table: dict[str, tuple[FunctionRow, ...]] = {}
    for row in all_functions():
        table[row.name] = (*table.get(row.name, ()), row)
    return table


@cache
def functions_by_text() -> dict[str, FunctionRow]:
    return {row.text: row for row in (*all_functions(), *INSIDE)}


def add_row(row: FunctionRow) -> None:
    """One more function, in this process."""
    _ADDED.append(row)
    functions_by_name.cache_clear()
    functions_by_text.cache_clear()


def remove_function(name: str) -> bool:
    """Whether there was such a function from outside, which is now gone."""
    gone = [row for row in _ADDED if row.name == name]
    for row in gone:
        _ADDED.remove(row)
    functions_by_name.cache_clear()
    functions_by_text.cache_clear()
    return bool(gone)

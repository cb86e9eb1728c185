"""The functions of the language: one row each, no code. Adding a row is adding a function to the
checker.

Rows of one name differ in the number or the rank of their arguments, or take whole numbers first.
They never differ in bounds alone: what is only known as real may be positive, so the first row
would take it.
"""

from collections.abc import Callable
from functools import cache
from keyword import iskeyword
from typing import Any

from .functions_arrays import CONSTRUCTORS, LINEAR_ALGEBRA, LISTS, REDUCTIONS
from .functions_elementary import ELEMENTARY
from .functions_smooth import SMOOTH
from .notation import parse_signature
from .rows import FunctionRow

__all__ = [
    "FUNCTIONS",
    "FunctionRow",
    "add_function",
    "all_functions",
    "functions_by_name",
    "functions_by_text",
]

FUNCTIONS: tuple[FunctionRow, ...] = (
    ELEMENTARY + REDUCTIONS + SMOOTH + CONSTRUCTORS + LINEAR_ALGEBRA + LISTS
)


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
    return {row.text: row for row in all_functions()}


def add_function(
    signature: str,
    jax: Callable[..., Any],
    numpy: Callable[..., Any] | None = None,
    doc: str = "",
    jumps: str = "",
    kinks: str = "",
) -> None:
    """A function that files may call from now on, in this process.

    `jax` computes it, elementwise where the signature has numbers alone; `numpy` does for answers
    that need no compilation. `jumps` and `kinks` name the arguments in which the value, or its
    derivative, jumps. A printed program imports `jax` from where it is defined.
    """
    name = parse_signature(signature).name
    if name in functions_by_name():
        raise ValueError(f"there is a function `{name}` already")
    from .bodies.source import helpers

    if name in helpers() or not name.isidentifier() or iskeyword(name):
        raise ValueError(f"a function cannot be called `{name}`: choose another name")
    _ADDED.append(
        FunctionRow(signature, doc or f"added from Python: {name}", jax, numpy, jumps, kinks)
    )
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

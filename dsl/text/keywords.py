"""The words of the language, read from the grammar, and names that must not be taken for them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

GRAMMAR = Path(__file__).with_name("grammar.lark")
EXPRESSION_WORDS = frozenset({"if", "loop", "not", "true", "false", "table"})
"""What an expression can start with. Where only one is possible the others are free: max(a, b)."""

CONSTANTS = frozenset({"true", "false", "_"})
WORD_OPERATORS = frozenset({"and", "or", "not", "in"})
DECLARATIONS = frozenset(
    {"model", "import", "as", "dim", "data", "observed", "param", "latent", "fn", "extern"}
)

_KEYWORD = re.compile(r"^[A-Z]+\.2: /(\w+)\\b/$", re.MULTILINE)
_REDUCER = re.compile(r"^(?:REDUCER|QUANTIFIER)\.3: /\(([\w|]+)\)", re.MULTILINE)
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


@cache
def keywords() -> frozenset[str]:
    return frozenset(_KEYWORD.findall(grammar_text()))


@cache
def reducers() -> frozenset[str]:
    """Words only before a binder: `sum[i in D] e` is a reduction, `sum` and `sum[i]` are names."""
    return frozenset(
        word for words in _REDUCER.findall(grammar_text()) for word in words.split("|")
    )


@cache
def grammar_text() -> str:
    return GRAMMAR.read_text(encoding="utf-8")


def quote_name(name: str, *, reserved: frozenset[str] | None = None) -> str:
    """The name as a program writes it: between backquotes when it is no identifier, or a reserved
    word.

    Reserved are all keywords, unless the caller knows that fewer are in its place.
    """
    if not name or "`" in name or "\n" in name:
        raise ValueError(
            f"{name!r} cannot be a name: it is empty, or holds a backquote or a newline"
        )
    words = keywords() if reserved is None else reserved
    return name if _IDENTIFIER.fullmatch(name) and name not in words else f"`{name}`"

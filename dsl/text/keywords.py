"""The words of the language, read from its grammar, and names that must not be taken for them."""

import re
from functools import cache

from .tables import grammar_text, tables

CONSTANTS = frozenset({"true", "false", "_"})
WORD_OPERATORS = frozenset({"and", "or", "not", "in"})

_IDENTIFIER = re.compile(r"[^\W\d]\w*")


@cache
def keywords() -> frozenset[str]:
    return frozenset(tables().words)


@cache
def reducers() -> frozenset[str]:
    """Words only before a binder: `sum[i in D] e` is a reduction, `sum` and `sum[i]` are names."""
    patterns = dict(tables().terminals)
    heads = [patterns[name].partition(")")[0] for name in ("REDUCER", "QUANTIFIER")]
    return frozenset(word for head in heads for word in head.strip("(").split("|"))


@cache
def statement_words() -> frozenset[str]:
    """The words that a statement can start with."""
    return _words_in(tables().start)


@cache
def expression_words() -> frozenset[str]:
    """What an expression can start with. Where one must stand the others are free: max(a, b)."""
    shifts = (state.get("TILDE", -1) for state in tables().states)
    return _words_in(next(after for after in shifts if after > 0))


@cache
def roles() -> frozenset[str]:
    """The words that are the rule `role`: after them the table has nothing but to reduce it."""
    found = tables()
    roles = {~i for i, (name, *_) in enumerate(found.rules) if name == "role"}
    after = {word: found.states[found.start][found.words[word]] for word in statement_words()}
    return frozenset(word for word, i in after.items() if roles >= {*found.states[i].values()})


@cache
def declaration_words() -> frozenset[str]:
    """The words in the grammar's section of declarations."""
    section = grammar_text().partition("// ---- declarations")[2].partition("// ----")[0]
    names = set(re.findall(r"[A-Z]+", section))
    return frozenset(word for word, name in tables().words.items() if name in names)


def _words_in(state: int) -> frozenset[str]:
    allowed = tables().states[state]
    return frozenset(word for word, name in tables().words.items() if name in allowed)


def quote_name(name: str, *, reserved: frozenset[str] | None = None) -> str:
    """Between backquotes if it is no identifier, or `reserved`, as by default all keywords are."""
    if not name or "`" in name or "\n" in name:
        problem = "it is empty, or holds a backquote or a newline"
        raise ValueError(f"{name!r} cannot be a name: {problem}")
    words = keywords() if reserved is None else reserved
    return name if _IDENTIFIER.fullmatch(name) and name not in words else f"`{name}`"

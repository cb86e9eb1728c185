"""What Lark makes of grammar.lark, as plain data: the words to tell apart, and the table of its LALR(1) automaton.

Lark reads and analyses the grammar; its findings are kept in the user's cache, so that most runs need not import
Lark at all. The cache holds numbers and strings only: reading it runs no code.
"""

from __future__ import annotations

import marshal
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from .files import write_whole
from .keywords import grammar_text
from .record import Record

LARK_OPTIONS = {"parser": "lalr", "keep_all_tokens": True, "maybe_placeholders": False}
FORMAT = 1
Rule = tuple[str, str | None, tuple[bool, ...]]


class Tables(Record):
    """A state maps terminals to what to do, the next state or ~rule, and the names of rules to the next state.

    `terminals` are (name, regular expression) in the order in which they are tried. A rule is (name, callback,
    inlined), the last telling for each of its symbols whether it gives a list that joins the rule's children. The
    callback is empty when the value is the list of children, and None when it is that of the only child.
    """

    terminals: list[tuple[str, str]]
    ignored: list[str]
    states: list[dict[str, int]]
    rules: list[Rule]
    start: int
    end: int


@cache
def tables() -> Tables:
    grammar = grammar_text()
    path = _cache_file()
    found = _read(path, grammar) if path else None
    if found is None:
        found = analyse(grammar)
        if path:
            _write(path, grammar, found)
    return found


# ---- the cache


def cache_folder() -> Path:
    """Where this user's caches live; never the shared temporary directory, where others could write."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "dpc"


def _cache_file() -> Path | None:
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):
        return None
    return folder / f"grammar-{sys.implementation.cache_tag}.tables"


def _read(path: Path, grammar: str) -> Tables | None:
    try:
        made_for, *content = marshal.loads(path.read_bytes())
        return Tables(*content) if made_for == (FORMAT, grammar) else None
    except (OSError, EOFError, ValueError, TypeError):
        return None


def _write(path: Path, grammar: str, found: Tables) -> None:
    content = ((FORMAT, grammar), *(getattr(found, name) for name in found.fields))
    try:
        write_whole(path, marshal.dumps(content))
    except OSError:
        return


# ---- the analysis, by Lark


def analyse(grammar: str) -> Tables:
    from lark import Lark

    lark = Lark(grammar, **LARK_OPTIONS)
    automaton = lark.parse_interactive("").parser_state.parse_conf.parse_table
    rules = list(
        dict.fromkeys(arg for row in automaton.states.values() for _, arg in row.values() if not _is_state(arg))
    )
    number = {rule: ~i for i, rule in enumerate(rules)}
    states = [
        {symbol: arg if _is_state(arg) else number[arg] for symbol, (_, arg) in automaton.states[i].items()}
        for i in range(len(automaton.states))
    ]
    terminals = sorted(lark.terminals, key=_first_tried)
    return Tables(
        [(terminal.name, terminal.pattern.to_regexp()) for terminal in terminals],
        list(lark.ignore_tokens),
        states,
        [_rule(rule) for rule in rules],
        automaton.start_states["start"],
        automaton.end_states["start"],
    )


def _is_state(argument: Any) -> bool:
    return isinstance(argument, int)


def _first_tried(terminal: Any) -> tuple[int, int, int, str]:
    """The order of Lark's own lexer: by priority, then the longest."""
    pattern = terminal.pattern
    return -terminal.priority, -pattern.max_width, -len(pattern.value), terminal.name


def _rule(rule: Any) -> Rule:
    name = str(rule.origin.name)
    inlined = tuple(not symbol.is_term and symbol.name.startswith("_") for symbol in rule.expansion)
    passes_on = rule.options.expand1 and not rule.alias and inlined == (False,)
    callback = None if passes_on else "" if name.startswith("_") else str(rule.alias or name)
    return name, callback, inlined

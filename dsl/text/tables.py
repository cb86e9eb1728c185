"""What Lark makes of grammar.lark, as plain data: its terminals, and its LALR(1) table.

`python -m dpc.dsl.text.tables` writes Lark's findings to grammar.json, which is shipped beside the
grammar: no run needs Lark, none writes to the user's folders, and reading the file runs no code. A
test keeps it fresh.
"""

import json
import re
from functools import cache, cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

from ..record import Record

GRAMMAR = Path(__file__).with_name("grammar.lark")
TABLES = Path(__file__).with_name("grammar.json")
LARK_OPTIONS = {"parser": "lalr", "keep_all_tokens": True, "maybe_placeholders": False}
Rule = tuple[str, str | None, tuple[bool, ...]]


class ParseTables(Record):
    """A state maps terminals to what to do, the next state or ~rule, and the names of rules to the
    next state.

    `terminals` are (name, regular expression) in the order in which they are tried. A rule is
    (name, callback, inlined), the last telling for each of its symbols whether it gives a list that
    joins the rule's children. The callback is empty when the value is the list of children, and
    None when it is that of the only child.
    """

    terminals: list[tuple[str, str]]
    ignored: list[str]
    states: list[dict[str, int]]
    rules: list[Rule]
    start: int
    end: int

    @cached_property
    def words(self) -> dict[str, str]:
        """The terminals that are one word, such as /model\\b/, by their words."""
        found = ((name, re.fullmatch(r"(\w+)\\b", regexp)) for name, regexp in self.terminals)
        return {match[1]: name for name, match in found if match}


@cache
def grammar_text() -> str:
    return GRAMMAR.read_text(encoding="utf-8")


@cache
def tables() -> ParseTables:
    """As shipped; made anew, and not kept, where somebody has just changed the grammar."""
    grammar = grammar_text()
    content = json.loads(TABLES.read_text(encoding="utf-8"))
    if content.pop("grammar") != grammar:
        return analyse(grammar)
    # JSON has no tuples.
    content["terminals"] = [(name, regexp) for name, regexp in content["terminals"]]
    content["rules"] = [(name, make, tuple(inlined)) for name, make, inlined in content["rules"]]
    return ParseTables(**content)


def emit_json(grammar: str) -> str:
    """The file that is shipped: one line for each table, and the grammar it was made for."""
    found = analyse(grammar)
    content = {"grammar": grammar} | {name: getattr(found, name) for name in found.fields}
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def analyse(grammar: str) -> ParseTables:
    from lark import Lark

    lark = Lark(grammar, **LARK_OPTIONS)
    automaton = lark.parse_interactive("").parser_state.parse_conf.parse_table
    # States numbered as reached from the start: Lark's own numbers change with the hash seed.
    order = {automaton.start_states["start"]: 0}
    waiting = [automaton.start_states["start"]]
    for state in waiting:
        for _, (_, following) in sorted(automaton.states[state].items(), key=itemgetter(0)):
            if isinstance(following, int) and following not in order:
                order[following] = len(order)
                waiting.append(following)
    found = {arg for row in automaton.states.values() for _, arg in row.values()}
    rules = sorted((arg for arg in found if not isinstance(arg, int)), key=_rule_key)
    number = {rule: ~i for i, rule in enumerate(rules)}
    states = [
        {
            symbol: order[arg] if isinstance(arg, int) else number[arg]
            for symbol, (_, arg) in sorted(automaton.states[state].items(), key=itemgetter(0))
        }
        for state in order
    ]
    terminals = sorted(lark.terminals, key=_first_tried)
    return ParseTables(
        [(terminal.name, terminal.pattern.to_regexp()) for terminal in terminals],
        sorted(lark.ignore_tokens),
        states,
        [_rule(rule) for rule in rules],
        order[automaton.start_states["start"]],
        order[automaton.end_states["start"]],
    )


def _rule_key(rule: Any) -> tuple[str, list[str], str]:
    return rule.origin.name, [symbol.name for symbol in rule.expansion], rule.alias or ""


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


if __name__ == "__main__":
    TABLES.write_text(emit_json(grammar_text()), encoding="utf-8")

"""The LALR(1) automaton: shift a token or reduce a rule by the table until one value is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..source import Span
from .tables import Tables
from .tokens import Lexicon, Reader, Token, Unexpected

MANY = 10_000
Reduction = tuple[str, int, Callable[[list[Any]], Any] | None]


class Automaton:
    """Calls the `builder` method with a rule's name on all its children, tokens too, bottom up."""

    def __init__(self, tables: Tables, builder: object):
        self.tables = tables
        self.lexicon = Lexicon(tables)
        self.reductions: list[Reduction] = [
            (name, len(inlined), _maker(callback, inlined, builder))
            for name, callback, inlined in tables.rules
        ]

    def parse(self, text: str, span: Span) -> tuple[Any, list[Token]]:
        """The value of the text in this span, and its comments; raises Unexpected or TooDeep."""
        reader = Reader(self.lexicon, text, span)
        states, reductions = self.tables.states, self.reductions
        path = [self.tables.start]
        values: list[Any] = []
        while True:
            state = states[path[-1]]
            token = reader.next(state)
            type_ = token.type
            while (action := state.get(type_)) is not None and action < 0:
                name, length, make = reductions[~action]
                if make is None:
                    path[-1] = states[path[-2]][name]
                else:
                    children = values[len(values) - length :]
                    if length:
                        del values[-length:], path[-length:]
                    values.append(make(children))
                    path.append(states[path[-1]][name])
                state = states[path[-1]]
            if action is None:
                if type_ == "$END" and path[-1] == self.tables.end:
                    return values[-1], reader.comments
                raise Unexpected(token, self._allowed(path, span))
            path.append(action)
            values.append(token)

    def _allowed(self, path: list[int], span: Span) -> frozenset[str]:
        """The terminals that can really follow: a table may reduce before it finds that a token
        cannot stand there.

        Each is tried on a copy of the path, which is too slow for a huge statement.
        """
        candidates = [symbol for symbol in self.tables.states[path[-1]] if symbol.isupper()]
        if span.end - span.start > MANY:
            return frozenset(candidates)
        return frozenset(symbol for symbol in candidates if self._accepts(list(path), symbol))

    def _accepts(self, path: list[int], symbol: str) -> bool:
        states = self.tables.states
        while (action := states[path[-1]].get(symbol)) is not None:
            if action >= 0:
                return True
            name, length, _ = self.reductions[~action]
            del path[len(path) - length :]
            path.append(states[path[-1]][name])
            if path[-1] == self.tables.end:
                return symbol == "$END"
        return False


def _maker(
    callback: str | None, inlined: tuple[bool, ...], builder: object
) -> Callable[[list[Any]], Any] | None:
    """What makes a rule's value of its children; None when it is that of the only child."""
    if callback is None:
        return None
    build = getattr(builder, callback) if callback else _itself
    return (lambda children: build(_joined(children, inlined))) if any(inlined) else build


def _itself(children: list[Any]) -> list[Any]:
    return children


def _joined(children: list[Any], inlined: tuple[bool, ...]) -> list[Any]:
    """The children with inlined lists joined in, a leading one in place: long lists are linear."""
    first, *rest = zip(children, inlined, strict=True)
    found: list[Any] = first[0] if first[1] else [first[0]]
    for child, joins in rest:
        if joins:
            found += child
        else:
            found.append(child)
    return found

"""The LALR(1) automaton: shift a token or reduce a rule by the table until one value is left.

Tokens are read one at a time, because what a word is depends on what may stand there: `max` can be
a name.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..limits import MAX_DEPTH
from ..source import Span
from .tables import ParseTables

MANY = 10_000
OPENING = frozenset({"LPAR", "LBRACKET", "LBRACE"})
CLOSING = frozenset({"RPAR", "RBRACKET", "RBRACE"})
UNFINISHED = frozenset(
    {"EQUALS", "DEFINE", "TILDE", "PLUS", "MINUS", "STAR", "SLASH", "AT", "CARET", "COMPARE"}
    | {"AND", "OR", "NOT", "THEN", "ELSE", "DO"}
)
"""After these a statement goes on in the next line."""
GOES_ON = re.compile(r"[ \t]*(?:(?:then|else|with|and|or)\b|[-+*/^@])")
"""With these a line goes on with the statement before it: none starts with one."""
Make = Callable[[list[Any]], Any]
Reduction = tuple[str, int, Make | None]


class Token(NamedTuple):
    type: str
    text: str
    start: int
    end: int

    def __str__(self) -> str:
        return self.text

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


class Unexpected(Exception):
    """Where reading stopped: at a token, or a character that starts none, and what was allowed."""

    def __init__(self, token: Token, allowed: frozenset[str]):
        self.token = token
        self.allowed = allowed
        super().__init__(token.text, sorted(allowed))


class TooDeep(Exception):
    """More brackets are open at this token than a program may have."""

    def __init__(self, token: Token):
        self.span = token.span
        super().__init__(token.text)


class Lexicon:
    """The terminals. Words such as /model\\b/ are found by looking up a name."""

    def __init__(self, tables: ParseTables):
        self.patterns = dict(tables.terminals)
        self.ignored = frozenset(tables.ignored)
        self.words = tables.words
        others = [pair for pair in tables.terminals if pair[0] not in self.words.values()]
        self.any = re.compile("|".join(f"(?P<{name}>{regexp})" for name, regexp in others))

    def next(self, text: str, start: int, end: int, allowed: Iterable[str]) -> Token | None:
        """The first terminal by priority among those allowed; any other when none matches."""
        found = self.any.match(text, start, end)
        if not found or not (type_ := found.lastgroup):
            return None
        content = found[0]
        if type_ == "NAME":
            type_ = self.words.get(content, type_)
        if type_ in allowed or type_ in self.ignored:
            return Token(type_, content, start, found.end())
        for name, pattern in self.patterns.items():
            if name in allowed and (found := re.compile(pattern).match(text, start, end)):
                return Token(name, found[0], start, found.end())
        return Token(type_, content, start, start + len(content))


class Reader:
    """Drops newlines inside ( ) and [ ] and where no statement ends; supplies the one missing
    before } and at the end.
    """

    always_allowed = frozenset({"NEWLINE", "RBRACE"})

    def __init__(self, lexicon: Lexicon, text: str, span: Span):
        self.lexicon = lexicon
        self.text = text
        self.position, self.end = span
        self.comments: list[Token] = []
        self.waiting: Token | None = None
        self._open: list[str] = []
        self._ended = False
        self._empty = True
        self._before = ""

    def next(self, allowed: dict[str, int]) -> Token:
        if self.waiting:
            token, self.waiting = self.waiting, None
            return token
        while self.position < self.end:
            found = self.lexicon.next(self.text, self.position, self.end, allowed)
            if found is None:
                character = Token("", self.text[self.position], self.position, self.position + 1)
                terminals = frozenset(symbol for symbol in allowed if symbol.isupper())
                raise Unexpected(character, terminals | self.always_allowed)
            token, type_ = found, found.type
            self.position = token.end
            self._empty = False
            if type_ == "COMMENT":
                self.comments.append(token)
            elif type_ == "NEWLINE":
                if self._ends_a_statement():
                    return token
            elif type_ not in self.lexicon.ignored:
                self._before = type_
                return self._bracket(token) if type_ in OPENING or type_ in CLOSING else token
        if self._ended or self._empty:
            return Token("$END", "", self.end, self.end)
        self._ended = True
        return Token("NEWLINE", "", self.end, self.end)

    def _ends_a_statement(self) -> bool:
        is_inside = bool(self._open) and self._open[-1] != "LBRACE"
        goes_on = GOES_ON.match(self.text, self.position, self.end)
        return not (is_inside or self._before in UNFINISHED or goes_on)

    def _bracket(self, token: Token) -> Token:
        if token.type in OPENING:
            self._open.append(token.type)
            if len(self._open) > MAX_DEPTH:
                raise TooDeep(token)
            return token
        if self._open:
            self._open.pop()
        if token.type != "RBRACE":
            return token
        self.waiting = token
        return Token("NEWLINE", "", token.start, token.start)


class Automaton:
    """Calls what `maker` gives for a rule on all its children, tokens too, bottom up."""

    def __init__(self, tables: ParseTables, maker: Callable[[str], Make]):
        self.tables = tables
        self.lexicon = Lexicon(tables)
        self.reductions: list[Reduction] = [
            (name, len(inlined), _make(callback, inlined, maker))
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
        """The terminals that can really follow: a table may reduce before it finds that none can.

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


def _make(
    callback: str | None, inlined: tuple[bool, ...], maker: Callable[[str], Make]
) -> Make | None:
    """What makes a rule's value of its children; None when it is that of the only child."""
    if callback is None:
        return None
    build = maker(callback) if callback else _itself
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

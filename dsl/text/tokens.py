"""From text to tokens, one at a time: what a word is depends on what may stand there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from ..limits import MAX_DEPTH
from ..source import Span
from .tables import Tables

OPENING = frozenset({"LPAR", "LBRACKET", "LBRACE"})
CLOSING = frozenset({"RPAR", "RBRACKET", "RBRACE"})
_KEYWORD = re.compile(r"(\w+)\\b")


class Token:
    __slots__ = ("end", "start", "text", "type")

    def __init__(self, type_: str, text: str, start: int, end: int):
        self.type = type_
        self.text = text
        self.start = start
        self.end = end

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

    def __init__(self, tables: Tables):
        self.patterns = dict(tables.terminals)
        self.ignored = frozenset(tables.ignored)
        self.words = {
            found[1]: name
            for name, regexp in tables.terminals
            if (found := _KEYWORD.fullmatch(regexp))
        }
        self._compiled: dict[str, re.Pattern[str]] = {}

    @cached_property
    def any(self) -> re.Pattern[str]:
        words = set(self.words.values())
        return re.compile(
            "|".join(
                f"(?P<{name}>{regexp})"
                for name, regexp in self.patterns.items()
                if name not in words
            )
        )

    def only(self, name: str) -> re.Pattern[str]:
        found = self._compiled.get(name)
        if found is None:
            found = self._compiled[name] = re.compile(self.patterns[name])
        return found

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
        for name in self.patterns:
            if name in allowed and (found := self.only(name).match(text, start, end)):
                return Token(name, found[0], start, found.end())
        return Token(type_, content, start, start + len(content))


class Reader:
    """Drops newlines inside ( ) and [ ]; supplies the one missing before } and at the end."""

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

    def next(self, allowed: dict[str, int]) -> Token:
        if self.waiting:
            token, self.waiting = self.waiting, None
            return token
        while self.position < self.end:
            token = self._scan(allowed)
            type_ = token.type
            if type_ == "COMMENT":
                self.comments.append(token)
            elif type_ == "NEWLINE":
                if not self._open or self._open[-1] == "LBRACE":
                    return token
            elif type_ not in self.lexicon.ignored:
                return self._bracket(token) if type_ in OPENING or type_ in CLOSING else token
        return self._at_end()

    def _scan(self, allowed: dict[str, int]) -> Token:
        found = self.lexicon.next(self.text, self.position, self.end, allowed)
        if found is None:
            character = Token("", self.text[self.position], self.position, self.position + 1)
            raise Unexpected(character, _terminals(allowed) | self.always_allowed)
        self.position = found.end
        self._empty = False
        return found

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

    def _at_end(self) -> Token:
        if self._ended or self._empty:
            return Token("$END", "", self.end, self.end)
        self._ended = True
        return Token("NEWLINE", "", self.end, self.end)


def _terminals(state: dict[str, int]) -> frozenset[str]:
    return frozenset(symbol for symbol in state if symbol.isupper())

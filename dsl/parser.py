"""From text to syntax tree. A file with mistakes still gives a tree of the statements that could be read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lark import Lark, TextSlice, Token, UnexpectedInput

from .diagnostics import Diagnostic
from .limits import MAX_DEPTH, MAX_ERRORS, MAX_SOURCE
from .recovery import split_statements
from .source import Source, Span
from .syntax import BrokenStmt, Comment, Node, Program, Statement
from .syntax_errors import describe_syntax_error
from .tree import TreeBuilder, span_of

GRAMMAR = Path(__file__).with_name("grammar.lark")
LARK_OPTIONS = {"parser": "lalr", "keep_all_tokens": True, "maybe_placeholders": False}


class TooDeep(Exception):
    """More brackets are open at this token than a program may have."""

    def __init__(self, token: Token):
        self.span = span_of(token)
        super().__init__(token)


class NewlineFilter:
    """Drops newlines inside ( ) and [ ], and supplies the one that may be missing before } and at the end."""

    always_accept = ("NEWLINE", "RBRACE")

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        open_brackets: list[str] = []
        last = None
        for token in stream:
            if token.type == "NEWLINE" and open_brackets and open_brackets[-1] != "LBRACE":
                continue
            if token.type in ("LPAR", "LBRACKET", "LBRACE"):
                open_brackets.append(token.type)
                if len(open_brackets) > MAX_DEPTH:
                    raise TooDeep(token)
            elif token.type in ("RPAR", "RBRACKET", "RBRACE"):
                if token.type == "RBRACE":
                    yield Token.new_borrow_pos("NEWLINE", "", token)
                if open_brackets:
                    open_brackets.pop()
            yield token
            last = token
        if last:
            yield Token("NEWLINE", "", last.end_pos, last.end_line, last.end_column, last.end_line, None, last.end_pos)


def cache_folder() -> Path:
    """Where this user's caches live; never the shared temporary directory, because the cache is unpickled."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "dpc"


def _cache_file() -> str | bool:
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):
        return False
    return str(folder / f"grammar-{sys.version_info.major}.{sys.version_info.minor}.lark")


class _Parser:
    def __init__(self) -> None:
        self.comments: list[Token] = []
        self._lark = Lark(
            GRAMMAR.read_text(encoding="utf-8"),
            **LARK_OPTIONS,
            cache=_cache_file(),
            postlex=NewlineFilter(),
            transformer=TreeBuilder(),
            lexer_callbacks={"COMMENT": self._keep_comment},
        )

    def _keep_comment(self, token: Token) -> Token:
        self.comments.append(token)
        return token

    def parse(self, text: str, span: Span) -> tuple[Statement, ...]:
        self.comments.clear()
        statements: tuple[Statement, ...] = self._lark.parse(TextSlice(text, span.start, span.end))  # type: ignore[assignment]
        return statements


@cache
def _parser() -> _Parser:
    return _Parser()


def parse_program(source: Source) -> tuple[Program, list[Diagnostic]]:
    if len(source.text) > MAX_SOURCE:
        return Program(source, ()), [_too_large(source)]
    whole = Span(0, len(source.text))
    try:
        statements = _parser().parse(source.text, whole)
    except UnexpectedInput:
        return _parse_by_statement(source)
    except TooDeep as error:
        return Program(source, ()), [_too_deep(source, error.span)]
    deep = [s for s in statements if _depth_exceeds(s, MAX_DEPTH)]
    return (
        (Program(source, ()), [_too_deep(source, deep[0].span)])
        if deep
        else (Program(source, statements, _comments()), [])
    )


def _parse_by_statement(source: Source) -> tuple[Program, list[Diagnostic]]:
    statements: list[Statement] = []
    comments: list[Comment] = []
    found: list[Diagnostic] = []
    for chunk in split_statements(source.text):
        try:
            parsed = _parser().parse(source.text, chunk.span)
            comments += _comments()
            if any(_depth_exceeds(s, MAX_DEPTH) for s in parsed):
                found.append(_too_deep(source, parsed[0].span))
            else:
                statements += parsed
        except UnexpectedInput as error:
            found.append(describe_syntax_error(error, source, chunk.span))
            statements.append(BrokenStmt(chunk.span, chunk.name))
        except TooDeep as error:
            found.append(_too_deep(source, error.span))
        if len(found) == MAX_ERRORS:
            break
    return Program(source, tuple(statements), tuple(comments)), found


def _comments() -> tuple[Comment, ...]:
    return tuple(Comment(span_of(token), str(token).rstrip()) for token in _parser().comments)


def _depth_exceeds(node: Node, limit: int) -> bool:
    """Walks level by level, never recursing, because the tree may be deeper than Python's stack.

    Every two levels take at least one character, so a short statement needs no walk.
    """
    if 2 * (node.span.end - node.span.start) < limit:
        return False
    level: list[Node] = [node]
    for _ in range(limit):
        level = [child for parent in level for child in children(parent)]
        if not level:
            return False
    return True


def children(node: Node) -> Iterator[Node]:
    content = node.__dict__
    for name in node.branches:
        value = content[name]
        if type(value) is tuple:
            yield from value
        elif value is not None:
            yield value


def _too_deep(source: Source, span: Span) -> Diagnostic:
    return Diagnostic(
        "E0007",
        f"this statement is nested more than {MAX_DEPTH} levels deep",
        source,
        Span(span.start, span.start + 1),
        help="give the inner parts names of their own, or use `sum[...]` for a long sum",
    )


def _too_large(source: Source) -> Diagnostic:
    return Diagnostic(
        "E0006",
        f"the file is {len(source.text):,} characters long; a model may have {MAX_SOURCE:,}",
        source,
        Span(0, 0),
        help="large tables belong in a data file: declare them with `data name[Dim, ...] : real`",
    )

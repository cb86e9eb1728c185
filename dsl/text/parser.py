"""From text to syntax tree. A file with mistakes gives a tree of the statements that are right."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from ..diagnostics import Diagnostic
from ..limits import MAX_DEPTH, MAX_ERRORS, MAX_SOURCE
from ..source import Source, Span
from .lalr import Automaton
from .recovery import split_statements
from .syntax import BrokenStmt, Comment, Node, Program, Statement
from .syntax_errors import describe_syntax_error
from .tables import tables
from .tokens import TooDeep, Unexpected
from .tree import TreeBuilder


@cache
def _automaton() -> Automaton:
    return Automaton(tables(), TreeBuilder())


def _parse(text: str, span: Span) -> tuple[tuple[Statement, ...], tuple[Comment, ...]]:
    statements, comments = _automaton().parse(text, span)
    return statements, tuple(Comment(token.span, token.text.rstrip()) for token in comments)


def parse_program(source: Source) -> tuple[Program, list[Diagnostic]]:
    if len(source.text) > MAX_SOURCE:
        return Program(source, ()), [_too_large(source)]
    whole = Span(0, len(source.text))
    try:
        statements, comments = _parse(source.text, whole)
    except Unexpected:
        return _parse_by_statement(source)
    except TooDeep as error:
        return Program(source, ()), [_too_deep(source, error.span)]
    deep = [s for s in statements if _depth_exceeds(s, MAX_DEPTH)]
    return (
        (Program(source, ()), [_too_deep(source, deep[0].span)])
        if deep
        else (Program(source, statements, comments), [])
    )


def _parse_by_statement(source: Source) -> tuple[Program, list[Diagnostic]]:
    statements: list[Statement] = []
    comments: list[Comment] = []
    found: list[Diagnostic] = []
    for chunk in split_statements(source.text):
        try:
            parsed, beside = _parse(source.text, chunk.span)
            comments += beside
            if any(_depth_exceeds(s, MAX_DEPTH) for s in parsed):
                found.append(_too_deep(source, parsed[0].span))
            else:
                statements += parsed
        except Unexpected as error:
            found.append(describe_syntax_error(error, source, chunk.span))
            statements.append(BrokenStmt(chunk.span, chunk.name))
        except TooDeep as error:
            found.append(_too_deep(source, error.span))
        if len(found) == MAX_ERRORS:
            break
    return Program(source, tuple(statements), tuple(comments)), found


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
    message = f"this statement is nested more than {MAX_DEPTH} levels deep"
    help = "give the inner parts names of their own, or use `sum[...]` for a long sum"
    return Diagnostic("E0007", message, source, Span(span.start, span.start + 1), help=help)


def _too_large(source: Source) -> Diagnostic:
    message = f"the file is {len(source.text):,} characters long; a model may have {MAX_SOURCE:,}"
    help = "large tables belong in a data file: declare them with `data name[Dim, ...] : real`"
    return Diagnostic("E0006", message, source, Span(0, 0), help=help)

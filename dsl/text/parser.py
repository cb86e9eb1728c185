"""From text to syntax tree. A file with mistakes gives a tree of the statements that are right."""

import re
from collections.abc import Iterator
from functools import cache

from ..diagnostics import Diagnostic
from ..limits import MAX_DEPTH, MAX_ERRORS, MAX_SOURCE
from ..source import Source, Span
from .keywords import statement_words
from .lalr import Automaton, TooDeep, Unexpected
from .syntax import BrokenStmt, Comment, Program, Statement, SyntaxNode
from .syntax_errors import describe_syntax_error
from .tables import tables
from .tree import MAKERS

_NAME = r"(?:[^\W\d]\w*|`[^`\n]+`)"
_DEFINITION_START = re.compile(
    rf"{_NAME}\s*(?:\[[^\]\n]*\])?\s*(?::\s*{_NAME}[^~=\n]*)?(?:~|:=|=(?![=>]))"
)
_ENDS_OPEN = re.compile(r"(?:[-+*/^@,=~<>|]|\b(?:and|or|not|then|else|do|while|with))\s*$")
_STARTS_OPEN = re.compile(r"\s+(?:[-+*/^@,<>=|]|(?:and|or|then|else|with)\b)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_QUIET = re.compile(r"#[^\n]*|\"[^\"\n]*\"|`[^`\n]*`")


@cache
def _automaton() -> Automaton:
    return Automaton(tables(), MAKERS.__getitem__)


def _parse(text: str, span: Span) -> tuple[tuple[Statement, ...], tuple[Comment, ...]]:
    statements, comments = _automaton().parse(text, span)
    return statements, tuple(Comment(token.span, token.text.rstrip()) for token in comments)


def parse_program(source: Source) -> tuple[Program, list[Diagnostic]]:
    if len(source.text) > MAX_SOURCE:
        size = f"{len(source.text):,} characters long"
        message = f"the file is {size}; a model may have {MAX_SOURCE:,}"
        help = "large tables belong in a data file: declare them with `data name[Dim, ...] : real`"
        return Program(source, ()), [Diagnostic("E0006", message, source, Span(0, 0), help=help)]
    whole = Span(0, len(source.text))
    try:
        statements, comments = _parse(source.text, whole)
    except Unexpected:
        return _parse_by_statement(source)
    except TooDeep as error:
        return Program(source, ()), [_too_deep(source, error.span)]
    deep = [s for s in statements if _depth_exceeds(s, MAX_DEPTH)]
    if deep:
        return Program(source, ()), [_too_deep(source, deep[0].span)]
    return Program(source, statements, comments), []


def _parse_by_statement(source: Source) -> tuple[Program, list[Diagnostic]]:
    statements: list[Statement] = []
    comments: list[Comment] = []
    found: list[Diagnostic] = []
    for span in split_statements(source.text):
        try:
            parsed, beside = _parse(source.text, span)
            comments += beside
            if any(_depth_exceeds(s, MAX_DEPTH) for s in parsed):
                found.append(_too_deep(source, parsed[0].span))
            else:
                statements += parsed
        except Unexpected as error:
            found.append(describe_syntax_error(error, source, span))
            statements.append(BrokenStmt(span))
        except TooDeep as error:
            found.append(_too_deep(source, error.span))
        if len(found) == MAX_ERRORS:
            break
    return Program(source, tuple(statements), tuple(comments)), found


def _depth_exceeds(node: SyntaxNode, limit: int) -> bool:
    """Walks level by level, never recursing, because the tree may be deeper than Python's stack.

    Every two levels take at least one character, so a short statement needs no walk.
    """
    if 2 * (node.span.end - node.span.start) < limit:
        return False
    level: list[SyntaxNode] = [node]
    for _ in range(limit):
        level = [child for parent in level for child in children(parent)]
        if not level:
            return False
    return True


def children(node: SyntaxNode) -> Iterator[SyntaxNode]:
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


# ---- where statements start in a text that does not parse: one mistake spoils one statement


def split_statements(text: str) -> Iterator[Span]:
    """A statement starts on a new line outside brackets, or on a line that can only be a start."""
    start = offset = depth = 0
    previous = ""
    for line in _LINE.findall(text):
        # An indented line continues a statement that visibly is not over: one mistake, one report.
        is_open = _ENDS_OPEN.search(_QUIET.sub("", previous)) or _STARTS_OPEN.match(line)
        is_next = depth <= 0 and not (line[:1].isspace() and is_open)
        # Only at the left margin: an indented line may belong to an open block.
        word = re.match(r"\w*", line)
        is_start = (word and word[0] in statement_words()) or _DEFINITION_START.match(line)
        if offset > start and (is_next or is_start):
            yield Span(start, offset)
            start, depth = offset, 0
        code = _QUIET.sub("", line)
        depth += sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))
        offset += len(line)
        previous = line if code.strip() else previous
    yield Span(start, offset)

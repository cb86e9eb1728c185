"""Where statements start in a text that does not parse: one mistake spoils one statement."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..record import Record
from ..source import Span
from .tree import name_text

_NAME = r"(?:[^\W\d]\w*|`[^`\n]+`)"
_KEYWORD_START = re.compile(
    r"(?:model|import|dim|data|observed|param|latent|factor|for|soft|guide|fn|extern|minimize|maximize)\b"
)
_DEFINITION_START = re.compile(
    rf"{_NAME}\s*(?:\[[^\]\n]*\])?\s*(?::\s*{_NAME}[^~=\n]*)?(?:~|:=|=(?![=>]))"
)
_DEFINED_NAME = re.compile(
    rf"(?:(?:dim|data|observed|param|latent|factor|fn|extern\s+fn)\s+)?({_NAME})"
)
_ENDS_OPEN = re.compile(r"(?:[-+*/^@,=~<>|]|\b(?:and|or|not|then|else|do|while|with))\s*$")
_STARTS_OPEN = re.compile(r"\s+(?:[-+*/^@,<>=|]|(?:and|or|then|else|with)\b)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_QUIET = re.compile(r"#[^\n]*|\"[^\"\n]*\"|`[^`\n]*`")


class Chunk(Record):
    span: Span
    name: str | None


def split_statements(text: str) -> Iterator[Chunk]:
    """A statement starts on a new line outside brackets, or on a line that can only be a start."""
    start = offset = depth = 0
    previous = ""
    for line in _LINE.findall(text):
        is_next = depth <= 0 and not _continues(previous, line)
        if offset > start and (is_next or _starts_statement(line)):
            yield from _chunk(text, start, offset)
            start, depth = offset, 0
        depth += _bracket_balance(line)
        offset += len(line)
        previous = line
    yield from _chunk(text, start, offset)


def _starts_statement(line: str) -> bool:
    """Only at the left margin: an indented line may belong to an open block."""
    return bool(_KEYWORD_START.match(line) or _DEFINITION_START.match(line))


def _continues(previous: str, line: str) -> bool:
    """An indented line continues a statement that visibly is not over: one mistake, one report."""
    return line[:1].isspace() and bool(
        _ENDS_OPEN.search(_QUIET.sub("", previous)) or _STARTS_OPEN.match(line)
    )


def _bracket_balance(line: str) -> int:
    code = _QUIET.sub("", line)
    return sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))


def _chunk(text: str, start: int, end: int) -> Iterator[Chunk]:
    content = text[start:end]
    if content.strip():
        found = _DEFINED_NAME.match(content)
        yield Chunk(Span(start, end), name_text(found[1]) if found else None)

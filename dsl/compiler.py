"""The stages in order. Any of them can be printed: `dpc build FILE --dump syntax|typed|graph`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from .check.override import override
from .check.program import Result, check_program
from .check.typed import Typed
from .diagnostics import Diagnostic, DpError
from .limits import MAX_SOURCE
from .parser import parse_program
from .source import Source, Span
from .syntax import Comment

_IGNORE = re.compile(r"#\s*dpc:\s*ignore\[([\w,\s]+)\]")


def read_source(path: str) -> Source:
    """A file as a source; bytes that are not UTF-8 are a DpError that says where."""
    with Path(path).open("rb") as file:
        return decode_source(path, file.read(4 * MAX_SOURCE + 1))


def decode_source(path: str, content: bytes) -> Source:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"not a text file: byte {error.start} is not UTF-8"
        raise DpError(
            [Diagnostic("E0002", message, Source(path, ""), Span(0, 0), help="a model is UTF-8 text")]
        ) from None
    return Source(path, text)


def check_source(source: Source, settings: Mapping[str, object] | None = None) -> Result:
    """From text to typed program, with all that is to be said about it, in the order of the text.

    `settings` are annotations from outside: {"b.grad": "rloo(samples=4)"} is as if `b` had them in the file.
    """
    program, syntax_errors = parse_program(source)
    changed = override(program, settings or {})
    result = check_program(changed.program, read_source, [*syntax_errors, *changed.problems])
    result = _with_estimators(result)
    diagnostics = tuple(map(changed.relocate, result.diagnostics)) if settings else result.diagnostics
    found = _without_ignored(diagnostics, source, program.comments)
    return result.replace(diagnostics=tuple(sorted(found, key=lambda d: (d.source.path != source.path, d.span))))


def _with_estimators(result: Result) -> Result:
    """Whether an objective can be estimated, and its draws differentiated as they say, is known once all of it is."""
    if result.typed is None or result.typed.objective is None or not _has_draws(result.typed):
        return result
    from .build import build_graph
    from .estimate.check import check_estimators

    found = check_estimators(build_graph(result.typed))
    return result.replace(typed=None if found else result.typed, diagnostics=(*result.diagnostics, *found))


def _has_draws(typed: Typed) -> bool:
    return any(definition.kind in ("draw", "latent") for definition in (*typed.definitions, *typed.guide))


def _without_ignored(
    diagnostics: tuple[Diagnostic, ...], source: Source, comments: tuple[Comment, ...]
) -> list[Diagnostic]:
    """`# dpc: ignore[W0101]` silences that warning on its own line, or on the next when it stands alone."""
    ignored: set[tuple[int, str]] = set()
    for comment in comments:
        found = _IGNORE.search(comment.text)
        if found:
            line = source.position(comment.span.start).line
            alone = source.line(line).lstrip().startswith("#")
            ignored |= {(line + alone, code.strip()) for code in found[1].split(",")}
    return [d for d in diagnostics if d.is_error or (_line(d.source, d.span), d.code) not in ignored]


def _line(source: Source, span: Span) -> int:
    return source.position(span.start).line

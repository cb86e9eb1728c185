"""The stages in order. Any of them can be printed: `dpc build FILE --dump syntax|typed|graph`."""

import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from .check.override import override
from .check.program import check_program
from .diagnostics import Diagnostic, DpError
from .graph.build import build_graph
from .graph.dump import show_graph, show_record, show_typed
from .graph.graph import Graph
from .graph.typed import Typed
from .limits import MAX_SOURCE
from .record import Record
from .source import Source, Span
from .text.parser import parse_program
from .text.syntax import Comment

# A character of UTF-8 has at most four bytes.
MOST_BYTES = 4 * MAX_SOURCE + 1
_IGNORE = re.compile(r"#\s*dpc:\s*ignore\[([\w,\s]+)\]")


def read_source(path: str, import_paths: tuple[str, ...] = ()) -> Source:
    """A file as a source; bytes that are not UTF-8 are a DpError that says where."""
    with open(path, "rb") as file:
        return decode_source(path, file, import_paths)


def decode_source(path: str, stream: IO[bytes], import_paths: tuple[str, ...] = ()) -> Source:
    """What is longer than any model is not read to its end; the parser says so."""
    content = stream.read(MOST_BYTES)
    is_cut = len(content) == MOST_BYTES
    try:
        text = content.decode("utf-8-sig", errors="replace" if is_cut else "strict")
    except UnicodeDecodeError as error:
        message = f"not a text file: byte {error.start} is not UTF-8"
        nowhere = Source(path, ""), Span(0, 0)
        problem = Diagnostic("E0002", message, *nowhere, help="a model is UTF-8 text")
        raise DpError([problem]) from None
    return Source(path, text, import_paths)


def read_import(path: str) -> Source:
    """An imported file: an ordinary one, since a device or a pipe may never end, or never begin."""
    # Opening a pipe that nobody writes to would wait.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is not an ordinary file")
        return decode_source(path, file)


Examine = Callable[[Graph], list[Diagnostic]]
"""What else is to be said about a graph, by those who know more than the language."""


class Checked(Record):
    """A program and its diagnostics; `typed` and `graph` are None when there are errors."""

    typed: Typed | None
    graph: Graph | None
    diagnostics: tuple[Diagnostic, ...]
    introduction: str = ""
    """The comment that the file starts with."""


def check_source(
    source: Source, settings: Mapping[str, object] | None = None, examine: Sequence[Examine] = ()
) -> Checked:
    """From text to graph, with all that is to be said about it, in the order of the text.

    `settings` are annotations from outside: {"b.grad": "rloo(samples=4)"} is as if `b` had them in
    the file.
    """
    program, syntax_errors = parse_program(source)
    changed = override(program, settings or {})
    result = check_program(changed.program, read_import, [*syntax_errors, *changed.problems])
    graph = build_graph(result.typed) if result.typed else None
    found = [*result.diagnostics]
    if graph is not None:
        found += [diagnostic for look in examine for diagnostic in look(graph)]
    if settings:
        found = [changed.relocate(diagnostic) for diagnostic in found]
    found = _without_ignored(tuple(found), source, program.comments)
    found.sort(key=lambda d: (d.source.path != source.path, d.span))
    is_right = not any(diagnostic.is_error for diagnostic in found)
    first = program.statements[0].span.start if program.statements else len(source.text)
    comments = [comment for comment in program.comments if comment.span.start < first]
    return Checked(
        typed=result.typed if is_right else None,
        graph=graph if is_right else None,
        diagnostics=tuple(found),
        introduction="\n".join(comment.text.lstrip("# ") for comment in comments),
    )


def _without_ignored(
    diagnostics: tuple[Diagnostic, ...], source: Source, comments: tuple[Comment, ...]
) -> list[Diagnostic]:
    """`# dpc: ignore[W0101]` silences that warning on its line, or on the next if it is alone."""
    ignored: set[tuple[int, str]] = set()
    for comment in comments:
        found = _IGNORE.search(comment.text)
        if found:
            line = source.position(comment.span.start).line
            alone = source.line(line).lstrip().startswith("#")
            ignored |= {(line + alone, code.strip()) for code in found[1].split(",")}
    lines = [d.source.position(d.span.start).line for d in diagnostics]
    pairs = zip(diagnostics, lines, strict=True)
    return [d for d, line in pairs if d.is_error or (line, d.code) not in ignored]


STAGES = ("syntax", "typed", "graph", "code")


def dump_stage(source: Source, stage: str, settings: Mapping[str, object] | None = None) -> str:
    """What a stage makes of a source; raises DpError where the source is wrong."""
    if stage == "syntax":  # as the file has it: annotations from outside come in when it is checked
        program, errors = parse_program(source)
        if errors:
            raise DpError(errors)
        return "\n".join(show_record(statement) for statement in program.statements)
    checked = check_source(source, settings)
    if checked.typed is None or checked.graph is None:
        raise DpError(checked.diagnostics)
    if stage == "typed":
        return show_typed(checked.typed)
    if stage == "graph":
        return show_graph(checked.graph)
    from .lower.emit import emit_module  # needs jax

    return emit_module(checked.graph, checked.introduction)

"""A program and the files it imports, each with the prefix that its names get."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from ..diagnostics import Diagnostic, DpError
from ..record import Record
from ..source import Source, Span
from ..text.parser import parse_program
from ..text.syntax import ImportStmt, Program

Reader = Callable[[str], Source]


UNREAD = "?."


class Module(Record):
    """`aliases` maps names after `as` to the prefixes of their modules, or to UNREAD."""

    prefix: str
    source: Source
    program: Program
    aliases: dict[str, str]


def load_modules(program: Program, read: Reader, report: list[Diagnostic]) -> list[Module]:
    """The program and, depth first, its imports; names of an import `as lib` start with `lib.`."""
    modules: list[Module] = []

    def load(program: Program, prefix: str, importing: tuple[str, ...]) -> None:
        imports = [s for s in program.statements if isinstance(s, ImportStmt)]
        aliases = {i.alias.name: f"{prefix}{i.alias.name}." for i in imports}
        modules.append(Module(prefix, program.source, program, aliases))
        for statement in imports:
            path = _relative_to(program.source.path, statement.path.value)
            source = _read_import(
                read, path, importing, program.source, statement.path.span, report
            )
            if source is None:
                aliases[statement.alias.name] = UNREAD
            else:
                imported, found = parse_program(source)
                report.extend(found)
                load(imported, aliases[statement.alias.name], (*importing, path))

    load(program, "", (program.source.path,))
    return modules


def _relative_to(importer: str, path: str) -> str:
    return str(PurePosixPath(importer).parent / path)


def _read_import(
    read: Reader,
    path: str,
    importing: tuple[str, ...],
    source: Source,
    span: Span,
    report: list[Diagnostic],
) -> Source | None:
    if path in importing:
        chain = " -> ".join((*importing[importing.index(path) :], path))
        report.append(Diagnostic("E0602", "this import closes a circle", source, span, help=chain))
        return None
    try:
        return read(path)
    except (OSError, DpError) as error:
        reason = (
            error.diagnostics[0].message
            if isinstance(error, DpError)
            else error.strerror or str(error)
        )
        message = f"cannot read `{path}`: {reason}"
        help = "paths are relative to the importing file"
        report.append(Diagnostic("E0601", message, source, span, help=help))
        return None

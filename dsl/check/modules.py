"""A program and the files it imports, each with the prefix that its names get."""

from collections.abc import Callable
from pathlib import PurePosixPath

from ..diagnostics import Diagnostic, DpError, Label
from ..record import Record
from ..source import Source, Span
from ..text.parser import parse_program
from ..text.syntax import ImportStmt, Program

SourceReader = Callable[[str], Source]
UNREAD = "?."


class Module(Record):
    """`aliases` maps names after `as` to the prefixes of their modules, or to UNREAD."""

    prefix: str
    source: Source
    program: Program
    aliases: dict[str, str]

    def error(
        self,
        report: list[Diagnostic],
        code: str,
        message: str,
        span: Span,
        help: str = "",
        also: tuple[Label, ...] = (),
    ) -> None:
        report.append(Diagnostic(code, message, self.source, span, "", help, also))


def load_modules(program: Program, read: SourceReader, report: list[Diagnostic]) -> list[Module]:
    """The program and, depth first, its imports; names of an import `as lib` start with `lib.`."""
    modules: list[Module] = []

    def load(program: Program, prefix: str, importing: tuple[str, ...]) -> None:
        imports = [s for s in program.statements if isinstance(s, ImportStmt)]
        aliases = {i.alias.name: f"{prefix}{i.alias.name}." for i in imports}
        module = Module(prefix, program.source, program, aliases)
        modules.append(module)
        for statement in imports:
            path = str(PurePosixPath(program.source.path).parent / statement.path.value)
            source = None
            if path in importing:
                chain = " -> ".join((*importing[importing.index(path) :], path))
                own = "E0602", "this import closes a circle", statement.path.span
                module.error(report, *own, chain)
            else:
                source = read_import(module, path, statement.path.span)
            if source is None:
                aliases[statement.alias.name] = UNREAD
            else:
                imported, found = parse_program(source)
                report.extend(found)
                load(imported, aliases[statement.alias.name], (*importing, path))

    def read_import(importer: Module, path: str, span: Span) -> Source | None:
        try:
            return read(path)
        except DpError as error:
            reason = error.diagnostics[0].message
        except OSError as error:
            reason = error.strerror or str(error)
        help = "paths are relative to the importing file"
        importer.error(report, "E0601", f"cannot read `{path}`: {reason}", span, help)
        return None

    load(program, "", (program.source.path,))
    return modules

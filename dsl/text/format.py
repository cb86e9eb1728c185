"""The formatter: one way to write each program. It proves itself by reading back what it wrote."""

from ..diagnostics import DpError, InternalError
from ..limits import MAX_SOURCE
from ..source import Source
from .formatting.layout import BlockWriter
from .formatting.statements import StatementBuilder
from .keywords import quote_name
from .parser import parse_program
from .syntax import Program

__all__ = ["format_program", "format_source", "quote_name"]


def format_program(program: Program) -> str:
    """The text of a program, with its comments; layout with a meaning is kept from its source."""
    end = len(program.source.text) + 1
    writer = BlockWriter()
    writer.block(StatementBuilder(program).block(None, program.statements, end), 0)
    return writer.result()


def format_source(source: Source) -> str:
    program, diagnostics = parse_program(source)
    if diagnostics:
        raise DpError(diagnostics)
    text = format_program(program)
    _verify_same(program, source.replace(text=text))
    return text


def _verify_same(program: Program, formatted: Source) -> None:
    again, diagnostics = parse_program(formatted)
    if len(formatted.text) > MAX_SOURCE:
        raise DpError(diagnostics)
    if again.statements != program.statements or diagnostics:
        raise InternalError("formatting would change what the program says")
    before, after = ([comment.text for comment in p.comments] for p in (program, again))
    if before != after:
        raise InternalError("formatting would change the comments")

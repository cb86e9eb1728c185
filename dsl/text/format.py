"""The formatter: one way to write each program. It proves itself by reading back what it wrote.

What people align is aligned. A paragraph is a run of statements on one line each, without blank
lines or comment lines between. In it, adjacent statements of one kind align their signs, and all
align their annotations and comments.
"""

from collections.abc import Iterator
from itertools import groupby

from ..diagnostics import DpError, InternalError
from ..limits import MAX_SOURCE
from ..source import Source
from .formatting import writer as w
from .formatting.builder import COMMENT, Element, PartsBuilder
from .formatting.writer import LIMIT, Note, NoteGroup, flat, is_forced, joined
from .keywords import quote_name
from .parser import parse_program
from .syntax import Program

__all__ = ["format_program", "format_source", "quote_name"]

WITH_GAP = 3
ANNOTATIONS_LIMIT = 60


def format_program(program: Program) -> str:
    """The text of a program, with its comments; layout with a meaning is kept from its source."""
    end = len(program.source.text) + 1
    writer = _BlockWriter()
    writer.block(PartsBuilder(program).block(None, program.statements, end), 0)
    return writer.result()


def format_source(source: Source) -> str:
    program, diagnostics = parse_program(source)
    if diagnostics:
        raise DpError(diagnostics)
    text = format_program(program)
    again, diagnostics = parse_program(source.replace(text=text))
    if len(text) > MAX_SOURCE:
        raise DpError(diagnostics)
    if again.statements != program.statements or diagnostics:
        raise InternalError("formatting would change what the program says")
    before, after = ([comment.text for comment in p.comments] for p in (program, again))
    if before != after:
        raise InternalError("formatting would change the comments")
    return text


class _BlockWriter(w.LineWriter):
    def block(self, elements: list[Element], indent: int) -> None:
        for paragraph in _paragraphs(elements, indent):
            self._paragraph(paragraph, indent)

    def _paragraph(self, elements: list[Element], indent: int) -> None:
        group = NoteGroup(is_paragraph=True)
        heads: list[str] = []
        for _, alike in groupby(elements, lambda element: element.kind):
            heads += _heads(list(alike), indent)
        codes = [_code(e, head, indent) for e, head in zip(elements, heads, strict=True)]
        pairs = zip(elements, codes, strict=True)
        annotated = [len(code) for e, code in pairs if e.annotations and code is not None]
        column = max(w.common_column(annotated, w.TAIL_SHIFT) + WITH_GAP, w.COMMENT_COLUMN - indent)
        for element, head, code in zip(elements, heads, codes, strict=True):
            self.newline(indent, element.blank)
            if code is None:
                self._long(element, head, indent)
                continue
            if element.annotations:
                code = code.ljust(max(column, len(code) + WITH_GAP))
            self.text(code + flat(element.annotations))
            self._end_note(element.note, indent, group)

    def _end_note(self, note: str, indent: int, group: NoteGroup | None = None) -> None:
        if note:
            self.note(Note(note, own_line=False), indent, group)

    def _long(self, element: Element, head: str, indent: int) -> None:
        """A statement over several lines; its comment stands behind the last."""
        if head:
            self.text(f"{head} ")
        self.parts(element.cells[-1] if head else joined(element.cells, " "))
        if element.body is not None:
            self.text(" {")
            self._end_note(element.opening_note, indent)
            self.block(element.body, indent + w.INDENT)
            if element.body:
                self.newline(indent)
            self.text("}")
        if element.annotations:
            self.text(" ")
            self.parts(element.annotations)
        self._end_note(element.note, indent)


def _paragraphs(elements: list[Element], indent: int) -> Iterator[list[Element]]:
    """A comment line stands alone; a statement over several lines is the last of its paragraph."""
    paragraph: list[Element] = []
    for element in elements:
        if paragraph and (element.blank or element.kind == COMMENT):
            yield paragraph
            paragraph = []
        paragraph.append(element)
        if element.kind == COMMENT or not _is_short(element, indent):
            yield paragraph
            paragraph = []
    if paragraph:
        yield paragraph


def _is_short(element: Element, indent: int) -> bool:
    """Fits on one line. An annotation may run past the limit: it is not what the line says."""
    if element.body is not None:
        inline = _inline(element)
        return inline is not None and indent + len(inline) <= LIMIT
    if element.kind == COMMENT:
        return True
    code, annotations = joined(element.cells, " "), element.annotations
    fits = indent + len(flat(code)) <= LIMIT and len(flat(annotations)) <= ANNOTATIONS_LIMIT
    return fits and not is_forced([*code, *annotations])


def _inline(element: Element) -> str | None:
    """A block of at most one statement on one line, if it was written so."""
    code = joined(element.cells, " ")
    if is_forced([*code, *element.annotations]):
        return None
    if element.body is None:
        gap = " " * WITH_GAP if element.annotations else ""
        return None if element.note else f"{flat(code)}{gap}{flat(element.annotations)}"
    if len(element.body) > 1 or element.opening_note:
        return None
    if not element.body:
        return f"{flat(code)} {{}}"
    is_inline = element.one_line and element.body[0].kind != COMMENT
    inner = _inline(element.body[0]) if is_inline else None
    return None if inner is None else f"{flat(code)} {{ {inner} }}"


def _heads(elements: list[Element], indent: int) -> list[str]:
    """All cells but the last, padded; empty if there are none, or if they need several lines."""
    simple = []
    for element in elements:
        cells = element.cells[:-1]
        head = [flat(cell) for cell in cells]
        fits = indent + sum(len(text) + 1 for text in head) <= LIMIT
        simple.append(head if fits and not any(map(is_forced, cells)) else [])
    aligned = w.align_cells([[*head, ""] for head in simple if head], w.CELL_SHIFT)
    found = []
    for element, head in zip(elements, simple, strict=True):
        padded = next(aligned).removesuffix(" ") if head else ""
        # Alignment never makes a line too long.
        fits = indent + len(padded) + 1 + len(flat(element.cells[-1])) <= LIMIT
        found.append(padded if fits or not _is_short(element, indent) else " ".join(head))
    return found


def _code(element: Element, head: str, indent: int) -> str | None:
    """The statement without annotations, None if it needs several lines."""
    if not _is_short(element, indent):
        return None
    if element.body is not None:
        return _inline(element)
    last = flat(element.cells[-1])
    return f"{head} {last}" if head else last

"""From elements to lines: what people align is aligned.

A paragraph is a run of statements on one line each, without blank lines or comment lines between.
In it, adjacent statements of one kind align their signs, and all align their annotations and
comments.
"""

from collections.abc import Iterator
from itertools import groupby

from . import writer as w
from .statements import COMMENT, Element
from .writer import LIMIT, Note, Parts, align_cells, flat, measure

WITH_GAP = 3
ANNOTATIONS_LIMIT = 60


class BlockWriter(w.LineWriter):
    def block(self, elements: list[Element], indent: int) -> None:
        for paragraph in _paragraphs(elements, indent):
            self._paragraph(paragraph, indent, self.new_group(is_paragraph=True))

    def _paragraph(self, elements: list[Element], indent: int, group: int) -> None:
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
            if element.note:
                self.note(Note(element.note, own_line=False), indent, group)

    def _long(self, element: Element, head: str, indent: int) -> None:
        """A statement over several lines; its comment stands behind the last."""
        if head:
            self.text(f"{head} ")
            self.parts(element.cells[-1])
        else:
            self.parts(_joined(element.cells))
        if element.body is not None:
            self.text(" {")
            if element.opening_note:
                self.note(Note(element.opening_note, own_line=False), indent, self.new_group())
            self.block(element.body, indent + w.INDENT)
            if element.body:
                self.newline(indent)
            self.text("}")
        if element.annotations:
            self.text(" ")
            self.parts(element.annotations)
        if element.note:
            self.note(Note(element.note, own_line=False), indent, self.new_group())


def _paragraphs(elements: list[Element], indent: int) -> Iterator[list[Element]]:
    """A comment line stands alone; a statement over several lines is the last of its paragraph."""
    paragraph: list[Element] = []
    for element in elements:
        if paragraph and (element.blank or element.kind == COMMENT):
            yield paragraph
            paragraph = []
        paragraph.append(element)
        if element.kind == COMMENT or not is_short(element, indent):
            yield paragraph
            paragraph = []
    if paragraph:
        yield paragraph


def is_short(element: Element, indent: int) -> bool:
    """Fits on one line. An annotation may run past the limit: it is not what the line says."""
    if element.body is not None:
        inline = _inline(element)
        return inline is not None and indent + len(inline) <= LIMIT
    code, annotations = measure(_joined(element.cells)), measure(element.annotations)
    fits = indent + code.width <= LIMIT and annotations.width <= ANNOTATIONS_LIMIT
    return element.kind == COMMENT or (fits and not code.forced and not annotations.forced)


def _inline(element: Element) -> str | None:
    """A block of at most one statement on one line, if it was written so."""
    if element.body is None:
        joined = _joined(element.cells)
        if measure([*joined, *element.annotations]).forced or element.note:
            return None
        gap = " " * WITH_GAP if element.annotations else ""
        return f"{flat(joined)}{gap}{flat(element.annotations)}"
    if len(element.body) > 1 or element.opening_note or measure(element.cells[0]).forced:
        return None
    if not element.body:
        return f"{flat(element.cells[0])} {{}}"
    is_inline = element.one_line and element.body[0].kind != COMMENT
    inner = _inline(element.body[0]) if is_inline else None
    return None if inner is None else f"{flat(element.cells[0])} {{ {inner} }}"


def _joined(cells: tuple[Parts, ...]) -> Parts:
    joined: Parts = []
    for i, cell in enumerate(cells):
        joined += [" ", *cell] if i else cell
    return joined


def _heads(elements: list[Element], indent: int) -> list[str]:
    """All cells but the last, padded; empty if there are none, or if they need several lines."""
    simple = [_simple_head(element, indent) for element in elements]
    aligned = align_cells([[*head, ""] for head in simple if head], w.CELL_SHIFT)
    pairs = zip(elements, simple, strict=True)
    return [_padded(e, head, next(aligned), indent) if head else "" for e, head in pairs]


def _simple_head(element: Element, indent: int) -> list[str]:
    heads = element.cells[:-1]
    sizes = [measure(head) for head in heads]
    if any(size.forced for size in sizes) or indent + sum(size.width + 1 for size in sizes) > LIMIT:
        return []
    return [flat(head) for head in heads]


def _padded(element: Element, head: list[str], aligned: str, indent: int) -> str:
    """Alignment never makes a line too long."""
    padded = aligned.removesuffix(" ")
    fits = indent + len(padded) + 1 + measure(element.cells[-1]).width <= LIMIT
    return padded if fits or not is_short(element, indent) else " ".join(head)


def _code(element: Element, head: str, indent: int) -> str | None:
    """The statement without annotations, None if it needs several lines."""
    if not is_short(element, indent):
        return None
    if element.body is not None:
        return _inline(element)
    last = flat(element.cells[-1])
    return f"{head} {last}" if head else last

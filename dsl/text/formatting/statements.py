"""From statements to elements: what a line is made of, what is alike, the comments around."""

from ...diagnostics import InternalError
from .. import syntax as s
from ..keywords import quote_name
from .expr import ExprBuilder, own_name
from .writer import Parts

COMMENT = ("comment",)


class Element:
    """A comment on a line of its own, or a statement with the comment at its end.

    `cells` are what adjacent statements of one `kind` align; the last cell may be of any size. A
    statement with a `body` is a block.
    """

    def __init__(self, kind: tuple[object, ...] | None, *cells: Parts):
        self.kind = kind
        self.cells = cells
        self.annotations: Parts = []
        self.note = ""
        self.blank = False
        self.body: list[Element] | None = None
        self.opening_note = ""
        self.one_line = False


class StatementBuilder(ExprBuilder):
    def block(
        self, owner: Element | None, statements: tuple[s.Statement, ...], end: int
    ) -> list[Element]:
        """The owner's opening brace may have a comment behind it."""
        elements: list[Element] = []
        start = 0
        for statement in statements:
            start = self._comments_before(statement.span.start, start, owner, elements)
            element = getattr(self, f"write_{type(statement).__name__}")(statement)
            element.blank = bool(elements) and self.has_blank_line(start, statement.span.start)
            elements.append(element)
            start = statement.span.end
        self._comments_before(end, start, owner, elements)
        return elements

    def _comments_before(
        self, before: int, start: int, owner: Element | None, elements: list[Element]
    ) -> int:
        """A comment belongs to the statement on its line, if any; returns the last one's end."""
        for comment in self.take_comments(before):
            alone = self.is_own_line(comment)
            last = elements[-1] if elements else None
            if last and not alone and last.kind != COMMENT and not last.note:
                last.note = comment.text
            elif owner and not alone and not last and not owner.opening_note:
                owner.opening_note = comment.text
            else:
                element = Element(COMMENT, [comment.text])
                element.blank = bool(elements) and self.has_blank_line(start, comment.span.start)
                elements.append(element)
            start = comment.span.end
        return start

    # ---- parts of statements

    def _target(self, target: s.Target, out: Parts) -> None:
        out.append(own_name(target.name))
        if target.indices:
            end, where = target.span.end, target.where
            out.append(self.bracket("[]", target.indices, self.binder, end, where=where))

    def _type_cells(self, type_: s.TypeExpr | None) -> list[Parts]:
        if type_ is None:
            return []
        cell: Parts = [": "]
        self.type_expr(type_, cell)
        return [cell]

    def _value_cell(self, sign: str, value: s.Expr) -> Parts:
        cell: Parts = [f"{sign} "]
        self.expr(value, cell)
        return cell

    def _annotate(self, element: Element, annotations: tuple[s.Annotation, ...]) -> Element:
        for i, annotation in enumerate(annotations):
            name = quote_name(annotation.name, reserved=frozenset())
            element.annotations.append(f", {name}" if i else f"with {name}")
            if annotation.value is not None:
                element.annotations.append("=")
                self.expr(annotation.value, element.annotations)
            elif annotation.arguments is not None:
                self.arguments(annotation.arguments, annotation.span.end, element.annotations)
        return element

    # ---- declarations

    def write_ModelStmt(self, node: s.ModelStmt) -> Element:
        return Element(None, [f"model {own_name(node.name)}"])

    def write_ImportStmt(self, node: s.ImportStmt) -> Element:
        return Element(None, [f'import "{node.path.value}" as {own_name(node.alias)}'])

    def write_DimStmt(self, node: s.DimStmt) -> Element:
        labels = " | ".join(map(own_name, node.labels))
        size = node.size.text if node.size else labels
        return Element(None, [f"dim {own_name(node.name)}" + (f" = {size}" if size else "")])

    def write_DeclStmt(self, node: s.DeclStmt) -> Element:
        head: Parts = [f"{node.role} {own_name(node.name)}"]
        self.name_list(node.dims, node.type.span.start, head)
        cells = [head, *self._type_cells(node.type)]
        if node.value is not None:
            cells.append(self._value_cell("=", node.value))
        return self._annotate(Element((s.DeclStmt,), *cells), node.annotations)

    def write_FnStmt(self, node: s.FnStmt) -> Element:
        parts: Parts = [f"{'fn' if node.body else 'extern fn'} {own_name(node.name)}"]
        end = node.result.span.start
        parts += [self.bracket("()", node.parameters, self._parameter, end), " -> "]
        self.type_expr(node.result, parts)
        if node.body is not None:
            parts.append(" = ")
            self.expr(node.body, parts)
        return Element(None, parts)

    def _parameter(self, parameter: s.Parameter, out: Parts) -> None:
        out.append(own_name(parameter.name))
        self.name_list(parameter.dims, parameter.type.span.start, out)
        out.append(": ")
        self.type_expr(parameter.type, out)

    # ---- the model

    def write_DrawStmt(self, node: s.DrawStmt) -> Element:
        return self._definition(node, "~", node.distribution)

    def write_LetStmt(self, node: s.LetStmt) -> Element:
        return self._definition(node, ":=" if node.kept else "=", node.value)

    def _definition(self, node: s.DrawStmt | s.LetStmt, sign: str, value: s.Expr) -> Element:
        head: Parts = []
        self._target(node.target, head)
        cells = [head, *self._type_cells(node.type), self._value_cell(sign, value)]
        kind = (sign, bool(node.target.indices), node.type is None)
        return self._annotate(Element(kind, *cells), node.annotations)

    def write_FactorStmt(self, node: s.FactorStmt) -> Element:
        head: Parts = ["factor "]
        self._target(node.target, head)
        kind = (s.FactorStmt, bool(node.target.indices))
        element = Element(kind, head, self._value_cell(":", node.value))
        return self._annotate(element, node.annotations)

    def write_ObjectiveStmt(self, node: s.ObjectiveStmt) -> Element:
        parts = self._value_cell("minimize" if node.minimize else "maximize", node.value)
        return self._annotate(Element(None, parts), node.annotations)

    # ---- blocks

    def write_ForStmt(self, node: s.ForStmt) -> Element:
        header: Parts = ["for "]
        for i, binder in enumerate(node.binders):
            header += [", "] if i else []
            self.binder(binder, header)
        self.where(node.where, header)
        return self._with_body(node, header)

    def write_SoftStmt(self, node: s.SoftStmt) -> Element:
        header: Parts = ["soft"]
        last = node.arguments[-1].span.end if node.arguments else node.span.start
        self.arguments(node.arguments, self.text.find("{", last), header)
        return self._with_body(node, header)

    def write_GuideStmt(self, node: s.GuideStmt) -> Element:
        return self._with_body(node, ["guide"])

    def _with_body(self, node: s.ForStmt | s.SoftStmt | s.GuideStmt, header: Parts) -> Element:
        element = Element(None, header)
        element.one_line = self.is_on_one_line(node.span)
        element.body = self.block(element, node.body, node.span.end)
        return element

    def write_BrokenStmt(self, node: s.BrokenStmt) -> Element:
        raise InternalError(f"a program with mistakes cannot be formatted: {node!r}")

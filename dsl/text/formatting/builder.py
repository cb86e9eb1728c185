"""From the syntax tree to what a line is made of: parts, what is alike, comments between."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...diagnostics import InternalError
from .. import syntax as s
from ..keywords import expression_words, quote_name
from .writer import BracketPart, LineBreak, Note, Parts, TableRow, joined

LEVELS = {"or": 1, "and": 2, "+": 4, "-": 4, "*": 5, "/": 5, "@": 5}
COMPARISON_LEVEL = 3
OUTER_LEVEL = 0
COMMENT = ("comment",)

_NAME = re.compile(r"[^\W\d]\w*|`[^`\n]+`")
_NUMBER = re.compile(r"\d[\d_]*(\.\d+)?([eE][+-]?\d+)?")


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


def own_name(name: s.Name) -> str:
    """A name where it is defined; there it belongs to no library."""
    return quote_name(name.name)


def _has_lines(entries: list[TableRow | Note]) -> bool:
    """A comment behind the opening brace is not yet a line of the table."""
    return len(entries) > 1 or any(isinstance(e, TableRow) or e.own_line for e in entries)


class PartsBuilder:
    """Reads the tree in the order of the text; a comment comes before the node that follows it."""

    def __init__(self, program: s.Program):
        self.text = program.source.text
        self._comments = deque(program.comments)

    # ---- comments

    def _is_due(self, before: int) -> bool:
        return bool(self._comments) and self._comments[0].span.start < before

    def _take_comments(self, before: int) -> Iterator[s.Comment]:
        while self._is_due(before):
            yield self._comments.popleft()

    def _is_own_line(self, comment: s.Comment) -> bool:
        line_start = self.text.rfind("\n", 0, comment.span.start) + 1
        return not self.text[line_start : comment.span.start].strip()

    def _has_blank_line(self, start: int, end: int) -> bool:
        return self.text.count("\n", start, end) > 1

    def _is_on_one_line(self, start: int, end: int) -> bool:
        return self.text.find("\n", start, end) < 0

    def _notes(self, before: int) -> list[Note]:
        return [Note(each.text, self._is_own_line(each)) for each in self._take_comments(before)]

    # ---- names and brackets

    def _name(self, name: s.Name, *, reserved: frozenset[str] | None = None) -> str:
        """`lib.name` is two names, `` `a.b` `` one: equal in the tree, so the source is asked."""
        source = self.text[name.span.start : name.span.end]
        written = [token.strip("`") for token in _NAME.findall(source)]
        parts = written if ".".join(written) == name.name else name.name.split(".", 1)
        return ".".join(quote_name(part, reserved=reserved) for part in parts)

    def _bracket(
        self,
        signs: str,
        items: Iterable[s.SyntaxNode],
        build: Callable[[Any], Parts],
        end: int,
        *,
        kept: bool = False,
        where: s.Expr | None = None,
    ) -> BracketPart:
        """What `build` makes of each item, with the comments before it."""
        content: list[Parts | Note] = []
        parts: Parts = []
        for item in items:
            content += self._notes(item.span.start)
            parts = build(item)
            content.append(parts)
        parts += self._where(where)
        content += self._notes(end)
        return BracketPart(signs, content, kept)

    def _names(self, names: tuple[s.Name, ...], end: int) -> Parts:
        return [self._bracket("[]", names, self._expr, end)] if names else []

    def _arguments(self, arguments: tuple[s.Argument, ...], end: int) -> BracketPart:
        return self._bracket("()", arguments, self._argument, end)

    def _argument(self, argument: s.Argument) -> Parts:
        if argument.name is None:
            return self._expr(argument.value)
        name = quote_name(argument.name, reserved=expression_words())
        return [f"{name}=", *self._expr(argument.value)]

    def _where(self, where: s.Expr | None) -> Parts:
        return self._word("where", where) if where else []

    def _word(self, word: str, following: s.Expr) -> Parts:
        notes = self._notes(following.span.start)
        return [*notes, LineBreak(OUTER_LEVEL), f"{word} ", *self._expr(following)]

    def _binder(self, item: s.Binder | s.Expr) -> Parts:
        if isinstance(item, s.Expr):
            return self._index(item)
        parts: Parts = [*self._notes(item.span.start), f"{own_name(item.name)} in "]
        parts += [*self._notes(item.range.span.start), self._name(item.range.dim)]
        if not item.range.whole:
            notes = self._notes(item.range.span.end)
            bounds: Parts = [self._bound(item.range.low), "..", self._bound(item.range.high)]
            parts.append(BracketPart("[]", [*notes, bounds]))
        return parts

    def _bound(self, bound: s.Bound | None) -> str:
        if bound is None:
            return ""
        written = "".join(self.text[bound.span.start : bound.span.end].split())
        return written if _NUMBER.fullmatch(written.removeprefix("-")) else str(bound.value)

    def _type(self, type_: s.TypeExpr) -> Parts:
        parts: Parts = [*self._notes(type_.span.start), self._name(type_.name)]
        end = type_.dims[0].span.start if type_.dims else type_.span.end
        if type_.arguments or (not type_.dims and self._is_due(end)):
            parts.append(self._arguments(type_.arguments, end))
        return parts + self._names(type_.dims, type_.span.end)

    # ---- expressions

    def _expr(self, node: s.Expr) -> Parts:
        return [*self._notes(node.span.start), *self._operation(node)]

    def _operation(self, node: s.Expr) -> Parts:
        end = node.span.end
        match node:
            case s.Unary():
                sign = "not " if node.operator == "not" else node.operator
                return [sign, *self._expr(node.operand)]
            case s.Binary():
                left, notes = self._expr(node.left), self._notes(node.right.span.start)
                level = LineBreak(LEVELS.get(node.operator, COMPARISON_LEVEL))
                between: Parts = ["^"] if node.operator == "^" else [level, f"{node.operator} "]
                return [*left, *notes, *between, *self._expr(node.right)]
            case s.IfExpr():
                branches = [*self._expr(node.condition), *self._word("then", node.then)]
                return ["if ", *branches, *self._word("else", node.otherwise)]
            case s.LoopExpr():
                start = [f"loop {own_name(node.variable)} = ", *self._expr(node.start)]
                test = [*self._word("while", node.condition), *self._word("max", node.limit)]
                return [*start, *test, *self._word("do", node.body)]
            case s.Reduction() | s.Comprehension():
                # Read as a reduction only if no comment stands before its first `in`: none will.
                operator = [node.operator] if isinstance(node, s.Reduction) else []
                end, where = node.body.span.start, node.where
                binders = self._bracket("[]", node.binders, self._binder, end, where=where)
                return [*operator, binders, " ", *self._expr(node.body)]
            case s.Call():
                name = self._name(node.function, reserved=expression_words())
                return [name, self._arguments(node.arguments, end)]
            case s.Index():
                base = self._expr(node.base)
                return [*base, self._bracket("[]", node.indices, self._index, end)]
        return self._atom(node)

    def _atom(self, node: s.Expr) -> Parts:
        match node:
            case s.Number():
                return [node.text]
            case s.Boolean():
                return ["true" if node.value else "false"]
            case s.String():
                return [f'"{node.value}"']
            case s.Name():
                return [self._name(node)]
            case s.Group():
                return [self._bracket("()", [node.inner], self._expr, node.span.end)]
            case s.Array():
                # An array of arrays that was written row by row stays so.
                is_matrix = all(isinstance(item, s.Array) for item in node.items)
                start, end = node.span
                kept = is_matrix and not self._is_on_one_line(start, node.items[0].span.start)
                return [self._bracket("[]", node.items, self._expr, end, kept=kept)]
            case s.Table():
                parts: Parts = ["table ", *joined(map(self._expr, node.parents), ", ")]
                if node.columns:
                    parts += self._notes(node.columns[-1].span.start)
                    parts.append(f" => {', '.join(map(self._key, node.columns))}")
                return [*parts, " ", self._rows(node)]
        raise InternalError(f"no rule for {type(node).__name__}")

    def _index(self, item: s.Expr) -> Parts:
        """`x[t-1]` is read as one thing."""
        simple = s.Name | s.Number
        if isinstance(item, s.Binary) and item.operator in ("+", "-"):
            is_offset = isinstance(item.left, simple) and isinstance(item.right, simple)
            if is_offset and not self._is_due(item.right.span.start):
                return [*self._expr(item.left), item.operator, *self._expr(item.right)]
        return self._expr(item)

    # ---- tables

    def _rows(self, node: s.Table) -> BracketPart:
        entries: list[TableRow | Note] = []
        end = 0
        for row in node.rows:
            end = self._row_notes(row.span.start, end, entries)
            blank = _has_lines(entries) and self._has_blank_line(end, row.span.start)
            keys, values = map(self._key, row.keys), map(self._expr, row.values)
            entries.append(TableRow([*keys], [*values], blank))
            end = row.span.end
        self._row_notes(node.span.end, end, entries)
        header = (node.columns or node.parents)[-1].span.end
        return BracketPart("{}", entries, kept=not self._is_on_one_line(header, node.span.end))

    def _row_notes(self, before: int, end: int, entries: list[TableRow | Note]) -> int:
        for comment in self._take_comments(before):
            blank = _has_lines(entries) and self._has_blank_line(end, comment.span.start)
            entries.append(Note(comment.text, self._is_own_line(comment), blank))
            end = comment.span.end
        return end

    def _key(self, key: s.Key) -> str:
        """A label that looks like a number or `_` was written between backquotes, if it was."""
        bare = key.matches_any or key.text in ("true", "false") or _NUMBER.fullmatch(key.text)
        is_quoted = self.text.startswith("`", key.span.start)
        return key.text if bare and not is_quoted else quote_name(key.text)

    # ---- statements

    def block(
        self, owner: Element | None, statements: tuple[s.Statement, ...], end: int
    ) -> list[Element]:
        """The owner's opening brace may have a comment behind it."""
        elements: list[Element] = []
        start = 0
        for statement in statements:
            start = self._comments_before(statement.span.start, start, owner, elements)
            element = self._element(statement)
            element.blank = bool(elements) and self._has_blank_line(start, statement.span.start)
            elements.append(element)
            start = statement.span.end
        self._comments_before(end, start, owner, elements)
        return elements

    def _comments_before(
        self, before: int, start: int, owner: Element | None, elements: list[Element]
    ) -> int:
        """A comment belongs to the statement on its line, if any; returns the last one's end."""
        for comment in self._take_comments(before):
            alone = self._is_own_line(comment)
            last = elements[-1] if elements else None
            if last and not alone and last.kind != COMMENT and not last.note:
                last.note = comment.text
            elif owner and not alone and not last and not owner.opening_note:
                owner.opening_note = comment.text
            else:
                element = Element(COMMENT, [comment.text])
                element.blank = bool(elements) and self._has_blank_line(start, comment.span.start)
                elements.append(element)
            start = comment.span.end
        return start

    def _element(self, node: s.Statement) -> Element:
        match node:
            case s.ModelStmt():
                return Element(None, [f"model {own_name(node.name)}"])
            case s.ImportStmt():
                return Element(None, [f'import "{node.path.value}" as {own_name(node.alias)}'])
            case s.DimStmt():
                size = node.size.text if node.size else " | ".join(map(own_name, node.labels))
                return Element(
                    None, [f"dim {own_name(node.name)}" + (f" = {size}" if size else "")]
                )
            case s.FnStmt():
                head = f"{'fn' if node.body else 'extern fn'} {own_name(node.name)}"
                end = node.result.span.start
                parameters = self._bracket("()", node.parameters, self._parameter, end)
                result = self._type(node.result)
                body = self._value(" =", node.body) if node.body is not None else []
                return Element(None, [head, parameters, " -> ", *result, *body])
            case s.ForStmt() | s.SoftStmt() | s.GuideStmt():
                element = Element(None, self._header(node))
                element.one_line = self._is_on_one_line(*node.span)
                element.body = self.block(element, node.body, node.span.end)
                return element
            case s.DeclStmt() | s.DrawStmt() | s.LetStmt() | s.FactorStmt() | s.ObjectiveStmt():
                element = self._definition(node)
                element.annotations = self._annotations(node.annotations)
                return element
        raise InternalError(f"a program with mistakes cannot be formatted: {node!r}")

    def _header(self, node: s.ForStmt | s.SoftStmt | s.GuideStmt) -> Parts:
        if isinstance(node, s.GuideStmt):
            return ["guide"]
        if isinstance(node, s.ForStmt):
            binders = joined(map(self._binder, node.binders), ", ")
            return ["for ", *binders, *self._where(node.where)]
        last = node.arguments[-1].span.end if node.arguments else node.span.start
        return ["soft", self._arguments(node.arguments, self.text.find("{", last))]

    def _definition(
        self, node: s.DeclStmt | s.DrawStmt | s.LetStmt | s.FactorStmt | s.ObjectiveStmt
    ) -> Element:
        match node:
            case s.ObjectiveStmt():
                word = "minimize" if node.minimize else "maximize"
                return Element(None, self._value(word, node.value))
            case s.DeclStmt():
                dims = self._names(node.dims, node.type.span.start)
                cells = [
                    [f"{node.role} {own_name(node.name)}", *dims],
                    [": ", *self._type(node.type)],
                ]
                if node.value is not None:
                    cells.append(self._value("=", node.value))
                return Element((s.DeclStmt,), *cells)
            case s.FactorStmt():
                target = self._target(node.target)
                kind = (s.FactorStmt, bool(node.target.indices))
                return Element(kind, ["factor ", *target], self._value(":", node.value))
        cells = [self._target(node.target)]
        if node.type is not None:
            cells.append([": ", *self._type(node.type)])
        if isinstance(node, s.DrawStmt):
            sign, value = "~", node.distribution
        else:
            sign, value = ":=" if node.kept else "=", node.value
        cells.append(self._value(sign, value))
        return Element((sign, bool(node.target.indices), node.type is None), *cells)

    def _parameter(self, parameter: s.Parameter) -> Parts:
        dims = self._names(parameter.dims, parameter.type.span.start)
        return [own_name(parameter.name), *dims, ": ", *self._type(parameter.type)]

    def _target(self, target: s.Target) -> Parts:
        if not target.indices:
            return [own_name(target.name)]
        end, where = target.span.end, target.where
        indices = self._bracket("[]", target.indices, self._binder, end, where=where)
        return [own_name(target.name), indices]

    def _value(self, sign: str, value: s.Expr) -> Parts:
        return [f"{sign} ", *self._expr(value)]

    def _annotations(self, annotations: tuple[s.Annotation, ...]) -> Parts:
        parts: Parts = []
        for i, annotation in enumerate(annotations):
            name = quote_name(annotation.name, reserved=frozenset())
            parts.append(f", {name}" if i else f"with {name}")
            if annotation.value is not None:
                parts += ["=", *self._expr(annotation.value)]
            elif annotation.arguments is not None:
                parts.append(self._arguments(annotation.arguments, annotation.span.end))
        return parts

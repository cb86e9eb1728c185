"""From syntax tree to parts: what stands where in an expression, and the comments between."""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeGuard

from ...source import Span
from .. import syntax as s
from ..keywords import expression_words, quote_name
from .writer import BracketPart, Break, Note, Parts, TableRow, TableRows

LEVELS = {"or": 1, "and": 2, "+": 4, "-": 4, "*": 5, "/": 5, "@": 5}
COMPARISON_LEVEL = 3
OUTER_LEVEL = 0

_NAME = re.compile(r"[^\W\d]\w*|`[^`\n]+`")
_NUMBER = re.compile(r"\d[\d_]*(\.\d+)?([eE][+-]?\d+)?")


def own_name(name: s.Name) -> str:
    """A name where it is defined; there it belongs to no library."""
    return quote_name(name.name)


def _has_lines(entries: list[TableRow | Note]) -> bool:
    """A comment behind the opening brace is not yet a line of the table."""
    return len(entries) > 1 or any(isinstance(e, TableRow) or e.own_line for e in entries)


def _is_offset(node: s.Expr) -> TypeGuard[s.Binary]:
    simple = s.Name | s.Number
    if not isinstance(node, s.Binary) or node.operator not in ("+", "-"):
        return False
    return isinstance(node.left, simple) and isinstance(node.right, simple)


class ExprBuilder:
    """Appends parts in the order of the text; a comment comes before the node that follows it."""

    def __init__(self, program: s.Program):
        self.text = program.source.text
        self._comments = program.comments
        self._next = 0

    # ---- comments

    def take_comments(self, before: int) -> Iterable[s.Comment]:
        while self._is_due(before):
            self._next += 1
            yield self._comments[self._next - 1]

    def is_own_line(self, comment: s.Comment) -> bool:
        line_start = self.text.rfind("\n", 0, comment.span.start) + 1
        return not self.text[line_start : comment.span.start].strip()

    def has_blank_line(self, start: int, end: int) -> bool:
        return self.text.count("\n", start, end) > 1

    def is_on_one_line(self, span: Span) -> bool:
        return self.text.find("\n", span.start, span.end) < 0

    def _notes(self, before: int) -> list[Note]:
        return [Note(each.text, self.is_own_line(each)) for each in self.take_comments(before)]

    # ---- names and brackets

    def name(self, name: s.Name, *, reserved: frozenset[str] | None = None) -> str:
        """`lib.name` is two names, `` `a.b` `` one: equal in the tree, so the source is asked."""
        source = self.text[name.span.start : name.span.end]
        written = [token.strip("`") for token in _NAME.findall(source)]
        parts = written if ".".join(written) == name.name else name.name.split(".", 1)
        return ".".join(quote_name(part, reserved=reserved) for part in parts)

    def bracket(
        self,
        signs: str,
        items: Iterable[s.SyntaxNode],
        build: Callable[[Any, Parts], None],
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
            parts = []
            build(item, parts)
            content.append(parts)
        self.where(where, parts)
        content += self._notes(end)
        return BracketPart(signs[0], content, signs[1], kept)

    def _leaf(self, span: Span, text: str, out: Parts) -> None:
        out += self._notes(span.start)
        out.append(text)

    def name_list(self, names: tuple[s.Name, ...], end: int, out: Parts) -> None:
        if names:
            out.append(self.bracket("[]", names, self.write_Name, end))

    def arguments(self, arguments: tuple[s.Argument, ...], end: int, out: Parts) -> None:
        out.append(self.bracket("()", arguments, self._argument, end))

    def _argument(self, argument: s.Argument, out: Parts) -> None:
        if argument.name is not None:
            out.append(f"{quote_name(argument.name, reserved=expression_words())}=")
        self.expr(argument.value, out)

    def where(self, where: s.Expr | None, out: Parts) -> None:
        if where:
            self._word("where", where, out)

    def _word(self, word: str, following: s.Expr, out: Parts) -> None:
        out += self._notes(following.span.start)
        out += [Break(OUTER_LEVEL), f"{word} "]
        self.expr(following, out)

    def binder(self, item: s.Binder | s.Expr, out: Parts) -> None:
        if isinstance(item, s.Expr):
            self._index_item(item, out)
            return
        self._leaf(item.span, f"{own_name(item.name)} in ", out)
        self._leaf(item.range.span, self.name(item.range.dim), out)
        if not item.range.whole:
            bounds: Parts = [self._bound(item.range.low), "..", self._bound(item.range.high)]
            out.append(BracketPart("[", [*self._notes(item.range.span.end), bounds], "]"))

    def _bound(self, bound: s.Bound | None) -> str:
        if bound is None:
            return ""
        written = "".join(self.text[bound.span.start : bound.span.end].split())
        return written if _NUMBER.fullmatch(written.removeprefix("-")) else str(bound.value)

    def type_expr(self, type_: s.TypeExpr, out: Parts) -> None:
        self._leaf(type_.span, self.name(type_.name), out)
        end = type_.dims[0].span.start if type_.dims else type_.span.end
        if type_.arguments or (not type_.dims and self._is_due(end)):
            self.arguments(type_.arguments, end, out)
        self.name_list(type_.dims, type_.span.end, out)

    def _is_due(self, before: int) -> bool:
        return self._next < len(self._comments) and self._comments[self._next].span.start < before

    # ---- expressions

    def expr(self, node: s.Expr, out: Parts) -> None:
        getattr(self, f"write_{type(node).__name__}")(node, out)

    def write_Number(self, node: s.Number, out: Parts) -> None:
        self._leaf(node.span, node.text, out)

    def write_Boolean(self, node: s.Boolean, out: Parts) -> None:
        self._leaf(node.span, "true" if node.value else "false", out)

    def write_String(self, node: s.String, out: Parts) -> None:
        self._leaf(node.span, f'"{node.value}"', out)

    def write_Name(self, node: s.Name, out: Parts) -> None:
        self._leaf(node.span, self.name(node), out)

    def write_Call(self, node: s.Call, out: Parts) -> None:
        self._leaf(node.span, self.name(node.function, reserved=expression_words()), out)
        self.arguments(node.arguments, node.span.end, out)

    def write_Index(self, node: s.Index, out: Parts) -> None:
        self.expr(node.base, out)
        out.append(self.bracket("[]", node.indices, self._index_item, node.span.end))

    def _index_item(self, item: s.Expr, out: Parts) -> None:
        """`x[t-1]` is read as one thing."""
        if _is_offset(item) and not self._is_due(item.right.span.start):
            self.expr(item.left, out)
            out.append(item.operator)
            self.expr(item.right, out)
        else:
            self.expr(item, out)

    def write_Group(self, node: s.Group, out: Parts) -> None:
        out += self._notes(node.span.start)
        out.append(self.bracket("()", [node.inner], self.expr, node.span.end))

    def write_Array(self, node: s.Array, out: Parts) -> None:
        """An array of arrays that was written row by row stays so."""
        out += self._notes(node.span.start)
        is_matrix = all(isinstance(item, s.Array) for item in node.items)
        before_first = Span(node.span.start, node.items[0].span.start)
        kept = is_matrix and not self.is_on_one_line(before_first)
        out.append(self.bracket("[]", node.items, self.expr, node.span.end, kept=kept))

    def write_Unary(self, node: s.Unary, out: Parts) -> None:
        self._leaf(node.span, "not " if node.operator == "not" else node.operator, out)
        self.expr(node.operand, out)

    def write_Binary(self, node: s.Binary, out: Parts) -> None:
        self.expr(node.left, out)
        out += self._notes(node.right.span.start)
        if node.operator == "^":
            out.append("^")
        else:
            out += [Break(LEVELS.get(node.operator, COMPARISON_LEVEL)), f"{node.operator} "]
        self.expr(node.right, out)

    def write_IfExpr(self, node: s.IfExpr, out: Parts) -> None:
        self._leaf(node.span, "if ", out)
        self.expr(node.condition, out)
        self._word("then", node.then, out)
        self._word("else", node.otherwise, out)

    def write_LoopExpr(self, node: s.LoopExpr, out: Parts) -> None:
        self._leaf(node.span, f"loop {own_name(node.variable)} = ", out)
        self.expr(node.start, out)
        self._word("while", node.condition, out)
        self._word("max", node.limit, out)
        self._word("do", node.body, out)

    def write_Reduction(self, node: s.Reduction, out: Parts) -> None:
        """Read as one only if no comment stands before its first `in`; none did, so none will."""
        self._leaf(node.span, node.operator, out)
        self._bound_body(node, out)

    def write_Comprehension(self, node: s.Comprehension, out: Parts) -> None:
        out += self._notes(node.span.start)
        self._bound_body(node, out)

    def _bound_body(self, node: s.Reduction | s.Comprehension, out: Parts) -> None:
        end = node.body.span.start
        out += [self.bracket("[]", node.binders, self.binder, end, where=node.where), " "]
        self.expr(node.body, out)

    # ---- tables

    def write_Table(self, node: s.Table, out: Parts) -> None:
        self._leaf(node.span, "table ", out)
        for i, parent in enumerate(node.parents):
            out += [", "] if i else []
            self.expr(parent, out)
        if node.columns:
            out += self._notes(node.columns[-1].span.start)
            out.append(f" => {', '.join(map(self._key, node.columns))}")
        out += [" ", self._rows(node)]

    def _rows(self, node: s.Table) -> TableRows:
        entries: list[TableRow | Note] = []
        end = 0
        for row in node.rows:
            end = self._row_notes(row.span.start, end, entries)
            blank = _has_lines(entries) and self.has_blank_line(end, row.span.start)
            values: list[Parts] = [[] for _ in row.values]
            for value, out in zip(row.values, values, strict=True):
                self.expr(value, out)
            entries.append(TableRow([self._key(key) for key in row.keys], values, blank))
            end = row.span.end
        self._row_notes(node.span.end, end, entries)
        header = (node.columns or node.parents)[-1].span
        return TableRows(entries, kept=not self.is_on_one_line(Span(header.end, node.span.end)))

    def _row_notes(self, before: int, end: int, entries: list[TableRow | Note]) -> int:
        for comment in self.take_comments(before):
            blank = _has_lines(entries) and self.has_blank_line(end, comment.span.start)
            entries.append(Note(comment.text, self.is_own_line(comment), blank))
            end = comment.span.end
        return end

    def _key(self, key: s.Key) -> str:
        """A label that looks like a number or `_` was written between backquotes, if it was."""
        bare = key.matches_any or key.text in ("true", "false") or _NUMBER.fullmatch(key.text)
        if bare and not self.text.startswith("`", key.span.start):
            return key.text
        return quote_name(key.text)

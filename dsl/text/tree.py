"""From the parser's rules to the syntax tree. Rule `draw_stmt` and class `DrawStmt` are one thing
seen twice.

The automaton calls these methods bottom up, so no program is too deep to build; every child list
holds all tokens of the rule, so a node's span runs from its first child to its last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from ..source import Span
from . import syntax as s
from .tokens import Token

Child = Any
NodeType = TypeVar("NodeType")


def span_of(child: Child) -> Span:
    span: Span = child.span
    return span


def _span(children: Sequence[Child]) -> Span:
    return span_of(children[0]).to(span_of(children[-1]))


def _of(children: Sequence[Child], kind: type[NodeType]) -> tuple[NodeType, ...]:
    return tuple(child for child in children if isinstance(child, kind))


def _first(children: Sequence[Child], kind: type[NodeType]) -> NodeType | None:
    return next(iter(_of(children, kind)), None)


def _after(children: Sequence[Child], *types: str) -> Child:
    """The child that follows the first token of one of these types."""
    places = (
        i for i, child in enumerate(children) if isinstance(child, Token) and child.type in types
    )
    place = next(places, None)
    return None if place is None else children[place + 1]


def _has(children: Sequence[Child], type_: str) -> bool:
    return any(isinstance(child, Token) and child.type == type_ for child in children)


def name_text(text: str) -> str:
    """Backquotes let any text be a name; the tree holds the text alone."""
    return text[1:-1] if text.startswith("`") else text


def _name(token: Token) -> s.Name:
    return s.Name(span_of(token), name_text(token.text))


def _names(children: Sequence[Child]) -> tuple[s.Name, ...]:
    return tuple(_name(c) for c in children if isinstance(c, Token) and c.type == "NAME")


class _List(s.Node):
    """A bracketed list on its way to the node that owns it."""

    items: tuple[Child, ...]


class _Dims(_List):
    pass


class _Arguments(_List):
    pass


class _Annotations(_List):
    pass


class _Parameters(_List):
    pass


class _Block(_List):
    pass


class _Where(_List):
    pass


def _items(children: Sequence[Child], kind: type[_List]) -> tuple[Child, ...]:
    found = _first(children, kind)
    return found.items if found else ()


def _where(children: Sequence[Child]) -> s.Expr | None:
    return next(iter(_items(children, _Where)), None)


class TreeBuilder:
    def start(self, c: list[Child]) -> tuple[s.Statement, ...]:
        return _of(c, s.Statement)

    # ---- declarations

    def model_stmt(self, c: list[Child]) -> s.ModelStmt:
        return s.ModelStmt(_span(c), _name(c[1]))

    def import_stmt(self, c: list[Child]) -> s.ImportStmt:
        return s.ImportStmt(_span(c), self.string([c[1]]), _name(c[3]))

    def dim_stmt(self, c: list[Child]) -> s.DimStmt:
        size = self.number(c[3:]) if _has(c, "NUMBER") else None
        return s.DimStmt(_span(c), _name(c[1]), size, _names(c[3:]))

    def role(self, c: list[Child]) -> Token:
        token: Token = c[0]
        return token

    def decl_stmt(self, c: list[Child]) -> s.DeclStmt:
        type_ = _after(c, "COLON")
        value = _after(c, "EQUALS")
        return s.DeclStmt(
            _span(c),
            c[0].text,
            _name(c[1]),
            _items(c, _Dims),
            type_,
            value,
            _items(c, _Annotations),
        )

    def dims(self, c: list[Child]) -> _Dims:
        return _Dims(_span(c), _of(c, s.Name))

    def type(self, c: list[Child]) -> s.TypeExpr:
        return s.TypeExpr(_span(c), c[0], _items(c, _Arguments), _items(c, _Dims))

    def qualified(self, c: list[Child]) -> s.Name:
        return s.Name(_span(c), ".".join(name_text(t.text) for t in c if t.type == "NAME"))

    def fn_stmt(self, c: list[Child]) -> s.FnStmt:
        return s.FnStmt(
            _span(c), _name(c[1]), _items(c, _Parameters), _after(c, "ARROW"), _after(c, "EQUALS")
        )

    def extern_stmt(self, c: list[Child]) -> s.FnStmt:
        return s.FnStmt(_span(c), _name(c[2]), _items(c, _Parameters), _after(c, "ARROW"), None)

    def parameters(self, c: list[Child]) -> _Parameters:
        return _Parameters(_span(c), _of(c, s.Parameter))

    def parameter(self, c: list[Child]) -> s.Parameter:
        return s.Parameter(_span(c), _name(c[0]), _items(c, _Dims), c[-1])

    # ---- the model

    def draw_stmt(self, c: list[Child]) -> s.DrawStmt:
        return s.DrawStmt(
            _span(c), c[0], _first(c, s.TypeExpr), _after(c, "TILDE"), _items(c, _Annotations)
        )

    def let_stmt(self, c: list[Child]) -> s.LetStmt:
        value = _after(c, "EQUALS", "DEFINE")
        return s.LetStmt(
            _span(c), c[0], _first(c, s.TypeExpr), _has(c, "DEFINE"), value, _items(c, _Annotations)
        )

    def factor_stmt(self, c: list[Child]) -> s.FactorStmt:
        return s.FactorStmt(_span(c), c[1], _after(c, "COLON"), _items(c, _Annotations))

    def objective_stmt(self, c: list[Child]) -> s.ObjectiveStmt:
        return s.ObjectiveStmt(_span(c), c[0].type == "MINIMIZE", c[1], _items(c, _Annotations))

    def target(self, c: list[Child]) -> s.Target:
        indices = tuple(x for x in c[1:] if isinstance(x, s.Binder | s.Expr))
        return s.Target(_span(c), _name(c[0]), indices, _where(c))

    def binder(self, c: list[Child]) -> s.Binder:
        return s.Binder(_span(c), _name(c[0]), c[2])

    def range(self, c: list[Child]) -> s.Range:
        low = next((x for x in c[2:3] if isinstance(x, s.Bound)), None)
        return s.Range(_span(c), c[0], len(c) == 1, low, _bound_after_dots(c))

    def bound(self, c: list[Child]) -> s.Bound:
        value = self.number(c[-1:]).value
        return s.Bound(_span(c), -value if len(c) == 2 else value)

    def where(self, c: list[Child]) -> _Where:
        return _Where(_span(c), (c[1],))

    def for_stmt(self, c: list[Child]) -> s.ForStmt:
        return s.ForStmt(_span(c), _of(c, s.Binder), _where(c), _items(c, _Block))

    def soft_stmt(self, c: list[Child]) -> s.SoftStmt:
        return s.SoftStmt(_span(c), _items(c, _Arguments), _items(c, _Block))

    def guide_stmt(self, c: list[Child]) -> s.GuideStmt:
        return s.GuideStmt(_span(c), _items(c, _Block))

    def block(self, c: list[Child]) -> _Block:
        return _Block(_span(c), _of(c, s.Statement))

    def annotations(self, c: list[Child]) -> _Annotations:
        return _Annotations(_span(c), _of(c, s.Annotation))

    def annotation(self, c: list[Child]) -> s.Annotation:
        arguments = _first(c, _Arguments)
        return s.Annotation(
            _span(c),
            name_text(c[0].text),
            _after(c, "EQUALS"),
            arguments.items if arguments else None,
        )

    # ---- expressions

    def if_expr(self, c: list[Child]) -> s.IfExpr:
        return s.IfExpr(_span(c), c[1], c[3], c[5])

    def loop_expr(self, c: list[Child]) -> s.LoopExpr:
        return s.LoopExpr(_span(c), _name(c[1]), c[3], c[5], c[7], c[9])

    def comprehension(self, c: list[Child]) -> s.Comprehension:
        return s.Comprehension(_span(c), _of(c, s.Binder), _where(c), c[-1])

    def reduction(self, c: list[Child]) -> s.Reduction:
        return s.Reduction(_span(c), c[0].text, _of(c, s.Binder), _where(c), c[-1])

    def binary(self, c: list[Child]) -> s.Binary:
        return s.Binary(_span(c), c[1].text, c[0], c[2])

    def unary(self, c: list[Child]) -> s.Unary:
        return s.Unary(_span(c), c[0].text, c[1])

    def index(self, c: list[Child]) -> s.Index:
        return s.Index(_span(c), c[0], _of(c[1:], s.Expr))

    def number(self, c: list[Child]) -> s.Number:
        return s.Number(span_of(c[0]), c[0].text)

    def boolean(self, c: list[Child]) -> s.Boolean:
        return s.Boolean(span_of(c[0]), c[0].type == "TRUE")

    def string(self, c: list[Child]) -> s.String:
        return s.String(span_of(c[0]), c[0].text[1:-1])

    def name(self, c: list[Child]) -> s.Name:
        name: s.Name = c[0]
        return name

    def call(self, c: list[Child]) -> s.Call:
        return s.Call(_span(c), c[0], c[1].items)

    def group(self, c: list[Child]) -> s.Group:
        return s.Group(_span(c), c[1])

    def array(self, c: list[Child]) -> s.Array:
        return s.Array(_span(c), _of(c, s.Expr))

    def arguments(self, c: list[Child]) -> _Arguments:
        return _Arguments(_span(c), _of(c, s.Argument))

    def argument(self, c: list[Child]) -> s.Argument:
        return s.Argument(_span(c), name_text(c[0].text) if len(c) == 3 else None, c[-1])

    def table(self, c: list[Child]) -> s.Table:
        return s.Table(_span(c), _of(c, s.Expr), _of(c, s.Key), _of(c, s.Row))

    def row(self, c: list[Child]) -> s.Row:
        return s.Row(_span(c), _of(c, s.Key), _of(c, s.Expr))

    def key(self, c: list[Child]) -> s.Key:
        return s.Key(span_of(c[0]), name_text(c[0].text))


def _bound_after_dots(children: Sequence[Child]) -> s.Bound | None:
    after: Iterator[Child] = iter(children)
    for child in after:
        if isinstance(child, Token) and child.type == "DOTS":
            return next((x for x in after if isinstance(x, s.Bound)), None)
    return None

"""The syntax tree: what was written, with spans and comments. One class for each grammar rule."""

from __future__ import annotations

from typing import ClassVar

from ..record import Record
from ..source import Source, Span


class SyntaxNode(Record):
    """Two trees are equal when they say the same, wherever it stands in the text."""

    not_compared: ClassVar[frozenset[str]] = frozenset({"span"})
    leaf_types: ClassVar[frozenset[str]] = frozenset(
        {"Span", "str", "str | None", "bool", "int | float"}
    )

    span: Span


# ---- expressions


class Expr(SyntaxNode):
    pass


class Number(Expr):
    text: str

    @property
    def value(self) -> int | float:
        """Whole numbers of more than 18 digits become floats, and those beyond a float infinite."""
        digits = self.text.replace("_", "")
        return int(digits) if len(digits) <= 18 and digits.isdigit() else float(digits)


class Boolean(Expr):
    value: bool


class String(Expr):
    value: str


class Name(Expr):
    """A name, `lib.name` when it comes from an imported file."""

    name: str


class Argument(SyntaxNode):
    name: str | None
    value: Expr


class Call(Expr):
    function: Name
    arguments: tuple[Argument, ...]


class Index(Expr):
    base: Expr
    indices: tuple[Expr, ...]


class Group(Expr):
    """Parentheses, kept because the formatter keeps them."""

    inner: Expr


class Array(Expr):
    items: tuple[Expr, ...]


class Unary(Expr):
    operator: str
    operand: Expr


class Binary(Expr):
    operator: str
    left: Expr
    right: Expr


class IfExpr(Expr):
    condition: Expr
    then: Expr
    otherwise: Expr


class LoopExpr(Expr):
    variable: Name
    start: Expr
    condition: Expr
    limit: Expr
    body: Expr


class Bound(SyntaxNode):
    value: int | float


class Range(SyntaxNode):
    """A dim, or its part from `low` up to and without `high`; negative bounds are from the end."""

    dim: Name
    whole: bool
    low: Bound | None = None
    high: Bound | None = None


class Binder(SyntaxNode):
    name: Name
    range: Range


class Reduction(Expr):
    operator: str
    binders: tuple[Binder, ...]
    where: Expr | None
    body: Expr


class Comprehension(Expr):
    binders: tuple[Binder, ...]
    where: Expr | None
    body: Expr


class Key(SyntaxNode):
    """A label, an index, true or false in a table; `_` matches any."""

    text: str

    @property
    def matches_any(self) -> bool:
        return self.text == "_"


class Row(SyntaxNode):
    keys: tuple[Key, ...]
    values: tuple[Expr, ...]


class Table(Expr):
    """With columns a conditional distribution, without them a value looked up by its parents."""

    parents: tuple[Expr, ...]
    columns: tuple[Key, ...]
    rows: tuple[Row, ...]


# ---- parts of statements


class TypeExpr(SyntaxNode):
    name: Name
    arguments: tuple[Argument, ...]
    dims: tuple[Name, ...]


class Annotation(SyntaxNode):
    """`noncentered`, `grad=pathwise` or `soft(logistic, scale=0.1)`."""

    name: str
    value: Expr | None
    arguments: tuple[Argument, ...] | None


class Target(SyntaxNode):
    """What a statement defines: a name with binders, fixed indices, or both."""

    name: Name
    indices: tuple[Binder | Expr, ...]
    where: Expr | None


class Parameter(SyntaxNode):
    name: Name
    dims: tuple[Name, ...]
    type: TypeExpr


# ---- statements


class Statement(SyntaxNode):
    pass


class ModelStmt(Statement):
    name: Name


class ImportStmt(Statement):
    path: String
    alias: Name


class DimStmt(Statement):
    name: Name
    size: Number | None
    labels: tuple[Name, ...]


class DeclStmt(Statement):
    role: str
    name: Name
    dims: tuple[Name, ...]
    type: TypeExpr
    value: Expr | None
    annotations: tuple[Annotation, ...]


class DrawStmt(Statement):
    target: Target
    type: TypeExpr | None
    distribution: Expr
    annotations: tuple[Annotation, ...]


class LetStmt(Statement):
    """`kept` is true for `:=`: the value is part of every output."""

    target: Target
    type: TypeExpr | None
    kept: bool
    value: Expr
    annotations: tuple[Annotation, ...]


class FactorStmt(Statement):
    target: Target
    value: Expr
    annotations: tuple[Annotation, ...]


class ForStmt(Statement):
    binders: tuple[Binder, ...]
    where: Expr | None
    body: tuple[Statement, ...]


class SoftStmt(Statement):
    arguments: tuple[Argument, ...]
    body: tuple[Statement, ...]


class GuideStmt(Statement):
    body: tuple[Statement, ...]


class FnStmt(Statement):
    """`body` is None for an extern function, which the caller binds from Python."""

    name: Name
    parameters: tuple[Parameter, ...]
    result: TypeExpr
    body: Expr | None


class ObjectiveStmt(Statement):
    minimize: bool
    value: Expr
    annotations: tuple[Annotation, ...]


class BrokenStmt(Statement):
    """A statement that could not be read; the names it seems to define stay known."""


class Comment(SyntaxNode):
    text: str


class Program(Record):
    not_compared: ClassVar[frozenset[str]] = frozenset({"source", "comments"})

    source: Source
    statements: tuple[Statement, ...]
    comments: tuple[Comment, ...] = ()

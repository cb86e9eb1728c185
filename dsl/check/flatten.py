"""Blocks dissolve: every statement alone, with what is around it, and the names it mentions."""

from collections.abc import Iterator

from ..diagnostics import Diagnostic
from ..record import Record
from ..source import Span
from ..text import syntax as s
from ..text.parser import children
from .modules import Module

Definition = s.DrawStmt | s.LetStmt | s.FactorStmt


class FlatStmt(Record):
    """One statement outside all blocks. `soft` holds the arguments of the nearest soft block."""

    statement: s.Statement
    module: Module
    guide: bool = False
    soft: tuple[s.Argument, ...] | None = None

    @property
    def definition(self) -> Definition:
        """The statement, where it is one that defines a variable or a factor."""
        assert isinstance(self.statement, Definition)
        return self.statement


class _Around(Record):
    module: Module
    binders: tuple[s.Binder, ...] = ()
    where: tuple[s.Expr, ...] = ()
    soft: tuple[s.Argument, ...] | None = None
    guide: bool = False


def flatten_module(module: Module, report: list[Diagnostic]) -> list[FlatStmt]:
    return [*_flatten(module.program.statements, _Around(module), report)]


def _flatten(
    statements: tuple[s.Statement, ...], around: _Around, report: list[Diagnostic]
) -> Iterator[FlatStmt]:
    for statement in statements:
        if isinstance(statement, s.ForStmt):
            where = (*around.where, *filter(None, [statement.where]))
            inside = around.replace(binders=around.binders + statement.binders, where=where)
            yield from _flatten(statement.body, inside, report)
        elif isinstance(statement, s.SoftStmt):
            yield from _flatten(statement.body, around.replace(soft=statement.arguments), report)
        elif isinstance(statement, s.GuideStmt):
            if around.binders or around.guide or around.soft is not None:
                _report_misplaced(statement, "guide", around, report)
            yield from _flatten(statement.body, around.replace(guide=True), report)
        elif isinstance(statement, Definition):
            bound = statement.replace(target=_bind_target(statement.target, around, report))
            yield FlatStmt(bound, around.module, around.guide, around.soft)
        else:
            in_guide = around.guide and not isinstance(statement, s.DeclStmt)
            if around.binders or around.soft is not None or in_guide:
                _report_misplaced(statement, _word(statement), around, report)
            yield FlatStmt(statement, around.module, around.guide)


def _bind_target(target: s.Target, around: _Around, report: list[Diagnostic]) -> s.Target:
    """Inside `for i in D`, the target `a[i]` means `a[i in D]`."""
    if not around.binders:
        return target
    by_name = {binder.name.name: binder for binder in around.binders}
    indices = tuple(by_name.get(i.name, i) if isinstance(i, s.Name) else i for i in target.indices)
    missing = tuple(binder for binder in around.binders if binder not in indices)
    if missing:
        own, name = target.name.name, missing[0].name.name
        message = f"`{own}` is defined for each `{name}`, but does not carry `{name}` as an index"
        help = f"write `{own}[{', '.join(by_name)}]`"
        around.module.error(report, "E0511", message, target.span, help)
    where: s.Expr | None = None
    for each in (*around.where, *filter(None, [target.where])):
        where = s.Binary(where.span.to(each.span), "and", where, each) if where else each
    return target.replace(indices=missing + indices, where=where)


def _word(statement: s.Statement) -> str:
    word = type(statement).__name__.removesuffix("Stmt").lower()
    if isinstance(statement, s.ObjectiveStmt):
        return "minimize" if statement.minimize else "maximize"
    return statement.role if isinstance(statement, s.DeclStmt) else word


def _report_misplaced(
    statement: s.Statement, word: str, around: _Around, report: list[Diagnostic]
) -> None:
    block = "for" if around.binders else "guide" if around.guide else "soft"
    message = f"`{word}` cannot stand inside a `{block}` block"
    around.module.error(report, "E0510", message, statement.span, "move it out of the block")


# ---- which names an expression mentions, with which indices: before types are known


class Mention(Record):
    """`indices` is None where the name stands without brackets."""

    name: str
    span: Span
    indices: tuple[s.Expr, ...] | None = None


def mentions(node: s.SyntaxNode, bound: frozenset[str] = frozenset()) -> Iterator[Mention]:
    if isinstance(node, s.Name):
        if node.name not in bound:
            yield Mention(node.name, node.span)
    elif isinstance(node, s.Index) and isinstance(base := node.base, s.Name):
        if base.name not in bound:
            yield Mention(base.name, base.span, node.indices)
        for index in node.indices:
            yield from mentions(index, bound)
    elif isinstance(node, s.LoopExpr):
        yield from mentions(node.start, bound)
        inside = bound | {node.variable.name}
        for part in (node.condition, node.limit, node.body):
            yield from mentions(part, inside)
    elif isinstance(node, s.Binder):
        yield from mentions(node.range, bound)
    elif isinstance(node, s.Target):
        for index_or_where in (*node.indices, *filter(None, [node.where])):
            yield from mentions(index_or_where, bound)
    elif not isinstance(node, s.Bound):
        if isinstance(node, s.Reduction | s.Comprehension):
            bound |= binder_names(node.binders)
        for child in children(node):
            yield from mentions(child, bound)


def binder_names(indices: tuple[s.Binder | s.Expr, ...]) -> frozenset[str]:
    return frozenset(i.name.name for i in indices if isinstance(i, s.Binder))


def read_offset(expr: s.Expr) -> tuple[str | None, int] | None:
    """A binder plus a whole number, or a whole number alone: `t`, `t - 1`, `0`; None for others."""
    if isinstance(expr, s.Group):
        return read_offset(expr.inner)
    if isinstance(expr, s.Name):
        return expr.name, 0
    if isinstance(expr, s.Number) and isinstance(expr.value, int):
        return None, expr.value
    if isinstance(expr, s.Binary) and expr.operator in "+-" and isinstance(expr.right, s.Number):
        base = read_offset(expr.left)
        if base and isinstance(expr.right.value, int):
            sign = 1 if expr.operator == "+" else -1
            return base[0], base[1] + sign * expr.right.value
    return None


def lags_of(target: s.Target, mention: Mention) -> tuple[int | None, ...]:
    """How many steps back a statement looks along each axis, as it is written."""
    if mention.indices is None:
        return ()
    pairs = zip(target.indices, mention.indices, strict=False)
    return tuple(_lag(index, read_offset(used)) for index, used in pairs)


def _lag(index: s.Binder | s.Expr, used: tuple[str | None, int] | None) -> int | None:
    if used is None:
        return None
    binder, value = used
    if isinstance(index, s.Binder):
        if binder == index.name.name:
            return -value
        low = index.range.low.value if index.range.low else 0
        is_earlier = binder is None and isinstance(low, int) and low > value
        return int(low) - value if is_earlier else None
    fixed = read_offset(index)
    is_fixed = fixed is not None and fixed[0] is None and binder is None
    return fixed[1] - value if fixed and is_fixed else None

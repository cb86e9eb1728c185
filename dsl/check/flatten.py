"""Blocks dissolve: every statement alone, with the binders, conditions and smoothing around it."""

from collections.abc import Iterator

from ..diagnostics import Diagnostic
from ..record import Record
from ..text import syntax as s
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
    around = _Around(module)
    return [flat for s in module.program.statements for flat in _flatten(s, around, report)]


def _flatten(
    statement: s.Statement, around: _Around, report: list[Diagnostic]
) -> Iterator[FlatStmt]:
    if isinstance(statement, s.ForStmt):
        where = (*around.where, *filter(None, [statement.where]))
        inside = around.replace(binders=around.binders + statement.binders, where=where)
        yield from _inside(statement.body, inside, report)
    elif isinstance(statement, s.SoftStmt):
        yield from _inside(statement.body, around.replace(soft=statement.arguments), report)
    elif isinstance(statement, s.GuideStmt):
        if around.binders or around.guide or around.soft is not None:
            _report_misplaced(statement, "guide", around, report)
        yield from _inside(statement.body, around.replace(guide=True), report)
    elif isinstance(statement, Definition):
        target = _bind_target(statement.target, around, report)
        yield FlatStmt(statement.replace(target=target), around.module, around.guide, around.soft)
    else:
        in_guide = around.guide and not isinstance(statement, s.DeclStmt)
        if around.binders or around.soft is not None or in_guide:
            _report_misplaced(statement, _word(statement), around, report)
        yield FlatStmt(statement, around.module, around.guide)


def _inside(
    body: tuple[s.Statement, ...], around: _Around, report: list[Diagnostic]
) -> Iterator[FlatStmt]:
    for statement in body:
        yield from _flatten(statement, around, report)


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

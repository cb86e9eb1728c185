"""Blocks dissolve: every statement alone, with the binders, conditions and smoothing around it."""

from __future__ import annotations

from collections.abc import Iterator

from ..diagnostics import Diagnostic
from ..record import Record
from ..text import syntax as s
from .modules import Module

Definition = s.DrawStmt | s.LetStmt | s.FactorStmt


class Flat(Record):
    """One statement outside all blocks. `soft` holds the arguments of the nearest soft block."""

    statement: s.Statement
    module: Module
    guide: bool = False
    soft: tuple[s.Argument, ...] | None = None


class _Around(Record):
    module: Module
    binders: tuple[s.Binder, ...] = ()
    where: tuple[s.Expr, ...] = ()
    soft: tuple[s.Argument, ...] | None = None
    guide: bool = False


def flatten_module(module: Module, report: list[Diagnostic]) -> list[Flat]:
    around = _Around(module)
    return [flat for s in module.program.statements for flat in _flatten(s, around, report)]


def _flatten(statement: s.Statement, around: _Around, report: list[Diagnostic]) -> Iterator[Flat]:
    if isinstance(statement, s.ForStmt):
        where = (*around.where, *filter(None, [statement.where]))
        yield from _inside(
            statement.body,
            around.replace(binders=around.binders + statement.binders, where=where),
            report,
        )
    elif isinstance(statement, s.SoftStmt):
        yield from _inside(statement.body, around.replace(soft=statement.arguments), report)
    elif isinstance(statement, s.GuideStmt):
        if around.binders or around.guide or around.soft is not None:
            report.append(_misplaced(statement, "guide", around))
        yield from _inside(statement.body, around.replace(guide=True), report)
    elif isinstance(statement, s.DrawStmt | s.LetStmt | s.FactorStmt):
        target = _bind_target(statement.target, around, report)
        yield Flat(statement.replace(target=target), around.module, around.guide, around.soft)
    else:
        if (
            around.binders
            or around.soft is not None
            or (around.guide and not isinstance(statement, s.DeclStmt))
        ):
            report.append(_misplaced(statement, _word(statement), around))
        yield Flat(statement, around.module, around.guide)


def _inside(
    body: tuple[s.Statement, ...], around: _Around, report: list[Diagnostic]
) -> Iterator[Flat]:
    for statement in body:
        yield from _flatten(statement, around, report)


def _bind_target(target: s.Target, around: _Around, report: list[Diagnostic]) -> s.Target:
    """Inside `for i in D`, the target `a[i]` means `a[i in D]`."""
    if not around.binders:
        return target
    by_name = {binder.name.name: binder for binder in around.binders}
    indices = tuple(by_name.get(i.name, i) if isinstance(i, s.Name) else i for i in target.indices)
    missing = tuple(binder for binder in around.binders if binder not in indices)
    for binder in missing[:1]:
        name = binder.name.name
        message = (
            f"`{target.name.name}` is defined once for each `{name}`, but does not carry "
            f"`{name}` as an index"
        )
        help = f"write `{target.name.name}[{', '.join(by_name)}]`"
        report.append(Diagnostic("E0511", message, around.module.source, target.span, help=help))
    return target.replace(
        indices=missing + indices,
        where=_conjunction((*around.where, *filter(None, [target.where]))),
    )


def _conjunction(conditions: tuple[s.Expr, ...]) -> s.Expr | None:
    if not conditions:
        return None
    joined = conditions[0]
    for condition in conditions[1:]:
        joined = s.Binary(joined.span.to(condition.span), "and", joined, condition)
    return joined


def _word(statement: s.Statement) -> str:
    word = type(statement).__name__.removesuffix("Stmt").lower()
    if isinstance(statement, s.ObjectiveStmt):
        return "minimize" if statement.minimize else "maximize"
    return statement.role if isinstance(statement, s.DeclStmt) else word


def _misplaced(statement: s.Statement, word: str, around: _Around) -> Diagnostic:
    block = "for" if around.binders else "guide" if around.guide else "soft"
    message = f"`{word}` cannot stand inside a `{block}` block"
    help = "move it out of the block"
    return Diagnostic("E0510", message, around.module.source, statement.span, help=help)

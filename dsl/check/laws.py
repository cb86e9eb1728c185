"""Distributions as they are written: a row of the library, or one that is made of another."""

from __future__ import annotations

from ..graph import core as c
from ..graph import types as t
from ..library.distributions import distributions_by_name
from ..library.wrappers import WRAPPERS
from ..text import syntax as s
from .calls import infer_distribution, require_type
from .context import Context
from .truncation import truncated

ENDS = ("lower", "upper")


def is_distribution(expr: s.Expr | None, ctx: Context) -> bool:
    """A call of a distribution, where no function of the program has its name."""
    name = expr.function.name if isinstance(expr, s.Call) else ""
    return (name in distributions_by_name() or name in WRAPPERS) and not ctx.symbol(name)


def infer_law(expr: s.Call, expected: t.Dim | None, ctx: Context) -> c.Law | None:
    """The distribution with its arguments, or None after a report."""
    from .expressions import given_arguments

    name = expr.function
    if name.name in WRAPPERS and not ctx.symbol(name.name):
        return _infer_truncated(expr, ctx)
    given = given_arguments(expr.arguments, ctx)
    return infer_distribution(name.name, given, expr.span, name.span, expected, ctx)


def _infer_truncated(expr: s.Call, ctx: Context) -> c.Law | None:
    """`Truncated(D, lower=a, upper=b)`, with one of the ends or both."""
    from .expressions import infer

    first, *others = expr.arguments or (None,)
    named = [argument.name for argument in others]
    is_written = bool(others) and set(named) <= set(ENDS) and len(set(named)) == len(named)
    if first is None or first.name or not is_written:
        text = WRAPPERS[expr.function.name].text
        help = "as in `Truncated(Normal(0, 1), lower=0)`"
        ctx.error("E0402", f"it is written `{text}`, with one end or both", expr.span, help)
        return None
    if not is_distribution(first.value, ctx):
        help = "write it with its arguments, as in `Normal(0, 1)`"
        ctx.error("E0401", "this is not a distribution", first.value.span, help)
        return None
    assert isinstance(first.value, s.Call)
    law = infer_law(first.value, None, ctx)
    ends: dict[str, c.Core] = {}
    before = len(ctx.facts.report)
    for argument in others:
        value = infer(argument.value, ctx)
        require_type(value, t.REAL, f"`{argument.name}` of Truncated", ctx)
        ends[str(argument.name)] = value
    known = all(value.type.known for value in ends.values())
    if law is None or not known or len(ctx.facts.report) > before:
        return None
    return truncated(law, ends, ctx)

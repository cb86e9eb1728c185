"""Distributions as they are written: a row of the library, or one that is made of another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..graph import core as c
from ..graph import types as t
from ..library.derived import censored_text, mixture_text, zero_inflated_text
from ..library.distributions import distributions_by_name
from ..library.wrappers import WRAPPERS
from ..text import syntax as s
from .calls import check_sum, infer_distribution, require_type
from .context import Context
from .truncation import truncated

ENDS = ("lower", "upper")
EXAMPLES = {
    "Truncated": "Truncated(Normal(0, 1), lower=0)",
    "Censored": "Censored(Normal(0, 1), upper=2)",
    "ZeroInflated": "ZeroInflated(0.2, Poisson(3))",
    "Mixture": "Mixture(w, [k in K] Normal(mu[k], 1))",
}


def is_distribution(expr: s.Expr | None, ctx: Context) -> bool:
    """A call of a distribution, where no function of the program has its name."""
    name = expr.function.name if isinstance(expr, s.Call) else ""
    return (name in distributions_by_name() or name in WRAPPERS) and not ctx.symbol(name)


def infer_law(expr: s.Call, expected: t.Dim | None, ctx: Context) -> c.Law | None:
    """The distribution with its arguments, or None after a report."""
    from .expressions import given_arguments

    name = expr.function
    if name.name in WRAPPERS and not ctx.symbol(name.name):
        before = len(ctx.facts.report)
        found = _MADE[name.name](expr, expected, ctx)
        return found if len(ctx.facts.report) == before else None
    given = given_arguments(expr.arguments, ctx)
    return infer_distribution(name.name, given, expr.span, name.span, expected, ctx)


def _report_form(expr: s.Call, ctx: Context) -> None:
    name = expr.function.name
    message = f"it is written `{WRAPPERS[name].text.rpartition(' -> ')[0]}`"
    ctx.error("E0402", message, expr.span, f"as in `{EXAMPLES[name]}`")


def _infer_inner(expr: s.Expr, expected: t.Dim | None, ctx: Context) -> c.Law | None:
    """The distribution that another one is made of."""
    if not isinstance(expr, s.Call) or not is_distribution(expr, ctx):
        help = "write it with its arguments, as in `Normal(0, 1)`"
        ctx.error("E0401", "this is not a distribution", expr.span, help)
        return None
    return infer_law(expr, expected, ctx)


# ---- between two ends


def _infer_truncated(expr: s.Call, _: t.Dim | None, ctx: Context) -> c.Law | None:
    """`Truncated(D, lower=a, upper=b)`, with one of the ends or both."""
    from .expressions import infer

    first, *others = expr.arguments or (None,)
    named = [argument.name for argument in others]
    is_written = bool(others) and set(named) <= set(ENDS) and len(set(named)) == len(named)
    if first is None or first.name or not is_written:
        _report_form(expr, ctx)
        return None
    before = len(ctx.facts.report)
    law = _infer_inner(first.value, None, ctx)
    ends: dict[str, c.Core] = {}
    for argument in others:
        value = infer(argument.value, ctx)
        require_type(value, t.REAL, f"`{argument.name}` of {expr.function.name}", ctx)
        ends[str(argument.name)] = value
    known = all(value.type.known for value in ends.values())
    if law is None or not known or len(ctx.facts.report) > before:
        return None
    return truncated(law, ends, ctx)


def _infer_censored(expr: s.Call, _: t.Dim | None, ctx: Context) -> c.Law | None:
    law = _infer_truncated(expr, None, ctx)
    return law and law.replace(name=f"Censored {law.name}", row=censored_text(law.row))


# ---- with more zeros


def _infer_zero_inflated(expr: s.Call, _: t.Dim | None, ctx: Context) -> c.Law | None:
    from .expressions import infer

    names = [argument.name for argument in expr.arguments]
    if len(names) != 2 or names[0] not in (None, "zeros") or names[1] is not None:
        _report_form(expr, ctx)
        return None
    zeros = infer(expr.arguments[0].value, ctx)
    require_type(zeros, t.REAL, "`zeros` of ZeroInflated", ctx)
    law = _infer_inner(expr.arguments[1].value, None, ctx)
    if law is None or not zeros.type.known:
        return None
    domain = law.type.domain
    if law.type.shape or not isinstance(domain, t.Real | t.Int) or domain.lower < 0:
        help = "it is for counts and numbers above 0: Poisson, NegativeBinomial, Gamma, LogNormal"
        ctx.error("E0417", f"draws of {law.name} are not all 0 or above", law.span, help)
        return None
    if law.facts.masses or law.given(("zeros",)):
        help = "add the probabilities up, or draw each part alone"
        ctx.error("E0417", f"{law.name} cannot be inflated again", law.span, help)
        return None
    return law.replace(
        span=expr.span,
        name=f"ZeroInflated {law.name}",
        row=zero_inflated_text(law.row),
        arguments=(("zeros", zeros), *law.arguments),
        type=law.type.replace(domain=domain.replace(lower=0 if law.type.whole else 0.0)),
    )


# ---- one of several


def _infer_mixture(expr: s.Call, expected: t.Dim | None, ctx: Context) -> c.Law | None:
    from .expressions import infer

    names = [argument.name for argument in expr.arguments]
    if len(names) != 2 or names[0] not in (None, "weights") or names[1] is not None:
        _report_form(expr, ctx)
        return None
    parts = _infer_parts(expr.arguments[1].value, expected, expr, ctx)
    if parts is None:
        return None
    axis, law, arguments = parts
    weights = infer(expr.arguments[0].value, ctx, axis)
    require_type(weights, t.Type(t.Real(), (axis,)), "`weights` of Mixture", ctx)
    check_sum(weights, ctx)
    if law.facts.masses or law.given(("weights",)):
        help = "write one mixture of all parts" if not law.facts.masses else "draw each part alone"
        ctx.error("E0417", f"{law.name} cannot be a part of a mixture", law.span, help)
    return law.replace(
        span=expr.span,
        name=f"Mixture of {law.name}",
        row=mixture_text(law.row),
        arguments=(("weights", weights), *arguments),
    )


Arguments = tuple[tuple[str, c.Core], ...]


def _infer_parts(
    parts: s.Expr, expected: t.Dim | None, expr: s.Call, ctx: Context
) -> tuple[t.Axis, c.Law, Arguments] | None:
    """Along which axis the parts lie, one of them, and the arguments of all of them."""
    from .expressions import bind_all, bind_axis

    if isinstance(parts, s.Comprehension) and len(parts.binders) == 1 and parts.where is None:
        binders, inside = bind_all(parts.binders, ctx)
        law = _infer_inner(parts.body, expected, inside)
        if not binders or law is None:
            return None
        axis = bind_axis(binders[0])
        return axis, law, tuple((n, _for_each(core, binders, axis)) for n, core in law.arguments)
    if isinstance(parts, s.Array):
        laws = [_infer_inner(item, expected, ctx) for item in parts.items]
        known = [law for law in laws if law is not None]
        return _listed(known, ctx) if len(known) == len(laws) else None
    _report_form(expr, ctx)
    return None


def _for_each(core: c.Core, binders: tuple[c.Bind, ...], axis: t.Axis) -> c.Core:
    """An argument of every part, as an array."""
    if isinstance(core, c.DimRef):
        return core
    type_ = core.type.replace(shape=(axis, *core.type.shape))
    return c.Build(core.span, type_, binders, core)


def _listed(laws: Sequence[c.Law], ctx: Context) -> tuple[t.Axis, c.Law, Arguments] | None:
    """`[Normal(0, 1), Normal(3, 2)]`: distributions of one form, side by side."""
    first, axis = laws[0], t.Fixed(len(laws))
    for law in laws[1:]:
        if law.row != first.row:
            help = "give all parts the same form, or draw which one it is: `z ~ Categorical(w)`"
            message = f"the parts of a mixture are of one form, that of the first: {first.name}"
            ctx.error("E0417", message, law.span, help)
            return None
    columns = zip(*(law.arguments for law in laws), strict=True)
    joined = [_stacked([core for _, core in column], axis) for column in columns]
    names = [name for name, _ in first.arguments]
    low = min(law.type.bounds[0] for law in laws)
    high = max(law.type.bounds[1] for law in laws)
    domain = first.type.domain
    if isinstance(domain, t.Real | t.Int):
        first = first.replace(type=first.type.replace(domain=domain.replace(lower=low, upper=high)))
    return axis, first, tuple(zip(names, joined, strict=True))


def _stacked(cores: Sequence[c.Core], axis: t.Axis) -> c.Core:
    first = cores[0]
    if isinstance(first, c.DimRef):
        return first
    domains = [core.type.domain for core in cores]
    domain = domains[0]
    for other in domains[1:]:
        domain = t.join_domains(domain, other) or t.Real()
    span = first.span.to(cores[-1].span)
    return c.Stack(span, t.Type(domain, (axis, *first.type.shape)), tuple(cores))


_MADE: dict[str, Callable[[s.Call, t.Dim | None, Context], c.Law | None]] = {
    "Truncated": _infer_truncated,
    "Censored": _infer_censored,
    "ZeroInflated": _infer_zero_inflated,
    "Mixture": _infer_mixture,
}

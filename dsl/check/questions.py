"""What expressions ask of a distribution: its log density at a value, its cdf, its mean.

Each is `name(D(...), ...)`, with the same arguments as where D is drawn from (PL03, DI19, DI22).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from ..graph import core as c
from ..graph import types as t
from ..library.distributions import DISTRIBUTIONS
from ..library.functions import functions_by_name
from ..library.questions import QUESTIONS, QuestionRow
from ..library.rows import why_not
from ..source import Span
from ..text import syntax as s
from .calls import require_type
from .context import Context
from .laws import infer_law, is_distribution


def is_question(expr: s.Call, ctx: Context) -> bool:
    """Of a distribution, or of what should be one: no function of arrays has this name."""
    name = expr.function.name
    if name not in QUESTIONS or ctx.symbol(name):
        return False
    first = expr.arguments[0].value if expr.arguments else None
    return name not in functions_by_name() or is_distribution(first, ctx)


def infer_question(expr: s.Call, ctx: Context) -> c.Core:
    """The question as core, or the unknown value after a report."""
    row = QUESTIONS[expr.function.name]
    unknown = c.Const(expr.span, t.UNKNOWN, 0)
    wanted = 1 + bool(row.given)
    named = [argument.name for argument in expr.arguments[1:]]
    if len(expr.arguments) != wanted or any(name not in (None, row.given) for name in named):
        message = f"`{row.name}` of a distribution is written `{row.text}`"
        ctx.error("E0202", message, expr.span, f"as in `{_example(row)}`")
        return unknown
    law = _infer_law(expr.arguments[0].value, row, ctx)
    if law is None:
        return unknown
    if row.given == "distribution":
        other = _infer_law(expr.arguments[1].value, row, ctx)
        if other is None or not _has_divergence(law, other, expr.span, ctx):
            return unknown
        return c.Divergence(expr.span, t.Type(t.Real(0.0)), law, other)
    value = _infer_value(expr.arguments[1].value, row, law, ctx) if row.given else None
    if (row.given and value is None) or not _is_known(law, row, expr.span, ctx):
        return unknown
    return _MADE[row.name](expr.span, law, value)


def _example(row: QuestionRow) -> str:
    given = {"value": ", 0.5", "probability": ", 0.5", "distribution": ", Normal(1, 2)"}
    return f"{row.name}(Normal(0, 1){given.get(row.given, '')})"


def _infer_law(expr: s.Expr, row: QuestionRow, ctx: Context) -> c.Law | None:
    if isinstance(expr, s.Call):
        return infer_law(expr, None, ctx)
    help = f"write it with its arguments, as in `{_example(row)}`"
    ctx.error("E0401", "this is not a distribution", expr.span, help)
    return None


def _infer_value(expr: s.Expr, row: QuestionRow, law: c.Law, ctx: Context) -> c.Core | None:
    """A value that a draw could have, or a probability."""
    from .expressions import infer

    domain = law.type.domain
    value = infer(expr, ctx, domain.dim if isinstance(domain, t.IndexOf) else None)
    if not value.type.known:
        return None
    wanted = law.type if isinstance(domain, t.IndexOf | t.Bool) else t.Type(t.Real())
    if row.given == "value" and not isinstance(domain, t.IndexOf | t.Bool):
        wanted = wanted.replace(shape=law.type.shape)
    before = len(ctx.facts.report)
    require_type(value, wanted, f"the {row.given}", ctx)
    return value if len(ctx.facts.report) == before else None


def _is_known(law: c.Law, row: QuestionRow, span: Span, ctx: Context) -> bool:
    """Whether a fact of the distribution answers; an error that says why not."""
    is_stepwise = row.name == "quantile" and law.facts.discrete
    if not row.facts or (any(law.facts.has(fact) for fact in row.facts) and not is_stepwise):
        return True
    is_single = law.facts.single or row.given != "value"
    reason = why_not(law.facts, row.facts[0]) if is_single else "its draws are not single numbers"
    reason = "its draws are whole numbers" if is_stepwise else reason
    rows = [r for r in DISTRIBUTIONS if not (row.name == "quantile" and r.discrete)]
    known = {r.name for r in rows if any(r.has(fact) for fact in row.facts)}
    help = f"it is known of {', '.join(sorted(known))}"
    ctx.error("E0416", f"`{row.name}` of {law.name} is not known: {reason}", span, help)
    return False


def _has_divergence(law: c.Law, other: c.Law, span: Span, ctx: Context) -> bool:
    if law.name == other.name and law.facts.closed_divergence:
        return True
    known = {row.name for row in DISTRIBUTIONS if row.closed_divergence}
    help = f"it is known between two of one kind: {', '.join(sorted(known))}"
    ctx.error("E0416", f"`kl` of {law.name} and {other.name} has no closed form here", span, help)
    return False


# ---- what each becomes


def _log_density(span: Span, law: c.Law, value: c.Core) -> c.Core:
    highest = 0.0 if law.facts.discrete else inf
    return c.LogDensity(span, t.Type(t.Real(-inf, highest)), law, value, False, True)


def _tail(upper: bool, log: bool) -> Callable[..., c.Core]:
    type_ = t.Type(t.Real(-inf, 0.0) if log else t.Real(0.0, 1.0))
    return lambda span, law, value: c.Cdf(span, type_, law, value, upper, log, True)


def _moment(name: str, domain: t.Real) -> Callable[..., c.Core]:
    return lambda span, law, _: c.Moment(span, t.Type(domain, law.type.shape), law, name)


_MADE: dict[str, Callable[..., c.Core]] = {
    "log_density": _log_density,
    "cdf": _tail(upper=False, log=False),
    "log_cdf": _tail(upper=False, log=True),
    "survival": _tail(upper=True, log=False),
    "log_survival": _tail(upper=True, log=True),
    "quantile": lambda span, law, level: c.Quantile(span, law.type, law, level),
    "mean": _moment("mean", t.Real()),
    "variance": _moment("variance", t.Real(0.0)),
    "entropy": lambda span, law, _: c.Moment(span, t.REAL, law, "entropy"),
}

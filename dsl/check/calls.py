"""Calls: built-in functions, functions of the program, and distributions."""

import re
from collections.abc import Sequence

from ..diagnostics import did_you_mean
from ..graph import core as c
from ..graph.breaks import SOFTENED, selects
from ..graph.types import (
    REAL,
    UNKNOWN,
    Dim,
    IndexOf,
    Int,
    Real,
    Truth,
    Type,
    join_domains,
    same_shape,
)
from ..library.distributions import distributions_by_name
from ..library.elsewhere import (
    DISTRIBUTIONS_ELSEWHERE,
    FUNCTIONS_ELSEWHERE,
    QUESTIONS_ELSEWHERE,
)
from ..library.functions import functions_by_name
from ..library.questions import QUESTIONS
from ..library.rows import Distribution
from ..library.wrappers import WRAPPERS
from ..source import Span
from .context import Context
from .matching import CallArgument, Misfit, RowMatch, match_row
from .symbols import Symbol

UNNAMED = c.Const(Span(0, 0), UNKNOWN, 0)


def infer_function(
    name: str, given: Sequence[CallArgument], span: Span, name_span: Span, ctx: Context
) -> c.Core:
    symbol = ctx.symbol(name)
    if symbol and symbol.kind in ("fn", "extern"):
        return _infer_own(symbol, given, span, ctx)
    if name in c.BOUNDS and not symbol:
        return _infer_bound(name, given, span, ctx)
    rows = functions_by_name().get(name, ())
    if not rows:
        _report_unknown(name, name_span, symbol, ctx)
    misfits: list[Misfit] = []
    for row in rows if all(_is_known(g.value) for g in given) else ():
        try:
            fit = match_row(row.signature, given, span)
            is_mean = ctx.soft and (name in SOFTENED or any(selects(g.value) for g in given))
            type_ = fit.type.softened if is_mean else fit.type
            return c.Apply(span, type_, name, fit.arguments, row.text)
        except Misfit as misfit:
            misfits.append(misfit)
    if misfits:
        _report_misfits(name, [row.text for row in rows], misfits, span, ctx)
    return c.Const(span, UNKNOWN, 0)


def _name_elsewhere(name: str, table: dict[str, str]) -> str:
    """`numpy.log` and `pm.Normal` are looked up by their last part."""
    last = name.rpartition(".")[2]
    asked = re.fullmatch(r"[a-z]\w*_(lpdf|lpmf|logp|logpdf|logpmf|lcdf|lccdf|cdf)", last)
    if asked and table is FUNCTIONS_ELSEWHERE:
        question = QUESTIONS_ELSEWHERE.get(asked[1], "log_density")
        return f"ask the distribution: `{question}(Normal(m, s), x)`"
    return f"here it is {table[last]}" if last in table else ""


def _report_misfits(
    name: str, rows: list[str], misfits: list[Misfit], span: Span, ctx: Context
) -> None:
    if len(misfits) == 1:
        only = misfits[0]
        ctx.error(only.code, only.message, only.span, help=only.help)
    else:
        message = f"no form of `{name}` takes these arguments"
        ctx.error("E0201", message, span, "its forms are " + " | ".join(f"`{row}`" for row in rows))


def _report_unknown(name: str, span: Span, symbol: Symbol | None, ctx: Context) -> None:
    if symbol and symbol.kind == "broken":
        return
    if name in distributions_by_name():
        help = f"draw from it: `x ~ {name}(...)`, or ask it: `log_density({name}(...), x)`"
        ctx.error("E0401", f"`{name}` is a distribution, not a function", span, help)
    elif symbol:
        help = "write `*` to multiply, `[ ]` to index"
        ctx.error("E0107", f"`{name}` is not a function", span, help)
    else:
        own = [s.name for s in ctx.facts.symbols.model.values() if s.kind in ("fn", "extern")]
        help = _name_elsewhere(name, FUNCTIONS_ELSEWHERE)
        help = help or did_you_mean(name, [*functions_by_name(), *QUESTIONS, *own])
        help = help or "declare it: `fn` here, or `extern fn` to bind it from Python"
        ctx.error_once("E0107", f"there is no function `{name}`", name, span, help)


def _infer_own(symbol: Symbol, given: Sequence[CallArgument], span: Span, ctx: Context) -> c.Core:
    signature = ctx.facts.functions.get(symbol.name)
    if signature is None:
        return c.Const(span, UNKNOWN, 0)
    if len(given) != len(signature.parameters) or any(g.name for g in given):
        wanted = ", ".join(f"{name}: {type_}" for name, type_ in signature.parameters)
        ctx.error("E0202", f"`{symbol.name}` takes ({wanted}), in this order", span)
        return c.Const(span, signature.result, 0)
    for argument, (name, type_) in zip(given, signature.parameters, strict=True):
        require_type(argument.value, type_, f"`{name}` of `{symbol.name}`", ctx)
    return c.CallFn(span, signature.result, symbol.name, tuple(g.value for g in given))


def require_type(value: c.Core, wanted: Type, what: str, ctx: Context) -> None:
    """A value of the wanted shape whose domain can be read as the wanted one."""
    if isinstance(value, c.DimRef):
        ctx.error("E0207", f"`{value.dim}` is a dim, not a value", value.span)
    elif value.type.known and wanted.known and not _assignable(value.type, wanted):
        is_soft = isinstance(value.type.domain, Truth)
        help = "inside a function everything is hard: write its body here" if is_soft else ""
        ctx.error("E0201", f"{what} is {wanted}, but this is {value.type}", value.span, help)


def _assignable(given: Type, wanted: Type) -> bool:
    if not same_shape(given.shape, wanted.shape):
        return False
    if isinstance(wanted.domain, Real):
        return given.numeric
    joined = join_domains(given.domain, wanted.domain)
    return joined is not None and type(joined) is type(wanted.domain)


BOUND_OPTIONS = {
    "elbo": {"analytic": "true or false", "landing": "true or false"},
    "iwae": {"samples": "a whole number above 0"},
    "renyi": {"alpha": "a number other than 1", "samples": "a whole number above 0"},
}


def _infer_bound(name: str, given: Sequence[CallArgument], span: Span, ctx: Context) -> c.Core:
    if not ctx.objective:
        help = f"write `maximize {name}()`"
        ctx.error("E0605", f"`{name}()` stands only in an objective", span, help)
    elif not ctx.facts.symbols.guide:
        help = "add `guide { z ~ ... }` with a draw for each latent"
        ctx.error("E0605", f"`{name}()` needs a guide", span, help)
    options = BOUND_OPTIONS[name]
    for argument in given:
        if argument.name not in options:
            help = f"it takes {', '.join(f'{option}=' for option in options)}"
            message = f"`{name}` has no option `{argument.name or ''}`"
            ctx.error("E0202", message, argument.value.span, help)
        elif not _is_option(argument, options[argument.name]):
            message = f"`{argument.name}` of `{name}` is {options[argument.name]}"
            ctx.error("E0202", message, argument.value.span)
    for option in options:
        if name != "elbo" and option not in {argument.name for argument in given}:
            ctx.error("E0202", f"`{name}` needs `{option}=`", span, help=f"{options[option]}")
    return c.Apply(span, REAL, name, tuple((g.name or "", g.value) for g in given))


def _is_option(argument: CallArgument, wanted: str) -> bool:
    value = argument.value.value if isinstance(argument.value, c.Const) else None
    if wanted == "true or false":
        return isinstance(value, bool)
    if wanted == "a number other than 1":
        return isinstance(value, int | float) and not isinstance(value, bool) and value != 1
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


# ---- distributions


def infer_distribution(
    name: str,
    given: Sequence[CallArgument],
    span: Span,
    name_span: Span,
    expected: Dim | None,
    ctx: Context,
) -> c.Law | None:
    """The distribution with these arguments, or None after a report."""
    rows = distributions_by_name().get(name, ())
    if not rows:
        _report_unknown_distribution(name, name_span, ctx)
        return None
    if name == "Categorical" and expected and _are_labels(given, expected):
        given = [CallArgument("p", _probabilities_by_label(given, expected, span, ctx), span)]
    found = _match_distribution(rows, given, span, ctx)
    if found is None:
        return None
    row, fit = found
    for param in row.signature.params:
        if param.type.domain == "simplex" and param.name in dict(fit.arguments):
            check_sum(dict(fit.arguments)[param.name], ctx)
    if row.signature.result.axes and any(not _is_known(value) for _, value in fit.arguments):
        return None
    return c.Law(span, name, row.text, fit.arguments, _draw_type(fit, expected))


def _is_known(value: c.Core) -> bool:
    return isinstance(value, c.DimRef) or value.type.known


def _match_distribution(
    rows: Sequence[Distribution], given: Sequence[CallArgument], span: Span, ctx: Context
) -> tuple[Distribution, RowMatch] | None:
    """The first row that fits; of several misfits one that is not about the number of arguments."""
    misfits: list[tuple[Distribution, Misfit]] = []
    for row in _rows_named(rows, given) or rows[:1]:
        try:
            return row, match_row(row.signature, given, span)
        except Misfit as misfit:
            misfits.append((row, misfit))
    closest, problem = next((m for m in misfits if m[1].code != "E0202"), misfits[0])
    _report_distribution_misfit(closest, problem, rows, ctx)
    return None


def _rows_named(rows: Sequence[Distribution], given: Sequence[CallArgument]) -> list[Distribution]:
    """Rows with the given names, where positional arguments mean the same as in the first row."""
    names = {g.name for g in given if g.name}
    positional = sum(g.name is None for g in given)
    first = [p.name for p in rows[0].signature.params]
    found = []
    for row in rows:
        own = [p.name for p in row.signature.params]
        same = own[: min(positional, len(first))] == first[: min(positional, len(own))]
        if same and names <= set(own):
            found.append(row)
    return found


def _draw_type(fit: RowMatch, expected: Dim | None) -> Type:
    """An unnamed axis becomes the declared dim; `lower` and `upper` bound the support."""
    domain = fit.type.domain
    if isinstance(domain, IndexOf) and expected and domain.dim.size == expected.size is not None:
        return Type(IndexOf(expected))
    arguments = dict(fit.arguments)
    if isinstance(domain, Real | Int) and arguments.keys() & {"lower", "upper"}:
        lower = arguments["lower"].type.bounds[0] if "lower" in arguments else domain.lower
        upper = arguments["upper"].type.bounds[1] if "upper" in arguments else domain.upper
        bounds = {"lower": max(lower, domain.lower), "upper": min(upper, domain.upper)}
        return fit.type.replace(domain=domain.replace(**bounds))
    return fit.type


def _report_unknown_distribution(name: str, span: Span, ctx: Context) -> None:
    symbol = ctx.symbol(name)
    if symbol and symbol.kind == "broken":
        return
    if name in functions_by_name() or symbol:
        help = "a value is given with `=`: `x = ...`"
        ctx.error("E0401", f"`{name}` is not a distribution", span, help)
        return
    help = _name_elsewhere(name, DISTRIBUTIONS_ELSEWHERE)
    help = help or did_you_mean(name, [*distributions_by_name(), *WRAPPERS])
    help = help or "`dpc explain distributions` lists them"
    ctx.error_once("E0401", f"there is no distribution `{name}`", name, span, help)


def _report_distribution_misfit(
    row: Distribution, misfit: Misfit, rows: Sequence[Distribution], ctx: Context
) -> None:
    code = {"E0202": "E0402", "E0201": "E0403"}.get(misfit.code, misfit.code)
    help = misfit.help
    if code == "E0402":
        params = [", ".join(p.name for p in other.signature.params) for other in rows]
        help = "it is written " + " or ".join(f"`{row.name}({own})`" for own in params)
        first = row.signature.params[0]
        if first.type.axes and "too many" in misfit.message:
            help = f"an array is one argument: `{row.name}([0.2, 0.8])`"
    elif "index it" in help:
        help = "a draw has one binder for each axis: `x[i in D] ~ Normal(a[i], s)`"
    ctx.error(code, misfit.message, misfit.span, help=help)


def check_sum(value: c.Core, ctx: Context) -> None:
    if not isinstance(value, c.Stack) or not all(isinstance(item, c.Const) for item in value.items):
        return
    numbers = [float(item.value) for item in value.items if isinstance(item, c.Const)]
    if any(number < 0 for number in numbers):
        help = "probabilities lie between 0 and 1"
        ctx.error("E0404", "a probability is negative", value.span, help)
    elif abs(sum(numbers) - 1) > 1e-6:
        message = f"these probabilities sum to {sum(numbers):.6g}, not to 1"
        ctx.error("E0404", message, value.span, "change one of them, or divide all by their sum")


def _are_labels(given: Sequence[CallArgument], dim: Dim) -> bool:
    """`Categorical(low=0.9, high=0.1)`: names that are no parameters can only be labels."""
    names = {g.name for g in given}
    return None not in names and bool(names) and not names <= {"p", "logits"}


def _probabilities_by_label(
    given: Sequence[CallArgument], dim: Dim, span: Span, ctx: Context
) -> c.Core:
    by_label = {g.name: g.value for g in given}
    for argument in given:
        if argument.name not in dim.labels:
            help = did_you_mean(str(argument.name), dim.labels)
            help = help or f"its labels are {', '.join(dim.labels)}"
            ctx.error("E0405", f"`{argument.name}` is not a label of `{dim}`", argument.span, help)
    missing = [label for label in dim.labels if label not in by_label]
    if missing and by_label.keys() <= set(dim.labels):
        message = f"no probability for {', '.join(f'`{m}`' for m in missing)} of `{dim}`"
        ctx.error("E0406", message, span)
    items = tuple(by_label.get(label, UNNAMED) for label in dim.labels)
    unknown = missing or any(not item.type.known for item in items)
    return c.Stack(span, UNKNOWN if unknown else Type(Real(), (dim,)), items)

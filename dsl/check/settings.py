"""Annotations against their table: known names, in the right place, with sensible options."""

from collections.abc import Iterable, Sequence

from ..diagnostics import did_you_mean
from ..graph import core as c
from ..graph.typed import Scalar, Setting
from ..graph.types import Bool, Int, Real, Type
from ..library.annotations import ANNOTATIONS, AnnotationRow, MethodRow, grad_method
from ..library.distributions import DISTRIBUTIONS, names_with
from ..library.elsewhere import METHODS_ELSEWHERE
from ..source import Span
from ..text import syntax as s
from .context import Context
from .expressions import infer

ROWS = {row.name: row for row in ANNOTATIONS}


def check_settings(
    annotations: Iterable[s.Annotation],
    soft: tuple[s.Argument, ...] | None,
    kind: str,
    ctx: Context,
) -> tuple[Setting, ...]:
    """The statement's own annotations, and the soft block around it unless it has its own."""
    found: dict[str, Setting] = {}
    for annotation in annotations:
        setting = _check_annotation(annotation, kind, ctx)
        if annotation.name in found:
            ctx.error("E0701", f"`{annotation.name}` is given twice", annotation.span)
        if setting:
            found[annotation.name] = setting
    if soft is not None and "soft" not in found:
        span = soft[0].span.to(soft[-1].span) if soft else Span(0, 0)
        around = _check_method(ROWS["soft"], *_split_call(soft), span, ctx)
        if around:
            found["soft"] = around
    return tuple(found.values())


def _check_annotation(annotation: s.Annotation, kind: str, ctx: Context) -> Setting | None:
    row = ROWS.get(annotation.name)
    if row is None:
        help = did_you_mean(annotation.name, ROWS) or f"annotations are {', '.join(sorted(ROWS))}"
        ctx.error("E0701", f"there is no annotation `{annotation.name}`", annotation.span, help)
        return None
    if kind not in row.on:
        places = " or ".join(_PLACES[place] for place in sorted(row.on))
        help = f"it goes with {places}"
        ctx.error("E0701", f"`{row.name}` cannot stand here", annotation.span, help)
        return None
    if not row.methods:
        if annotation.value or annotation.arguments is not None:
            help = f"write `with {row.name}`"
            ctx.error("E0702", f"`{row.name}` takes no value", annotation.span, help)
        return Setting(row.name)
    if row.call != (annotation.value is None):
        # The method that `grad(rloo)` or `soft=logistic` means, though it is not written like this.
        first = annotation.arguments[0].value if annotation.arguments else annotation.value
        meant = (first.name if isinstance(first, s.Name) else "") or row.methods[0].name
        form = f"{row.name}({meant})" if row.call else f"{row.name}={meant}"
        help = f"write `with {form}`"
        ctx.error("E0702", f"`{row.name}` is not written like this", annotation.span, help)
        return None
    method, options = _split_call(annotation.arguments or ())
    if not row.call:  # grad=rloo(samples=16): the function is the method
        call = annotation.value if isinstance(annotation.value, s.Call) else None
        method = call.function if call else annotation.value
        options = call.arguments if call else ()
    return _check_method(row, method, options, annotation.span, ctx)


_PLACES = {"draw": "`~`", "let": "`=`", "factor": "`factor`", "objective": "`minimize`"}


def _split_call(arguments: tuple[s.Argument, ...]) -> tuple[s.Expr | None, tuple[s.Argument, ...]]:
    """soft(logistic, scale=0.1): the first argument is the method."""
    if arguments and arguments[0].name is None:
        return arguments[0].value, arguments[1:]
    return None, arguments


def _check_method(
    row: AnnotationRow,
    method: s.Expr | None,
    options: tuple[s.Argument, ...],
    span: Span,
    ctx: Context,
) -> Setting | None:
    methods = {m.name: m for m in row.methods}
    if not isinstance(method, s.Name) or method.name not in methods:
        written = method.name if isinstance(method, s.Name) else ""
        own = METHODS_ELSEWHERE.get(written)
        help = f"here it is `{own}`" if own in methods else did_you_mean(written, methods)
        help = help or f"choose one of {', '.join(methods)}"
        message = f"there is no method `{written}` of `{row.name}`"
        if not written:
            message = f"`{row.name}` needs a method"
        ctx.error("E0702", message, method.span if method else span, help=help)
        return None
    checked = [_check_option(methods[method.name], option, ctx) for option in options]
    return Setting(row.name, method.name, tuple(pair for found in checked for pair in found))


def _check_option(method: MethodRow, option: s.Argument, ctx: Context) -> list[tuple[str, Scalar]]:
    """The option with its value, or with each of several values; nothing where it is wrong."""
    if option.name not in method.options:
        takes = ", ".join(f"{name}=" for name in method.options)
        help = f"it takes {takes}" if takes else "it takes no options"
        message = f"`{method.name}` has no option `{option.name or ''}`"
        ctx.error("E0702", message, option.span, help)
        return []
    wanted = method.options[option.name]
    reported = len(ctx.facts.report)
    values = _option_values(option.value, wanted, ctx)
    if not values and len(ctx.facts.report) == reported:
        shown = _OPTION_VALUES[wanted] if isinstance(wanted, str) else f"one of {', '.join(wanted)}"
        ctx.error("E0702", f"`{option.name}` of `{method.name}` is {shown}", option.span)
    return [(option.name, value) for value in values]


_OPTION_VALUES = {
    "positive": "a number above 0",
    "count": "a whole number, 0 or above",
    "positive count": "a whole number above 0",
    "real": "a number",
    "name": "a variable",
    "names": "a variable, or several as in [x, y]",
}


def _option_values(value: s.Expr, wanted: str | tuple[str, ...], ctx: Context) -> list[Scalar]:
    if wanted in ("name", "names"):
        if wanted == "name" and not isinstance(value, s.Name):
            return []
        # Each name as the whole program knows it; an unknown one is reported as in any expression.
        items = value.items if isinstance(value, s.Array) else (value,)
        for item in items:
            infer(item, ctx)
        symbols = [ctx.symbol(item.name) if isinstance(item, s.Name) else None for item in items]
        return [symbol.name for symbol in symbols if symbol] if all(symbols) else []
    if isinstance(wanted, tuple):
        return [value.name] if isinstance(value, s.Name) and value.name in wanted else []
    found = _option_number(value, wanted, ctx)
    return [] if found is None else [found]


def _option_number(value: s.Expr, word: str, ctx: Context) -> Scalar | None:
    core = infer(value, ctx.replace(closed="options are constants"))
    if word == "real":
        return _signed_number(core)
    if not isinstance(core, c.Const) or core.value < 0 or (core.value == 0 and word != "count"):
        return None
    return core.value if word == "positive" or isinstance(core.value, int) else None


def _signed_number(core: c.Core) -> Scalar | None:
    if isinstance(core, c.Apply) and core.function == "negate":
        value = _signed_number(core.arguments[0][1])
        return None if value is None else -value  # type: ignore[operator]
    return core.value if isinstance(core, c.Const) and not isinstance(core.value, bool) else None


def smoothed(body: c.Core, settings: tuple[Setting, ...]) -> c.Core:
    """The mean of whole numbers or truth values is a real number."""
    is_smooth = any(setting.name == "smooth" for setting in settings)
    if is_smooth and isinstance(body.type.domain, Int | Bool):
        return body.replace(type=Type(Real(*body.type.bounds), body.type.shape))
    return body


def check_distribution_settings(
    law: c.Law, settings: tuple[Setting, ...], binders: Sequence[c.Bind], span: Span, ctx: Context
) -> None:
    """Annotations that only some distributions can honour."""
    by_name = {setting.name: setting for setting in settings}
    if "noncentered" in by_name and not law.facts.location_scale:
        help = f"it is for {', '.join(names_with('location_scale'))}"
        if law.is_truncated:
            help = "take away the declared range, or `noncentered`"
        message = f"{_title(law)} has no location and scale to take out"
        ctx.error("E0703", message, span, help=help)
    if "ordered" in by_name and law.type.whole:
        message = f"draws of `{law.name}` are not real numbers, so they cannot be kept ordered"
        ctx.error("E0703", message, span)
    if "ordered" in by_name and not binders:
        help = "`x[k in K] ~ ...`"
        ctx.error("E0703", "`ordered` needs a binder to keep the draws in order along", span, help)
    elif "ordered" in by_name:
        # Draws can be told in order only if they are exchangeable along their last binder.
        last = binders[-1]
        if any(isinstance(x, c.Var) and x.name == last.name for x in c.walk(law)):
            wanted = f"`ordered` needs one distribution for all of `{last.dim}`"
            help = "keep the order with a cumulative sum of positive steps instead"
            ctx.error("E0703", f"{wanted}, but this depends on `{last.name}`", span, help)
    grad = by_name.get("grad")
    if grad:
        _check_method_fits(grad_method(grad.method), law, span, ctx)


def _check_method_fits(method: MethodRow, law: c.Law, span: Span, ctx: Context) -> None:
    row = law.facts
    if method.fits(row):
        return
    if method.needs == "reparametrised":
        message = f"a draw of `{law.name}` is not a differentiable function of its parameters"
        help = "use `grad=rloo`, `grad=sfe` or, for a finite support, `grad=enumerate`"
    else:
        message = f"`{method.name}` is not for draws of {_title(law)}"
        names = sorted({other.name for other in DISTRIBUTIONS if method.fits(other)})
        fitting = "pathwise" if row.reparametrised else "enumerate" if row.finite else "rloo"
        help = f"it is for {', '.join(names)}; here `grad={fitting}` fits"
    ctx.error("E0703", message, span, help=help)


def _title(law: c.Law) -> str:
    return f"`{law.name}`{' cut to a declared range' if law.is_truncated else ''}"

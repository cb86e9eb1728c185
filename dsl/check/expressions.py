"""From syntax to core: every expression gets a type, or a report and the unknown type."""

from math import inf, isinf

from ..diagnostics import InternalError, did_you_mean
from ..graph import core as c
from ..graph import types as t
from ..graph.breaks import selects
from ..library.distributions import distributions_by_name
from ..library.elsewhere import NAMES_ELSEWHERE
from ..library.functions import functions_by_name
from ..source import Span
from ..text import syntax as s
from ..text.keywords import keywords
from .calls import infer_function
from .context import Context
from .indexing import check_binder, check_index
from .matching import CallArgument, show_kind
from .operators import infer_binary, infer_unary, truth_help
from .questions import infer_question, is_question

MAX_LOOP = 1_000_000


def infer(expr: s.Expr, ctx: Context, hint: t.Axis | None = None) -> c.Core:
    """`hint` is the dim whose labels are meant, where the surroundings tell."""
    match expr:
        case s.Number():
            return _infer_number(expr, ctx)
        case s.Boolean():
            return c.Const(expr.span, t.Type(t.Bool()), expr.value)
        case s.String():
            help = "labels are written without quotes"
            return refuse("E0209", "a quoted text is not a value", expr.span, ctx, help)
        case s.Group():
            return infer(expr.inner, ctx, hint)
        case s.Unary():
            return infer_unary(expr.operator, infer(expr.operand, ctx), expr.span, ctx)
        case s.Call() if is_question(expr, ctx):
            return infer_question(expr, ctx)
        case s.Call(function=name):
            given = given_arguments(expr.arguments, ctx)
            return infer_function(name.name, given, expr.span, name.span, ctx)
        case s.Table():
            from .tables import infer_value_table  # made of expressions, as the language is

            return infer_value_table(expr, ctx)
        case s.Name():
            return _infer_name(expr, ctx, hint)
        case s.IfExpr():
            return _infer_if(expr, ctx, hint)
        case s.Array():
            return _infer_array(expr, ctx, hint)
        case s.Binary():
            return _infer_binary(expr, ctx)
        case s.Index():
            return _infer_index(expr, ctx)
        case s.LoopExpr():
            return _infer_loop(expr, ctx)
        case s.Reduction():
            return _infer_reduction(expr, ctx)
        case s.Comprehension():
            return _infer_comprehension(expr, ctx)
    raise InternalError(f"no rule for {type(expr).__name__}")


def unknown(span: Span) -> c.Core:
    return c.Const(span, t.UNKNOWN, 0)


def refuse(code: str, message: str, span: Span, ctx: Context, help: str = "") -> c.Core:
    """The unknown value, after a report."""
    ctx.error(code, message, span, help)
    return unknown(span)


def _infer_number(expr: s.Number, ctx: Context) -> c.Core:
    value = expr.value
    if isinf(value):
        help = "the largest is about 1.8e308"
        return refuse("E0218", "this number is too large", expr.span, ctx, help)
    domain = t.Int(value, value) if isinstance(value, int) else t.Real(value, value)
    return c.Const(expr.span, t.Type(domain), value)


def _infer_name(expr: s.Name, ctx: Context, hint: t.Axis | None) -> c.Core:
    if expr.name in ctx.variables:
        return c.Var(expr.span, ctx.variables[expr.name], expr.name)
    if isinstance(hint, t.Dim) and expr.name in hint.labels:
        return label_constant(expr.name, hint, expr.span)
    symbol = ctx.symbol(expr.name)
    if symbol:
        if symbol.kind == "broken":
            return unknown(expr.span)
        if not symbol.is_node:
            what = {"dim": "a dim", "alias": "an imported file"}.get(symbol.kind, "a function")
            help = f"its size is `size({expr.name})`" if symbol.dim else ""
            help = f"call it: `{expr.name}(...)`" if symbol.kind in ("fn", "extern") else help
            return refuse("E0207", f"`{expr.name}` is {what}, not a value", expr.span, ctx, help)
        closed = ctx.closed if symbol.kind not in ctx.open else ""
        if symbol.kind == "factor":
            help = "give the expression a name with `=`"
            return refuse("E0207", f"`{expr.name}` is a factor, not a value", expr.span, ctx, help)
        help = ""
        if not closed and ctx.guide and symbol.kind == "let" and not ctx.in_guide(symbol):
            closed = "a guide sees no values of the model"
            help = "compute it inside the guide, under another name"
        if closed:
            message = f"`{expr.name}` cannot be used here: {closed}"
            return refuse("E0108", message, expr.span, ctx, help)
        return c.Ref(expr.span, ctx.type_of(symbol) or t.UNKNOWN, symbol.name)
    return _infer_label(expr, ctx) or _report_unknown_name(expr, ctx)


def label_constant(label: str, dim: t.Dim, span: Span) -> c.Const:
    position = dim.labels.index(label)
    return c.Const(span, t.Type(t.IndexOf(dim, t.Place(position), t.Place(position))), position)


def _infer_label(expr: s.Name, ctx: Context) -> c.Core | None:
    """A label that belongs to one dim alone needs no more; `Dim.label` always works."""
    head, dot, label = expr.name.partition(".")
    dim = ctx.dim(head) if dot else None
    if dim and label in dim.labels:
        return label_constant(label, dim, expr.span)
    dims = ctx.facts.symbols.labels.get(expr.name, [])
    if len(dims) == 1:
        return label_constant(expr.name, dims[0], expr.span)
    if dims:
        help = "write " + " or ".join(f"`{d}.{expr.name}`" for d in dims)
        message = f"the label `{expr.name}` belongs to several dims"
        return refuse("E0105", message, expr.span, ctx, help)
    return None


def _report_unknown_name(expr: s.Name, ctx: Context) -> c.Core:
    help = did_you_mean(expr.name, [*ctx.visible_names(), "true", "false"])
    help = help or NAMES_ELSEWHERE.get(expr.name, "")
    if expr.name in functions_by_name():
        help = f"`{expr.name}` is a function: write `{expr.name}(...)`"
    elif expr.name in distributions_by_name():
        help = f"`{expr.name}` is a distribution: draw from it with `~`"
    elif expr.name in ctx.facts.bound:
        form = "to take in a sum, a reduction needs parentheses: `sum[i in D] (...)`"
        help = f"`{expr.name}` is bound elsewhere; {form}"
    elif expr.name in keywords():
        help = f"`{expr.name}` is a word of the language"
    help = help or "define it with `=` or `~`, or declare it: `data`, `param`"
    ctx.error_once("E0104", f"unknown name `{expr.name}`", expr.name, expr.span, help)
    return unknown(expr.span)


def _infer_binary(expr: s.Binary, ctx: Context) -> c.Core:
    name = expr.left.name if isinstance(expr.left, s.Name) else ""
    may_be_label = name in ctx.facts.symbols.labels and name not in ctx.variables
    if expr.operator in ("==", "!=") and may_be_label:
        right = infer(expr.right, ctx)
        left = infer(expr.left, ctx, _dim_of(right))
    else:
        left = infer(expr.left, ctx)
        right = infer(expr.right, ctx, _dim_of(left))
    return infer_binary(expr.operator, left, right, expr.span, ctx)


def _dim_of(core: c.Core) -> t.Axis | None:
    return core.type.domain.dim if isinstance(core.type.domain, t.IndexOf) else None


def _infer_index(expr: s.Index, ctx: Context) -> c.Core:
    base = infer(expr.base, ctx)
    if not base.type.known:
        for index in expr.indices:
            infer(index, ctx)
        return unknown(expr.span)
    if len(expr.indices) > len(base.type.shape):
        message = f"this is a single {base.type} and takes no index"
        if base.type.shape:
            axes = "1 axis" if len(base.type.shape) == 1 else f"{len(base.type.shape)} axes"
            given = f"{len(expr.indices)} indices"
            message = f"{given} for {axes} {t.show_shape(base.type.shape)}"
        is_smooth_maximum = isinstance(base, c.Apply) and base.function == "softmax"
        chances = "`softmax` is a smooth maximum: probabilities are `softargmax(x)`"
        return refuse("E0305", message, expr.span, ctx, chances if is_smooth_maximum else "")
    pairs = list(zip(expr.indices, base.type.shape, strict=False))
    indices = [check_index(infer(index, ctx, axis), axis, ctx) for index, axis in pairs]
    shape, constraint = base.type.shape[len(indices) :], base.type.constraint
    keeps = constraint and len(shape) >= t.CONSTRAINT_RANK[constraint]
    type_ = t.Type(base.type.domain, shape, constraint if keeps else "")
    if ctx.soft and any(map(selects, indices)):
        type_ = type_.softened
    return _along_branches(c.At(expr.span, type_, base, tuple(indices)))


def _along_branches(core: c.At) -> c.Core:
    """v[if c then a else b] = if c then v[a] else v[b]: softly, a mean of elements (DS04)."""
    for k, index in enumerate(core.indices):
        if isinstance(index, c.If) and isinstance(index.condition.type.domain, t.Truth):
            before, after = core.indices[:k], core.indices[k + 1 :]
            then, otherwise = (
                _along_branches(core.replace(indices=(*before, branch, *after)))
                for branch in (index.then, index.otherwise)
            )
            return c.If(core.span, core.type.softened, index.condition, then, otherwise)
    return core


def given_arguments(arguments: tuple[s.Argument, ...], ctx: Context) -> list[CallArgument]:
    """An argument may also be the name of a dim, as in ones(K)."""
    found = []
    for argument in arguments:
        value = argument.value
        name = value.name if isinstance(value, s.Name) else ""
        dim = ctx.dim(name) if name and name not in ctx.variables else None
        core = c.DimRef(value.span, t.UNKNOWN, dim) if dim else infer(value, ctx)
        found.append(CallArgument(argument.name, core, argument.span))
    return found


def require_condition(core: c.Core, ctx: Context) -> None:
    if core.type.known and (not ctx.is_truth(core.type) or core.type.shape):
        message = f"a condition is one true or false, but this is {show_kind(core.type)}"
        help = truth_help(core.type)
        help = help or "compare, as in `x > 0`; for arrays use `any[...]` or `all[...]`"
        ctx.error("E0206", message, core.span, help)


def _infer_if(expr: s.IfExpr, ctx: Context, hint: t.Axis | None) -> c.Core:
    condition = infer(expr.condition, ctx)
    require_condition(condition, ctx)
    then, otherwise = infer(expr.then, ctx, hint), infer(expr.otherwise, ctx, hint)
    type_ = join_types([then, otherwise], "the branches of this `if`", ctx)
    if isinstance(condition.type.domain, t.Truth):
        type_ = type_.softened
    return c.If(expr.span, type_, condition, then, otherwise)


def join_types(cores: list[c.Core], what: str, ctx: Context) -> t.Type:
    """One type for several values that stand for one another."""
    joined = cores[0].type
    for core in cores[1:]:
        if not (joined.known and core.type.known):
            return t.UNKNOWN
        domain = t.join_domains(joined.domain, core.type.domain)
        if domain is None or not t.same_shape(joined.shape, core.type.shape):
            both = f"{show_kind(joined)} and {show_kind(core.type)}"
            ctx.error("E0208", f"{what} are of different types: {both}", core.span)
            return t.UNKNOWN
        constraint = joined.constraint if joined.constraint == core.type.constraint else ""
        joined = t.Type(domain, t.named(joined.shape, core.type.shape), constraint)
    return joined


def _infer_loop(expr: s.LoopExpr, ctx: Context) -> c.Core:
    name = expr.variable.name
    if name in ctx.variables or ctx.symbol(name):
        help = "choose another loop variable"
        ctx.error("E0103", f"`{name}` already means something here", expr.variable.span, help)
    start = infer(expr.start, ctx)
    inside = ctx.bind(**{name: without_bounds(start.type)})
    condition, body = infer(expr.condition, inside), infer(expr.body, inside)
    require_condition(condition, inside)
    first = start.replace(type=without_bounds(start.type))
    type_ = join_types([first, body], "the start and the step of this `loop`", ctx)
    limit = infer(expr.limit, ctx)
    return c.Loop(expr.span, type_, name, start, condition, _loop_limit(limit, ctx), body)


def without_bounds(type_: t.Type) -> t.Type:
    """A loop starts at one number and may reach any other, so its variable has no bounds."""
    return t.Type(t.Real(), type_.shape) if isinstance(type_.domain, t.Real | t.Int) else type_


def _loop_limit(limit: c.Core, ctx: Context) -> int:
    if isinstance(limit, c.Const) and isinstance(limit.value, int) and 0 < limit.value <= MAX_LOOP:
        return limit.value
    if limit.type.known:
        message = f"`max` takes a whole number from 1 to {MAX_LOOP:,}"
        ctx.error("E0210", message, limit.span, help="write it as a number: `max 100`")
    return 1


def bind_all(binders: tuple[s.Binder, ...], ctx: Context) -> tuple[tuple[c.Bind, ...], Context]:
    """Binders from left to right; one that could not be checked is bound to the unknown."""
    found: list[c.Bind] = []
    ctx.facts.bound |= {binder.name.name for binder in binders}
    for binder in binders:
        bind = check_binder(binder, ctx)
        if bind:
            found.append(bind)
        index = t.Type(t.IndexOf(bind.dim, bind.low, bind.high)) if bind else t.UNKNOWN
        ctx = ctx.bind(**{binder.name.name: index})
    return tuple(found), ctx


def infer_where(where: s.Expr | None, ctx: Context) -> c.Core | None:
    if where is None:
        return None
    condition = infer(where, ctx)
    require_condition(condition, ctx)
    return condition


def _infer_reduction(expr: s.Reduction, ctx: Context) -> c.Core:
    binders, inside = bind_all(expr.binders, ctx)
    where, body = infer_where(expr.where, inside), infer(expr.body, inside)
    if len(binders) < len(expr.binders) or not body.type.known:
        return unknown(expr.span)
    type_ = _reduction_type(expr, body, binders, ctx)
    if where and isinstance(where.type.domain, t.Truth):
        type_ = type_.softened
        _require_soft_meaning(expr.operator, where, ctx)
    return c.Reduce(expr.span, type_, expr.operator, binders, where, body)


def _require_soft_meaning(operator: str, where: c.Core, ctx: Context) -> None:
    """A soft condition is a weight, which sums, products and logic can take."""
    if operator not in c.WEIGHED:
        help = f"write `{operator}` of `if ... then ... else ...`, or use `with smooth(...)`"
        message = f"`{operator}` has no soft meaning where its `where` is soft"
        ctx.error("E0704", message, where.span, help)


def _reduction_type(
    expr: s.Reduction, body: c.Core, binders: tuple[c.Bind, ...], ctx: Context
) -> t.Type:
    operator = expr.operator
    if operator in ("all", "any"):
        require_condition(body, ctx)
        return t.Type(body.type.domain)
    if not body.type.numeric:
        message = f"`{operator}` needs numbers, but this is a label of `{body.type.domain}`"
        help = f"compare it, in parentheses: `{operator}[i in D] (x[i] == label)`"
        ctx.error("E0206", message, body.span, help=help)
        return t.UNKNOWN
    if operator in ("argmax", "argmin"):
        if len(binders) != 1 or body.type.shape:
            message = f"`{operator}[...]` takes one binder and a number for each of its members"
            help = f"one index at a time: `[i in D] {operator}[j in E] x[i, j]`"
            ctx.error("E0211", message, body.span, help)
            return t.UNKNOWN
        return t.Type(t.IndexOf(binders[0].dim, binders[0].low, binders[0].high))
    lower, upper = body.type.bounds
    if operator in ("max", "min", "mean"):
        return t.number_type(body.type.whole and operator != "mean", lower, upper, body.type.shape)
    if operator == "logsumexp":
        return t.Type(t.Real(), body.type.shape)
    return t.number_type(body.type.whole, 0 if lower >= 0 else -inf, inf, body.type.shape)


def _infer_comprehension(expr: s.Comprehension, ctx: Context) -> c.Core:
    binders, inside = bind_all(expr.binders, ctx)
    if expr.where:
        help = "give every element a value: `if ... then ... else 0`"
        message = "an array has a value everywhere, so `where` cannot stand here"
        ctx.error("E0212", message, expr.where.span, help)
    body = infer(expr.body, inside)
    if len(binders) < len(expr.binders) or not body.type.known:
        return unknown(expr.span)
    shape = tuple(bind_axis(b) for b in binders) + body.type.shape
    return c.Build(expr.span, t.Type(body.type.domain, shape, body.type.constraint), binders, body)


def bind_axis(bind: c.Bind) -> t.Axis:
    """The whole dim keeps its name; a part of it is an axis without one."""
    size = bind.dim.size
    is_whole = bind.low == t.Place(0) and bind.high in (t.Place(-1, True), t.Place((size or 0) - 1))
    if is_whole:
        return bind.dim
    known = bind.low.from_end == bind.high.from_end
    return t.Fixed(bind.high.offset - bind.low.offset + 1 if known else None)


def _infer_array(expr: s.Array, ctx: Context, hint: t.Axis | None) -> c.Core:
    items = [infer(item, ctx, hint) for item in expr.items]
    type_ = join_types(items, "the items of this array", ctx)
    if not type_.known:
        return unknown(expr.span)
    stacked = t.Type(type_.domain, (t.Fixed(len(items)), *type_.shape))
    return c.Stack(expr.span, stacked, tuple(items))

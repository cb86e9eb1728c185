"""From core expressions to code over whole arrays: plates become axes, `x[t-1]` a slice."""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

from ..graph import core as c
from ..graph.types import Bool, IndexOf, Int, Real, Type
from ..library.functions import functions_by_text
from ..library.notation import parse_signature
from .arrays import lower_at, lower_build, lower_lookup, lower_reduce, lower_stack
from .code import Code, call, const, function, infix, inverted, name, negative
from .guard import guarded, negation, without_cut
from .scope import Scope, Value, align, free_name, joint_axes, range_code, size_code
from .shapes import as_array, as_number, call_aligned, call_mapped, full
from .soft import lower_soft

COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
INFIX = {
    **dict(zip(COMPARISONS, ("<", "<=", ">", ">=", "==", "!="), strict=True)),
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "power": "**",
    "and": "&",
    "or": "|",
}


def lower(core: c.Core, scope: Scope) -> Value:
    softened = lower_soft(core, scope, lower) if scope.soft else None
    return softened or _RULES[type(core)](core, scope)


def _lower_var(core: c.Var, scope: Scope) -> Value:
    """A binder alone is the array of its places."""
    if core.name in scope.scalars:
        return scope.scalars[core.name]
    return Value(range_code(scope.bind(core.name), scope.names), (core.name,))


def _lower_apply(core: c.Apply, scope: Scope) -> Value:
    branches = without_cut(core)
    if branches is not None:
        return lower(branches, scope)
    values = [argument for _, argument in core.arguments]
    if core.function in INFIX:
        wanted = _operand_type(core, values)
        left, right = (as_number(lower(v, scope), v.type, wanted) for v in values)
        axes = joint_axes([left, right], scope.order)
        rank = max(left.rank, right.rank)
        left, right = align(left, axes, rank), align(right, axes, rank)
        return Value(infix(left.code, INFIX[core.function], right.code), axes, rank)
    if core.function == "negate":
        operand = as_number(lower(values[0], scope), values[0].type, core.type)
        return operand.replace(code=negative(operand.code))
    if core.function == "not":
        operand = lower(values[0], scope)
        return operand.replace(code=inverted(operand.code))
    if core.function == "one_hot":
        # The length is that of the dim that the index belongs to.
        position = lower(values[0], scope)
        assert isinstance(values[0].type.domain, IndexOf)
        length = size_code(values[0].type.domain.dim, scope.names)
        return Value(call("jax.nn.one_hot", position.code, length), position.axes, 1)
    if core.function == "matmul":
        return _lower_mapped("jnp.matmul", core, _arguments(core, {}, scope), scope)
    signature = parse_signature(core.row)
    path = scope.needs.helper(functions_by_text()[core.row].body)
    arguments = _arguments(core, {p.name: p.type.domain for p in signature.params}, scope)
    if signature.elementwise:
        return _lower_elementwise(path, core, arguments, scope)
    return _lower_mapped(path, core, arguments, scope)


def _operand_type(core: c.Apply, values: list[c.Core]) -> Type:
    """The type both operands are turned into."""
    if core.function in ("and", "or"):
        return Type(Bool())
    if core.function in ("divide", "power"):
        return Type(Real()) if core.function == "divide" or not core.type.whole else core.type
    if core.function in COMPARISONS:
        if any(isinstance(v.type.domain, Real) for v in values):
            return Type(Real())
        mixed = {type(v.type.domain) for v in values}
        return Type(Int()) if len(mixed) > 1 else values[0].type
    return core.type


_REALS = frozenset(
    {"real", "positive", "nonnegative", "unit"}
    | {"simplex", "ordered", "covariance", "cholesky", "invertible"}
)


def _lower_elementwise(path: str, core: c.Apply, lowered: list[Value], scope: Scope) -> Value:
    axes = joint_axes(lowered, scope.order)
    rank = max((v.rank for v in lowered), default=0)
    return Value(_call(path, core, [align(v, axes, rank) for v in lowered]), axes, rank)


def _arguments(core: c.Apply, domains: Mapping[str, str], scope: Scope) -> list[Value]:
    """The arguments as numbers of the kind that the signature asks for."""
    lowered = []
    for key, v in core.arguments:
        domain = domains.get(key, "num")
        if isinstance(v, c.DimRef):
            lowered.append(Value(size_code(v.dim, scope.names)))
        elif domain in _REALS:
            lowered.append(as_number(lower(v, scope), v.type, Type(Real())))
        else:
            wanted = core.type if domain == "num" else v.type
            lowered.append(as_number(lower(v, scope), v.type, wanted))
    return lowered


def _call(path: str, core: c.Apply, values: Sequence[Value]) -> Code:
    """Arguments by position as long as the order is that of the signature, then by name."""
    params = [p.name for p in parse_signature(core.row).params] if core.row else []
    by_place: list[Code] = []
    by_name: dict[str, Code] = {}
    for place, ((key, _), value) in enumerate(zip(core.arguments, values, strict=True)):
        if by_name or (place < len(params) and params[place] != key):
            by_name[key] = value.code
        else:
            by_place.append(value.code)
    return call(path, *by_place, **by_name)


def _lower_mapped(path: str, core: c.Apply, lowered: list[Value], scope: Scope) -> Value:
    """A function of whole arrays, mapped over the binders that its arguments depend on."""
    rank = len(core.type.shape)
    if not joint_axes(lowered, scope.order):
        return Value(_call(path, core, lowered), (), rank)
    return call_mapped(path, lowered, rank, scope)


def _lower_call(core: c.CallFn, scope: Scope) -> Value:
    function, path = scope.needs.functions[core.function], scope.names[core.function]
    pairs = zip(core.arguments, function.parameters, strict=True)
    lowered = [as_number(lower(v, scope), v.type, wanted) for v, (_, wanted) in pairs]
    if function.of_numbers:
        return call_aligned(path, lowered, 0, scope)
    found = call_mapped(path, lowered, len(core.type.shape), scope)
    return found if function.body is not None else _promised(found, function.result, scope)


def _promised(value: Value, type_: Type, scope: Scope) -> Value:
    """What comes from outside and is not what is declared is no number, and told as such."""
    if not isinstance(type_.domain, Real):
        return value
    code, bounds = value.code, type_.bounds
    if bounds != (-inf, inf):
        code = call(scope.needs.helper("within"), code, *map(const, bounds))
    if type_.constraint == "simplex":
        code = call(scope.needs.helper("on_simplex"), code)
    return value.replace(code=code)


def _has_branches(core: c.Core) -> bool:
    return any(isinstance(part, _BRANCHES) for part in c.walk(core))


def _lower_if(core: c.If, scope: Scope) -> Value:
    condition = lower(core.condition, scope.replace(soft=None))
    if not any(_has_branches(part) for part in (core.condition, core.then, core.otherwise)):
        return _chosen(core, condition, _guarded_branches(core, core.condition), scope)
    # What is taken has a name: written out at every guard, branches of branches grow like 2^n.
    own = free_name("is_taken", scope.taken)
    named = c.Var(core.span, core.condition.type, f"{own} taken")
    both = _guarded_branches(core, named)
    if both == (core.then, core.otherwise):
        return _chosen(core, condition, both, scope)
    value = condition.replace(code=name(own))
    found = _chosen(core, value, both, scope.with_scalars(**{named.name: value}))
    return found.replace(code=call(function([own], found.code), condition.code))


_BRANCHES = (c.If, c.Loop, c.Reduce, c.CallFn)


def _guarded_branches(core: c.If, condition: c.Core) -> tuple[c.Core, c.Core]:
    """Each is a constant where the other is taken."""
    then = guarded(core.then, condition, core.otherwise)
    return then, guarded(core.otherwise, negation(condition), core.then)


def _chosen(core: c.If, condition: Value, both: Sequence[c.Core], scope: Scope) -> Value:
    branches = [as_number(lower(part, scope), part.type, core.type) for part in both]
    return call_aligned("jnp.where", [condition, *branches], len(core.type.shape), scope)


def lower_loop(core: c.Loop, scope: Scope, helper: str) -> Value:
    """The state gets every axis that the start, the condition or the step depends on."""
    rank = len(core.type.shape)
    start = as_number(lower(core.start, scope), core.start.type, core.type)
    own = free_name(f"{core.variable}_", scope.taken)
    axes = start.axes
    while True:
        inside = scope.with_scalars(**{core.variable: Value(name(own), axes, rank)})
        body = core.body if scope.soft else guarded(core.body, core.condition)
        condition, step = lower(core.condition, inside), lower(body, inside)
        wider = joint_axes([start, condition, step], scope.order)
        if wider == axes:
            break
        axes = wider
    state = full(start, axes, rank, scope, core.type.shape).code if axes else start.code
    step = align(as_number(step, core.body.type, core.type), axes, rank)
    test = function([own], align(condition, axes, rank).code)
    given = [function([own], step.code), test, as_array(state, "float"), const(core.limit)]
    return Value(call(scope.needs.helper(helper), *given), axes, rank)


def _lower_distribution(core: Any, scope: Scope) -> Value:
    from .distributions import lower_question  # which lowers the arguments with this module

    return lower_question(core, scope)


_RULES: dict[type[c.Core], Callable[[Any, Scope], Value]] = {
    c.Const: lambda core, scope: Value(const(core.value)),
    c.Var: _lower_var,
    c.Ref: lambda core, scope: Value(name(scope.names[core.name]), (), len(core.type.shape)),
    c.At: lambda core, scope: lower_at(core, scope, lower),
    c.Apply: _lower_apply,
    c.CallFn: _lower_call,
    c.If: _lower_if,
    c.Loop: lambda core, scope: lower_loop(core, scope, "bounded_loop"),
    c.Reduce: lambda core, scope: lower_reduce(core, scope, lower),
    c.Build: lambda core, scope: lower_build(core, scope, lower),
    c.Stack: lambda core, scope: lower_stack(core, scope, lower),
    c.Lookup: lambda core, scope: lower_lookup(core, scope, lower),
    **dict.fromkeys((c.LogDensity, c.Moment, c.Cdf, c.Quantile, c.Divergence), _lower_distribution),
}

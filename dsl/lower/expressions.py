"""From core expressions to Python text over whole arrays: plates become axes, `x[t-1]` becomes a slice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import core as c
from ..runtime.table import IMPLEMENTATIONS
from ..signatures.notation import Signature, parse_signature
from ..types import Bool, IndexOf, Int, Real, Type
from .indexing import lower_at
from .scope import Scope, length_text, range_text, size_text
from .soft import lower_soft
from .value import COMPARISON, LOOSE, POWER, PRODUCT, SIGN, SUM, Value, align, joint_axes

INFIX = {
    "add": ("+", SUM),
    "subtract": ("-", SUM),
    "multiply": ("*", PRODUCT),
    "divide": ("/", PRODUCT),
    "power": ("**", POWER),
    "less": ("<", COMPARISON),
    "less_equal": ("<=", COMPARISON),
    "greater": (">", COMPARISON),
    "greater_equal": (">=", COMPARISON),
    "equal": ("==", COMPARISON),
    "not_equal": ("!=", COMPARISON),
    "and": ("&", 4),
    "or": ("|", 4),
}
COMPARISONS = frozenset(name for name, (_, level) in INFIX.items() if level == COMPARISON)


def lower(core: c.Core, scope: Scope) -> Value:
    softened = lower_soft(core, scope, lower) if scope.soft else None
    return softened or _RULES[type(core)](core, scope)


# ---- leaves


def _lower_const(core: c.Const, scope: Scope) -> Value:
    level = SIGN if not isinstance(core.value, bool) and core.value < 0 else 9
    return Value(repr(core.value), level=level)


def _lower_var(core: c.Var, scope: Scope) -> Value:
    """A binder alone is the array of its places."""
    if core.name in scope.scalars:
        return scope.scalars[core.name]
    return Value(range_text(scope.bind(core.name), scope.names), (core.name,))


def _lower_ref(core: c.Ref, scope: Scope) -> Value:
    return Value(scope.names[core.name], (), len(core.type.shape))


# ---- operators and functions


def as_number(value: Value, type_: Type, wanted: Type) -> Value:
    """Truth values and positions take part in arithmetic as numbers; JAX is told, never left to guess."""
    if isinstance(wanted.domain, Real) and not isinstance(type_.domain, Real):
        return _cast(value, "float")
    if isinstance(wanted.domain, Int) and isinstance(type_.domain, Bool):
        return _cast(value, "int")
    return value


def _cast(value: Value, dtype: str) -> Value:
    is_literal = value.text.lstrip("-").isdigit()
    if is_literal:
        return value
    return Value(f"jnp.asarray({value.text}, {dtype})", value.axes, value.rank)


def _lower_apply(core: c.Apply, scope: Scope) -> Value:
    values = [argument for _, argument in core.arguments]
    if core.function in INFIX:
        return _lower_infix(core, values, scope)
    if core.function == "negate":
        operand = as_number(lower(values[0], scope), values[0].type, core.type)
        return Value(f"-{operand.at_least(SIGN)}", operand.axes, operand.rank, SIGN)
    if core.function == "not":
        operand = lower(values[0], scope)
        return Value(f"~{operand.at_least(SIGN)}", operand.axes, operand.rank, SIGN)
    if core.function == "one_hot":
        return _lower_one_hot(values[0], scope)
    if core.function == "matmul":
        return _lower_mapped("jnp.matmul", core, values, scope)
    return _lower_function(core, values, scope)


def _lower_one_hot(index: c.Core, scope: Scope) -> Value:
    """The length is that of the dim that the index belongs to."""
    position = lower(index, scope)
    assert isinstance(index.type.domain, IndexOf)
    return Value(f"jax.nn.one_hot({position.text}, {size_text(index.type.domain.dim, scope.names)})", position.axes, 1)


def _lower_infix(core: c.Apply, values: list[c.Core], scope: Scope) -> Value:
    sign, level = INFIX[core.function]
    wanted = _operand_type(core, values)
    left, right = (as_number(lower(v, scope), v.type, wanted) for v in values)
    axes = joint_axes([left, right], scope.order)
    rank = max(left.rank, right.rank)
    left, right = align(left, axes, rank), align(right, axes, rank)
    strict = level + 1 if core.function in ("subtract", "divide") or level <= COMPARISON else level
    first, second = left.at_least(level + (sign in ("**", "&", "|"))), right.at_least(strict if sign != "**" else SIGN)
    if sign in ("&", "|"):
        first, second = left.at_least(SUM), right.at_least(SUM)
    if level == COMPARISON:
        first = left.at_least(SUM)
    return Value(f"{first} {sign} {second}", axes, rank, level)


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


def _lower_function(core: c.Apply, values: list[c.Core], scope: Scope) -> Value:
    signature = parse_signature(core.row)
    path = scope.needs.helper(IMPLEMENTATIONS[core.row])
    if signature.elementwise:
        return _lower_elementwise(path, core, values, signature, scope)
    return _lower_mapped(path, core, values, scope)


_REALS = frozenset({"real", "positive", "nonnegative", "unit", "simplex", "ordered", "covariance", "cholesky"})


def _lower_elementwise(path: str, core: c.Apply, values: list[c.Core], signature: Signature, scope: Scope) -> Value:
    domains = {p.name: p.type.domain for p in signature.params}
    lowered = []
    for (name, _), v in zip(core.arguments, values, strict=True):
        wanted = Type(Real()) if domains[name] in _REALS else core.type if domains[name] == "num" else v.type
        lowered.append(as_number(lower(v, scope), v.type, wanted))
    axes = joint_axes(lowered, scope.order)
    rank = max((v.rank for v in lowered), default=0)
    texts = _call_texts(core, [align(v, axes, rank) for v in lowered])
    return Value(f"{path}({', '.join(texts)})", axes, rank)


def _call_texts(core: c.Apply, values: Sequence[Value]) -> list[str]:
    """By position as long as the order is that of the signature, then by name."""
    params = [p.name for p in parse_signature(core.row).params] if core.row else []
    by_name = False
    texts = []
    for place, ((name, _), value) in enumerate(zip(core.arguments, values, strict=True)):
        by_name |= place < len(params) and params[place] != name
        texts.append(f"{name}={value.text}" if by_name else value.text)
    return texts


def _lower_mapped(path: str, core: c.Apply, values: list[c.Core], scope: Scope) -> Value:
    """A function of whole arrays, mapped over the binders that its arguments depend on."""
    lowered = []
    for v in values:
        if isinstance(v, c.DimRef):
            lowered.append(Value(size_text(v.dim, scope.names)))
        else:
            value = lower(v, scope)
            lowered.append(_cast(value, "float") if _needs_float(core, v) else value)
    axes = joint_axes(lowered, scope.order)
    rank = len(core.type.shape)
    if not axes:
        return Value(f"{path}({', '.join(_call_texts(core, lowered))})", (), rank)
    texts = [v.text for v in lowered]
    return Value(f"{mapped(path, lowered, axes)}({', '.join(texts)})", axes, rank)


def _needs_float(core: c.Apply, value: c.Core) -> bool:
    return isinstance(core.type.domain, Real) and isinstance(value.type.domain, Int | Bool) and bool(value.type.shape)


def mapped(path: str, values: Sequence[Value], axes: tuple[str, ...]) -> str:
    """`jax.vmap(jax.vmap(f, in_axes=...), in_axes=...)`: one map for each axis, innermost first."""
    text = path
    remaining = [list(v.axes) for v in values]
    layers = []
    for axis in axes:
        layers.append([r.index(axis) if axis in r else None for r in remaining])
        for r in remaining:
            if axis in r:
                r.remove(axis)
    for places in reversed(layers):
        plain = all(place == 0 for place in places)
        shown = ", ".join(map(str, places)) + ("," if len(places) == 1 else "")
        text = f"jax.vmap({text})" if plain else f"jax.vmap({text}, in_axes=({shown}))"
    return text


def _lower_call(core: c.Call, scope: Scope) -> Value:
    lowered = [lower(argument, scope) for argument in core.arguments]
    axes = joint_axes(lowered, scope.order)
    path = scope.names[core.function]
    if core.function in scope.needs.vectorized:
        texts = ", ".join(align(v, axes, 0).text for v in lowered)
        return Value(f"{path}({texts})", axes, 0)
    texts = ", ".join(v.text for v in lowered)
    return Value(f"{mapped(path, lowered, axes)}({texts})", axes, len(core.type.shape))


# ---- control flow


def _lower_if(core: c.If, scope: Scope) -> Value:
    condition, then, otherwise = (lower(part, scope) for part in (core.condition, core.then, core.otherwise))
    then = as_number(then, core.then.type, core.type)
    otherwise = as_number(otherwise, core.otherwise.type, core.type)
    axes = joint_axes([condition, then, otherwise], scope.order)
    rank = len(core.type.shape)
    texts = [align(v, axes, rank).text for v in (condition, then, otherwise)]
    return Value(f"jnp.where({', '.join(texts)})", axes, rank)


def _lower_loop(core: c.Loop, scope: Scope) -> Value:
    return lower_loop(core, scope, "bounded_loop", lambda condition: condition.text)


def lower_loop(core: c.Loop, scope: Scope, helper: str, keep_going: Callable[[Value], str]) -> Value:
    """The state gets every axis that the start, the condition or the step depends on."""
    rank = len(core.type.shape)
    start = as_number(lower(core.start, scope), core.start.type, core.type)
    name = f"{core.variable}_"
    axes = start.axes
    while True:
        inside = scope.with_scalars(**{core.variable: Value(name, axes, rank)})
        condition, step = lower(core.condition, inside), lower(core.body, inside)
        wider = joint_axes([start, condition, step], scope.order)
        if wider == axes:
            break
        axes = wider
    state = align(start, axes, rank).text
    if axes:
        shape = ", ".join(length_text(scope.bind(a), scope.names) for a in axes)
        tail = "".join(f", {size_text(axis, scope.names)}" for axis in core.type.shape)
        state = f"jnp.broadcast_to({state}, ({shape}{tail or ','}))"
    step = align(as_number(step, core.body.type, core.type), axes, rank)
    path = scope.needs.helper(helper)
    test = keep_going(align(condition, axes, rank))
    text = f"{path}(lambda {name}: {step.text}, lambda {name}: {test}, jnp.asarray({state}, float), {core.limit})"
    return Value(text, axes, rank)


# ---- binders


LOGSUMEXP = "logsumexp(x: real[...]) -> real"

_REDUCERS = {
    "sum": ("sum", "0"),
    "prod": ("prod", "1"),
    "max": ("max", "-jnp.inf"),
    "min": ("min", "jnp.inf"),
    "all": ("all", "True"),
    "any": ("any", "False"),
    "argmax": ("argmax", "-jnp.inf"),
    "argmin": ("argmin", "jnp.inf"),
}


def full(value: Value, axes: tuple[str, ...], rank: int, scope: Scope, shape: Sequence[Any]) -> Value:
    """The value with every axis at its full length, as reductions and arrays need it."""
    if value.axes == axes and value.rank == rank:
        return value
    lengths = [length_text(scope.bind(a), scope.names) for a in axes] + [size_text(s, scope.names) for s in shape]
    text = align(value, axes, rank).text
    return Value(f"jnp.broadcast_to({text}, ({', '.join(lengths)}{',' if len(lengths) == 1 else ''}))", axes, rank)


def _lower_reduce(core: c.Reduce, scope: Scope) -> Value:
    inside = scope.inside(*core.binders)
    own = tuple(b.name for b in core.binders)
    body = lower(core.body, inside)
    where = lower(core.where, inside.replace(soft=None)) if core.where else None
    if core.operator in ("sum", "prod", "mean", "logsumexp") and not (core.type.whole and core.operator != "mean"):
        body = as_number(body, core.body.type, Type(Real()))
    rank = len(core.body.type.shape)
    outer = tuple(a for a in joint_axes([body, *([where] if where else [])], inside.order) if a not in own)
    axes = outer + own
    body = full(body, axes, rank, inside, core.body.type.shape)
    places = _axis_text(tuple(range(len(outer), len(axes))))
    mask = align(where, axes, rank).text if where else ""
    if core.operator == "logsumexp":
        return _lower_logsumexp(body, mask, outer, rank, scope)
    return Value(
        _reduce_text(core, body, mask, places, scope), outer, rank, LOOSE if core.operator == "mean" and where else 9
    )


def _lower_logsumexp(body: Value, mask: str, outer: tuple[str, ...], rank: int, scope: Scope) -> Value:
    """The helper sums over all axes of one array, so it is mapped over those that stay."""
    own = len(body.axes) - len(outer)
    inner = f"jnp.where({mask}, {body.text}, -jnp.inf)" if mask else body.text
    if rank:
        inner = f"jnp.moveaxis({inner}, tuple(range(-{rank}, 0)), tuple(range({len(outer)}, {len(outer) + rank})))"
    kept = tuple(outer) + tuple(f"event {k}" for k in range(rank))
    helper = scope.needs.helper(IMPLEMENTATIONS[LOGSUMEXP])
    text = mapped(helper, [Value(inner, kept, own)], kept)
    return Value(f"{text}({inner})", outer, rank)


def _axis_text(places: tuple[int, ...]) -> str:
    return str(places[0]) if len(places) == 1 else str(places)


def _reduce_text(core: c.Reduce, body: Value, mask: str, places: str, scope: Scope) -> str:
    if core.operator == "mean":
        given = f", where={mask}" if mask else ""
        return f"jnp.mean({body.text}, axis={places}{given})"
    name, identity = _REDUCERS[core.operator]
    inner = f"jnp.where({mask}, {body.text}, {identity})" if mask else body.text
    text = f"jnp.{name}({inner}, axis={places})"
    low = core.binders[0].low.offset
    return f"({low} + {text})" if core.operator in ("argmax", "argmin") and low else text


def _lower_build(core: c.Build, scope: Scope) -> Value:
    inside = scope.inside(*core.binders)
    own = tuple(b.name for b in core.binders)
    body = as_number(lower(core.body, inside), core.body.type, core.type)
    outer = tuple(a for a in joint_axes([body], inside.order) if a not in own)
    rank = len(core.body.type.shape)
    body = full(body, outer + own, rank, inside, core.body.type.shape)
    return Value(body.text, outer, rank + len(own), body.level)


def _lower_stack(core: c.Stack, scope: Scope) -> Value:
    items = [as_number(lower(item, scope), item.type, core.type) for item in core.items]
    rank = len(core.type.shape) - 1
    if all(item.is_number or _is_literal(item) for item in items) and not joint_axes(items, scope.order):
        inner = ", ".join(_strip_array(item.text) for item in items)
        dtype = ", float" if isinstance(core.type.domain, Real) else ""
        return Value(f"jnp.array([{inner}]{dtype})", (), rank + 1)
    axes = joint_axes(items, scope.order)
    shape = core.type.shape[1:]
    texts = [full(item, axes, rank, scope, shape).text for item in items]
    return Value(f"jnp.stack([{', '.join(texts)}], axis={len(axes)})", axes, rank + 1)


def _is_literal(value: Value) -> bool:
    return value.text.startswith("jnp.array([") and not value.axes


def _strip_array(text: str) -> str:
    """Nested array literals are one array."""
    if not text.startswith("jnp.array(["):
        return text
    return text.removeprefix("jnp.array(").removesuffix(")").removesuffix(", float")


def _lower_lookup(core: c.Lookup, scope: Scope) -> Value:
    """The entries as an array over the parents' values, indexed by them."""
    parents = [_position(lower(parent, scope.replace(soft=None)), parent) for parent in core.parents]
    entries = [as_number(lower(entry, scope), entry.type, core.type) for entry in core.entries]
    sizes = [_parent_size(parent) for parent in core.parents]
    rank = len(core.type.shape)
    if any(entry.axes or not _is_constant(entry) for entry in entries):
        return _lower_computed_lookup(core, parents, entries, sizes, scope)
    text = _nested([_strip_array(entry.text) for entry in entries], sizes)
    table = Value(f"jnp.array({text}, float)" if not core.type.whole else f"jnp.array({text})", (), rank + len(sizes))
    axes = joint_axes(parents, scope.order)
    indices = ", ".join(align(parent, axes, 0).text for parent in parents)
    return Value(f"{table.text}[{indices}]", axes, rank)


def _is_constant(entry: Value) -> bool:
    return _is_literal(entry) or entry.text.lstrip("-").replace(".", "").replace("e", "").isalnum()


def _lower_computed_lookup(
    core: c.Lookup, parents: list[Value], entries: list[Value], sizes: list[int], scope: Scope
) -> Value:
    """Entries that are computed are stacked, and one is taken at every place of the binders."""
    axes = joint_axes([*parents, *entries], scope.order)
    rank = len(core.type.shape)
    rows = [full(entry, axes, rank, scope, core.type.shape).text for entry in entries]
    texts = [align(parent, axes, 0).at_least(PRODUCT) for parent in parents]
    flat = texts[0]
    for size, text in zip(sizes[1:], texts[1:], strict=True):
        flat = f"({flat}) * {size} + {text}"
    places = [align(Value(f"jnp.arange({length_text(scope.bind(a), scope.names)})", (a,)), axes, 0).text for a in axes]
    return Value(f"jnp.stack([{', '.join(rows)}])[{', '.join([flat, *places])}]", axes, rank)


def _position(value: Value, core: c.Core) -> Value:
    return _cast(value, "int") if isinstance(core.type.domain, Bool) else value


def _parent_size(parent: c.Core) -> int:
    domain = parent.type.domain
    return 2 if isinstance(domain, Bool) else domain.dim.size or 0 if isinstance(domain, IndexOf) else 0


def _nested(texts: list[str], sizes: list[int]) -> str:
    """Row-major entries as nested lists."""
    for size in reversed(sizes):
        texts = [f"[{', '.join(texts[k : k + size])}]" for k in range(0, len(texts), size)]
    return texts[0]


_RULES: dict[type[c.Core], Callable[[Any, Scope], Value]] = {
    c.Const: _lower_const,
    c.Var: _lower_var,
    c.Ref: _lower_ref,
    c.At: lambda core, scope: lower_at(core, scope, lower),
    c.Apply: _lower_apply,
    c.Call: _lower_call,
    c.If: _lower_if,
    c.Loop: _lower_loop,
    c.Reduce: _lower_reduce,
    c.Build: _lower_build,
    c.Stack: _lower_stack,
    c.Lookup: _lower_lookup,
}

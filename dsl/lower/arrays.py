"""Arrays: binders are axes, reduced over or kept; numbers written out become one constant."""

from math import inf
from typing import Any

from ..graph import core as c
from ..graph.types import Bool, IndexOf, Real, Type
from ..library.functions import functions_by_text
from .code import Code, call, const, index, infix, listing, name, pack
from .indexing import places_along
from .scope import Scope, start_code, starts_at_zero
from .shapes import Lower, as_number, cast, full, mapped
from .value import Value, align, joint_axes

LOGSUMEXP = "logsumexp(x: real[...]) -> real"

# What a place that a condition leaves out counts as.
_IDENTITIES: dict[str, float] = {
    "sum": 0,
    "prod": 1,
    "max": -inf,
    "min": inf,
    "all": True,
    "any": False,
    "argmax": -inf,
    "argmin": inf,
}


def lower_reduce(core: c.Reduce, scope: Scope, lower: Lower) -> Value:
    inside = scope.inside(*core.binders)
    own = tuple(b.name for b in core.binders)
    body = lower(core.body, inside)
    where = lower(core.where, inside.replace(soft=None)) if core.where else None
    adds = core.operator in ("sum", "prod", "logsumexp") and not core.type.whole
    if adds or core.operator == "mean":
        body = as_number(body, core.body.type, Type(Real()))
    rank = len(core.body.type.shape)
    used = joint_axes([body, *filter(None, [where])], inside.order)
    outer = tuple(axis for axis in used if axis not in own)
    axes = outer + own
    body = full(body, axes, rank, inside, core.body.type.shape)
    mask = align(where, axes, rank).code if where else None
    if core.operator == "logsumexp":
        # The helper sums over all axes of one array, so it is mapped over those that stay.
        inner = _masked(body.code, mask, -inf)
        if rank:
            last, first = range(-rank, 0), range(len(outer), len(outer) + rank)
            inner = call("jnp.moveaxis", inner, pack(map(const, last)), pack(map(const, first)))
        kept = tuple(outer) + tuple(f"event\n{k}" for k in range(rank))  # no binder has a newline
        helper = scope.needs.helper(functions_by_text()[LOGSUMEXP].body)
        return Value(call(mapped(helper, [Value(inner, kept, len(own))], kept), inner), outer, rank)
    places = tuple(range(len(outer), len(axes)))
    return Value(_reduced(core, body, mask, places, scope), outer, rank)


def _masked(code: Code, mask: Code | None, identity: float) -> Code:
    return call("jnp.where", mask, code, const(identity)) if mask else code


def _reduced(
    core: c.Reduce, body: Value, mask: Code | None, places: tuple[int, ...], scope: Scope
) -> Code:
    axis = const(places[0]) if len(places) == 1 else pack(map(const, places))
    if core.operator == "mean":
        given = {"where": mask} if mask else {}
        return call("jnp.mean", body.code, axis=axis, **given)
    inner = _masked(body.code, mask, _IDENTITIES[core.operator])
    found = call(f"jnp.{core.operator}", inner, axis=axis)
    if core.operator not in ("argmax", "argmin") or starts_at_zero(core.binders[0]):
        return found
    return infix(start_code(core.binders[0], scope.names), "+", found)


def lower_build(core: c.Build, scope: Scope, lower: Lower) -> Value:
    inside = scope.inside(*core.binders)
    own = tuple(b.name for b in core.binders)
    body = as_number(lower(core.body, inside), core.body.type, core.type)
    outer = tuple(a for a in joint_axes([body], inside.order) if a not in own)
    rank = len(core.body.type.shape)
    body = full(body, outer + own, rank, inside, core.body.type.shape)
    return Value(body.code, outer, rank + len(own))


# ---- arrays written out, and lookups

Numbers = Any
"""A number, or nested lists of numbers."""


def lower_stack(core: c.Stack, scope: Scope, lower: Lower) -> Value:
    numbers = _literal(core)
    rank = len(core.type.shape) - 1
    if numbers is not None:
        return Value(_array(numbers, core, scope), (), rank + 1)
    items = [as_number(lower(item, scope), item.type, core.type) for item in core.items]
    axes = joint_axes(items, scope.order)
    rows = listing(full(item, axes, rank, scope, core.type.shape[1:]).code for item in items)
    return Value(call("jnp.stack", rows, axis=const(len(axes))), axes, rank + 1)


def lower_lookup(core: c.Lookup, scope: Scope, lower: Lower) -> Value:
    """The entries as an array over the parents' values, indexed by them."""
    hard = scope.replace(soft=None)
    parents = [_position(lower(parent, hard), parent) for parent in core.parents]
    numbers = [_literal(entry) for entry in core.entries]
    sizes = [_parent_size(parent) for parent in core.parents]
    if any(row is None for row in numbers):
        entries = [as_number(lower(entry, scope), entry.type, core.type) for entry in core.entries]
        # Entries that are computed are stacked, and one is taken at every place of the binders.
        axes = joint_axes([*parents, *entries], scope.order)
        rank = len(core.type.shape)
        rows = listing(full(entry, axes, rank, scope, core.type.shape).code for entry in entries)
        flat, *others = [align(parent, axes, 0).code for parent in parents]
        for size, other in zip(sizes[1:], others, strict=True):
            flat = infix(infix(flat, "*", const(size)), "+", other)
        places = [align(places_along(axis, scope), axes, 0).code for axis in axes]
        return Value(index(call("jnp.stack", rows), flat, *places), axes, rank)
    table = _array(_nested(numbers, sizes), core, scope)
    axes = joint_axes(parents, scope.order)
    places = [align(parent, axes, 0).code for parent in parents]
    return Value(index(table, *places), axes, len(core.type.shape))


def _literal(core: c.Core) -> Numbers | None:
    """Numbers alone, as nested lists; None where anything is computed."""
    if isinstance(core, c.Const):
        return core.value
    if isinstance(core, c.Apply) and core.function == "negate":
        inner = core.arguments[0][1]
        return -inner.value if isinstance(inner, c.Const) else None
    if not isinstance(core, c.Stack):
        return None
    items = [_literal(item) for item in core.items]
    return None if any(item is None for item in items) else items


def _array(numbers: Numbers, core: c.Core, scope: Scope) -> Code:
    """Made an array where it is used: the precision is then that of the caller."""
    dtype = [name("float")] if isinstance(core.type.domain, Real) else []
    return call("jnp.array", scope.needs.constant(scope.owner, numbers), *dtype)


def _position(value: Value, core: c.Core) -> Value:
    return cast(value, "int") if isinstance(core.type.domain, Bool) else value


def _parent_size(parent: c.Core) -> int:
    domain = parent.type.domain
    if isinstance(domain, Bool):
        return 2
    return domain.dim.size or 0 if isinstance(domain, IndexOf) else 0


def _nested(entries: list[Any], sizes: list[int]) -> Numbers:
    """Row-major entries as nested lists."""
    for size in reversed(sizes):
        entries = [entries[k : k + size] for k in range(0, len(entries), size)]
    found: Numbers = entries[0]
    return found

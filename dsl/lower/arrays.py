"""Arrays: binders are axes, reduced over or kept; numbers written out become one constant."""

from math import inf
from typing import Any

from ..diagnostics import InternalError
from ..graph import core as c
from ..graph.dependence import offset_of
from ..graph.types import Bool, IndexOf, Real, Type
from ..library.functions import functions_by_text
from .code import ALL, Code, call, const, index, infix, listing, name, pack, without_tail
from .guard import guarded, guarded_entries
from .scope import Carried, Scope, Value, align, from_start, joint_axes, range_code, slice_code
from .shapes import Lower, as_array, as_number, full, mapped

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
    body = lower(guarded(core.body, core.where) if core.where else core.body, inside)
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
    places = tuple(map(const, range(len(outer), len(axes))))
    axis = places[0] if len(places) == 1 else pack(places)
    if core.operator == "mean":
        given = {"where": mask} if mask else {}
        return Value(call("jnp.mean", body.code, axis=axis, **given), outer, rank)
    inner = _masked(body.code, mask, _IDENTITIES[core.operator])
    found = call(f"jnp.{core.operator}", inner, axis=axis)
    if core.operator in ("argmax", "argmin"):
        found = from_start(core.binders[0], found, scope.names)
    return Value(found, outer, rank)


def _masked(code: Code, mask: Code | None, identity: float) -> Code:
    return call("jnp.where", mask, code, const(identity)) if mask else code


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
    parents = [_position(parent, scope, lower) for parent in core.parents]
    numbers = [_literal(entry) for entry in core.entries]
    domains = [parent.type.domain for parent in core.parents]
    sizes = [d.dim.size or 0 if isinstance(d, IndexOf) else 2 for d in domains]
    if any(row is None for row in numbers):
        ways = core.entries if scope.soft else guarded_entries(core, sizes)
        entries = [as_number(lower(entry, scope), entry.type, core.type) for entry in ways]
        # Entries that are computed are stacked, and one is taken at every place of the binders.
        axes = joint_axes([*parents, *entries], scope.order)
        rank = len(core.type.shape)
        rows = listing(full(entry, axes, rank, scope, core.type.shape).code for entry in entries)
        flat, *others = [align(parent, axes, 0).code for parent in parents]
        for size, other in zip(sizes[1:], others, strict=True):
            flat = infix(infix(flat, "*", const(size)), "+", other)
        places = [align(scope.places(axis), axes, 0).code for axis in axes]
        return Value(index(call("jnp.stack", rows), flat, *places), axes, rank)
    for size in reversed(sizes):  # row-major entries as nested lists
        numbers = [numbers[k : k + size] for k in range(0, len(numbers), size)]
    table = _array(numbers[0], core, scope)
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


# ---- indexing whole arrays at once: binders become slices, values become gathers


def lower_at(core: c.At, scope: Scope, lower: Lower) -> Value:
    base, indices = _base(core, scope, lower)
    if not indices:
        return base
    rank = len(core.type.shape)
    slices = [_slice(each, scope) for each in indices]
    names = [*base.axes, *(name for name, _ in filter(None, slices) if name)]
    if None not in slices and len(set(names)) == len(names):
        taken = [s for s in slices if s]
        places = without_tail([ALL] * len(base.axes) + [place for _, place in taken])
        axes = base.axes + tuple(name for name, _ in taken if name)
        return Value(index(base.code, *places), axes, rank)
    # Axes of a base that itself depends on binders are indexed by their own places.
    lowered = [scope.places(name) for name in base.axes]
    lowered += [_position(each, scope, lower) for each in indices]
    axes = joint_axes(lowered, scope.order)
    return Value(index(base.code, *(align(value, axes, 0).code for value in lowered)), axes, rank)


def _base(core: c.At, scope: Scope, lower: Lower) -> tuple[Value, tuple[c.Core, ...]]:
    """Inside the step of a recurrence, a member a few steps back is a variable of its own."""
    indices = core.indices
    if isinstance(core.base, c.Ref):
        found: Code | Carried | None = scope.carried.get(core.base.name)
        while isinstance(found, Carried):
            below = found.at(offset_of(indices[found.axis]))
            if below is None:
                how = "in its own recurrence in a way that is not lowered"
                raise InternalError(f"{core.base.name} is used {how}")
            indices = indices[: found.axis] + indices[found.axis + 1 :]
            found = below
        if found is not None:
            taken = len(core.indices) - len(indices)
            return Value(found, (), len(core.base.type.shape) - taken), indices
    return lower(core.base, scope), indices


def _slice(core: c.Core, scope: Scope) -> tuple[str, Code] | None:
    """The binder and its slice, or no binder and a fixed position; None for what is gathered."""
    offset = offset_of(core)
    if offset is None or (isinstance(core, c.Var) and core.name in scope.scalars):
        return None
    name, shift = offset
    if name is None:
        return "", const(shift)
    if name in scope.scalars:
        return None
    return name, slice_code(scope.bind(name), shift)


def _position(core: c.Core, scope: Scope, lower: Lower) -> Value:
    """An index as a number, or as an array of places."""
    offset = offset_of(core)
    if offset and offset[0] and offset[0] not in scope.scalars:
        places = range_code(scope.bind(offset[0]), scope.names)
        if offset[1]:
            places = infix(places, "+" if offset[1] > 0 else "-", const(abs(offset[1])))
        return Value(places, (offset[0],))
    value = lower(core, scope.replace(soft=None))
    is_truth = isinstance(core.type.domain, Bool)
    return Value(as_array(value.code, "int"), value.axes) if is_truth else value

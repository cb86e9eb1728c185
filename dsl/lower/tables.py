"""Arrays written out in the program, and lookups: numbers alone become one constant."""

from typing import Any

from ..graph import core as c
from ..graph.types import Bool, IndexOf, Real
from .code import Code, call, const, index, infix, listing, name
from .indexing import places_along
from .scope import Scope
from .shapes import Lower, as_number, cast, full
from .value import Value, align, joint_axes

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
        return _lower_computed_lookup(core, parents, entries, sizes, scope)
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


def _lower_computed_lookup(
    core: c.Lookup, parents: list[Value], entries: list[Value], sizes: list[int], scope: Scope
) -> Value:
    """Entries that are computed are stacked, and one is taken at every place of the binders."""
    axes = joint_axes([*parents, *entries], scope.order)
    rank = len(core.type.shape)
    rows = listing(full(entry, axes, rank, scope, core.type.shape).code for entry in entries)
    flat, *others = [align(parent, axes, 0).code for parent in parents]
    for size, other in zip(sizes[1:], others, strict=True):
        flat = infix(infix(flat, "*", const(size)), "+", other)
    places = [align(places_along(axis, scope), axes, 0).code for axis in axes]
    return Value(index(call("jnp.stack", rows), flat, *places), axes, rank)


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

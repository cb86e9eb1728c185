"""Arrays written out in the program, and lookups in them: numbers alone become one constant of the program."""

from __future__ import annotations

from .. import core as c
from ..types import Bool, IndexOf, Real
from .scope import Scope, length_text
from .shapes import Lower, as_number, cast, full
from .value import PRODUCT, Value, align, joint_axes


def lower_stack(core: c.Stack, scope: Scope, lower: Lower) -> Value:
    numbers = _literal(core)
    rank = len(core.type.shape) - 1
    if numbers is not None:
        return Value(_array_text(numbers, core, scope), (), rank + 1)
    items = [as_number(lower(item, scope), item.type, core.type) for item in core.items]
    axes = joint_axes(items, scope.order)
    texts = [full(item, axes, rank, scope, core.type.shape[1:]).text for item in items]
    return Value(f"jnp.stack([{', '.join(texts)}], axis={len(axes)})", axes, rank + 1)


def lower_lookup(core: c.Lookup, scope: Scope, lower: Lower) -> Value:
    """The entries as an array over the parents' values, indexed by them."""
    parents = [_position(lower(parent, scope.replace(soft=None)), parent) for parent in core.parents]
    numbers = [_literal(entry) for entry in core.entries]
    sizes = [_parent_size(parent) for parent in core.parents]
    known = [text for text in numbers if text is not None]
    if len(known) < len(numbers):
        entries = [as_number(lower(entry, scope), entry.type, core.type) for entry in core.entries]
        return _lower_computed_lookup(core, parents, entries, sizes, scope)
    table = _array_text(_nested(known, sizes), core, scope)
    axes = joint_axes(parents, scope.order)
    indices = ", ".join(align(parent, axes, 0).text for parent in parents)
    return Value(f"{table}[{indices}]", axes, len(core.type.shape))


def _literal(core: c.Core) -> str | None:
    """Numbers alone, as nested lists; None where anything is computed."""
    if isinstance(core, c.Const):
        return repr(core.value)
    if isinstance(core, c.Apply) and core.function == "negate" and isinstance(core.arguments[0][1], c.Const):
        return repr(-core.arguments[0][1].value)
    if not isinstance(core, c.Stack):
        return None
    items = [_literal(item) for item in core.items]
    return None if None in items else f"[{', '.join(filter(None, items))}]"


def _array_text(numbers: str, core: c.Core, scope: Scope) -> str:
    """Made an array where it is used: the precision is then that of the caller."""
    dtype = ", float" if isinstance(core.type.domain, Real) else ""
    return f"jnp.array({scope.needs.constant(scope.owner, numbers)}{dtype})"


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
    return cast(value, "int") if isinstance(core.type.domain, Bool) else value


def _parent_size(parent: c.Core) -> int:
    domain = parent.type.domain
    return 2 if isinstance(domain, Bool) else domain.dim.size or 0 if isinstance(domain, IndexOf) else 0


def _nested(texts: list[str], sizes: list[int]) -> str:
    """Row-major entries as nested lists."""
    for size in reversed(sizes):
        texts = [f"[{', '.join(texts[k : k + size])}]" for k in range(0, len(texts), size)]
    return texts[0]

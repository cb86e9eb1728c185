"""Indexing whole arrays at once: binders become slices, values become gathers."""

from __future__ import annotations

from collections.abc import Callable

from .. import core as c
from ..diagnostics import InternalError
from ..graph import offset_of
from ..types import Bool
from .scope import Carried, Scope, length_text, range_text, slice_text
from .value import ATOM, Value, align, joint_axes

Lower = Callable[[c.Core, Scope], Value]


def lower_at(core: c.At, scope: Scope, lower: Lower) -> Value:
    base, indices = _base(core, scope, lower)
    if not indices:
        return base
    rank = len(core.type.shape)
    slices = [_slice(index, scope) for index in indices]
    names = [*base.axes, *(name for name, _ in filter(None, slices) if name)]
    if None not in slices and len(set(names)) == len(names):
        return _slice_all(base, [s for s in slices if s], rank)
    if base.axes:
        return _gather_mapped(base, indices, rank, scope, lower)
    return _gather(base, indices, rank, scope, lower)


def _base(core: c.At, scope: Scope, lower: Lower) -> tuple[Value, tuple[c.Core, ...]]:
    """Inside the step of a recurrence, a member a few steps back is a variable of its own."""
    indices = core.indices
    if isinstance(core.base, c.Ref):
        found: str | Carried | None = scope.carried.get(core.base.name)
        while isinstance(found, Carried):
            below = found.at(offset_of(indices[found.axis]))
            if below is None:
                raise InternalError(f"{core.base.name} is used in its own recurrence in a way that is not lowered")
            indices = indices[: found.axis] + indices[found.axis + 1 :]
            found = below
        if found is not None:
            taken = len(core.indices) - len(indices)
            return Value(found, (), len(core.base.type.shape) - taken), indices
    return lower(core.base, scope), indices


def _slice(index: c.Core, scope: Scope) -> tuple[str, str] | None:
    """The binder and the slice it takes, or no binder and a fixed place; None for anything that must be gathered."""
    offset = offset_of(index)
    if offset is None or (isinstance(index, c.Var) and index.name in scope.scalars):
        return None
    name, shift = offset
    if name is None:
        return "", str(shift)
    if name in scope.scalars:
        return None
    return name, slice_text(scope.bind(name), shift)


def _slice_all(base: Value, slices: list[tuple[str, str]], rank: int) -> Value:
    parts = [":"] * len(base.axes) + [text for _, text in slices]
    while parts and parts[-1] == ":":
        parts.pop()
    text = f"{base.at_least(ATOM)}[{', '.join(parts)}]" if parts else base.text
    return Value(text, base.axes + tuple(name for name, _ in slices if name), rank, ATOM if parts else base.level)


def _gather(base: Value, indices: tuple[c.Core, ...], rank: int, scope: Scope, lower: Lower) -> Value:
    lowered = [_position(index, scope, lower) for index in indices]
    axes = joint_axes(lowered, scope.order)
    texts = [align(value, axes, 0).text for value in lowered]
    return Value(f"{base.at_least(ATOM)}[{', '.join(texts)}]", axes, rank)


def _position(index: c.Core, scope: Scope, lower: Lower) -> Value:
    """An index as a number, or as an array of places."""
    offset = offset_of(index)
    if offset and offset[0] and offset[0] not in scope.scalars:
        text = range_text(scope.bind(offset[0]), scope.names)
        shift = f" {'+' if offset[1] > 0 else '-'} {abs(offset[1])}" if offset[1] else ""
        return Value(f"{text}{shift}", (offset[0],))
    value = lower(index, scope.replace(soft=None))
    return Value(f"jnp.asarray({value.text}, int)", value.axes) if isinstance(index.type.domain, Bool) else value


def _gather_mapped(base: Value, indices: tuple[c.Core, ...], rank: int, scope: Scope, lower: Lower) -> Value:
    """A base that itself depends on binders: those axes are indexed by their own places."""
    lowered = [_position(index, scope, lower) for index in indices]
    axes = joint_axes([base, *lowered], scope.order)
    own = [Value(f"jnp.arange({_length(name, scope)})", (name,)) for name in base.axes]
    texts = [align(value, axes, 0).text for value in (*own, *lowered)]
    return Value(f"{base.at_least(ATOM)}[{', '.join(texts)}]", axes, rank)


def _length(name: str, scope: Scope) -> str:
    return length_text(scope.bind(name), scope.names)

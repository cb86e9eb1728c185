"""Indexing whole arrays at once: binders become slices, values become gathers."""

from ..diagnostics import InternalError
from ..graph import core as c
from ..graph.dependence import offset_of
from ..graph.types import Bool
from .code import ALL, Code, call, const, index, infix, without_tail
from .scope import Carried, Scope, length_code, range_code, slice_code
from .shapes import Lower, as_array
from .value import Value, align, joint_axes


def lower_at(core: c.At, scope: Scope, lower: Lower) -> Value:
    base, indices = _base(core, scope, lower)
    if not indices:
        return base
    rank = len(core.type.shape)
    slices = [_slice(each, scope) for each in indices]
    names = [*base.axes, *(name for name, _ in filter(None, slices) if name)]
    if None not in slices and len(set(names)) == len(names):
        return _slice_all(base, [s for s in slices if s], rank)
    if base.axes:
        # A base that itself depends on binders: those axes are indexed by their own places.
        lowered = [_position(each, scope, lower) for each in indices]
        axes = joint_axes([base, *lowered], scope.order)
        own = [places_along(name, scope) for name in base.axes]
        places = [align(value, axes, 0).code for value in (*own, *lowered)]
        return Value(index(base.code, *places), axes, rank)
    lowered = [_position(each, scope, lower) for each in indices]
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


def _slice_all(base: Value, slices: list[tuple[str, Code]], rank: int) -> Value:
    places = without_tail([ALL] * len(base.axes) + [place for _, place in slices])
    axes = base.axes + tuple(name for name, _ in slices if name)
    return Value(index(base.code, *places), axes, rank)


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


def places_along(axis: str, scope: Scope) -> Value:
    """0, 1, ... along an axis of an array."""
    return Value(call("jnp.arange", length_code(scope.bind(axis), scope.names)), (axis,))

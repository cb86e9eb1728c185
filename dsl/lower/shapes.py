"""Values made to fit: numbers of the right kind, functions mapped over axes, full axes."""

from collections.abc import Callable, Sequence
from typing import Any

from ..graph import core as c
from ..graph.types import Bool, Int, Real, Type
from .code import Code, call, const, name, number, pack
from .scope import Scope, Value, align, joint_axes, length_code, size_code

Lower = Callable[[c.Core, Scope], Value]


def as_number(value: Value, type_: Type, wanted: Type) -> Value:
    """Truth values and positions are numbers in arithmetic; JAX is told, never left to guess."""
    if isinstance(wanted.domain, Real) and not isinstance(type_.domain, Real):
        return cast(value, "float")
    if isinstance(wanted.domain, Int) and isinstance(type_.domain, Bool):
        return cast(value, "int")
    return value


def cast(value: Value, dtype: str) -> Value:
    return value if is_whole(value) else Value(as_array(value.code, dtype), value.axes, value.rank)


def is_whole(value: Value) -> bool:
    """A whole number that is written out fits any kind of number."""
    return type(number(value.code)) is int


def as_array(code: Code, dtype: str) -> Code:
    return call("jnp.asarray", code, name(dtype))


def mapped(function: str | Code, values: Sequence[Value], axes: tuple[str, ...]) -> Code:
    """`jax.vmap(jax.vmap(f, in_axes=...), in_axes=...)`: one map for each axis, innermost first."""
    found = name(function) if isinstance(function, str) else function
    remaining = [list(v.axes) for v in values]
    layers = []
    for axis in axes:
        layers.append([r.index(axis) if axis in r else None for r in remaining])
        for r in remaining:
            if axis in r:
                r.remove(axis)
    for places in reversed(layers):
        if all(place == 0 for place in places):
            found = call("jax.vmap", found)
        else:
            found = call("jax.vmap", found, in_axes=pack(map(const, places)))
    return found


def call_mapped(function: str | Code, values: Sequence[Value], rank: int, scope: Scope) -> Value:
    """A function of values without binders, for every position of those that they depend on."""
    axes = joint_axes(values, scope.order)
    return Value(call(mapped(function, values, axes), *(v.code for v in values)), axes, rank)


def call_aligned(path: str, values: Sequence[Value], rank: int, scope: Scope) -> Value:
    """An elementwise function of values that are made to fit one another."""
    axes = joint_axes(values, scope.order)
    return Value(call(path, *(align(v, axes, rank).code for v in values)), axes, rank)


def full(
    value: Value, axes: tuple[str, ...], rank: int, scope: Scope, shape: Sequence[Any]
) -> Value:
    """The value with every axis at its full length, as reductions and arrays need it."""
    if value.axes == axes and value.rank == rank:
        return value
    lengths = [length_code(scope.bind(a), scope.names) for a in axes]
    lengths += [size_code(s, scope.names) for s in shape]
    code = align(value, axes, rank).code
    return Value(call("jnp.broadcast_to", code, pack(lengths)), axes, rank)

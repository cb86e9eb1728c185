"""Values made to fit one another: numbers of the right kind, functions mapped over axes, axes at full length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import core as c
from ..types import Bool, Int, Real, Type
from .scope import Scope, length_text, size_text
from .value import Value, align

Lower = Callable[[c.Core, Scope], Value]


def as_number(value: Value, type_: Type, wanted: Type) -> Value:
    """Truth values and positions take part in arithmetic as numbers; JAX is told, never left to guess."""
    if isinstance(wanted.domain, Real) and not isinstance(type_.domain, Real):
        return cast(value, "float")
    if isinstance(wanted.domain, Int) and isinstance(type_.domain, Bool):
        return cast(value, "int")
    return value


def cast(value: Value, dtype: str) -> Value:
    is_literal = value.text.lstrip("-").isdigit()
    if is_literal:
        return value
    return Value(f"jnp.asarray({value.text}, {dtype})", value.axes, value.rank)


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


def full(value: Value, axes: tuple[str, ...], rank: int, scope: Scope, shape: Sequence[Any]) -> Value:
    """The value with every axis at its full length, as reductions and arrays need it."""
    if value.axes == axes and value.rank == rank:
        return value
    lengths = [length_text(scope.bind(a), scope.names) for a in axes] + [size_text(s, scope.names) for s in shape]
    text = align(value, axes, rank).text
    return Value(f"jnp.broadcast_to({text}, ({', '.join(lengths)}{',' if len(lengths) == 1 else ''}))", axes, rank)

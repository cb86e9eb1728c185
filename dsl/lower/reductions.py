"""Reductions and comprehensions: the binders are axes, which a reduction sums over and a comprehension keeps."""

from __future__ import annotations

from .. import core as c
from ..runtime.table import IMPLEMENTATIONS
from ..types import Real, Type
from .scope import Scope, start_text
from .shapes import Lower, as_number, full, mapped
from .value import LOOSE, Value, align, joint_axes

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


def lower_reduce(core: c.Reduce, scope: Scope, lower: Lower) -> Value:
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
    first = start_text(core.binders[0], scope.names)
    return f"({first} + {text})" if core.operator in ("argmax", "argmin") and first != "0" else text


def lower_build(core: c.Build, scope: Scope, lower: Lower) -> Value:
    inside = scope.inside(*core.binders)
    own = tuple(b.name for b in core.binders)
    body = as_number(lower(core.body, inside), core.body.type, core.type)
    outer = tuple(a for a in joint_axes([body], inside.order) if a not in own)
    rank = len(core.body.type.shape)
    body = full(body, outer + own, rank, inside, core.body.type.shape)
    return Value(body.text, outer, rank + len(own), body.level)

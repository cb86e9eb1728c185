"""Reductions and comprehensions: binders are axes, reduced over or kept."""

from math import inf

from ..graph import core as c
from ..graph.types import Real, Type
from ..library.functions import functions_by_text
from .code import Code, call, const, infix, pack
from .scope import Scope, start_code, starts_at_zero
from .shapes import Lower, as_number, full, mapped
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
        return _lower_logsumexp(body, mask, outer, rank, scope)
    places = tuple(range(len(outer), len(axes)))
    return Value(_reduced(core, body, mask, places, scope), outer, rank)


def _lower_logsumexp(
    body: Value, mask: Code | None, outer: tuple[str, ...], rank: int, scope: Scope
) -> Value:
    """The helper sums over all axes of one array, so it is mapped over those that stay."""
    own = len(body.axes) - len(outer)
    inner = _masked(body.code, mask, -inf)
    if rank:
        last, first = range(-rank, 0), range(len(outer), len(outer) + rank)
        inner = call("jnp.moveaxis", inner, pack(map(const, last)), pack(map(const, first)))
    kept = tuple(outer) + tuple(f"event\n{k}" for k in range(rank))  # no binder has a newline
    helper = scope.needs.helper(functions_by_text()[LOGSUMEXP].body)
    return Value(call(mapped(helper, [Value(inner, kept, own)], kept), inner), outer, rank)


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

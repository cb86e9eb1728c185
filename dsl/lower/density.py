"""A log density as a value among others, for every place of the binders at once."""

from __future__ import annotations

from ..graph import core as c
from ..graph.types import Bool, Type
from .code import attribute, call, method
from .expressions import lower
from .laws import lower_law
from .mass import log_mass_at
from .scope import Scope
from .shapes import cast
from .value import Value, align, joint_axes


def lower_log_density(core: c.LogDensity, scope: Scope) -> Value:
    mass = None if core.frozen else log_mass_at(core.law, core.value, scope)
    if mass is not None:
        return mass
    value = lower(core.value, scope)
    if isinstance(core.value.type.domain, Bool):
        value = cast(value, "int")
    arguments = [
        lower(argument, scope)
        for _, argument in core.law.arguments
        if not isinstance(argument, c.DimRef)
    ]
    axes = joint_axes([value, *arguments], scope.order)
    place = align(value, axes, _event_rank(core.law.type))
    law = lower_law(core.law, axes, scope)
    if core.frozen:
        law = call("lax.stop_gradient", law)
    return Value(method(law, "log_prob", place.code), axes)


def lower_moment(core: c.Moment, scope: Scope) -> Value:
    arguments = [
        lower(argument, scope)
        for _, argument in core.law.arguments
        if not isinstance(argument, c.DimRef)
    ]
    axes = joint_axes(arguments, scope.order)
    return Value(attribute(lower_law(core.law, axes, scope), core.name), axes)


def lower_divergence(core: c.Divergence, scope: Scope) -> Value:
    """KL(q, p), one number for every place of the axes that either law has."""
    laws = (core.law, core.other)
    arguments = [
        lower(a, scope) for law in laws for _, a in law.arguments if not isinstance(a, c.DimRef)
    ]
    axes = joint_axes(arguments, scope.order)
    return Value(call("divergence", *(lower_law(law, axes, scope) for law in laws)), axes)


def _event_rank(type_: Type) -> int:
    return len(type_.shape)

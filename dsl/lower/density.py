"""A log density as a value among others, for every place of the binders at once."""

from __future__ import annotations

from .. import core as c
from ..types import Bool, Type
from .expressions import lower
from .laws import lower_law
from .mass import log_mass_at
from .scope import Scope
from .shapes import cast
from .value import Value, align, joint_axes


def lower_log_density(core: c.LogDensity, scope: Scope) -> Value:
    mass = log_mass_at(core.law, core.value, scope)
    if mass is not None:
        return mass
    value = lower(core.value, scope)
    if isinstance(core.value.type.domain, Bool):
        value = cast(value, "int")
    arguments = [lower(argument, scope) for _, argument in core.law.arguments if not isinstance(argument, c.DimRef)]
    axes = joint_axes([value, *arguments], scope.order)
    place = align(value, axes, _event_rank(core.law.type))
    return Value(f"{lower_law(core.law, axes, scope)}.log_prob({place.text})", axes)


def _event_rank(type_: Type) -> int:
    return len(type_.shape)

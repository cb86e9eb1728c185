"""Maximum likelihood is moment matching (PL21, PL22): grad A(natural) = mean of T."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .errors import NoMaximumError, NotConvergedError, OutsideSupportError
from .family import Array, Family
from .features import contains, statistic
from .newton import Certificate, to_natural
from .special import floats


@dataclass(frozen=True)
class MomentFit:
    """The natural parameters of highest likelihood, the mean they match, and how well."""

    natural: Array
    mean: Array
    certificate: Certificate


jax.tree_util.register_dataclass(MomentFit)


def fit_to_data(family: Family, values: Array, weights: Array | None = None) -> MomentFit:
    """argmax_natural sum_i w_i log p(x_i): the last axis before those of one value counts the
    observations.

    Under a trace nothing can be raised: natural parameters are then NaN where no maximum exists.
    """
    values = floats(values)
    verify_support(family, values)
    statistics = statistic(family, values)
    if weights is None:
        return fit_to_moments(family, statistics.mean(axis=-2))
    shares = floats(weights) / floats(weights).sum(axis=-1, keepdims=True)
    return fit_to_moments(family, (shares[..., None] * statistics).sum(axis=-2))


def fit_to_moments(family: Family, moments: Array) -> MomentFit:
    """The member of the family with E T(X) = moments.

    It has the highest entropy, relative to the base measure, of all distributions with these
    moments (PL21).
    """
    natural, certificate = to_natural(family, moments)
    verify_certificate(family, floats(moments), certificate)
    return MomentFit(natural, floats(moments), certificate)


def is_traced(*arrays: Any) -> bool:
    return any(isinstance(x, jax.core.Tracer) for x in arrays)


def verify_support(family: Family, values: Array) -> None:
    if is_traced(values):
        return
    if not all(values.shape):
        raise NoMaximumError(
            f"no observation to fit {family.name} to: the array of values has shape {values.shape}"
        )
    inside = np.asarray(contains(family, values))
    if not inside.all():
        where = first(~inside)
        value = np.asarray(values)[where].tolist()
        raise OutsideSupportError(
            f"value {value} at {place(where)}: the support of {family.name} is {family.support}"
        )


def verify_certificate(family: Family, moments: Array, certificate: Certificate) -> None:
    if is_traced(certificate.gap):
        return
    if not np.all(certificate.interior):
        where = first(~np.asarray(certificate.interior))
        raise NoMaximumError(
            f"{family.name}: no maximum exists, because the mean of the statistics{at(where)}, "
            f"{np.asarray(moments)[where].tolist()}, is not inside the set of means but on its boundary or beyond; "
            f"no parameters reach it, the likelihood only approaches its supremum. "
            f"More varied observations, or a prior, give it a maximum"
        )
    if not np.all(certificate.holds):
        where = first(~np.asarray(certificate.holds))
        norm, gap = np.asarray(certificate.gradient_norm)[where], np.asarray(certificate.gap)[where]
        raise NotConvergedError(
            f"{family.name}: no certificate for the moments{at(where)}: the gradient norm is {norm:.2g}, "
            f"the gap {gap:.2g}; they are near the boundary of what {moments.dtype} can resolve"
        )


def first(mask: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask)[0])


def place(where: tuple[int, ...]) -> str:
    return f"index {list(where)}" if where else "the only place"


def at(where: tuple[int, ...]) -> str:
    return f" at index {list(where)}" if where else ""

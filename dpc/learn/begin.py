"""Where a fit is told to begin: values for unknowns, each within its domain."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph.types import Type

from ..model.constraints import constraint_of
from .cases import shape_of
from .likelihood import Likelihood

WORDS = {
    "simplex": "positive numbers that sum to one",
    "ordered": "numbers that increase",
    "positive_ordered": "positive numbers that increase",
    "unit_vector": "a vector of length one",
    "cholesky": "a lower triangular matrix with a positive diagonal",
    "corr_cholesky": "a lower triangular matrix with a positive diagonal and rows of length one",
    "covariance": "a symmetric, positive definite matrix",
    "correlation": "a symmetric, positive definite matrix with ones on its diagonal",
}


class WrongStart(ValueError):
    """A value that no fit of this model can begin with."""


def verify_start(likelihood: Likelihood, start: Mapping[str, Any], said: str = "`start=`") -> None:
    """`said` is who gives the values."""
    nodes = {node.name: node for node in likelihood.roles.unknowns}
    for name, value in start.items():
        if name not in nodes:
            hint = did_you_mean(name, list(nodes)) or f"the unknowns are {', '.join(nodes)}"
            raise WrongStart(f"{said} gives `{name}`, which is not an unknown of this fit; {hint}")
        _verify_value(
            name,
            nodes[name].type,
            shape_of(nodes[name], likelihood.cases.groups[0].sizes),
            value,
            said,
        )


def _verify_value(name: str, type_: Type, shape: tuple[int, ...], value: Any, said: str) -> None:
    array = np.asarray(value)
    if array.shape != shape:
        raise WrongStart(f"`{name}` has shape {shape}, but {said} gives {array.shape}")
    if array.dtype.kind not in "iuf":
        raise WrongStart(f"`{name}` is a number, or an array of them, but {said} gives {value}")
    lower, upper = type_.bounds
    word = type_.constraint
    if not word and not np.all((lower < array) & (array < upper)):
        raise WrongStart(f"`{name}` lies between {lower:g} and {upper:g}, but {said} gives {value}")
    if word and not _is_inside(type_, array.astype(float)):
        raise WrongStart(f"`{name}` is {word}, {WORDS[word]}, but {said} gives {value}")


def _is_inside(type_: Type, array: Any) -> bool:
    """Whether it fits its constraint; no step leads away from a probability of zero."""
    return bool(np.all(constraint_of(type_)(array))) and (
        type_.constraint != "simplex" or bool(np.all(array > 0))
    )

"""Annotations as estimators: `grad=sfe(baseline=moving)` is ScoreFunction(baseline=Moving())."""

from typing import Any

from dpc.estimators.methods.baselines import Constant
from dpc.estimators.methods.method import Method
from dpc.estimators.methods.table import BASELINES, METHODS

from .choose import EstimatorChoice

ELSEWHERE = frozenset({"samples", "control"})
"""Not the method's own options: how often it is drawn, and what its costs are less."""


def make_method(choice: EstimatorChoice) -> Method:
    options: dict[str, Any] = {
        name: value for name, value in choice.options if name not in ELSEWHERE
    }
    word = options.pop("baseline", "none")
    constant = options.pop("constant", None)
    if constant is not None:
        options["baseline"] = Constant(constant)
    elif word != "none":
        options["baseline"] = BASELINES[word]()
    return METHODS[choice.method](**options)

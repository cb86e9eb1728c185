"""All the estimators by name: adding a row is the whole change, and the conformance suite runs over the rows."""

from __future__ import annotations

from typing import Literal, NamedTuple

from .antithetic import Antithetic, EvolutionStrategies
from .arm import Arm, DisArm
from .baselines import Baseline, Constant, LeaveOneOut, Moving, Optimal
from .enumeration import Enumeration
from .measure import MeasureValued
from .method import Method
from .pathwise import Pathwise
from .rebar import Rebar, Relax
from .relaxed import GumbelSoftmax, StraightThrough
from .score import LeaveOneOutScore, ScoreFunction

Kind = Literal["positive", "real", "baseline", "function", "tree"]


class Row(NamedTuple):
    """A method, what it is in a sentence, and its options with their kinds; for which laws it is, `refusal` says."""

    method: type[Method]
    doc: str
    options: dict[str, Kind]


def _row(method: type[Method], doc: str, **options: Kind) -> tuple[str, Row]:
    return method.name, Row(method, doc, options)


METHODS: dict[str, Row] = dict(
    [
        _row(Pathwise, "differentiates the draw as a function of its parameters and noise"),
        _row(ScoreFunction, "weighs the score with the costs below, less a baseline", baseline="baseline"),
        _row(LeaveOneOutScore, "weighs the score with the costs below, less those of the other samples"),
        _row(Enumeration, "sums over all values; no variance of its own"),
        _row(MeasureValued, "compares draws of the two parts of the derivative of the law"),
        _row(Arm, "weighs the difference of an antithetic pair with its uniform noise"),
        _row(DisArm, "as arm, with the noise averaged given the pair"),
        _row(GumbelSoftmax, "relaxes the draw", temperature="positive"),
        _row(StraightThrough, "draws, and differentiates the relaxed draw", temperature="positive"),
        _row(Rebar, "score function less its relaxed twin", temperature="positive", scale="real"),
        _row(Relax, "as rebar, with a learned relaxation", parameters="tree", function="function", scale="real"),
        _row(Antithetic, "pathwise on a draw and its mirror image"),
        _row(EvolutionStrategies, "score function on a draw and its mirror image"),
    ]
)

BASELINES: dict[str, type[Baseline]] = {
    "constant": Constant,
    "moving": Moving,
    "rloo": LeaveOneOut,
    "optimal": Optimal,
}

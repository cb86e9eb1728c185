"""All the estimators by name; the conformance suite runs over them.

Their sentence and options stand in the language's row of the same name
(dpc.dsl.library.annotations); for which distributions one is, its `refusal` says.
"""

from .arm import Arm, DisArm
from .enumeration import Enumeration
from .measure import MeasureValued
from .method import Baseline, Constant, LeaveOneOut, Method, Moving, Optimal
from .pathwise import Antithetic, EvolutionStrategies, Pathwise
from .relaxed import GumbelSoftmax, Rebar, Relax, StraightThrough
from .score import LeaveOneOutScore, ScoreFunction

GENERAL = Pathwise, ScoreFunction, LeaveOneOutScore, Enumeration, MeasureValued
FINITE = Arm, DisArm, GumbelSoftmax, StraightThrough, Rebar, Relax
ALL: tuple[type[Method], ...] = (*GENERAL, *FINITE, Antithetic, EvolutionStrategies)
METHODS = {method.name: method for method in ALL}

BUILT_IN = frozenset(METHODS)
"""Those that come with the package; `add_estimator` adds others to METHODS."""

BASELINES: dict[str, type[Baseline]] = {
    "constant": Constant,
    "moving": Moving,
    "rloo": LeaveOneOut,
    "optimal": Optimal,
}

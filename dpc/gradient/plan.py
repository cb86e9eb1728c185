"""The estimator that each draw of an objective would have, before anything is compiled."""

from typing import Any

from dpc.dsl.graph.graph import Graph, Kind

from ..data import bind_data
from ..show.plan import EstimatorPlan
from .choose import choose_methods
from .costs import averages_weights
from .prepare import prepare


def plan_estimators(graph: Graph, sources: list[Any]) -> EstimatorPlan:
    needed, terms, objective = prepare(graph)
    if not needed.of_kind(Kind.DRAW):
        return EstimatorPlan([])
    bound = bind_data(graph, *sources, partial=True)
    weighed = averages_weights(objective)
    return EstimatorPlan(choose_methods(needed, terms, bound.sizes, weighed))

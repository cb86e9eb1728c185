"""The objective as it is written: drawn, weighed and evaluated, with no estimator and no split."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.passes.parts import bound_as_number, draws_given, guided, needed_for
from dpc.dsl.record import Record

from .costs import averages_weights, bound_of


class PlainObjective(Record):
    """E[value(params, draws)], where `sample(key, params)` are draws with this `log_prob`.

    `once(key, params)` is the objective of one draw; of a bound over several samples it is all
    there is, and no single draw has a value.
    """

    graph: Graph
    once: Callable[[Any, Any], Any]
    sample: Callable[[Any, Any], Any] | None = None
    log_prob: Callable[[Any, Any], Any] | None = None
    value: Callable[[Any, Any], Any] | None = None


def plain_objective(model: Any, data: Any) -> PlainObjective:
    """What the objective of a model is the mean of, for these data."""
    bound = bound_of(model.graph)
    if averages_weights(bound):
        return PlainObjective(model.graph, lambda key, params: model.surrogate(key, params, data))
    arrays = {**data.arrays, **data.sizes}
    drawing, value = (_elbo if bound else _cost)(model, arrays)
    functions = model.functions.load(drawing)

    def sample(key: Any, params: Any) -> Any:
        return functions["sample"](key, params, arrays)

    def log_prob(params: Any, draws: Any) -> Any:
        return functions["log_prob"](params, draws, arrays)

    def once(key: Any, params: Any) -> Any:
        return value(params, sample(key, params))

    return PlainObjective(drawing, once, sample, log_prob, value)


Value = Callable[[Any, Any], Any]


def _cost(model: Any, arrays: Any) -> tuple[Graph, Value]:
    """What is observed is given; only what the objective needs is drawn."""
    graph: Graph = model.graph
    observed = {node.name for node in graph.of_kind(Kind.DRAW) if node.observed}
    (cost,) = graph.of_kind(Kind.COST)
    needed = needed_for(draws_given(graph, observed), [cost.name])
    objective = model.functions.load(needed)["objective"]
    return needed, lambda params, draws: objective(params, draws, arrays)


def _elbo(model: Any, arrays: Any) -> tuple[Graph, Value]:
    """log p(x, z) - log q(z) at draws of the guide, in the place of the bound."""
    graph: Graph = model.graph
    assert graph.guide is not None
    drawn = [node.name for node in graph.guide.of_kind(Kind.DRAW)]
    drawing = needed_for(guided(graph), drawn)
    joint = model.functions.load(graph)["log_prob"]
    guide = model.functions.load(drawing)["log_prob"]
    without, with_one = (
        model.functions.load(bound_as_number(graph, number))["objective"] for number in (0.0, 1.0)
    )

    def value(params: Any, draws: Any) -> Any:
        values = {**arrays, **draws}
        bound = joint(params, values, arrays) - guide(params, draws, arrays)
        rest = without(params, values, arrays)
        return rest + (with_one(params, values, arrays) - rest) * bound

    return drawing, value

"""The objective as it is written: drawn, weighed and evaluated, with no estimator and no split."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpc.dsl.graph import core as c
from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.passes.parts import bound_as_number, draws_given, guided, needed_for
from dpc.dsl.record import Record

from .costs import averages_weights, bound_of


class PlainObjective(Record):
    """E[value(params, draws)], where `sample(key, params)` are draws with this `log_prob`.

    `once(key, params)` is the objective of one draw, or of the draws of a bound over several, where
    no single one has a value.
    """

    graph: Graph
    once: Callable[[Any, Any], Any]
    sample: Callable[[Any, Any], Any] | None = None
    log_prob: Callable[[Any, Any], Any] | None = None
    value: Callable[[Any, Any], Any] | None = None


def plain_objective(model: Any, data: Any) -> PlainObjective:
    """What the objective of a model is the mean of, for these data."""
    bound = bound_of(model.graph)
    arrays = {**data.arrays, **data.sizes}
    if bound is not None and averages_weights(bound):
        return PlainObjective(model.graph, _several(model, arrays, bound, model.init(data=data)))
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
    drawing, log_weight = _weighed(model, arrays)
    around = _around_bound(model, arrays)

    def value(params: Any, draws: Any) -> Any:
        return around(params, draws, log_weight(params, draws))

    return drawing, value


def _weighed(model: Any, arrays: Any) -> tuple[Graph, Value]:
    """What the guide draws, and log p(x, z) - log q(z) of it."""
    graph: Graph = model.graph
    assert graph.guide is not None
    drawn = [node.name for node in graph.guide.of_kind(Kind.DRAW)]
    drawing = needed_for(guided(graph), drawn)
    joint = model.functions.load(graph)["log_prob"]
    guide = model.functions.load(drawing)["log_prob"]

    def log_weight(params: Any, draws: Any) -> Any:
        return joint(params, {**arrays, **draws}, arrays) - guide(params, draws, arrays)

    return drawing, log_weight


def _around_bound(model: Any, arrays: Any) -> Callable[[Any, Any, Any], Any]:
    """The objective with a number in the place of its bound, in which it is linear."""
    without, with_one = (
        model.functions.load(bound_as_number(model.graph, number))["objective"]
        for number in (0.0, 1.0)
    )

    def value(params: Any, draws: Any, bound: Any) -> Any:
        values = {**arrays, **draws}
        rest = without(params, values, arrays)
        return rest + (with_one(params, values, arrays) - rest) * bound

    return value


# ---- bounds over several samples


def _several(model: Any, arrays: Any, bound: c.Apply, at: Any) -> Callable[[Any, Any], Any]:
    """log mean_k w_k^(1 - alpha) / (1 - alpha), of each element where they are independent.

    With L(z) = sum_i l_i(z_i), the sum over i of log mean_k exp l_i(z_k) is L(z_0) plus that of
    log mean_k exp(L(z_0, but z_k at i) - L(z_0)): the plain log density is all it takes.
    """
    options = {name: value.value for name, value in bound.arguments if isinstance(value, c.Const)}
    samples, power = int(options["samples"]), 1 - float(options.get("alpha", 0.0))
    drawing, log_weight = _weighed(model, arrays)
    around = _around_bound(model, arrays)
    functions = model.functions.load(drawing)

    def sample(key: Any, params: Any) -> Any:
        return functions["sample"](key, params, arrays)

    plate = _independent_plate(drawing, sample, log_weight, at)

    def once(key: Any, params: Any) -> Any:
        draws = jax.vmap(sample, (0, None))(jax.random.split(key, samples), params)
        first = {name: value[0] for name, value in draws.items()}
        start = log_weight(params, first)

        def gained(place: Any) -> Any:
            """log mean_k of the weights, relative to the first, with these elements replaced."""

            def log_ratio(other: Any) -> Any:
                return log_weight(params, _replaced(first, other, place, plate)) - start

            ratios = power * jax.vmap(log_ratio)(draws)
            return (jax.nn.logsumexp(ratios) - jnp.log(samples)) / power

        return around(params, first, start + jnp.sum(jax.lax.map(gained, _places(first, plate))))

    return once


Plate = dict[str, int]
"""The axis of each draw along which elements are independent of each other."""


def _places(draws: Any, plate: Plate | None) -> Any:
    """One row for each element of the plate, true there; without one all are replaced at once."""
    if plate is None:
        return jnp.ones((1, 1), bool)
    name, axis = next(iter(plate.items()))
    return jnp.eye(draws[name].shape[axis], dtype=bool)


def _replaced(one: Any, other: Any, place: Any, plate: Plate | None) -> Any:
    """The first draws, with the second in these places of the plate."""

    def chosen(name: str) -> Any:
        axis = plate[name] if plate else 0
        after = jnp.ndim(one[name]) - axis - 1
        here = jnp.reshape(place, (*place.shape, *(1,) * after)) if plate else place[0]
        return jnp.where(here, other[name], one[name])

    return {name: chosen(name) for name in one}


def _independent_plate(drawing: Graph, sample: Any, log_weight: Value, params: Any) -> Plate | None:
    """The first dim of all draws along which L(z) is a sum: L(a b') + L(a' b) = L(a b) + L(a' b').

    Found by swapping elements, as the graph is what estimators look at.
    """
    nodes = drawing.of_kind(Kind.DRAW)
    shapes = {node.name: [str(axis) for axis in node.type.shape] for node in nodes}
    shared = set.intersection(*map(set, shapes.values()))
    first, second = (sample(jax.random.key(seed), params) for seed in (0, 1))
    total = log_weight(params, first) + log_weight(params, second)
    for dim in next(iter(shapes.values())):
        if dim not in shared:
            continue
        plate = {name: axes.index(dim) for name, axes in shapes.items()}

        def swapped(place: Any, plate: Plate = plate) -> Any:
            ends = _replaced(first, second, place, plate), _replaced(second, first, place, plate)
            return sum(log_weight(params, end) for end in ends)

        found = np.asarray(jax.lax.map(swapped, _places(first, plate)))
        if np.allclose(found, total, rtol=1e-6, atol=1e-6):
            return plate
    return None

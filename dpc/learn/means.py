"""E[y] and sd[y] given all parents, and where some of these are hidden."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from dpc.dsl.graph import core as c
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.moments import tilt_moment
from dpc.dsl.graph.passes.parts import compute_only
from dpc.dsl.graph.types import REAL
from dpc.dsl.library.rows import why_not
from dpc.dsl.lower.run import run_graph

from ..model.check import random_ancestors
from ..model.functions import split_data
from ..model.model import Model
from .cases import shape_of

Values = dict[str, Any]


def why_no_mean(graph: Graph, name: str, hidden: set[str], finite: set[str]) -> str:
    """Why there is no mean of a draw given the finite draws it depends on; empty if there is."""
    node, parents = graph[name], random_ancestors(graph, name)
    if name in parents or any(name in group.members for group in graph.recurrences):
        return f"the entries of `{name}` depend on each other"
    for parent in parents:
        if parent in hidden - finite:
            return f"`{name}` depends on `{parent}`, which is not known either"
    if any(setting.name == "ordered" for setting in node.settings) or node.undirected:
        return f"the entries of `{name}` are not drawn one by one"
    if hidden & {*parents} and any(
        len(piece.indices) != len(node.type.shape) for piece in node.pieces
    ):
        return f"rows of `{name}` are drawn together, and depend on draws that are hidden"
    if without := [law.facts for law in node.laws if not law.facts.moments]:
        return f"no moments of {without[0].name}: {why_not(without[0], 'moments')}"
    return ""


class Means:
    """Mean and sd of the draw `name`, as a function of parameters, data and other draws."""

    def __init__(self, graph: Graph, name: str, externs: Mapping[str, Callable[..., Any]]):
        self.dims = frozenset(dim.name for dim in graph.dims)
        self.names = f"{name}.mean", f"{name}.variance"
        moments = [_moment_node(graph[name], own.rpartition(".")[2]) for own in self.names]
        self.evaluate = run_graph(compute_only(graph, moments, ()), externs)["evaluate"]

    def __call__(
        self, params: Values, data: Mapping[str, Any], values: Values, _: Mapping[str, int]
    ) -> tuple[Any, Any]:
        arrays, sizes = split_data(data, self.dims)
        found = self.evaluate(params, values, {**arrays, **dict(sizes)})
        mean, variance = (found[name] for name in self.names)
        return mean, jnp.sqrt(variance)


def _moment_node(node: Node, moment: str) -> Node:
    """A moment of the distribution of every entry of a draw, as a computed node."""
    pieces = []
    for law, piece in zip(node.laws, node.pieces, strict=True):
        value = c.Moment(law.span, REAL.replace(shape=law.type.shape), law, moment)
        pieces.append(piece.replace(body=value, settings=()))
    place = REAL.replace(shape=node.type.shape), node.span, node.source
    return Node(f"{node.name}.{moment}", Kind.FUNCTION, *place, tuple(pieces), node.parents)


class HiddenMeans:
    """E[y] = E[E[y | z]], Var[y] = E[Var[y | z]] + Var[E[y | z]] over hidden finite draws z.

    The sums over z are derivatives of a log-partition: with s[t] f[t](z) added to the score,

        d log Z / d s[t] at s = 0  =  E[f[t](z) | case]

    for f = E[y[t] | z], and then for f = Var[y[t] | z] + (E[y[t] | z] - E[y[t]])^2, which has
    nothing to cancel. `graph` says what else a case gives, and need not have the draw itself.
    """

    def __init__(self, graph: Graph, node: Node, externs: Mapping[str, Callable[..., Any]]):
        self.node = node
        self.mean, self.variance = (
            Model(tilt_moment(graph, node, moment), "", externs)
            for moment in ("mean", "squared distance")
        )

    def __call__(
        self, params: Values, data: Mapping[str, Any], given: Values, sizes: Mapping[str, int]
    ) -> tuple[Any, Any]:
        shape = shape_of(self.node, sizes)

        def expected(model: Model, centre: Any) -> Any:
            def log_partition(tilt: Any) -> Any:
                name = self.node.name
                tilted = {**data, f"{name}.tilt": tilt, f"{name}.centre": centre}
                return model.log_partition(params, tilted, given)

            return jax.grad(log_partition)(jnp.zeros(shape))

        mean = expected(self.mean, jnp.zeros(shape))
        return mean, jnp.sqrt(expected(self.variance, mean))

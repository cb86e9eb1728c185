"""E[y] and sd[y] of a draw whose parents are known: the sampling program, with laws that answer with their moments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

from .. import core as c
from ..embed.compiled import split_data
from ..embed.given import random_ancestors
from ..graph import Graph, Kind, Node
from ..lower.emit import runnable
from ..types import Real

Values = dict[str, Any]
NO_MOMENTS = frozenset(
    [
        "Cauchy",
        "Gompertz",
        "HalfCauchy",
        "HalfStudentT",
        "Levy",
        "LKJ",
        "LKJCholesky",
        "MatrixNormal",
        "ProjectedNormal",
        "RelaxedBernoulli",
        "TruncatedCauchy",
    ]
)
"""Laws that have no mean, or whose mean or variance NumPyro does not know."""


class _Law:
    """A distribution whose draws are one of its moments."""

    def __init__(self, law: Any, moment: str):
        self.law = law
        self.moment = moment

    def expand(self, shape: tuple[int, ...]) -> _Law:
        return _Law(self.law.expand(shape), self.moment)

    def sample(self, _: Any) -> Any:
        return getattr(self.law, self.moment)


class _Laws:
    """In place of the module of distributions."""

    def __init__(self, moment: str):
        self.moment = moment

    def __getattr__(self, name: str) -> Callable[..., _Law]:
        return lambda *arguments, **named: _Law(getattr(dist, name)(*arguments, **named), self.moment)


def why_no_mean(graph: Graph, name: str, hidden: set[str], finite: set[str]) -> str:
    """Why the mean of a draw cannot be had from its law and the finite draws it depends on; empty if it can."""
    node, parents = graph[name], random_ancestors(graph, name)
    laws = [piece.body.name for piece in node.pieces if isinstance(piece.body, c.Law)]
    if name in parents or any(name in group.members for group in graph.recurrences):
        return f"the entries of `{name}` depend on each other"
    for parent in parents:
        if parent in hidden - finite:
            return f"`{name}` depends on `{parent}`, which is not known either"
    if any(setting.name == "ordered" for setting in node.settings) or node.undirected:
        return f"the entries of `{name}` are not drawn one by one"
    if hidden & {*parents} and any(len(piece.indices) != len(node.type.shape) for piece in node.pieces):
        return f"rows of `{name}` are drawn together, and depend on draws that are hidden"
    if without := [law for law in laws if law in NO_MOMENTS]:
        return f"{without[0]} has no mean, or no formula for its mean and variance"
    return ""


class Means:
    """Mean and standard deviation of the draw `name`, as a function of parameters, of data and of other draws."""

    def __init__(self, graph: Graph, name: str, externs: Mapping[str, Callable[..., Any]]):
        self.name = name
        self.dims = frozenset(dim.name for dim in graph.dims)
        text = runnable(only(graph, name))
        self.mean, self.variance = (_function(text, moment, externs) for moment in ("mean", "variance"))

    def __call__(self, params: Values, data: Mapping[str, Any], values: Values) -> tuple[Any, Any]:
        arrays, sizes = split_data(data, self.dims)
        known = {**arrays, **values, **dict(sizes)}
        key = jax.random.key(0)
        mean, variance = (f(key, params, known)[self.name] for f in (self.mean, self.variance))
        return mean, jnp.sqrt(variance)


def _function(text: str, moment: str, externs: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    namespace: Values = dict(externs)
    exec(compile(text, f"<dpc {moment}>", "exec"), namespace)
    namespace["dist"] = _Laws(moment)
    found: Callable[..., Any] = namespace["sample"]
    return found


def only(graph: Graph, name: str) -> Graph:
    """What the draw depends on; other draws are given, and whole numbers have means that are not whole."""
    kept = graph.ancestors([name])

    def change(node: Node) -> Node:
        if node.name == name:
            return node.replace(type=node.type.replace(domain=Real(*node.type.bounds)), observed=False)
        if node.kind is Kind.DRAW:
            return node.replace(kind=Kind.INPUT, pieces=(), parents=(), random=False, observed=False)
        return node

    nodes = tuple(change(node) for node in graph.nodes if node.name in kept and node.kind is not Kind.COST)
    return graph.replace(nodes=nodes, recurrences=(), guide=None)

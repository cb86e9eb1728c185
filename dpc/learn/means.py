"""E[y] and sd[y] given all parents: the sampling program, whose draws are moments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

from dpc.dsl.graph.graph import Graph, Node
from dpc.dsl.graph.passes.moments import tilt_moment
from dpc.dsl.graph.passes.parts import one_draw
from dpc.dsl.library.distributions import added_constructor
from dpc.dsl.library.rows import why_not
from dpc.dsl.lower.program import lower_program
from dpc.dsl.lower.run import run_program

from ..model.check import random_ancestors
from ..model.functions import split_data
from ..model.model import Model

Values = dict[str, Any]


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
        return self.of(getattr(dist, name))

    def of(self, constructor: Callable[..., Any]) -> Callable[..., _Law]:
        return lambda *arguments, **named: _Law(constructor(*arguments, **named), self.moment)


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
        self.name = name
        self.dims = frozenset(dim.name for dim in graph.dims)
        program = lower_program(one_draw(graph, name))

        def sampler(moment: str) -> Callable[..., Any]:
            laws = _Laws(moment)
            # Distributions that were added from outside are called by their own names.
            made = {name: added_constructor(name) for name in program.helpers}
            added = {
                name: laws.of(constructor) for name, constructor in made.items() if constructor
            }
            return run_program(program, externs, {"dist": laws, **added})["sample"]

        self.mean, self.variance = sampler("mean"), sampler("variance")

    def __call__(
        self, params: Values, data: Mapping[str, Any], values: Values, _: Mapping[str, int]
    ) -> tuple[Any, Any]:
        arrays, sizes = split_data(data, self.dims)
        known = {**arrays, **values, **dict(sizes)}
        key = jax.random.key(0)
        mean, variance = (f(key, params, known)[self.name] for f in (self.mean, self.variance))
        return mean, jnp.sqrt(variance)


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
        shape = tuple(axis.size or sizes[str(axis)] for axis in self.node.type.shape)

        def expected(model: Model, centre: Any) -> Any:
            def log_partition(tilt: Any) -> Any:
                name = self.node.name
                tilted = {**data, f"{name}.tilt": tilt, f"{name}.centre": centre}
                return model.log_partition(params, tilted, given)

            return jax.grad(log_partition)(jnp.zeros(shape))

        mean = expected(self.mean, jnp.zeros(shape))
        return mean, jnp.sqrt(expected(self.variance, mean))

"""A compiled model: pure functions of parameters, values and data that jit, vmap and grad accept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp

from ..classify import classify
from ..data import bind_data
from ..graph import Graph, Kind
from ..lower.emit import emit_module, runnable
from .bound import Data
from .constraints import constrain, initial_values, unconstrain
from .externs import check_externs
from .given import check_upstream, check_values

Values = dict[str, Any]


class Model:
    """What `dpc.load` and `dpc.parse` give.

    Parameters, values of draws and data are plain dictionaries under the names of the file, shaped as declared.
    """

    def __init__(self, graph: Graph, introduction: str = "", externs: Mapping[str, Callable[..., Any]] | None = None):
        self.graph = graph
        self.introduction = introduction
        self.externs = dict(externs or {})
        check_externs(graph, self.externs)

    # ---- the program

    @cached_property
    def program(self) -> str:
        """The model as a readable Python module."""
        return emit_module(self.graph, self.introduction)

    @cached_property
    def _functions(self) -> dict[str, Any]:
        return self._load(self.graph)

    def _load(self, graph: Graph) -> dict[str, Any]:
        namespace: dict[str, Any] = dict(self.externs)
        exec(compile(runnable(graph), f"<dpc {graph.name or graph.source.path}>", "exec"), namespace)
        return namespace

    def _function(self, name: str, missing: str) -> Any:
        if name not in self._functions:
            raise ValueError(f"the model {self.graph.name!r} {missing}")
        return self._functions[name]

    # ---- data and parameters

    def bind(self, *sources: Any, partial: bool = False, **sizes: int) -> Data:
        """Data from files or Python objects, checked against the model; raises DataError with all that is wrong."""
        bound = bind_data(self.graph, *sources, sizes=sizes, partial=partial)
        return Data(bound.arrays, bound.sizes, bound.labels)

    def init(self, key: Any = None, data: Mapping[str, Any] | None = None) -> Values:
        """Starting parameters: those of the file, the others near zero in unconstrained space."""
        return initial_values(self.graph, key, data or {})

    def unconstrain(self, params: Values) -> Values:
        return unconstrain(self.graph, params)

    def constrain(self, raw: Values) -> Values:
        return constrain(self.graph, raw)

    # ---- functions

    def log_prob(self, params: Values, values: Values, data: Mapping[str, Any] | None = None) -> jax.Array:
        """The joint log density of all draws; with factors, not normalised."""
        function = self._function("log_prob", "has no density: nothing in it is random")
        check_values(self.graph, values)
        return jnp.asarray(function(params, values, data or {}))

    def evaluate(self, params: Values, data: Mapping[str, Any] | None = None, values: Values | None = None) -> Values:
        """The values of all computed nodes, given those of the draws."""
        function = self._function("evaluate", "computes nothing")
        if any(node.random for node in self.graph.of_kind(Kind.FUNCTION)):
            check_values(self.graph, values or {})
        found: Values = function(params, values or {}, data or {})
        return found

    def value(self, params: Values, data: Mapping[str, Any] | None = None, values: Values | None = None) -> jax.Array:
        """The objective, given the values of the draws."""
        return jnp.asarray(self._function("objective", "has no objective")(params, values or {}, data or {}))

    def grad(self, params: Values, data: Mapping[str, Any] | None = None, values: Values | None = None) -> Values:
        found: Values = jax.grad(self.value)(params, data, values)
        return found

    def jvp(
        self, params: Values, direction: Values, data: Mapping[str, Any] | None = None
    ) -> tuple[jax.Array, jax.Array]:
        """The objective and its derivative along a direction in parameter space."""
        value, tangent = jax.jvp(lambda p: self.value(p, data), (params,), (direction,))
        return value, tangent

    def vjp(self, params: Values, data: Mapping[str, Any] | None = None) -> tuple[jax.Array, Callable[..., Any]]:
        value, pull_back = jax.vjp(lambda p: self.value(p, data), params)
        return value, pull_back

    def hvp(self, params: Values, direction: Values, data: Mapping[str, Any] | None = None) -> Values:
        """The Hessian times a direction, forward over reverse (SO01)."""
        found: Values = jax.jvp(lambda p: self.grad(p, data), (params,), (direction,))[1]
        return found

    def hessian(self, params: Values, data: Mapping[str, Any] | None = None) -> dict[str, Values]:
        found: dict[str, Values] = jax.hessian(self.value)(params, data)
        return found

    def sample(
        self,
        key: Any,
        params: Values | None = None,
        data: Mapping[str, Any] | None = None,
        n: int | None = None,
        given: Values | None = None,
    ) -> Values:
        """Ancestral draws of all random variables (DI27); `n` of them along a new first axis."""
        draw = self._sampler(frozenset(given or {}))
        inputs = _WithGiven(data or {}, given or {})
        one: Callable[[Any], Values] = lambda k: draw(k, params or {}, inputs)  # noqa: E731
        return one(key) if n is None else jax.vmap(one)(jax.random.split(key, n))

    def _sampler(self, given: frozenset[str]) -> Callable[..., Values]:
        if any(node.undirected for node in self.graph.nodes):
            raise ValueError("a model with `latent` variables has no order to draw in: ask `dpc query --samples`")
        check_upstream(self.graph, given)
        functions = self._functions if not given else self._load(_with_inputs(self.graph, given))
        if "sample" not in functions:
            raise ValueError("nothing in this model is random")
        sampler: Callable[..., Values] = functions["sample"]
        return sampler

    # ---- looking at it

    def __repr__(self) -> str:
        about = classify(self.graph)
        return f"<dpc model {self.graph.name or self.graph.source.path}: {about.name} of {len(self.graph.nodes)} nodes>"

    def _repr_html_(self) -> str:
        from html import escape

        from ..draw.from_graph import picture_of
        from ..draw.write import render_picture

        drawing = render_picture(picture_of(self.graph), "svg", "builtin").decode()
        return f"{drawing}<pre>{escape(self.graph.source.text)}</pre>"


class _WithGiven(dict[str, Any]):
    """Data with the given draws beside it; sizes stay what they are."""

    def __init__(self, data: Mapping[str, Any], given: Values):
        super().__init__({**{name: data[name] for name in data}, **given})


def _with_inputs(graph: Graph, names: frozenset[str]) -> Graph:
    """The graph in which these draws are given: their values come with the data."""

    def as_input(node: Any) -> Any:
        if node.name not in names:
            return node
        return node.replace(kind=Kind.INPUT, pieces=(), parents=(), random=False, observed=False)

    recurrences = tuple(r for r in graph.recurrences if not names & set(r.members))
    return graph.replace(recurrences=recurrences, guide=None).map_nodes(as_input)

"""A compiled model: pure functions of parameters, values and data that jit, vmap and grad accept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import jax

from dpc.inference.chains.domains import Domain

from ..classify import classify
from ..data import bind_data
from ..graph import Graph, Kind
from ..lower.emit import emit_module, runnable
from .bound import Data
from .compiled import DERIVATIVES, compiled, many, split_data
from .constraints import constrain, initial_values, unconstrain
from .expectations import Expectations
from .externs import check_externs
from .given import check_values, is_upstream
from .learning import Learning
from .posteriors import Posteriors
from .questions import Questions

Values = dict[str, Any]
NOTHING: frozenset[str] = frozenset()
MISSING = {
    "log_prob": "has no density: nothing in it is random",
    "evaluate": "computes nothing",
    "objective": "has no objective",
}


class Model(Questions, Expectations, Learning, Posteriors):
    """What `dpc.load` and `dpc.parse` give.

    Parameters, values of draws and data are plain dictionaries under the names of the file, shaped as declared.
    """

    def __init__(
        self,
        graph: Graph,
        introduction: str = "",
        externs: Mapping[str, Callable[..., Any]] | None = None,
        domain: Domain = "auto",
    ):
        self.graph = graph
        self.introduction = introduction
        self.externs = dict(externs or {})
        check_externs(graph, self.externs)
        self._dims = frozenset(dim.name for dim in graph.dims)
        self._compiled: dict[tuple[str, Any], Callable[..., Any]] = {}
        self._finites = {}
        self._domain = domain
        self._objectives = {}

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

    def _call(self, name: str, *arguments: Any, data: Mapping[str, Any] | None) -> Any:
        """A function of the program, or a derivative of the objective, compiled when it is first asked for."""
        if (name, NOTHING) not in self._compiled:
            needed, transform = DERIVATIVES.get(name, (name, lambda function: function))
            if needed not in self._functions:
                raise ValueError(f"the model {self.graph.name!r} {MISSING[needed]}")
            self._compiled[name, NOTHING] = compiled(transform(self._functions[needed]))
        arrays, sizes = split_data(data or {}, self._dims)
        return self._compiled[name, NOTHING](*arguments, arrays, sizes=sizes)

    # ---- data and parameters

    def bind(self, *sources: Any, partial: bool = False, **sizes: int) -> Data:
        """Data from files or Python objects, checked against the model; raises DataError with all that is wrong."""
        bound = bind_data(self.graph, *sources, sizes=sizes, partial=partial).own()
        return Data(bound.arrays, bound.sizes, bound.labels)

    def init(self, key: Any = None, data: Mapping[str, Any] | None = None) -> Values:
        """Starting parameters: those of the file, from the data too; the others near zero in unconstrained space."""
        return initial_values(self.graph, key, data or {}, lambda: self._call("init", data=data))

    def unconstrain(self, params: Values) -> Values:
        return unconstrain(self.graph, params)

    def constrain(self, raw: Values) -> Values:
        return constrain(self.graph, raw)

    # ---- functions

    def log_prob(self, params: Values, values: Values, data: Mapping[str, Any] | None = None) -> jax.Array:
        """The joint log density of all draws; with factors, not normalised."""
        if "log_prob" in self._functions:
            check_values(self.graph, values)
        found: jax.Array = self._call("log_prob", params, values, data=data)
        return found

    def evaluate(self, params: Values, data: Mapping[str, Any] | None = None, values: Values | None = None) -> Values:
        """The values of all computed nodes, given those of the draws."""
        if any(node.random for node in self.graph.of_kind(Kind.FUNCTION)):
            check_values(self.graph, values or {})
        found: Values = self._call("evaluate", params, values or {}, data=data)
        return found

    def value(self, params: Values, data: Mapping[str, Any] | None = None, values: Values | None = None) -> jax.Array:
        """The objective, given the values of the draws."""
        found: jax.Array = self._call("objective", params, values or {}, data=data)
        return found

    def grad(self, params: Values, data: Mapping[str, Any] | None = None, values: Values | None = None) -> Values:
        found: Values = self._call("grad", params, values or {}, data=data)
        return found

    def jvp(
        self, params: Values, direction: Values, data: Mapping[str, Any] | None = None
    ) -> tuple[jax.Array, jax.Array]:
        """The objective and its derivative along a direction in parameter space."""
        found: tuple[jax.Array, jax.Array] = self._call("jvp", params, direction, {}, data=data)
        return found

    def vjp(self, params: Values, data: Mapping[str, Any] | None = None) -> tuple[jax.Array, Callable[..., Any]]:
        value, pull_back = jax.vjp(lambda p: self.value(p, data), params)
        return value, pull_back

    def hvp(self, params: Values, direction: Values, data: Mapping[str, Any] | None = None) -> Values:
        """The Hessian times a direction, forward over reverse (SO01)."""
        found: Values = self._call("hvp", params, direction, {}, data=data)
        return found

    def hessian(self, params: Values, data: Mapping[str, Any] | None = None) -> dict[str, Values]:
        found: dict[str, Values] = self._call("hessian", params, {}, data=data)
        return found

    def sample(
        self,
        key: Any,
        params: Values | None = None,
        data: Mapping[str, Any] | None = None,
        n: int | None = None,
        given: Values | None = None,
    ) -> Values:
        """Draws of all random variables, parents before children (DI27); `n` of them along a new first axis.

        Without an order to draw in, or with evidence downstream, they are exact draws of the finite variables.
        """
        if not self._is_ancestral(frozenset(given or {})):
            return self._exact_sample(key, params, data, n, given)
        arrays, sizes = split_data(data or {}, self._dims)
        draw = self._sampler(frozenset(given or {}))
        found: Values = draw(key, params or {}, {**arrays, **(given or {})}, sizes=sizes, n=n)
        return found

    def _is_ancestral(self, given: frozenset[str]) -> bool:
        return not any(node.undirected for node in self.graph.nodes) and is_upstream(self.graph, given)

    def _sampler(self, given: frozenset[str]) -> Callable[..., Any]:
        if ("sample", given) not in self._compiled:
            functions = self._functions if not given else self._load(_with_inputs(self.graph, given))
            if "sample" not in functions:
                raise ValueError("nothing in this model is random")
            self._compiled["sample", given] = compiled(many(functions["sample"]), n=None)
        return self._compiled["sample", given]

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


def _with_inputs(graph: Graph, names: frozenset[str]) -> Graph:
    """The graph in which these draws are given: their values come with the data."""

    def as_input(node: Any) -> Any:
        if node.name not in names:
            return node
        return node.replace(kind=Kind.INPUT, pieces=(), parents=(), random=False, observed=False)

    recurrences = tuple(r for r in graph.recurrences if not names & set(r.members))
    return graph.replace(recurrences=recurrences, guide=None).map_nodes(as_input)

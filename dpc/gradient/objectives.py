"""Estimates of E[objective] and of its derivatives, compiled for data of given sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import jax

from dpc.dsl.graph.graph import Kind

from ..model.compiled import Sizes, compiled, split_data

if TYPE_CHECKING:
    from ..model.functions import Functions
    from .program import ObjectiveProgram

Values = dict[str, Any]


class Objectives:
    """Every draw is differentiated as its annotation says, or as suits it best."""

    def __init__(self, functions: Functions):
        self.functions = functions
        self._objectives: dict[Sizes, ObjectiveProgram] = {}
        self._compiled: dict[tuple[str, Sizes], Callable[..., Any]] = {}

    def objective(self, data: Mapping[str, Any]) -> ObjectiveProgram:
        """The objective for data of these sizes: its draws with their estimators, and its costs."""
        from .program import ObjectiveProgram

        graph = self.functions.graph
        if not graph.of_kind(Kind.COST):
            raise ValueError(
                f"the model {graph.name!r} has no objective: add `minimize` or `maximize`"
            )
        sizes = self.functions.sizes(data)
        if sizes not in self._objectives:
            self._objectives[sizes] = ObjectiveProgram(graph, dict(sizes), self.functions.externs)
        return self._objectives[sizes]

    def surrogate(
        self, key: Any, params: Values, data: Mapping[str, Any], samples: int | None
    ) -> jax.Array:
        found: jax.Array = self._run("surrogate", key, params, {}, data, samples)[0]
        return found

    def estimate(
        self, key: Any, params: Values, state: Values, data: Mapping[str, Any], samples: int | None
    ) -> tuple[jax.Array, Values, Values]:
        (value, after), gradient = self._run("gradient", key, params, state, data, samples)
        return value, gradient, after

    def _run(
        self,
        name: str,
        key: Any,
        params: Values,
        state: Values,
        data: Mapping[str, Any],
        samples: int | None,
    ) -> Any:
        objective = self.objective(data)
        place = (name, self.functions.sizes(data))
        if place not in self._compiled:
            self._compiled[place] = _compile(objective, name)
        arrays, static = split_data(data, self.functions.dims)
        count = samples if samples is not None else objective.least_samples
        return self._compiled[place](key, params, state, arrays, sizes=static, samples=count)


def _compile(objective: ObjectiveProgram, name: str) -> Callable[..., Any]:
    """The surrogate, or its value with its gradient; what baselines remember comes along."""

    def estimate(params: Values, key: Any, state: Values, arrays: Any, samples: int) -> Any:
        return tuple(objective.estimate(params, arrays, key, samples, state))

    whole = estimate if name == "surrogate" else jax.value_and_grad(estimate, has_aux=True)

    def run(key: Any, params: Values, state: Values, arrays: Any, samples: int) -> Any:
        return whole(params, key, state, arrays, samples)

    return compiled(run, samples=None)

"""Gradients of expectations: what a model's objective is on average over its draws, and how that changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import jax

from ..graph import Graph, Kind
from .compiled import Sizes, compiled, split_data

if TYPE_CHECKING:
    from ..estimate.choose import Choice
    from ..estimate.program import Objective

Values = dict[str, Any]


class Expectations:
    """Estimates of E[objective]; every draw is differentiated as its annotation says, or as suits it best."""

    graph: Graph
    externs: dict[str, Callable[..., Any]]
    _dims: frozenset[str]
    _objectives: dict[Sizes, Objective]
    _compiled: dict[tuple[str, Any], Callable[..., Any]]

    def objective(self, data: Mapping[str, Any] | None = None) -> Objective:
        """The objective for data of these sizes: its draws with their estimators, and its costs."""
        from ..estimate.program import Objective

        if not self.graph.of_kind(Kind.COST):
            raise ValueError(f"the model {self.graph.name!r} has no objective: add `minimize` or `maximize`")
        sizes = self._sizes(data or {})
        if sizes not in self._objectives:
            self._objectives[sizes] = Objective(self.graph, dict(sizes), self.externs)
        return self._objectives[sizes]

    def estimator_choices(self, data: Mapping[str, Any] | None = None) -> list[Choice]:
        """The estimator of each draw, and why."""
        return list(self.objective(data).choices.values())

    def surrogate(
        self, key: Any, params: Values, data: Mapping[str, Any] | None = None, samples: int | None = None
    ) -> jax.Array:
        """An estimate of E[objective] whose first and second derivatives estimate those of the expectation.

        `samples` are drawn of the whole program, besides those that single draws ask for.
        """
        found: jax.Array = self._estimate("surrogate", key, params, {}, data, samples)[0]
        return found

    def value_and_grad(
        self, key: Any, params: Values, data: Mapping[str, Any] | None = None, samples: int | None = None
    ) -> tuple[jax.Array, Values]:
        """Estimates of E[objective] and of its gradient by every parameter."""
        value, slope, _ = self.estimate(key, params, {}, data, samples)
        return value, slope

    def estimate(
        self, key: Any, params: Values, state: Values, data: Mapping[str, Any] | None = None, samples: int | None = None
    ) -> tuple[jax.Array, Values, Values]:
        """The same with what baselines remember, as `objective(data).initial_state` at first, and will remember."""
        (value, after), slope = self._estimate("gradient", key, params, state, data, samples)
        return value, slope, after

    def _estimate(
        self, name: str, key: Any, params: Values, state: Values, data: Mapping[str, Any] | None, samples: int | None
    ) -> Any:
        objective = self.objective(data)
        place = (name, self._sizes(data or {}))
        if place not in self._compiled:

            def estimate(params: Values, key: Any, state: Values, arrays: Any, samples: int) -> Any:
                return tuple(objective.estimate(params, arrays, key, samples, state))

            whole = estimate if name == "surrogate" else jax.value_and_grad(estimate, has_aux=True)
            self._compiled[place] = compiled(
                lambda key, params, state, arrays, samples: whole(params, key, state, arrays, samples), samples=None
            )
        arrays, static = split_data(data or {}, self._dims)
        count = samples if samples is not None else objective.least_samples
        return self._compiled[place](key, params, state, arrays, sizes=static, samples=count)

    def _sizes(self, data: Mapping[str, Any]) -> Sizes:
        """The size of every dim, from the file, from the data or from the arrays that have it."""
        found = {dim.name: dim.size for dim in self.graph.dims if dim.size is not None}
        for node in self.graph.nodes:
            if node.name in data:
                shape = jax.numpy.shape(data[node.name])
                found |= {
                    axis.name: n for axis, n in zip(node.type.shape, shape, strict=False) if hasattr(axis, "name")
                }
        found |= {name: int(data[name]) for name in self._dims if name in data}
        return tuple(sorted(found.items()))

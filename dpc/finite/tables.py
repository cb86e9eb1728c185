"""Tables of terms by the compiled program, for what NumPy alone does not evaluate."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dpc.dsl.graph.graph import Graph, Node
from dpc.dsl.lower.run import run_graph

from .program import table_name, tables_graph
from .terms import FiniteTerm

Tables = Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], list[Any]]


def load_tables(
    graph: Graph,
    terms: tuple[FiniteTerm, ...],
    finite: Mapping[str, Node],
    externs: Mapping[str, Any],
) -> Tables:
    """A function of parameters, values and data that gives one array for every term; it can be
    traced.

    Axes of binders that the table does not depend on have length one.
    """
    evaluate = run_graph(tables_graph(graph, terms, dict(finite)), externs)["evaluate"]

    def tables(
        params: Mapping[str, Any], values: Mapping[str, Any], data: Mapping[str, Any]
    ) -> list[Any]:
        found = evaluate(params, values, data)
        return [_with_binders(found[table_name(number)], term) for number, term in enumerate(terms)]

    return tables


def _with_binders(table: Any, term: FiniteTerm) -> Any:
    return table.reshape((1,) * len(term.binders) + table.shape) if term.is_shared else table


def tables_once(
    arrays: Mapping[str, Any], sizes: Mapping[str, int], externs: Mapping[str, Any]
) -> Callable[..., Any]:
    """What `discrete_model` asks for where NumPy is not enough: evaluates at once."""

    def by_jax(
        graph: Graph, terms: tuple[FiniteTerm, ...], finite: Mapping[str, Node]
    ) -> list[Any]:
        import jax.numpy as jnp

        known = {name: jnp.asarray(array) for name, array in arrays.items()}
        found = load_tables(graph, terms, finite, externs)(known, known, {**sizes, **known})
        return [np.asarray(table) for table in found]

    return by_jax

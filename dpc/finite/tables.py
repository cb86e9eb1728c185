"""Tables of terms by the compiled program, for what NumPy alone does not evaluate."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import nodes_read
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.parts import compute_only
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import REAL, Fixed, Type
from dpc.dsl.lower.run import run_graph

from .slots import TRUTH, value_dim
from .terms import FiniteTerm


def table_name(number: int) -> str:
    """No name of a model has a newline in it."""
    return f"table\n{number}"


def tables_graph(graph: Graph, terms: tuple[FiniteTerm, ...], finite: dict[str, Node]) -> Graph:
    """One array for every term, and nothing to draw: what is not given is an axis.

    A table that serves all places of its term's binders is computed once, without axes for them.
    """
    tables = [_table_node(number, term, graph) for number, term in enumerate(terms)]
    values = [value_dim(node.type, name) for name, node in finite.items()]
    return compute_only(graph, tables, [TRUTH, *values])


def _table_node(number: int, term: FiniteTerm, graph: Graph) -> Node:
    origin = graph[term.name]
    body = _body(term)
    axes = tuple(slot.bind for slot in term.slots) if term.is_shared else term.axes
    shape = tuple(Fixed(None) for _ in axes)
    piece = Piece(origin.span, axes, None, body)
    parents = nodes_read(body)
    return Node(
        table_name(number),
        Kind.FUNCTION,
        Type(REAL.domain, shape),
        origin.span,
        origin.source,
        (piece,),
        parents,
    )


def _body(term: FiniteTerm) -> c.Core:
    body = term.body
    if isinstance(body, c.Law):
        assert term.value is not None
        body = c.LogDensity(body.span, REAL, body, term.value)
    if term.where is not None and not term.is_shared:
        body = c.If(body.span, REAL, term.where, body, c.Const(body.span, REAL, 0.0))
    return body


Tables = Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], list[Any]]


def load_tables(
    graph: Graph,
    terms: tuple[FiniteTerm, ...],
    finite: Mapping[str, Node],
    externs: Mapping[str, Any],
) -> Tables:
    """One array for every term, traceable; axes of binders that a table ignores have length one."""
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

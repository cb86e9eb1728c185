"""Terms as computed nodes of a graph of their own: the compiler that serves all models makes their
tables too.
"""

from __future__ import annotations

from dpc.dsl.graph import core as c
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import REAL, Fixed, Type

from .slots import TRUTH, value_dim
from .terms import Term


def table_name(number: int) -> str:
    """No name of a model has a newline in it."""
    return f"table\n{number}"


def tables_graph(graph: Graph, terms: tuple[Term, ...], finite: dict[str, Node]) -> Graph:
    """A graph that computes one array for every term and leaves nothing to draw: what is not given
    is an axis.

    A table that serves all places of its term's binders is computed once, without axes for them.
    """
    tables = [_table_node(number, term, graph) for number, term in enumerate(terms)]
    needed = _ancestors(tables, graph)
    kept = [_as_given(node) for node in graph.nodes if node.name in needed]
    dims = dict.fromkeys(
        [*graph.dims, TRUTH, *(value_dim(node.type, name) for name, node in finite.items())]
    )
    recurrences = tuple(group for group in graph.recurrences if set(group.members) <= needed)
    return graph.replace(
        dims=tuple(dims), nodes=(*kept, *tables), recurrences=recurrences, guide=None
    )


def _table_node(number: int, term: Term, graph: Graph) -> Node:
    origin = graph[term.name]
    body = _body(term)
    axes = tuple(slot.bind for slot in term.slots) if term.is_shared else term.axes
    shape = tuple(Fixed(None) for _ in axes)
    piece = Piece(origin.span, axes, None, body)
    parents = tuple(dict.fromkeys(part.name for part in c.walk(body) if isinstance(part, c.Ref)))
    return Node(
        table_name(number),
        Kind.FUNCTION,
        Type(REAL.domain, shape),
        origin.span,
        origin.source,
        (piece,),
        parents,
    )


def _body(term: Term) -> c.Core:
    body = term.body
    if isinstance(body, c.Law):
        assert term.value is not None
        body = c.LogDensity(body.span, REAL, body, term.value)
    if term.where is not None and not term.is_shared:
        body = c.If(body.span, REAL, term.where, body, c.Const(body.span, REAL, 0.0))
    return body


def _as_given(node: Node) -> Node:
    """Draws keep their names and types and lose their laws: their values come from outside."""
    return node.replace(pieces=(), parents=(), random=False) if node.kind is Kind.DRAW else node


def _ancestors(tables: list[Node], graph: Graph) -> frozenset[str]:
    """What the tables are computed from; a draw stands for itself."""
    given = {node.name for node in graph.nodes if node.kind is not Kind.FUNCTION}
    return frozenset(
        graph.ancestors([parent for table in tables for parent in table.parents], given)
    )

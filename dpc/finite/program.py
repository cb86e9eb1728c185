"""Terms as computed nodes of a graph of their own, whose tables the compiler makes."""

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import nodes_read
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.parts import compute_only
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import REAL, Fixed, Type

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

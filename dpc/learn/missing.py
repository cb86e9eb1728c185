"""Missing entries of continuous draws: a value that nothing depends on integrates to one, so its
term is left out.
"""

from __future__ import annotations

from collections.abc import Collection

from dpc.dsl.graph import core as c
from dpc.dsl.graph.build import run_passes
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import BOOL, REAL

from ..data.errors import problem
from ..finite.expand import index_type


def present_name(name: str) -> str:
    """The input that says which entries of a draw are there."""
    return f"{name}.present"


def leave_out_missing(graph: Graph, names: Collection[str]) -> Graph:
    """The density of the draws `names` counts only where the input `x.present` is true."""
    if not names:
        return graph
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.name not in names:
            nodes.append(node)
            continue
        _verify_childless(graph, node)
        present = Node(
            present_name(node.name),
            Kind.INPUT,
            BOOL.replace(shape=node.type.shape),
            node.span,
            node.source,
        )
        density = Node(
            f"{node.name}.density", Kind.FACTOR, REAL, node.span, node.source, _density(node)
        )
        nodes += [present, node.replace(kind=Kind.INPUT, pieces=(), parents=()), density]
    return run_passes(graph.replace(nodes=tuple(nodes)))


def _verify_childless(graph: Graph, node: Node) -> None:
    children = [other.name for other in graph.nodes if node.name in other.parents]
    if children:
        message = f"`{node.name}` has missing entries, and `{children[0]}` depends on them"
        raise problem(node.name, message, "leave these rows out, or use `dpc posterior`")
    if any(len(piece.indices) != len(node.type.shape) for piece in node.pieces):
        message = f"`{node.name}` has missing entries in rows that are drawn together"
        raise problem(node.name, message, "leave these rows out")


def _density(node: Node) -> tuple[Piece, ...]:
    return tuple(_density_piece(node, piece) for piece in node.pieces)


def _density_piece(node: Node, piece: Piece) -> Piece:
    """The log density of the entries that are there, as a factor."""
    assert isinstance(piece.body, c.Law)
    flags = c.Ref(piece.span, BOOL.replace(shape=node.type.shape), present_name(node.name))
    value = c.LogDensity(
        piece.span, REAL, piece.body, entry_at(c.Ref(piece.span, node.type, node.name), piece)
    )
    chosen = c.If(piece.span, REAL, entry_at(flags, piece), value, c.Const(piece.span, REAL, 0.0))
    return piece.replace(
        indices=tuple(i for i in piece.indices if isinstance(i, c.Bind)), body=chosen, settings=()
    )


def entry_at(whole: c.Ref, piece: Piece) -> c.Core:
    """The entry of an array at the place of a statement."""
    places = tuple(
        c.Var(index.span, index_type(index), index.name) if isinstance(index, c.Bind) else index
        for index in piece.indices
    )
    return c.At(piece.span, whole.type.replace(shape=()), whole, places) if places else whole

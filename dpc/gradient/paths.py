"""Finite draws along a recurrence of their own: which of them can be summed, and which are chains.

z[0] ~ p0, z[t in T[1..]] ~ p(z[t-1]) is a chain. Where nothing below looks at two of its steps at
once, the marginals of each step are enough; elsewhere, and in other recurrences, the sum is over
all paths.
"""

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import Recurrence, offset_of
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import Bool, IndexOf

from .follow import is_whole, uses
from .steps import group_of


def is_path(node: Node, graph: Graph) -> bool:
    """Nothing else is in its recurrence, and all its elements are drawn."""
    group = group_of(node.name, graph)
    if group is None or group.members != (node.name,) or node.kind is not Kind.DRAW:
        return False
    finite = isinstance(node.type.domain, Bool | IndexOf)
    return finite and all(piece.where is None and not _is_ordered(piece) for piece in node.pieces)


def is_chain(node: Node, graph: Graph) -> bool:
    """Each element depends on one other alone: its own, one step before."""
    group = group_of(node.name, graph)
    if group is None or group.reverse or group.inner or not is_path(node, graph):
        return False
    return all(_is_link(node, piece, group) for piece in node.pieces)


def _is_ordered(piece: Piece) -> bool:
    return any(setting.name == "ordered" for setting in piece.settings)


def _is_link(node: Node, piece: Piece, group: Recurrence) -> bool:
    others = [index for axis, index in enumerate(piece.indices) if axis != group.axis]
    if not all(isinstance(index, c.Bind) and is_whole(index) for index in others):
        return False
    mentions = [indices for name, indices in uses(piece.body, frozenset()) if name == node.name]
    return all(_is_one_before(piece, indices, group.axis) for indices in mentions)


def _is_one_before(piece: Piece, indices: tuple[c.Core, ...], axis: int) -> bool:
    if len(indices) != len(piece.indices):
        return False
    for place, (own, used) in enumerate(zip(piece.indices, indices, strict=True)):
        name, offset = (own.name, 0) if isinstance(own, c.Bind) else offset_of(own) or ("", 0)
        if offset_of(used) != (name, offset - (place == axis)):
            return False
    return True

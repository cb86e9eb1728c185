"""Cases of different lengths as one long one: what speaks of several steps holds within a case.

    z[0] ~ p             becomes   z[t in T where place[t] == 0] ~ p
    z[t in T[1..]] ~ q   becomes   z[t in T[1..] where place[t] >= 1] ~ q

so that one program serves all lengths. It is possible where steps are spoken of by `t`, `t - 1` and
so on alone.
"""

from .. import core as c
from ..dependence import offset_of, reads_any
from ..finite import finite_draws
from ..forms import both, compare, index_of
from ..graph import Graph, Kind, Node
from ..typed import Piece
from ..types import FIRST, LAST, Dim, Int, Type
from .standard import rewrite, run_passes


def place_name(dim: str) -> str:
    """The input that says where in its case a step stands."""
    return f"{dim}.place"


def can_join(graph: Graph, dim: str) -> bool:
    """Whether every node is of a step or of all cases, and nothing looks at a case as a whole."""
    of_a_case = graph.of_kind(Kind.DRAW) if graph.parameters else finite_draws(graph)
    if any(not _has(node.type, dim) for node in of_a_case):
        return False
    own = {node.name for node in graph.nodes if _has(node.type, dim)}
    return all(_node_fits(node, dim, own) for node in graph.nodes)


@rewrite
def join_cases(graph: Graph, dim: str) -> Graph:
    """The graph of many cases that stand one after the other along `dim`."""
    axis = next(d for d in graph.dims if d.name == dim)
    type_ = Type(Int(0), (axis,))
    place = Node(place_name(dim), Kind.INPUT, type_, axis.span, graph.source)
    nodes = [
        node.replace(pieces=tuple(_joined(piece, node, axis) for piece in node.pieces))
        for node in graph.nodes
    ]
    return run_passes(graph.replace(nodes=(place, *nodes), recurrences=()))


def _has(type_: Type, dim: str) -> bool:
    return any(isinstance(axis, Dim) and axis.name == dim for axis in type_.shape)


def _node_fits(node: Node, dim: str, own: set[str]) -> bool:
    axes = [str(axis) for axis in node.type.shape]
    if dim in axes and (axes[0] != dim or axes.count(dim) != 1):
        return False
    if node.kind is Kind.PARAMETER:
        return dim not in axes
    if node.kind is Kind.DRAW and dim not in axes:
        return not node.parents or not set(node.parents) & own
    return all(_piece_fits(node, piece, dim, own) for piece in node.pieces)


def _piece_fits(node: Node, piece: Piece, dim: str, own: set[str]) -> bool:
    binders = [i for i in piece.indices if isinstance(i, c.Bind) and i.dim.name == dim]
    fixed = _has(node.type, dim) and not isinstance(piece.indices[0], c.Bind)
    if fixed and not (isinstance(piece.indices[0], c.Const) and piece.indices[0].value >= 0):
        return False
    if len(binders) > 1 or any(b.high != LAST or b.low.from_end for b in binders):
        return False
    if not binders and not fixed:
        return not reads_any(piece.body, own)
    name = binders[0].name if binders else ""
    roots = [piece.body, *([piece.where] if piece.where is not None else [])]
    return all(_fits(root, name, dim, own) for root in roots)


def _fits(core: c.Core | c.Law, name: str, dim: str, own: set[str]) -> bool:
    if isinstance(core, c.At) and isinstance(core.base, c.Ref) and core.base.name in own:
        step = offset_of(core.indices[0])
        if step is None or step[0] != name or step[1] > 0:
            return False
        return all(_fits(index, name, dim, own) for index in core.indices[1:])
    if isinstance(core, c.Ref):
        return core.name not in own
    if isinstance(core, c.Reduce | c.Build) and any(b.dim.name == dim for b in core.binders):
        return False
    if isinstance(core, c.Var) and core.name == name:
        return False
    if isinstance(core, c.DimRef):
        return core.dim.name != dim
    return all(_fits(part, name, dim, own) for part in c.parts(core))


def _joined(piece: Piece, node: Node, axis: Dim) -> Piece:
    first = piece.indices[0] if piece.indices else None
    if isinstance(first, c.Const) and _has(node.type, axis.name):
        step = c.Bind(piece.span, f"{axis.name}.step", axis, FIRST, LAST)
        here = _compare("equal", step, first.value, piece)
        return piece.replace(indices=(step, *piece.indices[1:]), where=both(piece.where, here))
    for index in piece.indices:
        if isinstance(index, c.Bind) and index.dim.name == axis.name and index.low.offset:
            here = _compare("greater_equal", index, index.low.offset, piece)
            return piece.replace(where=both(piece.where, here))
    return piece


def _compare(operator: str, step: c.Bind, value: float, piece: Piece) -> c.Core:
    type_ = Type(Int(0))
    places = c.Ref(piece.span, Type(Int(0), (step.dim,)), place_name(step.dim.name))
    place = c.At(piece.span, type_, places, (index_of(step),))
    return compare(operator, place, c.Const(piece.span, type_, int(value)))

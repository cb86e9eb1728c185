"""What distributions of a graph are asked about from outside: their moments, their arguments."""

from collections.abc import Sequence

from .. import core as c
from ..forms import arithmetic, entry, factor_like, for_every_place, input_like
from ..graph import Graph, Kind, Node
from ..types import REAL
from .standard import rewrite, run_passes


@rewrite
def tilt_moment(graph: Graph, node: Node, moment: str) -> Graph:
    """A factor for each entry of the draw: its input `x.tilt` times a moment of its distribution.

    The moment is its `mean`, or its mean `squared distance` from the input `x.centre`.
    """
    type_ = REAL.replace(shape=node.type.shape)
    tilt, centre = (input_like(node, part, type_) for part in ("tilt", "centre"))
    pieces = []
    for piece in node.pieces:
        assert isinstance(piece.body, c.Law)
        mean = c.Moment(piece.body.span, REAL, piece.body, "mean")
        value: c.Core = mean
        if moment == "squared distance":
            # E[(y - centre)^2] = Var[y] + (E[y] - centre)^2.
            distance = arithmetic("subtract", mean, entry(centre, piece))
            variance = c.Moment(piece.body.span, REAL, piece.body, "variance")
            value = arithmetic("add", variance, arithmetic("multiply", distance, distance))
        body = arithmetic("multiply", entry(tilt, piece), value)
        pieces.append(for_every_place(piece, body))
    factor = factor_like(node, "tilted", tuple(pieces))
    return run_passes(graph.replace(nodes=(tilt, centre, *graph.nodes, factor)))


@rewrite
def arguments_as_nodes(graph: Graph, nodes: Sequence[Node]) -> Graph:
    """The arguments of these draws' distributions are nodes of their own, one for each piece."""
    found = []
    for node in nodes:
        for number, piece in enumerate(node.pieces):
            assert isinstance(piece.body, c.Law)
            for argument, core in piece.body.arguments:
                own = for_every_place(piece, core)
                shape = tuple(index.dim for index in own.indices if isinstance(index, c.Bind))
                type_ = core.type.replace(shape=(*shape, *core.type.shape), constraint="")
                name = argument_name(node, number, argument)
                found.append(Node(name, Kind.FUNCTION, type_, node.span, node.source, (own,)))
    return run_passes(graph.replace(nodes=(*graph.nodes, *found)))


def argument_name(node: Node, number: int, argument: str) -> str:
    return f"{node.name}.{argument}{number or ''}"

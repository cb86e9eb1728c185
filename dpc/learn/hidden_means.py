"""E[y] = E[E[y | z]] and Var[y] = E[Var[y | z]] + Var[E[y | z]], where y depends on finite draws z
that are hidden.

The sums over z given all that a case says are derivatives of a log-partition: with s[t] f[t](z)
added to the score,

    d log Z / d s[t] at s = 0  =  E[f[t](z) | case]

for f = E[y[t] | z], and then for f = Var[y[t] | z] + (E[y[t] | z] - E[y[t]])^2, which has nothing
to cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from dpc.dsl.graph import core as c
from dpc.dsl.graph.build import run_passes
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import REAL

from ..model.model import Model
from .missing import entry_at

Values = dict[str, Any]


class HiddenMeans:
    """Mean and standard deviation of a draw, as a function of parameters, of data and of other
    draws.

    `graph` says what else a case gives, and need not have the draw itself.
    """

    def __init__(self, graph: Graph, node: Node, externs: Mapping[str, Callable[..., Any]]):
        self.node = node
        self.mean, self.variance = (
            Model(_tilted(graph, node, moment), "", externs)
            for moment in (_mean, _squared_distance)
        )

    def __call__(
        self, params: Values, data: Mapping[str, Any], given: Values, sizes: Mapping[str, int]
    ) -> tuple[Any, Any]:
        shape = tuple(axis.size or sizes[str(axis)] for axis in self.node.type.shape)

        def expected(model: Model, centre: Any) -> Any:
            def log_partition(tilt: Any) -> Any:
                tilted = {
                    **data,
                    _name(self.node, "tilt"): tilt,
                    _name(self.node, "centre"): centre,
                }
                return model.log_partition(params, tilted, given)

            return jax.grad(log_partition)(jnp.zeros(shape))

        mean = expected(self.mean, jnp.zeros(shape))
        return mean, jnp.sqrt(expected(self.variance, mean))


def _name(node: Node, part: str) -> str:
    return f"{node.name}.{part}"


def _tilted(graph: Graph, node: Node, moment: Callable[[c.Law, c.Core], c.Core]) -> Graph:
    """With a factor for each entry of the draw: its tilt, an input, times a moment of its law."""
    type_ = REAL.replace(shape=node.type.shape)
    inputs = [
        Node(_name(node, part), Kind.INPUT, type_, node.span, node.source)
        for part in ("tilt", "centre")
    ]
    pieces = tuple(_tilted_piece(node, piece, moment) for piece in node.pieces)
    factor = Node(_name(node, "tilted"), Kind.FACTOR, REAL, node.span, node.source, pieces)
    return run_passes(graph.replace(nodes=(*inputs, *graph.nodes, factor)))


def _tilted_piece(node: Node, piece: Piece, moment: Callable[[c.Law, c.Core], c.Core]) -> Piece:
    assert isinstance(piece.body, c.Law)
    type_ = REAL.replace(shape=node.type.shape)
    tilt, centre = (
        entry_at(c.Ref(piece.span, type_, _name(node, part)), piece) for part in ("tilt", "centre")
    )
    body = _apply("multiply", tilt, moment(piece.body, centre))
    return piece.replace(
        indices=tuple(i for i in piece.indices if isinstance(i, c.Bind)), body=body, settings=()
    )


def _mean(law: c.Law, centre: c.Core) -> c.Core:
    return c.Moment(law.span, REAL, law, "mean")


def _squared_distance(law: c.Law, centre: c.Core) -> c.Core:
    """E[(y - centre)^2 | z]."""
    distance = _apply("subtract", _mean(law, centre), centre)
    return _apply(
        "add", c.Moment(law.span, REAL, law, "variance"), _apply("multiply", distance, distance)
    )


def _apply(operator: str, a: c.Core, b: c.Core) -> c.Core:
    return c.Apply(a.span, REAL, operator, (("a", a), ("b", b)))

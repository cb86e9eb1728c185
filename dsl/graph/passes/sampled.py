"""Sides of split draws that are sampled: one without mass is never drawn, whatever its slope."""

from __future__ import annotations

from collections.abc import Collection

from .. import core as c
from ..graph import Graph, Node
from .split import MASSES
from .standard import rewrite

SAMPLED = MASSES.replace("interval_masses", "sampled_masses")


@rewrite
def sample_sides(graph: Graph, names: Collection[str]) -> Graph:
    """Masses of these sides are no numbers where two cuts meet: a score misses the side between."""
    return graph.map_nodes(lambda node: _with_sampled_masses(node) if node.name in names else node)


def _with_sampled_masses(node: Node) -> Node:
    pieces = [piece.replace(body=_sampled(piece.body)) for piece in node.pieces]
    return node.replace(pieces=tuple(pieces))


def _sampled(body: c.Core | c.Law) -> c.Core | c.Law:
    if isinstance(body, c.Apply) and body.row == MASSES:
        return body.replace(function="sampled_masses", row=SAMPLED)
    return c.map_parts(body, _sampled)

"""Which draws are sites of a NumPyro model, and which are summed over.

A finite draw that is not observed is `hidden`: no site, summed over by the inference engine. Draws
and factors that depend on a hidden one, directly or through computed nodes, are `touched`: their
terms are part of that sum.
"""

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import Recurrence
from dpc.dsl.graph.finite import finite_draws
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.types import FIRST, LAST
from dpc.dsl.record import Record


class Sites(Record):
    """`carrier` is the site with the density of the whole sum; else it is a factor."""

    graph: Graph
    hidden: frozenset[str]
    veiled: frozenset[str]
    touched: tuple[str, ...]
    carrier: str | None

    def is_veiled(self, name: str) -> bool:
        """Whether a node has no value while hidden draws are summed over."""
        return name in self.hidden or name in self.veiled


def find_sites(graph: Graph) -> Sites:
    hidden = frozenset(node.name for node in finite_draws(graph) if not node.observed)
    veiled: set[str] = set()
    touched: list[str] = []
    for node in _until_still(graph, hidden, veiled):
        if node.kind is not Kind.FUNCTION and node.name not in hidden:
            touched.append(node.name)
    draws = [graph[name] for name in touched if graph[name].kind is Kind.DRAW]
    seen = [node.name for node in draws if node.observed]
    names = seen or [node.name for node in draws]
    return Sites(graph, hidden, frozenset(veiled), tuple(touched), names[-1] if names else None)


def _until_still(graph: Graph, hidden: frozenset[str], veiled: set[str]) -> list[Node]:
    """Nodes that depend on a hidden one; computed ones pass it on, recurrences in rounds."""
    found: list[Node] = []
    count = -1
    while count != len(veiled):
        count = len(veiled)
        found = [node for node in graph.nodes if set(node.parents) & (hidden | veiled)]
        veiled.update(node.name for node in found if node.kind is Kind.FUNCTION)
    return found


def is_plain(node: Node, groups: list[Recurrence]) -> bool:
    """One statement for all of the variable, with no lag: a NumPyro distribution as it is."""
    alone = len(node.pieces) == 1 and not any(node.name in group.members for group in groups)
    return alone and all(_is_whole(index) for index in node.pieces[0].indices)


def _is_whole(index: c.Bind | c.Core) -> bool:
    if not isinstance(index, c.Bind):
        return False
    ends = (LAST, index.dim.size is not None and FIRST.shift(index.dim.size - 1))
    return index.low == FIRST and index.high in ends

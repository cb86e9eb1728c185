"""What a rewrite is: a pure function from graph to graph, whose result is verified.

The passes here make a graph whole: every builder and every other rewrite ends with them.
"""

import operator
from collections.abc import Callable, Iterator
from functools import wraps
from heapq import heapify, heappop, heappush
from math import isfinite
from typing import Any, TypeVar

from .. import core as c
from ..dependence import Edge, components, nodes_read_by
from ..graph import Graph, Kind, Node, verify_graph
from ..ranges import value_at

Tree = TypeVar("Tree", bound=c.Core | c.Law)
Rewrite = TypeVar("Rewrite", bound=Callable[..., Any])


class Unfit(Exception):
    """A node for which a rewrite has no meaning: what is wrong, and what to do instead."""

    def __init__(self, node: str, message: str, help: str):
        super().__init__(message)
        self.node, self.message, self.help = node, message, help


def rewrite(change: Rewrite) -> Rewrite:
    """The result, a graph or a record that has one, is verified before anybody sees it."""

    @wraps(change)
    def verified(*arguments: Any, **named: Any) -> Any:
        found = change(*arguments, **named)
        verify_graph(found if isinstance(found, Graph) else found.graph)
        return found

    return verified  # type: ignore[return-value]


OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "negate": operator.neg,
}


EXACT = 2.0**53
"""Whole numbers below it are exact as real numbers."""


def fold_constants(graph: Graph) -> Graph:
    """Every operation on numbers alone becomes a number; nothing else changes."""

    def fold_node(node: Node) -> Node:
        pieces = (
            p.replace(body=fold(p.body), where=p.where and fold(p.where)) for p in node.pieces
        )
        return node.replace(pieces=tuple(pieces), default=node.default and fold(node.default))

    functions = tuple(f.replace(body=f.body and fold(f.body)) for f in graph.functions)
    return graph.replace(functions=functions).map_nodes(fold_node)


def fold(tree: Tree) -> Tree:
    """Inside out; what has nothing to fold is returned as it is."""
    folded: Any = c.map_parts(tree, fold)
    if isinstance(folded, c.Apply) and folded.function in OPERATIONS:
        folded = _evaluate(folded) or folded
    result: Tree = folded
    return result


def _evaluate(apply: c.Apply) -> c.Const | None:
    """None where there is no finite answer: the program keeps the operation.

    Real numbers first: Python's own powers may be complex, or have more digits than fit.
    """
    values = [value.value for _, value in apply.arguments if isinstance(value, c.Const)]
    if len(values) < len(apply.arguments):
        return None
    result: float | None = value_at(apply.function, [float(value) for value in values])
    if result is None or not isfinite(result):
        return None
    if abs(result) < EXACT:
        result = OPERATIONS[apply.function](*values)
    elif apply.type.whole:
        return None
    return c.Const(apply.span, apply.type, result)


def link_parents(graph: Graph) -> Graph:
    """Every node's parents are the nodes that its pieces mention; a bound mentions every draw."""
    draws = [node.name for node in graph.of_kind(Kind.DRAW)]

    def link(node: Node) -> Node:
        parts = (part for piece in node.pieces for part in c.walk(piece.body))
        has_bound = any(isinstance(part, c.Apply) and part.function in c.BOUNDS for part in parts)
        parents = dict.fromkeys([*nodes_read_by(node), *(draws if has_bound else ())])
        return node.replace(parents=tuple(parents))

    return graph.map_nodes(link)


def sort_nodes(graph: Graph) -> Graph:
    """Parents come first, members of a recurrence side by side, otherwise the order of the file."""
    nodes = graph.by_name
    edges = [Edge(node.name, parent, node.span) for node in graph.nodes for parent in node.parents]
    groups = components(nodes, edges)
    group_of = {name: k for k, group in enumerate(groups) for name in group}
    parents = [{p for name in group for p in nodes[name].parents} for group in groups]
    uses = [{group_of[parent] for parent in own} - {k} for k, own in enumerate(parents)]
    order = [name for k in _first_in_file(groups, uses, nodes) for name in groups[k]]
    return graph.replace(nodes=tuple(nodes[name] for name in order))


def _first_in_file(
    groups: list[tuple[str, ...]], uses: list[set[int]], nodes: dict[str, Node]
) -> Iterator[int]:
    """Kahn's algorithm: of all groups whose parents are done, the one written first."""
    users: dict[int, list[int]] = {k: [] for k in range(len(groups))}
    for k, used in enumerate(uses):
        for j in used:
            users[j].append(k)
    waiting = {k: len(used) for k, used in enumerate(uses)}
    ready = [(_position(nodes[groups[k][0]]), k) for k, count in waiting.items() if not count]
    heapify(ready)
    while ready:
        _, k = heappop(ready)
        yield k
        for user in users[k]:
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, (_position(nodes[groups[user][0]]), user))


def _position(node: Node) -> tuple[bool, int]:
    """Where the node is defined; the cost comes last."""
    return node.kind is Kind.COST, (node.pieces[0].span if node.pieces else node.span).start


def mark_random(graph: Graph) -> Graph:
    """A node is random when it is drawn or computed from what is; recurrences are so as a whole."""
    together = {name: set(group.members) for group in graph.recurrences for name in group.members}
    random: set[str] = set()
    for node in graph.nodes:
        if node.kind is Kind.DRAW or any(parent in random for parent in node.parents):
            random |= together.get(node.name, {node.name})
    return graph.map_nodes(lambda node: node.replace(random=node.name in random))


PASSES: tuple[Callable[[Graph], Graph], ...] = (
    fold_constants,
    link_parents,
    sort_nodes,
    mark_random,
)


def run_passes(graph: Graph) -> Graph:
    for transform in PASSES:
        graph = transform(graph)
    verify_graph(graph)
    return graph

"""From typed program to graph, by passes. A pass is a pure function of graphs with one sentence of
contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush

from . import core as c
from .dependence import Edge, components
from .fold import fold_constants
from .graph import Graph, Kind, Node, verify_graph
from .typed import Definition, Piece, Typed
from .types import REAL

KIND_OF_ROLE = {
    "data": Kind.INPUT,
    "observed": Kind.INPUT,
    "param": Kind.PARAMETER,
    "latent": Kind.DRAW,
    "draw": Kind.DRAW,
    "let": Kind.FUNCTION,
    "factor": Kind.FACTOR,
}


def build_graph(typed: Typed) -> Graph:
    """The verified graph of a program and of its guide."""
    graph = _raw_graph(typed, typed.definitions)
    if typed.guide:
        names = {d.name for d in typed.guide}
        shared = [
            d.replace(pieces=()) for d in typed.definitions if _is_given(d) and d.name not in names
        ]
        guide = _raw_graph(
            typed.replace(objective=None, recurrences=typed.guide_recurrences),
            [*shared, *typed.guide],
        )
        graph = graph.replace(guide=run_passes(guide))
    return run_passes(graph)


def _is_given(definition: Definition) -> bool:
    """What both model and guide may use: data, parameters and observations."""
    return definition.kind in ("data", "param", "observed")


def _raw_graph(typed: Typed, definitions: Iterable[Definition]) -> Graph:
    nodes = [_node(definition) for definition in definitions]
    objective = typed.objective
    if objective:
        piece = Piece(objective.span, (), None, objective.value, objective.settings)
        name = "minimize" if objective.minimize else "maximize"
        nodes.append(
            Node(
                name,
                Kind.COST,
                REAL,
                objective.span,
                typed.source,
                (piece,),
                minimize=objective.minimize,
                kept=True,
            )
        )
    return Graph(
        typed.name,
        typed.source,
        typed.dims,
        typed.functions,
        tuple(nodes),
        typed.recurrences,
        typed.least_sizes,
    )


def _node(d: Definition) -> Node:
    kind = Kind.DRAW if d.pieces and d.kind == "observed" else KIND_OF_ROLE[d.kind]
    kept = d.kept or kind is Kind.DRAW
    return Node(
        d.name,
        kind,
        d.type,
        d.span,
        d.source,
        d.pieces,
        observed=d.kind == "observed",
        kept=kept,
        default=d.default,
    )


# ---- passes


def link_parents(graph: Graph) -> Graph:
    """Every node's parents are the nodes that its pieces mention; a bound mentions every draw."""
    draws = [node.name for node in graph.nodes if node.kind is Kind.DRAW]
    return graph.map_nodes(
        lambda node: node.replace(parents=tuple(dict.fromkeys(_mentioned(node, draws))))
    )


def _mentioned(node: Node, draws: list[str]) -> Iterable[str]:
    for piece in node.pieces:
        roots = [piece.body, piece.where, *(i for i in piece.indices if isinstance(i, c.Core))]
        for core in (inner for root in roots if root is not None for inner in c.walk(root)):
            if isinstance(core, c.Ref):
                yield core.name
            elif isinstance(core, c.Apply) and core.function in c.BOUNDS:
                yield from draws


def sort_nodes(graph: Graph) -> Graph:
    """Parents come before children, members of a recurrence side by side, otherwise the order of
    the file.
    """
    nodes = graph.by_name
    edges = [Edge(node.name, parent, node.span) for node in graph.nodes for parent in node.parents]
    groups = components(nodes, edges)
    group_of = {name: k for k, group in enumerate(groups) for name in group}
    uses = [
        {group_of[p] for name in group for p in nodes[name].parents} - {k}
        for k, group in enumerate(groups)
    ]
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
    ready = [(_place(nodes[groups[k][0]]), k) for k, count in waiting.items() if not count]
    heapify(ready)
    while ready:
        _, k = heappop(ready)
        yield k
        for user in users[k]:
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, (_place(nodes[groups[user][0]]), user))


def _place(node: Node) -> tuple[bool, int]:
    """Where the node is defined; the cost comes last."""
    return node.kind is Kind.COST, (node.pieces[0].span if node.pieces else node.span).start


def mark_random(graph: Graph) -> Graph:
    """A node is random when it is drawn, or computed from something random; members of a recurrence
    are so together.
    """
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

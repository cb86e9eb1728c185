"""What kind of model a graph is, what structure it has, and why we say so."""

from ..record import Record
from . import core as c
from .dependence import offset_of
from .graph import Graph, Kind, Node
from .types import Bool, IndexOf


class ModelClass(Record):
    """`name` is the book's word; `structure` what inference can use; both with reasons."""

    name: str
    reasons: tuple[str, ...]
    structure: tuple[str, ...] = ()


def classify(graph: Graph) -> ModelClass:
    name, reasons = _class_of(graph)
    return ModelClass(name, tuple(reasons), tuple(_structure_of(graph)))


def _class_of(graph: Graph) -> tuple[str, list[str]]:
    directed = [n.name for n in graph.of_kind(Kind.DRAW) if not n.undirected]
    factors = [n.name for n in graph.of_kind(Kind.FACTOR) if n.random]
    undirected = [n.name for n in graph.nodes if n.undirected]
    cost = graph.of_kind(Kind.COST)
    drawn = f"{_list(directed)} drawn with `~`"
    if not directed and not undirected:
        return "computation graph", ["nothing in it is random"]
    if directed and (undirected or factors):
        return "mixed", [drawn, f"{_list(factors)} joined by `factor`"]
    if directed and cost:
        aim = f"{cost[0].name} takes an expectation over them"
        return "stochastic computation graph", [drawn, aim]
    if directed:
        why = f"every random variable ({_list(directed)}) has its own `~`"
        return "Bayesian network", [why, "there are no factors"]
    density = f"{_list(factors)} give the density up to its constant"
    reasons = [f"{_list(undirected)} undirected", density]
    used = {name for factor in factors for name in graph[factor].parents}
    given = [n.name for n in graph.of_kind(Kind.INPUT) if n.name in used]
    if given:
        depends = f"the factors depend on the data {_list(given)}"
        return "conditional random field", [*reasons, depends]
    return "Markov random field", reasons


def _list(names: list[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


# ---- structure


def _structure_of(graph: Graph) -> list[str]:
    found = []
    for group in graph.recurrences:
        if any(graph[name].random for name in group.members):
            axis = graph[group.members[0]].type.shape[group.axis]
            found.append(f"chain of order {group.order} along {axis} ({', '.join(group.members)})")
    for node in graph.nodes:
        if node.undirected:
            found += _couplings(graph, node)
    return found or _tree_structure(graph)


def _couplings(graph: Graph, node: Node) -> list[str]:
    """A variable touched twice by a factor along one axis is a chain, along two a grid."""
    spans: dict[int, int] = {}
    dense = False
    for factor in graph.of_kind(Kind.FACTOR):
        if node.name in factor.parents:
            reach, is_local = _reach(factor, node)
            dense |= not is_local
            for axis, span in reach.items():
                spans[axis] = max(spans.get(axis, 0), span)
    axes = [str(node.type.shape[axis]) for axis in sorted(spans)]
    if dense:
        return [f"densely coupled ({node.name})"]
    if len(axes) == 1:
        return [f"chain of order {spans[min(spans)]} along {axes[0]} ({node.name})"]
    if len(axes) > 1:
        return [f"grid over {' and '.join(axes)} ({node.name})"]
    return []


def _reach(factor: Node, node: Node) -> tuple[dict[int, int], bool]:
    """How far apart, by axis, one factor touches the variable; False if that is unknown."""
    places: dict[int, set[tuple[str | None, int]]] = {}
    local = True
    for piece in factor.pieces:
        for core in c.walk(piece.body):
            if not isinstance(core, c.At) or not isinstance(core.base, c.Ref):
                continue
            for axis, index in enumerate(core.indices if core.base.name == node.name else ()):
                offset = offset_of(index)
                local &= offset is not None
                if offset:
                    places.setdefault(axis, set()).add(offset)
    by_one = {axis: own for axis, own in places.items() if len({name for name, _ in own}) == 1}
    spans = {axis: max(own)[1] - min(own)[1] for axis, own in by_one.items() if len(own) > 1}
    return spans, local and len(by_one) == len(places)


def _tree_structure(graph: Graph) -> list[str]:
    """Unplated finite networks: a polytree has no undirected cycle, a tree one parent each."""
    draws = [n for n in graph.of_kind(Kind.DRAW) if not n.undirected]
    finite = all(isinstance(n.type.domain, Bool | IndexOf) for n in draws)
    if len(draws) < 2 or not finite or any(n.type.shape for n in draws):
        return []
    parents = {n.name: [p for p in n.parents if graph[p].kind is Kind.DRAW] for n in draws}
    if not _is_forest(parents):
        return []
    if max(map(len, parents.values())) <= 1:
        return ["tree (each variable has at most one parent)"]
    return ["polytree (no undirected cycle)"]


def _is_forest(parents: dict[str, list[str]]) -> bool:
    """Union by representative: an edge inside one component closes a cycle."""
    root = {name: name for name in parents}

    def find(name: str) -> str:
        while root[name] != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    for child, own in parents.items():
        for parent in own:
            a, b = find(child), find(parent)
            if a == b:
                return False
            root[a] = b
    return True

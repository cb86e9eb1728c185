"""From typed program to graph."""

from collections.abc import Iterable

from .graph import Graph, Kind, Node
from .passes.standard import run_passes
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

SHARED = ("data", "param", "observed")
"""What both model and guide may use."""


def build_graph(typed: Typed) -> Graph:
    """The verified graph of a program and of its guide."""
    graph = _raw_graph(typed, typed.definitions)
    if typed.guide:
        names = {d.name for d in typed.guide}
        others = [d for d in typed.definitions if d.kind in SHARED and d.name not in names]
        shared = [d.replace(pieces=()) for d in others]
        alone = typed.replace(objective=None, recurrences=typed.guide_recurrences)
        guide = _raw_graph(alone, [*shared, *typed.guide])
        graph = graph.replace(guide=run_passes(guide))
    return run_passes(graph)


def _raw_graph(typed: Typed, definitions: Iterable[Definition]) -> Graph:
    nodes = [_node(definition) for definition in definitions]
    objective = typed.objective
    if objective:
        piece = Piece(objective.span, (), None, objective.value, objective.settings)
        name = "minimize" if objective.minimize else "maximize"
        cost = Node(name, Kind.COST, REAL, objective.span, typed.source, (piece,), kept=True)
        nodes.append(cost.replace(minimize=objective.minimize))
    own = typed.name, typed.source, typed.dims, typed.functions
    return Graph(*own, tuple(nodes), typed.recurrences, typed.least_sizes)


def _node(d: Definition) -> Node:
    kind = Kind.DRAW if d.pieces and d.kind == "observed" else KIND_OF_ROLE[d.kind]
    found = Node(d.name, kind, d.type, d.span, d.source, d.pieces, default=d.default)
    return found.replace(observed=d.kind == "observed", kept=d.kept or kind is Kind.DRAW)

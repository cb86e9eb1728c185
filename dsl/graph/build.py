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

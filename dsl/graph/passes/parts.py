"""Parts of a model: some draws are given, by data or by a guide, and what is not needed goes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from ...diagnostics import Diagnostic, DpError
from .. import core as c
from ..dependence import Recurrence
from ..graph import Graph, Kind, Node
from ..typed import Piece
from ..types import Dim, Real
from .standard import mark_random, rewrite, run_passes, sort_nodes

GIVEN = (Kind.INPUT, Kind.PARAMETER)


def as_given(node: Node) -> Node:
    """The value comes from outside: nothing about how it was drawn is left."""
    return node.replace(kind=Kind.INPUT, pieces=(), parents=(), random=False)


@rewrite
def draws_given(graph: Graph, names: Set[str]) -> Graph:
    """These draws are inputs: their values come with the data."""
    recurrences = tuple(group for group in graph.recurrences if not names & set(group.members))
    found = graph.replace(recurrences=recurrences, guide=None).map_nodes(
        lambda node: as_given(node).replace(observed=False) if node.name in names else node
    )
    return mark_random(found)


@rewrite
def mark_observed(graph: Graph, names: Collection[str]) -> Graph:
    """These draws are observed, and no others."""
    return graph.map_nodes(
        lambda node: node.replace(observed=node.name in names) if node.kind is Kind.DRAW else node
    )


@rewrite
def without_objective(graph: Graph) -> Graph:
    """The model alone: no cost and no guide."""
    nodes = tuple(node for node in graph.nodes if node.kind is not Kind.COST)
    return graph.replace(nodes=nodes, guide=None)


@rewrite
def bound_as_number(graph: Graph, number: float) -> Graph:
    """A number stands in the place of the bound of the objective."""

    def change(core: Any) -> Any:
        if isinstance(core, c.Apply) and core.function in c.BOUNDS:
            return c.Const(core.span, core.type, number)
        return c.map_parts(core, change)

    def changed(node: Node) -> Node:
        pieces = tuple(piece.replace(body=change(piece.body)) for piece in node.pieces)
        return node.replace(pieces=pieces) if node.kind is Kind.COST else node

    return run_passes(graph.map_nodes(changed))


@rewrite
def observed_given(graph: Graph) -> Graph:
    """What is observed is an input, and there is no guide and no cost."""
    observed = {node.name for node in graph.of_kind(Kind.DRAW) if node.observed}
    left = tuple(_without(observed, graph.recurrences))
    model = without_objective(graph).map_nodes(
        lambda node: as_given(node) if node.name in observed else node
    )
    return mark_random(model.replace(recurrences=left))


@rewrite
def guided(graph: Graph) -> Graph:
    """The guide draws, the model computes; what is observed is an input, and there is no cost."""
    assert graph.guide is not None
    guide = graph.guide.of_kind(Kind.FUNCTION, Kind.DRAW)
    for node in guide:
        if node.kind is Kind.FUNCTION and node.name in graph.by_name:
            message = f"`{node.name}` is a name of the model too"
            span = node.pieces[0].span if node.pieces else node.span
            help = "choose another name for it"
            raise DpError([Diagnostic("E0707", message, node.source, span, help=help)])
    drawn = {node.name for node in guide}
    given = [*graph.of_kind(*GIVEN), *graph.guide.of_kind(*GIVEN)]
    draws = graph.of_kind(Kind.DRAW)
    inputs = [as_given(node) for node in draws if node.name not in drawn]
    unique = {node.name: node for node in [*given, *inputs, *guide, *graph.of_kind(Kind.FUNCTION)]}
    left = _without({node.name for node in draws}, graph.recurrences)
    recurrences = (*graph.guide.recurrences, *left)
    found = graph.replace(nodes=tuple(unique.values()), recurrences=recurrences, guide=None)
    return mark_random(sort_nodes(found))


def _without(names: Set[str], recurrences: Iterable[Recurrence]) -> Iterator[Recurrence]:
    """What is left to compute step by step where these members are given."""
    for group in recurrences:
        members = tuple(name for name in group.members if name not in names)
        if members:
            yield group.replace(members=members, inner=tuple(_without(names, group.inner)))


@rewrite
def needed_for(graph: Graph, names: Iterable[str]) -> Graph:
    """Only these nodes and what they depend on; inputs and parameters stay."""
    needed = graph.ancestors(names)
    nodes = tuple(node for node in graph.nodes if node.name in needed or node.kind in GIVEN)
    recurrences = tuple(r for r in graph.recurrences if set(r.members) & needed)
    return graph.replace(nodes=nodes, recurrences=recurrences)


@rewrite
def without_draws(graph: Graph, names: Set[str]) -> Graph:
    """These draws go, with all that depends on them."""
    gone = {node.name for node in graph.nodes if names & graph.ancestors([node.name])}
    nodes = tuple(node for node in graph.nodes if node.name not in gone)
    recurrences = tuple(group for group in graph.recurrences if not gone & set(group.members))
    return graph.replace(nodes=nodes, recurrences=recurrences, guide=None)


@rewrite
def without_pieces(
    graph: Graph, parameters: Collection[str], pieces: Mapping[str, Sequence[Piece]]
) -> Graph:
    """These pieces of draws and these parameters go; what is left of a draw is observed."""

    def left(node: Node) -> Node:
        if node.kind is not Kind.DRAW:
            return node
        own = tuple(piece for piece in node.pieces if piece not in pieces.get(node.name, ()))
        if own:
            return node.replace(pieces=own, observed=True)
        return as_given(node).replace(observed=False)

    nodes = tuple(left(node) for node in graph.nodes if node.name not in parameters)
    return run_passes(graph.replace(nodes=nodes, recurrences=()))


@rewrite
def one_draw(graph: Graph, name: str) -> Graph:
    """One draw, as a real number, and what it depends on; all other draws are inputs."""
    kept = graph.ancestors([name])
    nodes = []
    for node in (node for node in graph.nodes if node.name in kept):
        if node.name == name:
            # Whole numbers have means that are not whole.
            real = node.type.replace(domain=Real(*node.type.bounds))
            nodes.append(node.replace(type=real, observed=False))
        elif node.kind is Kind.DRAW:
            nodes.append(as_given(node).replace(observed=False))
        elif node.kind is not Kind.COST:
            nodes.append(node)
    return mark_random(graph.replace(nodes=tuple(nodes), recurrences=(), guide=None))


@rewrite
def compute_only(graph: Graph, nodes: Sequence[Node], dims: Iterable[Dim]) -> Graph:
    """These computed nodes, and what they depend on; draws have values, and no distribution."""
    given = {node.name for node in graph.nodes if node.kind is not Kind.FUNCTION}
    needed = graph.ancestors([parent for node in nodes for parent in node.parents], given)
    kept = [node for node in graph.nodes if node.name in needed]
    bare = {"pieces": (), "parents": ()}
    plain = [node.replace(**bare) if node.kind is Kind.DRAW else node for node in kept]
    groups = tuple(group for group in graph.recurrences if set(group.members) <= needed)
    all_dims = tuple(dict.fromkeys([*graph.dims, *dims]))
    found = graph.replace(dims=all_dims, nodes=(*plain, *nodes), recurrences=groups, guide=None)
    return mark_random(found)

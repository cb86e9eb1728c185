"""What learning does with each unknown: estimate parameters and free draws, sum finite draws."""

from collections.abc import Collection

from dpc.dsl.graph.finite import finite_draws
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.parts import without_objective
from dpc.dsl.graph.passes.tables import tables_as_parameters
from dpc.dsl.record import Record

from .linear import integrable_draws


class Roles(Record):
    """`estimated`: continuous draws at the mode of their posterior; `summed`: finite draws that no
    data give; `integrated`: continuous draws of a row or case, integrated out exactly; `prior`: the
    draws and factors whose density is about what is estimated alone.
    """

    graph: Graph
    parameters: tuple[Node, ...]
    estimated: tuple[Node, ...]
    summed: tuple[Node, ...]
    integrated: tuple[Node, ...]
    prior: frozenset[str]

    @property
    def unknowns(self) -> tuple[Node, ...]:
        return (*self.parameters, *self.estimated)

    @property
    def is_normalised(self) -> bool:
        """Whether no factor speaks about what the data give or what is summed over."""
        return not any(
            node.kind is Kind.FACTOR and node.name not in self.prior for node in self.graph.nodes
        )


def find_roles(graph: Graph, given: Collection[str], rows_are_cases: bool = False) -> Roles:
    """Where rows are cases and there are parameters, all draws are of a case."""
    graph = without_objective(graph)
    finite = {node.name for node in finite_draws(graph)}
    open_draws = [node for node in graph.of_kind(Kind.DRAW) if node.name not in given]
    summed = tuple(node for node in open_draws if node.name in finite)
    every = rows_are_cases and bool(graph.parameters)
    dims = {str(axis) for name in given for axis in graph[name].type.shape}

    def is_local(node: Node) -> bool:
        along = any(str(axis) in dims for axis in node.type.shape)
        return node.name not in finite and (every or along)

    integrated = () if summed else integrable_draws(graph, given, is_local)
    free = [node for node in open_draws if node.name not in finite and node not in integrated]
    estimated = tuple(map(_as_estimated, free))
    if not estimated and not integrated and not graph.parameters:
        graph = tables_as_parameters(graph)
    prior = _prior(graph, {node.name for node in estimated})
    return Roles(graph, graph.parameters, estimated, summed, integrated, prior)


def _as_estimated(node: Node) -> Node:
    """Draws in order are estimated in order."""
    if not any(setting.name == "ordered" for setting in node.settings):
        return node
    word = "positive_ordered" if node.type.bounds[0] == 0 else "ordered"
    return node.replace(type=node.type.replace(constraint=word))


def _prior(graph: Graph, estimated: set[str]) -> frozenset[str]:
    """The estimated draws, and factors that mention nothing random but them."""
    open_draws = {node.name for node in graph.of_kind(Kind.DRAW)} - estimated
    factors = [node.name for node in graph.of_kind(Kind.FACTOR)]
    own = [name for name in factors if not graph.ancestors([name]) & open_draws]
    return frozenset([*estimated, *own])

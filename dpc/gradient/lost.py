"""What the derivatives of samples miss: jumps that move with parameters and draws, and kinks."""

from collections.abc import Iterator, Mapping, Sequence

from dpc.dsl.graph.breaks import Break, Finder
from dpc.dsl.graph.core import Core
from dpc.dsl.graph.dependence import nodes_read
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.types import Real
from dpc.dsl.library.annotations import MethodRow
from dpc.dsl.record import Record
from dpc.dsl.source import Source

from .costs import CostTerm


class Loss(Record):
    """A break, and the nodes that it depends on, not looking beyond draws.

    `where` is the statement that it stands in; `source` is that statement's.
    """

    where: str
    source: Source
    found: Break
    above: frozenset[str]

    def draws(self, graph: Graph) -> list[Node]:
        """The draws that move it by little: real ones."""
        nodes = (node for node in graph.of_kind(Kind.DRAW) if node.name in self.above)
        return [node for node in nodes if isinstance(node.type.domain, Real)]

    def parameters(self, graph: Graph) -> list[str]:
        return [n.name for n in graph.of_kind(Kind.PARAMETER) if n.name in self.above]


def missed_twice(
    graph: Graph, losses: Sequence[Loss], methods: Mapping[str, MethodRow], landing: bool
) -> Iterator[str]:
    """What the second derivative of a sample would miss."""
    if landing:
        yield "`elbo(landing=true)` leaves out a score whose second derivative counts"
    paths = {name for name, method in methods.items() if method.along != "score"}
    for loss in losses:
        draws = loss.draws(graph)
        moves = loss.parameters(graph) or any(draw.name in paths for draw in draws)
        if draws and moves:
            text = loss.source.text[loss.found.span.start : loss.found.span.end]
            where = loss.where.removesuffix(".levels`")
            yield f"in {where}, `{text}` has a {loss.found.kind} that depends on what is drawn"
    for node in graph.of_kind(Kind.DRAW):
        for law in node.laws:
            above = graph.ancestors(nodes_read(*law.given(law.facts.kinked)))
            moves = any(graph[n].random or graph[n].kind is Kind.PARAMETER for n in above)
            if moves and node.name not in paths:
                yield f"the log density of `{node.name}` has a kink in its parameters"


def find_losses(graph: Graph, terms: Sequence[CostTerm], breaks: Finder) -> list[Loss]:
    """Every break of the nodes and of the costs that depends on something random."""
    draws = frozenset(node.name for node in graph.of_kind(Kind.DRAW))
    found = []
    for node in graph.nodes:
        for piece in node.pieces:
            found += [(f"`{node.name}`", node.source, each) for each in breaks.of_piece(piece)]
    for term in terms:
        cost = breaks.of_statement(term.body, term.settings)
        found += [("the objective", graph.source, each) for each in cost]
    losses = []
    for where, source, each in found:
        above = frozenset(graph.ancestors(each.reads, stop=draws))
        if above & draws:
            losses.append(Loss(where, source, each, above))
    return losses


def found_turns(graph: Graph, turns: Sequence[tuple[str, Core]]) -> list[Loss]:
    """Of draws that are split: where thresholds pass each other, or an end of the support."""
    draws = frozenset(node.name for node in graph.of_kind(Kind.DRAW))
    losses = []
    for name, difference in turns:
        found = Break("kink", "an order", difference.span, (difference,))
        above = frozenset(graph.ancestors(found.reads, stop=draws))
        losses.append(Loss(f"`{name}`", graph.source, found, above))
    return losses

"""Which draws have values that can be listed, so that they can be summed over."""

from . import core as c
from .graph import Graph, Kind, Node
from .types import Bool, IndexOf, Int, Type

MAX_VALUES = 10_000


def is_finite(type_: Type) -> bool:
    """Truth values, labels and indices, and whole numbers between two bounds."""
    if isinstance(type_.domain, Int):
        low, high = type_.bounds
        return high - low < MAX_VALUES
    return isinstance(type_.domain, Bool | IndexOf)


def finite_draws(graph: Graph) -> tuple[Node, ...]:
    """The draws that can be summed over; a count out of a constant number is bounded by it."""
    draws = (_with_bound(node) for node in graph.of_kind(Kind.DRAW))
    return tuple(node for node in draws if not node.type.constraint and is_finite(node.type))


def _with_bound(node: Node) -> Node:
    """Binomial(10, p) is a count from 0 to 10."""
    domain = node.type.domain
    if not isinstance(domain, Int) or not node.laws:
        return node
    totals = [dict(law.arguments).get(law.facts.highest) for law in node.laws]
    if all(isinstance(n, c.Const) for n in totals):
        upper = max(float(n.value) for n in totals if isinstance(n, c.Const))
        return node.replace(type=node.type.replace(domain=Int(0, min(domain.upper, upper))))
    return node

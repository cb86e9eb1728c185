"""Bounds on the evidence: the guide draws, the costs are the densities of model and guide.

elbo() = E_q[log p(x, z) - log q(z)] = E_q[log p(x | z)] - KL(q(z), p(z)), if KL is closed.
"""

from collections.abc import Iterator

from dpc.dsl.diagnostics import DpError
from dpc.dsl.graph import core as c
from dpc.dsl.graph.forms import index_of
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.substitute import substitute
from dpc.dsl.graph.typed import Piece

from .costs import NUMBER, CostTerm, bound_of, bounds_in, cost_terms, negative, objective_of
from .follow import Followed, has_elements
from .refuse import unusable
from .steps import density_cost, random_names


def bound_terms(graph: Graph, merged: Graph) -> list[CostTerm]:
    """The costs of an objective with a bound in it, and whatever else is added to it."""
    bound = bound_of(graph)
    assert bound is not None
    if len(bounds_in(objective_of(graph).body)) > 1:
        raise _misplaced(graph, bound, "must be the only bound of an objective")
    found: list[CostTerm] = []
    for term in cost_terms(graph):
        bounds = bounds_in(term.body)
        sign = _sign(term.body)
        if bounds and (sign is None or term.binders):
            what = "can be added to other costs or subtracted, and no more"
            raise _misplaced(graph, bound, what)
        uncertain = not bounds and random_names(term.body, graph)
        if bound.function != "elbo" and (sign == -1 or uncertain):
            raise _misplaced(graph, bound, "can be added to costs that are certain, and no more")
        if bounds:
            parts = _density_costs(graph, merged, bound)
            found += map(negative, parts) if sign == -1 else parts
        else:
            found.append(term)
    return found


def _misplaced(graph: Graph, bound: c.Apply, what: str) -> DpError:
    (cost,) = graph.of_kind(Kind.COST)
    help = f"as in `maximize {bound.function}(...) - cost`"
    return DpError([unusable(cost, f"`{bound.function}` {what}", help)])


def _sign(core: c.Core) -> int | None:
    """1 for elbo(), -1 for its negation."""
    if isinstance(core, c.Apply) and core.function == "negate":
        inner = _sign(core.arguments[0][1])
        return None if inner is None else -inner
    return 1 if isinstance(core, c.Apply) and core.function in c.BOUNDS else None


def _density_costs(graph: Graph, merged: Graph, bound: c.Apply) -> Iterator[CostTerm]:
    assert graph.guide is not None
    options = {name: value.value for name, value in bound.arguments if isinstance(value, c.Const)}
    frozen = bool(options.get("landing"))
    analytic = bound.function == "elbo" and bool(options.get("analytic", True)) and not frozen
    followed = Followed(merged)
    closed = {}
    for node in graph.guide.of_kind(Kind.DRAW):
        term = _closed_divergence(graph[node.name], node, graph, followed) if analytic else None
        if term:
            closed[node.name] = term
    for node in graph.of_kind(Kind.DRAW, Kind.FACTOR):
        if node.name not in closed:
            yield from (_density_cost(node, piece) for piece in node.pieces)
    for node in graph.guide.of_kind(Kind.DRAW):
        if node.name in closed:
            yield closed[node.name]
        else:
            yield from (negative(_density_cost(node, piece, frozen)) for piece in node.pieces)


def _density_cost(node: Node, piece: Piece, frozen: bool = False) -> CostTerm:
    if any(setting.name == "ordered" for setting in piece.settings):
        message = f"`{node.name}` is `ordered`, which a bound cannot have"
        help = "keep the order with a cumulative sum of positive steps"
        raise DpError([unusable(node, message, help)])
    return density_cost(node, piece, frozen)


def _closed_divergence(
    model: Node, guide: Node, graph: Graph, followed: Followed
) -> CostTerm | None:
    """-KL(q, p), where both are of one family and p does not depend on z or below."""
    assert graph.guide is not None
    if not (has_elements(model, graph) and has_elements(guide, graph.guide)):
        return None
    (own,), (other,) = guide.pieces, model.pieces
    q, p = own.body, other.body
    assert isinstance(q, c.Law)
    assert isinstance(p, c.Law)
    if q.name != p.name or not q.facts.closed_divergence:
        return None
    ordered = any(setting.name == "ordered" for setting in (*own.settings, *other.settings))
    plain = own.where is None and other.where is None and not ordered
    if not plain or len(own.indices) != len(other.indices):
        return None
    above = followed.draws_above([p])
    if guide.name in above.union(*(followed.known[name] for name in above)):
        return None
    binders = tuple(index for index in own.indices if isinstance(index, c.Bind))
    theirs = [index.name for index in other.indices if isinstance(index, c.Bind)]
    p = substitute(p, dict(zip(theirs, map(index_of, binders), strict=True)))
    return negative(CostTerm(binders, c.Divergence(q.span, NUMBER, q, p)))

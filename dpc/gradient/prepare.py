"""What an objective is about: the draws and values that it needs, and its costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dpc.dsl.diagnostics import DpError
from dpc.dsl.graph import core as c
from dpc.dsl.graph.build import mark_random
from dpc.dsl.graph.graph import Graph, Kind

from .bound import bound_terms, guided
from .costs import CostTerm, bound_of, cost_terms
from .given import as_given, without
from .refuse import critic_of, unusable
from .relax import relax
from .steps import random_names


class Prepared(NamedTuple):
    """`graph` has no cost and no guide; `bound` is the bound on the evidence in the objective, if
    there is one.
    """

    graph: Graph
    terms: list[CostTerm]
    bound: c.Apply | None


def prepare(graph: Graph) -> Prepared:
    bound = bound_of(graph)
    whole = guided(graph) if bound else _without_bound(graph)
    terms = bound_terms(graph, whole) if bound else cost_terms(graph)
    needed = _needed(whole, terms)
    _verify_drawn(needed)
    return Prepared(*relax(needed, terms), bound)


def _without_bound(graph: Graph) -> Graph:
    """What is observed is given. A mean given what is observed or weighed below is a posterior
    mean: by a guide.
    """
    observed = {node.name for node in graph.of_kind(Kind.DRAW) if node.observed}
    nodes = [node for node in graph.nodes if node.kind is not Kind.COST]
    found = graph.replace(
        guide=None, nodes=tuple(as_given(n) if n.name in observed else n for n in nodes)
    )
    inside = {
        name
        for term in cost_terms(graph)
        for name in found.ancestors(random_names(term.body, graph))
    }
    drawn = {
        name for name in inside if found[name].kind is Kind.DRAW and not found[name].undirected
    }
    for node in graph.nodes:
        weighs = node.name in observed or node.kind is Kind.FACTOR
        if weighs and found.ancestors(node.parents) & drawn:
            what = "a factor" if node.kind is Kind.FACTOR else "observed"
            message = (
                f"`{node.name}` is {what}, so the mean of the objective is one over the posterior"
            )
            help = "add a `guide` and `maximize elbo()`, or leave it out"
            raise DpError([unusable(node, message, help)])
    return mark_random(found.replace(recurrences=tuple(without(observed, found.recurrences))))


def _needed(graph: Graph, terms: Sequence[CostTerm]) -> Graph:
    """Nothing is drawn that no cost depends on."""
    names = [part.name for term in terms for part in c.walk(term.body) if isinstance(part, c.Ref)]
    needed = graph.ancestors(names)
    needed |= graph.ancestors([critic for name in needed if (critic := critic_of(graph[name]))])
    nodes = tuple(
        node
        for node in graph.nodes
        if node.name in needed or node.kind in (Kind.INPUT, Kind.PARAMETER)
    )
    recurrences = tuple(r for r in graph.recurrences if set(r.members) & needed)
    return graph.replace(nodes=nodes, recurrences=recurrences)


def _verify_drawn(graph: Graph) -> None:
    for node in graph.nodes:
        if node.undirected or node.kind is Kind.FACTOR:
            message = f"`{node.name}` has no order to be drawn in, so there is no mean to estimate"
            raise DpError(
                [unusable(node, message, "draw it with `~` instead of weighing it with factors")]
            )

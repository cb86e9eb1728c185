"""What an objective is about: the draws and values that it needs, and its costs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from dpc.dsl.diagnostics import Diagnostic, DpError
from dpc.dsl.graph import core as c
from dpc.dsl.graph.breaks import Smoothness, finder
from dpc.dsl.graph.dependence import nodes_read
from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.passes.gumbel import gumbel_max
from dpc.dsl.graph.passes.parts import guided, needed_for, observed_given
from dpc.dsl.graph.passes.relaxed import relax
from dpc.dsl.graph.passes.scatter import scatter
from dpc.dsl.graph.passes.split import split
from dpc.dsl.graph.passes.standard import Unfit
from dpc.dsl.graph.poles import pole_finder
from dpc.dsl.library.annotations import grad_method

from .bound import bound_terms
from .costs import CostTerm, averages_weights, bound_of, cost_terms
from .lost import Loss, find_losses, found_turns
from .refuse import critic_of, grad_setting, refusals, unusable
from .steps import random_names


class Prepared(NamedTuple):
    """`graph` has no cost and no guide; `bound` is that of the objective, if it has one.

    `losses` are the breaks that are left; `cuts` the comparisons at which draws were split.
    """

    graph: Graph
    terms: list[CostTerm]
    bound: c.Apply | None
    losses: list[Loss]
    cuts: dict[str, tuple[str, ...]]


def prepare(
    graph: Graph, order: int = 1, externs: Mapping[str, Smoothness] | None = None
) -> Prepared:
    """Ready for derivatives up to this order: jumps, and for the second one kinks, are split.

    Where something is left that elements of arrays have with each other, they are taken apart.
    """
    found = _prepared(graph, order, externs)
    if graph.guide or not _is_lost(found, order):
        return found
    try:
        apart = _prepared(scatter(graph), order, externs)
    except Unfit:
        return found
    return found if _is_lost(apart, order) else apart


def _is_lost(prepared: Prepared, order: int) -> bool:
    """Whether a break that moves with parameters and with draws is left."""
    losses = (x for x in prepared.losses if order > 1 or x.found.kind == "jump")
    return any(x.draws(prepared.graph) and x.parameters(prepared.graph) for x in losses)


def _prepared(
    graph: Graph, order: int, externs: Mapping[str, Smoothness] | None = None
) -> Prepared:
    bound = bound_of(graph)
    if bound:
        whole = guided(graph)
        terms = bound_terms(graph, whole)
    else:
        whole = observed_given(graph)
        terms = cost_terms(graph)
        _verify_no_posterior(graph, whole, terms)
    needed = _needed(whole, terms)
    _verify_drawn(needed)
    relaxed = relax(needed, _relaxed_draws(needed), [term.body for term in terms])
    pairs = zip(terms, relaxed.costs, strict=True)
    costs = [(body, term.settings) for term, body in pairs]
    chosen = gumbel_max(relaxed.graph, costs, _free_draws(relaxed.graph))
    free = _free_draws(chosen.graph)
    costs = [(body, term.settings) for term, body in zip(terms, chosen.costs, strict=True)]
    # Poles are looked for in the program as it is written, where branches keep away from them.
    before = [term.replace(body=body) for term, (body, _) in zip(terms, costs, strict=True)]
    poles = find_losses(chosen.graph, before, pole_finder(chosen.graph))
    while True:
        found = split(chosen.graph, costs, free, order > 1)
        parts = zip(terms, found.costs, strict=True)
        split_terms = [term.replace(body=body) for term, body in parts]
        left = _needed(found.graph, split_terms)
        still = {pole.found.span for pole in find_losses(left, split_terms, pole_finder(left))}
        # A quotient that was compared is none any more: its comparison was solved.
        kept = [pole for pole in poles if pole.found.function or pole.found.span in still]
        losses = find_losses(left, split_terms, finder(left.functions, externs)) + kept
        losses += found_turns(left, found.turns)
        jumps = [loss for loss in losses if loss.found.kind == "jump"]
        useless = {n for n in found.cuts for loss in jumps if {n, f"{n}.noise"} & loss.above}
        if not useless:
            return Prepared(left, split_terms, bound, losses, {**chosen.chosen, **found.cuts})
        free = [name for name in free if name not in useless]


def _free_draws(graph: Graph) -> list[str]:
    """Those that are not told how to be differentiated."""
    return [node.name for node in graph.of_kind(Kind.DRAW) if grad_setting(node) is None]


def _relaxed_draws(graph: Graph) -> dict[str, str]:
    found = {}
    for node in graph.of_kind(Kind.DRAW):
        setting = grad_setting(node)
        if setting and grad_method(setting.method).needs == "relaxed":
            found[node.name] = str(setting.method)
    return found


def _verify_no_posterior(graph: Graph, found: Graph, terms: Sequence[CostTerm]) -> None:
    """A mean given what is observed or weighed below is a posterior mean: a guide's to estimate."""
    inside = found.ancestors([n for term in terms for n in random_names(term.body, graph)])
    drawn = {n for n in inside if found[n].kind is Kind.DRAW and not found[n].undirected}
    for node in graph.nodes:
        weighs = node.kind is Kind.FACTOR or (node.kind is Kind.DRAW and node.observed)
        if weighs and found.ancestors(node.parents) & drawn:
            what = "a factor" if node.kind is Kind.FACTOR else "observed"
            so = "so the mean of the objective is one over the posterior"
            help = "add a `guide` and `maximize elbo()`, or leave it out"
            raise DpError([unusable(node, f"`{node.name}` is {what}, {so}", help)])


def _needed(graph: Graph, terms: Sequence[CostTerm]) -> Graph:
    """Nothing is drawn that no cost depends on."""
    names = nodes_read(*(term.body for term in terms))
    critics = [critic_of(graph[name]) for name in graph.ancestors(names)]
    return needed_for(graph, [*names, *filter(None, critics)])


def _verify_drawn(graph: Graph) -> None:
    for node in graph.nodes:
        if node.undirected or node.kind is Kind.FACTOR:
            message = f"`{node.name}` has no order to be drawn in, so there is no mean to estimate"
            help = "draw it with `~` instead of weighing it with factors"
            raise DpError([unusable(node, message, help)])


# ---- checked without estimating


def check_estimators(graph: Graph) -> list[Diagnostic]:
    """All that is refused, or nothing."""
    ignored = list(_ignored(graph))
    try:
        prepared = prepare(graph)
    except DpError as error:
        return [*ignored, *error.diagnostics]
    weighed = averages_weights(prepared.bound)
    return [*ignored, *refusals(prepared.graph, prepared.losses, weighed)]


def _ignored(graph: Graph) -> Iterator[Diagnostic]:
    """Annotations of draws that are never drawn: observed, or drawn by the guide."""
    for node in graph.of_kind(Kind.DRAW):
        if grad_setting(node) and node.observed:
            yield unusable(
                node, f"no gradient passes `{node.name}`, which is observed", "take `grad=` away"
            )
        elif grad_setting(node) and bound_of(graph):
            message = f"no gradient passes this draw: for the bound the guide draws `{node.name}`"
            yield unusable(node, message, "write `grad=` in the guide")

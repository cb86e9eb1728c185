"""Questions answered by configurations: mode, marginal mode, the k best, exact samples."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError
from ...factors.factor_graph import (
    Array,
    FactorGraph,
    Floats,
    Given,
    Name,
    impossible,
    verify_known,
)
from ...factors.semirings import LOG, MAX_PLUS, MODE, SAMPLING
from ...planning.orders import mask_of
from ...planning.plan import Plan, plan_contraction, verify_memory
from .binding import bind
from .decode import best_configurations, decode, gone_ranks
from .passes import collect
from .program import Product, run_upward, total_of
from .sums import ready_plan


class Configuration(NamedTuple):
    """A state for each variable, and the sum of log-potentials there, not normalised."""

    states: dict[Name, int]
    log_score: float


def infer_mode(
    graph: FactorGraph, given: Given = None, *, plan: Plan | None = None, memory: int | None = None
) -> Configuration:
    """argmax_x prod_i f_i(x): one configuration, ties broken towards first states (GM04, GM25)."""
    bound = bind(graph, given)
    plan = ready_plan(bound, plan, memory)
    values = run_upward(plan, bound.log_leaves(), lambda product: MODE.semiring, np)
    score = float(total_of(plan, values, MODE.semiring, np))
    if score == -np.inf:
        raise impossible(bound.evidence)
    found = decode(plan, values, 1, lambda terms: MODE.choose(terms, None), lambda product: True)
    return Configuration(bound.completed({v: int(s[0]) for v, s in found.items()}), score)


def infer_marginal_mode(
    graph: FactorGraph,
    variables: Collection[Name],
    given: Given = None,
    *,
    memory: int | None = None,
) -> Configuration:
    """argmax_m sum_s f(m, s): the best states of the named variables, all others summed first."""
    verify_known(graph.sizes, variables)
    bound = bind(graph, given, variables)
    asked = [v for v in variables if v not in bound.fixed]
    plan = plan_contraction(graph.sizes, bound.scopes, last=asked)
    verify_memory(
        plan,
        memory,
        "Maximise over fewer variables, give more evidence, or raise the memory limit.",
    )
    late = mask_of([i for i, name in enumerate(plan.names) if name in set(asked)])

    def maximises(product: Product) -> bool:
        return any(late >> v & 1 for v in gone_ranks(plan, product))

    values = run_upward(plan, bound.log_leaves(), lambda p: MAX_PLUS if maximises(p) else LOG, np)
    score = float(total_of(plan, values, MAX_PLUS, np))
    if score == -np.inf:
        raise impossible(bound.evidence)
    found = decode(plan, values, 1, lambda terms: MODE.choose(terms, None), maximises)
    states = {v: int(found[v][0]) if v in found else bound.fixed[v] for v in variables}
    return Configuration(states, score)


def infer_kbest(
    graph: FactorGraph,
    k: int,
    given: Given = None,
    *,
    plan: Plan | None = None,
    memory: int | None = None,
) -> list[Configuration]:
    """The k most probable configurations, best first; fewer where fewer are possible."""
    bound = bind(graph, given)
    if k < 1:
        raise InferenceError(f"the {k} best configurations were asked for; ask for one or more")
    plan = ready_plan(bound, plan, memory, k=k)
    states, scores = best_configurations(plan, bound.log_leaves(), k)
    if not len(scores):
        raise impossible(bound.evidence)
    rows = [{v: int(s[i]) for v, s in states.items()} for i in range(len(scores))]
    return [
        Configuration(bound.completed(row), float(score))
        for row, score in zip(rows, scores, strict=True)
    ]


def infer_samples(
    graph: FactorGraph,
    count: int,
    given: Given = None,
    *,
    seed: int | np.random.Generator = 0,
    plan: Plan | None = None,
    memory: int | None = None,
) -> dict[Name, NDArray[np.intp]]:
    """Exact joint samples of P(x | given): `count` states of each variable."""
    bound = bind(graph, given)
    plan = ready_plan(bound, plan, memory)
    upward = collect(plan, bound)
    generator = np.random.default_rng(seed)

    def choose(terms: Floats) -> Array:
        return SAMPLING.choose(terms, generator.random(count))

    with np.errstate(divide="ignore"):
        values = upward.values if upward.logs else [np.log(v) for v in upward.values]
    found = decode(plan, values, count, choose, lambda product: True)
    fixed = {v: np.full(count, state, dtype=np.intp) for v, state in bound.fixed.items()}
    return {v: found[v] if v in found else fixed[v] for v in graph.sizes}

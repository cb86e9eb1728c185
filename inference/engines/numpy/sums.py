"""Questions answered by sums: log-partition, (joint) marginals, events, any semiring."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import ImpossibleEvidenceError, InferenceError
from ...factors import factor_graph
from ...factors.factor_graph import Array, Factor, FactorGraph, Floats, Given, Name
from ...factors.semirings import COUNTING, Semiring, namespace_of, verify_laws
from ...planning.plan import Memory, Plan, plan_contraction, verify_memory, verify_plan
from . import passes
from .passes import BoundGraph, Upward
from .program import program_of, run_upward, total_of

SAMPLED = 64  # entries of each factor on which the laws of a user's semiring are checked


def ready_plan(
    bound: BoundGraph, plan: Plan | None, memory: Memory, keep: Sequence[Name] = (), k: int = 1
) -> Plan:
    """The given plan if it fits the question, or a new one; either within the memory limit."""
    if plan is None:
        plan = plan_contraction(bound.graph.sizes, bound.scopes, keep)
    else:
        verify_plan(plan, bound.scopes, keep)
    verify_memory(plan, memory, k=k)
    return plan


def plan_partition(graph: FactorGraph, given: Given = None) -> Plan:
    """The plan of `infer_log_partition`: barren tables are left out."""
    return plan_marginals(graph, given, ())


def plan_marginals(
    graph: FactorGraph, given: Given = None, variables: Collection[Name] | None = None
) -> Plan:
    """The plan of `infer_marginals` (of all: also of mode, k best, samples), for any states."""
    return plan_contraction(graph.sizes, passes.bind(graph, given, variables).scopes)


def plan_joint(graph: FactorGraph, variables: Sequence[Name], given: Given = None) -> Plan:
    """The plan of `infer_joint`."""
    bound = passes.bind(graph, given, variables)
    keep = [v for v in variables if v not in bound.fixed]
    return plan_contraction(graph.sizes, bound.scopes, keep)


def infer_log_partition(
    graph: FactorGraph, given: Given = None, *, plan: Plan | None = None, memory: Memory = None
) -> float:
    """log sum_x prod_i f_i(x) given the evidence; if directed, its log-probability (GM16, GM18)."""
    bound = passes.bind(graph, given, ())
    return passes.collect(ready_plan(bound, plan, memory), bound).log_partition


def infer_marginals(
    graph: FactorGraph,
    given: Given = None,
    variables: Collection[Name] | None = None,
    *,
    plan: Plan | None = None,
    memory: Memory = None,
) -> dict[Name, Floats]:
    """P(v | given) for all or the named variables: the gradient of log Z (GM05, GM27)."""
    factor_graph.verify_known(graph.sizes, variables or ())
    bound = passes.bind(graph, given, variables)
    plan = ready_plan(bound, plan, memory)
    wanted = None if variables is None else [v for v in variables if v not in bound.fixed]
    found = passes.unary_marginals(plan, bound, passes.collect(plan, bound), wanted)
    asked = graph.sizes if variables is None else variables
    return {v: found[v] if v in found else bound.certain(v) for v in asked}


def infer_joint(
    graph: FactorGraph,
    variables: Sequence[Name],
    given: Given = None,
    *,
    plan: Plan | None = None,
    memory: Memory = None,
) -> Floats:
    """P(v1, v2, ... | given) as one array, axes in the order asked (GM05)."""
    factor_graph.verify_known(graph.sizes, variables)
    if len(set(variables)) < len(variables):
        raise InferenceError(f"joint of {list(variables)}: a variable is named twice")
    bound = passes.bind(graph, given, variables)
    keep = [v for v in variables if v not in bound.fixed]
    plan = ready_plan(bound, plan, memory, keep)
    upward = passes.collect(plan, bound)
    return bound.widened(variables, passes.kept_marginal(plan, upward) if keep else np.ones(()))


def bind_on(graph: FactorGraph, given: Given, scopes: Sequence[tuple[Name, ...]]) -> BoundGraph:
    """The graph with a constant factor for every scope that no factor holds."""
    plain = passes.bind(graph, given)
    apart = [scope for scope in scopes if find_host(plain.scopes, scope) is None]
    extras = [Factor(scope, np.zeros([graph.sizes[v] for v in scope])) for scope in apart]
    return passes.bind(graph, given, extras=tuple(extras)) if extras else plain


def marginals_on(
    graph: FactorGraph,
    given: Given,
    scopes: Sequence[tuple[Name, ...]],
    memory: Memory = None,
    plan: Plan | None = None,
) -> tuple[BoundGraph, Plan, Upward, list[int], list[Floats]]:
    """Joint marginals on many small scopes (of free variables) in one pass up and down, and the
    leaf of each: a factor that holds it, or a constant one, so that the plan keeps it together.
    """
    bound = bind_on(graph, given, scopes)
    plan = ready_plan(bound, plan, memory)
    upward = passes.collect(plan, bound)
    hosts = [find_host(bound.scopes, s) for s in scopes]
    found = [host for host in hosts if host is not None]
    upward, downward = passes.distribute(plan, bound, upward, found)
    letters = dict(zip(plan.names, program_of(plan).letters, strict=True))
    asked = zip(found, scopes, strict=True)
    marginals = [
        passes.node_marginal(plan, upward, downward, n, "".join([letters[v] for v in s]))
        for n, s in asked
    ]
    return bound, plan, upward, found, marginals


def find_host(scopes: Sequence[tuple[Name, ...]], scope: tuple[Name, ...]) -> int | None:
    """The position of the first scope that holds all these variables."""
    wanted = set(scope)
    return next((i for i, held in enumerate(scopes) if wanted.issubset(held)), None)


def infer_factor_marginals(
    graph: FactorGraph, given: Given = None, *, memory: Memory = None
) -> tuple[Floats, ...]:
    """P(scope of f | given) for every factor f: the gradient in its log-potentials (GM27)."""
    scopes = passes.bind(graph, given).scopes[: len(graph.factors)]
    bound, *_, marginals = marginals_on(graph, given, scopes, memory)
    pairs = zip(graph.factors, marginals, strict=True)
    return tuple([bound.widened(factor.variables, marginal) for factor, marginal in pairs])


def infer_probability(
    graph: FactorGraph,
    event: tuple[Sequence[Name], Array],
    given: Given = None,
    *,
    memory: Memory = None,
) -> float:
    """P(event | given) = Z(event, given) / Z(given); the event is an array of truth values."""
    variables, truth = event
    indicator = factor_graph.factor_of_values(variables, np.asarray(truth, dtype=bool))
    factor_graph.verify_factor(graph.sizes, indicator)
    base = passes.bind(graph, given, variables)
    log_all = passes.collect(ready_plan(base, None, memory), base).log_partition
    both = passes.bind(graph, given, variables, (indicator,))
    try:
        log_both = passes.collect(ready_plan(both, None, memory), both).log_partition
    except ImpossibleEvidenceError:
        return 0.0
    return float(np.exp(log_both - log_all))


def infer_log_probability(
    graph: FactorGraph, states: Mapping[Name, Array], given: Given = None, *, memory: Memory = None
) -> Floats:
    """log P(x | given) of full configurations: one entry of each array is one (GM03)."""
    missing = graph.sizes.keys() - states.keys()
    if missing:
        raise InferenceError(
            f"configurations lack {sorted(map(str, missing))}; use infer_log_partition for a part"
        )
    bound = passes.bind(graph, given)
    log_z = infer_log_partition(graph, given, memory=memory)
    score = factor_graph.log_score(bound.factors, states) - log_z
    agrees = [np.asarray(states[v]) == s for v, s in bound.evidence.hard.items()]
    return np.where(np.logical_and.reduce(agrees), score, -np.inf) if agrees else score


def infer_in_semiring(
    graph: FactorGraph,
    semiring: Semiring,
    given: Given = None,
    *,
    plan: Plan | None = None,
    memory: Memory = None,
) -> Any:
    """The sum over configurations of the product of the factors, in any semiring (GM29)."""
    bound = passes.bind(graph, given)
    plan = ready_plan(bound, plan, memory)
    leaves = [semiring.lift(leaf, np) for leaf in bound.log_leaves()]
    xp = namespace_of(leaves[0]) if leaves else np
    if not semiring.verified:
        shapes = [(-1, *leaf.shape[leaf.ndim - semiring.event :]) for leaf in leaves]
        entries = [xp.reshape(*pair) for pair in zip(leaves, shapes, strict=True)]
        some = xp.concatenate([part[:SAMPLED] for part in entries if len(part)])
        verify_laws(semiring, some, some[::-1], xp.roll(some, 1, axis=0), xp)
    return total_of(plan, run_upward(plan, leaves, lambda product: semiring, xp), semiring, xp)


def infer_count(graph: FactorGraph, given: Given = None, *, memory: Memory = None) -> int:
    """How many configurations have a potential that is not zero: an exact integer."""
    return int(infer_in_semiring(graph, COUNTING, given, memory=memory))

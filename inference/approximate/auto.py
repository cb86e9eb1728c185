"""Every question with `method="auto"`: exact if the plan fits the memory limit, else by the method that suits it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..evidence import Given
from ..exact.decisions import infer_mode, infer_samples
from ..exact.functionals import Term, infer_entropy, infer_moments, plan_moments
from ..exact.sums import (
    infer_joint,
    infer_log_partition,
    infer_marginals,
    plan_joint,
    plan_marginals,
    plan_partition,
)
from ..factors import FactorGraph, Name
from ..planning.plan import Plan
from .averages import infer_joint_gibbs, infer_moments_gibbs
from .choose import Answer, Method, choose
from .cuts import infer_mode_by_cut
from .draws import infer_samples_gibbs
from .gibbs import infer_marginals_gibbs
from .mean_field import infer_marginals_mean_field
from .perturb import infer_marginals_perturbed, infer_samples_perturbed
from .propagation import Options, infer_entropy_bp, infer_marginals_bp, infer_mode_bp
from .results import Approximation

SCHEDULES = {"bp": Options(), "bp_residual": Options(schedule="residual", max_iterations=20_000)}
RETRY = 0.5, 5  # damping, and how many times as many rounds
Propagation = Callable[[FactorGraph, Given | None, Options], Approximation]


def patient(infer: Propagation, options: Options) -> Method:
    """Belief propagation as it is and, if that does not converge, damped; the one that came closer."""
    damping, longer = RETRY
    damped = options._replace(damping=damping, max_iterations=longer * options.max_iterations)

    def tried(graph: FactorGraph, given: Given | None) -> Approximation:
        first = infer(graph, given, options)
        if first.converged:
            return first
        second = infer(graph, given, damped)
        return second if second.converged or second.residual < first.residual else first

    return tried


def propagations(infer: Propagation) -> dict[str, Method]:
    return {name: patient(infer, options) for name, options in SCHEDULES.items()}


def marginal_methods(seed: int, memory: int | None) -> dict[str, Method]:
    return {
        **propagations(infer_marginals_bp),
        "mean_field": partial(infer_marginals_mean_field, seed=seed),
        "gibbs": partial(infer_marginals_gibbs, seed=seed),
        "perturb": partial(infer_marginals_perturbed, seed=seed, memory=memory),
    }


def partition_methods(seed: int, memory: int | None) -> dict[str, Method]:
    """Those of the marginals that know what they sum to."""
    return {name: method for name, method in marginal_methods(seed, memory).items() if name != "gibbs"}


def mode_methods() -> dict[str, Method]:
    return {"cut": infer_mode_by_cut, **propagations(infer_mode_bp)}


def entropy_methods(seed: int) -> dict[str, Method]:
    return {**propagations(infer_entropy_bp), "mean_field": partial(infer_marginals_mean_field, seed=seed)}


def sample_methods(count: int, seed: int, memory: int | None) -> dict[str, Method]:
    return {
        "gibbs": lambda graph, given: infer_samples_gibbs(graph, count, given, seed=seed),
        "perturb": lambda graph, given: infer_samples_perturbed(graph, count, given, seed=seed, memory=memory),
    }


def infer_marginals_auto(
    graph: FactorGraph, given: Given | None = None, *, method: str = "auto", memory: int | None = None, seed: int = 0
) -> Answer:
    """Marginals of every variable; too wide, by belief propagation."""

    def exactly(plan: Plan, limit: int) -> dict[str, Any]:
        return {"marginals": infer_marginals(graph, given, plan=plan, memory=limit)}

    return choose(graph, given, method, memory, marginal_methods(seed, memory), ("bp",), plan_marginals, exactly)


def infer_log_partition_auto(
    graph: FactorGraph, given: Given | None = None, *, method: str = "auto", memory: int | None = None, seed: int = 0
) -> Answer:
    """The log-partition; too wide, the Bethe estimate of belief propagation."""

    def exactly(plan: Plan, limit: int) -> dict[str, Any]:
        return {"log_partition": infer_log_partition(graph, given, plan=plan, memory=limit)}

    return choose(graph, given, method, memory, partition_methods(seed, memory), ("bp",), plan_partition, exactly)


def infer_mode_auto(
    graph: FactorGraph, given: Given | None = None, *, method: str = "auto", memory: int | None = None
) -> Answer:
    """A mode; too wide, by minimum cut if that applies, else by max-product."""

    def exactly(plan: Plan, limit: int) -> dict[str, Any]:
        return {"mode": infer_mode(graph, given, plan=plan, memory=limit)}

    return choose(graph, given, method, memory, mode_methods(), ("cut", "bp"), plan_marginals, exactly)


def infer_entropy_auto(
    graph: FactorGraph, given: Given | None = None, *, method: str = "auto", memory: int | None = None, seed: int = 0
) -> Answer:
    """The entropy in nats; too wide, that of the beliefs of belief propagation, put together by Bethe's formula."""

    def exactly(plan: Plan, limit: int) -> dict[str, Any]:
        return {"entropy": infer_entropy(graph, given, plan=plan, memory=limit)}

    return choose(graph, given, method, memory, entropy_methods(seed), ("bp",), plan_marginals, exactly)


def infer_samples_auto(
    graph: FactorGraph,
    count: int,
    given: Given | None = None,
    *,
    method: str = "auto",
    memory: int | None = None,
    seed: int = 0,
) -> Answer:
    """Joint samples of all variables; too wide, those of Gibbs sampling."""

    def exactly(plan: Plan, limit: int) -> dict[str, Any]:
        return {"samples": infer_samples(graph, count, given, seed=seed, plan=plan, memory=limit)}

    methods = sample_methods(count, seed, memory)
    return choose(graph, given, method, memory, methods, ("gibbs",), plan_marginals, exactly)


def infer_joint_auto(
    graph: FactorGraph,
    variables: Sequence[Name],
    given: Given | None = None,
    *,
    method: str = "auto",
    memory: int | None = None,
    seed: int = 0,
) -> Answer:
    """The joint distribution of some variables; too wide, their frequencies in Gibbs sampling."""

    def make_plan(graph: FactorGraph, given: Given | None) -> Plan:
        return plan_joint(graph, variables, given)

    def exactly(plan: Plan, limit: int) -> dict[str, Any]:
        return {"joint": infer_joint(graph, variables, given, plan=plan, memory=limit)}

    def by_gibbs(graph: FactorGraph, given: Given | None) -> Approximation:
        return infer_joint_gibbs(graph, variables, given, seed=seed)

    return choose(graph, given, method, memory, {"gibbs": by_gibbs}, ("gibbs",), make_plan, exactly)


def infer_moments_auto(
    graph: FactorGraph,
    terms: Sequence[Term],
    given: Given | None = None,
    *,
    method: str = "auto",
    memory: int | None = None,
    seed: int = 0,
) -> Answer:
    """Mean and variance of a sum of terms; too wide, those of its values in Gibbs sampling."""

    def make_plan(graph: FactorGraph, given: Given | None) -> Plan:
        return plan_moments(graph, terms, given)

    def exactly(plan: Plan, limit: int) -> dict[str, Any]:
        return {"moments": infer_moments(graph, terms, given, plan=plan, memory=limit)}

    def by_gibbs(graph: FactorGraph, given: Given | None) -> Approximation:
        return infer_moments_gibbs(graph, terms, given, seed=seed)

    return choose(graph, given, method, memory, {"gibbs": by_gibbs}, ("gibbs",), make_plan, exactly)

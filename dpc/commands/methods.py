"""How questions are answered: exactly where that fits, by an approximate method that says so where it does not."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from dpc.dsl.record import Record
from dpc.exits import UsageError
from dpc.inference import queries as q
from dpc.inference.approximate.layout import lay_out
from dpc.inference.approximate.width import far_too_wide
from dpc.inference.errors import MemoryLimitError
from dpc.inference.factors import FactorGraph
from dpc.inference.planning.memory import default_memory_limit
from dpc.inference.planning.plan import FLOAT, Plan, verify_memory

ANSWERED_BY: dict[str, tuple[str, ...]] = {
    "marginals": ("bp", "bp_residual", "mean_field", "gibbs", "perturb"),
    "log_partition": ("bp", "bp_residual", "mean_field", "perturb"),
    "mode": ("cut", "bp", "bp_residual"),
    "entropy": ("bp", "bp_residual", "mean_field"),
    "samples": ("gibbs", "perturb"),
    "joint": ("gibbs",),
    "moments": ("gibbs",),
}
"""The approximate methods of each question, besides `auto` and `exact`, which answer all."""

METHODS = ("auto", "exact", "bp", "bp_residual", "mean_field", "gibbs", "perturb", "cut")
MANY_VARIABLES = 500
MANY_OPERATIONS = 10**11


class Way(Record):
    """What was said about how to answer."""

    method: str
    memory: int | None
    seed: int


class Found(Record):
    """An answer, and what is to be said of it when it is not exact; `errors` are standard errors in its shape."""

    value: Any
    method: str = "exact"
    report: str = ""
    converged: bool = True
    errors: Any = None


def add_method_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="auto",
        help="exact where it fits and else what is said (auto), always exact, or an approximation; cut is for --map",
    )


# ---- questions


def find_marginals(graph: FactorGraph, given: dict[str, Any], names: list[str] | None, way: Way) -> Found:
    plan = fitting_plan(graph, "marginals", way, given, lambda: q.plan_marginals(graph, given, names))
    if plan:
        return Found(q.infer_marginals(graph, given, names, plan=plan, memory=way.memory))
    from dpc.inference.approximate.auto import infer_marginals_auto

    answer = infer_marginals_auto(graph, given, method=way.method, memory=way.memory, seed=way.seed)
    assert answer.marginals is not None
    asked = list(graph.sizes) if names is None else names
    errors = answer.errors and {name: answer.errors.get(name, 0 * answer.marginals[name]) for name in asked}
    return _found(answer, {name: answer.marginals[name] for name in asked}, errors)


def find_log_partition(graph: FactorGraph, given: dict[str, Any], way: Way) -> Found:
    plan = fitting_plan(graph, "log_partition", way, given, lambda: q.plan_partition(graph, given))
    if plan:
        return Found(q.infer_log_partition(graph, given, plan=plan, memory=way.memory))
    from dpc.inference.approximate.auto import infer_log_partition_auto

    answer = infer_log_partition_auto(graph, given, method=way.method, memory=way.memory, seed=way.seed)
    return _found(answer, answer.log_partition, answer.log_partition_error)


def find_mode(graph: FactorGraph, given: dict[str, Any], way: Way) -> Found:
    plan = fitting_plan(graph, "mode", way, given, lambda: q.plan_marginals(graph, given))
    if plan:
        return Found(q.infer_mode(graph, given, plan=plan, memory=way.memory))
    from dpc.inference.approximate.auto import infer_mode_auto

    answer = infer_mode_auto(graph, given, method=way.method, memory=way.memory)
    return _found(answer, answer.mode)


def find_entropy(graph: FactorGraph, given: dict[str, Any], way: Way) -> Found:
    plan = fitting_plan(graph, "entropy", way, given, lambda: q.plan_marginals(graph, given))
    if plan:
        return Found(q.infer_entropy(graph, given, plan=plan, memory=way.memory))
    from dpc.inference.approximate.auto import infer_entropy_auto

    answer = infer_entropy_auto(graph, given, method=way.method, memory=way.memory, seed=way.seed)
    return _found(answer, answer.entropy)


def find_samples(graph: FactorGraph, count: int, given: dict[str, Any], way: Way) -> Found:
    plan = fitting_plan(graph, "samples", way, given, lambda: q.plan_marginals(graph, given))
    if plan:
        return Found(q.infer_samples(graph, count, given, seed=way.seed, plan=plan, memory=way.memory))
    from dpc.inference.approximate.auto import infer_samples_auto

    answer = infer_samples_auto(graph, count, given, method=way.method, memory=way.memory, seed=way.seed)
    return _found(answer, answer.samples)


def find_joint(graph: FactorGraph, names: list[str], given: dict[str, Any], way: Way) -> Found:
    plan = fitting_plan(graph, "joint", way, given, lambda: q.plan_joint(graph, names, given))
    if plan:
        return Found(q.infer_joint(graph, names, given, plan=plan, memory=way.memory))
    from dpc.inference.approximate.auto import infer_joint_auto

    answer = infer_joint_auto(graph, names, given, method=way.method, memory=way.memory, seed=way.seed)
    return _found(answer, answer.joint, answer.joint_errors)


def find_moments(graph: FactorGraph, terms: Sequence[q.Term], given: dict[str, Any], way: Way) -> Found:
    plan = fitting_plan(graph, "moments", way, given, lambda: q.plan_moments(graph, terms, given))
    if plan:
        return Found(q.infer_moments(graph, terms, given, plan=plan, memory=way.memory))
    from dpc.inference.approximate.auto import infer_moments_auto

    answer = infer_moments_auto(graph, terms, given, method=way.method, memory=way.memory, seed=way.seed)
    return _found(answer, answer.moments, answer.mean_error)


def find_kbest(graph: FactorGraph, k: int, given: dict[str, Any], way: Way) -> Found:
    share = way if way.memory is None else way.replace(memory=way.memory // k)
    plan = fitting_plan(graph, "kbest", share, given, lambda: q.plan_marginals(graph, given))
    if plan:
        return Found(q.infer_kbest(graph, k, given, plan=plan, memory=way.memory))
    from dpc.inference.approximate.beam import infer_kbest_by_beam

    beam = infer_kbest_by_beam(graph, k, given)
    return Found(list(beam.configurations), "beam", "" if beam.is_proven else str(beam))


def _found(answer: Any, value: Any, errors: Any = None) -> Found:
    return Found(value, answer.method, "" if answer.is_exact else str(answer), answer.converged, errors)


# ---- what can be asked of what


TOLD = {
    "log_partition": "the log-partition",
    "mode": "a mode",
    "marginal_mode": "the mode of some variables with the others summed out",
    "kbest": "the k best",
    "entropy": "the entropy",
    "kl": "divergences",
    "joint": "joint distributions",
    "moments": "probabilities and means of expressions",
    "cases": "answers to files of cases",
}


def verify_method(question: str, method: str) -> None:
    """Raises for a method that does not answer the question, with those that do."""
    known = ("auto", "exact", *ANSWERED_BY.get(question, ()))
    if method not in known:
        use = f"{', '.join(known[:-1])} or {known[-1]}"
        raise UsageError(f"--method {method} does not give {TOLD.get(question, question)}: use {use}")


def fitting_plan(
    graph: FactorGraph, question: str, way: Way, given: dict[str, Any], make_plan: Callable[[], Plan]
) -> Plan | None:
    """The plan of exact inference where it is wanted and, by `auto`, where it fits.

    Of a graph of many variables the width is looked at first: a plan that does not fit takes long to make.
    """
    verify_method(question, way.method)
    if way.method == "exact":
        return make_plan()
    if way.method != "auto" or (len(graph.sizes) > MANY_VARIABLES and _is_far_too_wide(graph, given, way.memory)):
        return None
    plan = make_plan()
    try:
        verify_memory(plan, way.memory)
    except MemoryLimitError:
        return None
    return plan if plan.operations <= MANY_OPERATIONS else None


def _is_far_too_wide(graph: FactorGraph, given: dict[str, Any], memory: int | None) -> bool:
    limit = default_memory_limit() if memory is None else memory
    return far_too_wide(lay_out(graph, given), limit / FLOAT)

"""How questions are answered: exactly where that fits, by an approximate method that says so where it does not."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from dpc.dsl.record import Record
from dpc.exits import UsageError
from dpc.inference import queries as q
from dpc.inference.errors import MemoryLimitError
from dpc.inference.factors import FactorGraph
from dpc.inference.planning.plan import Plan, verify_memory

METHODS = ("auto", "exact", "bp", "mean_field", "gibbs", "cut")
MANY_VARIABLES = 3000
MANY_OPERATIONS = 10**11


class Found(Record):
    """An answer, and what is to be said of it when it is not exact."""

    value: Any
    method: str = "exact"
    report: str = ""
    converged: bool = True


def add_method_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="auto",
        help="exact where it fits and else what is said (auto), always exact, or an approximation; cut is for --map",
    )


def find_marginals(
    graph: FactorGraph, given: dict[str, Any], names: list[str] | None, method: str, memory: int | None
) -> Found:
    plan = fitting_plan(graph, method, memory, lambda: q.plan_marginals(graph, given, names))
    if plan:
        return Found(q.infer_marginals(graph, given, names, plan=plan, memory=memory))
    from dpc.inference.approximate.choose import infer_marginals_auto

    found = _approximate(infer_marginals_auto, graph, given, method, memory, "marginals")
    return found if names is None else found.replace(value={name: found.value[name] for name in names})


def find_log_partition(graph: FactorGraph, given: dict[str, Any], method: str, memory: int | None) -> Found:
    plan = fitting_plan(graph, method, memory, lambda: q.plan_partition(graph, given))
    if plan:
        return Found(q.infer_log_partition(graph, given, plan=plan, memory=memory))
    from dpc.inference.approximate.choose import infer_log_partition_auto

    return _approximate(infer_log_partition_auto, graph, given, method, memory, "log_partition")


def find_mode(graph: FactorGraph, given: dict[str, Any], method: str, memory: int | None) -> Found:
    plan = fitting_plan(graph, method, memory, lambda: q.plan_marginals(graph, given))
    if plan:
        return Found(q.infer_mode(graph, given, plan=plan, memory=memory))
    from dpc.inference.approximate.choose import infer_mode_auto

    return _approximate(infer_mode_auto, graph, given, method, memory, "mode")


def find_kbest(graph: FactorGraph, k: int, given: dict[str, Any], method: str, memory: int | None) -> Found:
    share = None if memory is None else memory // k
    plan = fitting_plan(graph, method, share, lambda: q.plan_marginals(graph, given))
    if plan:
        return Found(q.infer_kbest(graph, k, given, plan=plan, memory=memory))
    if method != "auto":
        raise UsageError(f"{method} does not give this: choose another --method")
    from dpc.inference.approximate.beam import infer_kbest_by_beam

    beam = infer_kbest_by_beam(graph, k, given)
    return Found(list(beam.configurations), "beam", "" if beam.is_proven else str(beam))


def fitting_plan(graph: FactorGraph, method: str, memory: int | None, make_plan: Callable[[], Plan]) -> Plan | None:
    """The plan of exact inference where it is wanted and, by `auto`, where it fits.

    A graph of very many variables is not even planned: the approximate methods look at its width first.
    """
    if method not in ("auto", "exact") or (method == "auto" and len(graph.sizes) > MANY_VARIABLES):
        return None
    plan = make_plan()
    if method == "exact":
        return plan
    try:
        verify_memory(plan, memory)
    except MemoryLimitError:
        return None
    return plan if plan.operations <= MANY_OPERATIONS else None


def _approximate(
    ask: Any, graph: FactorGraph, given: dict[str, Any], method: str, memory: int | None, what: str
) -> Found:
    import jax

    jax.config.update("jax_enable_x64", True)
    answer = ask(graph, given, method=method, memory=memory)
    value = getattr(answer, what)
    if value is None:
        raise UsageError(f"{method} does not give this: choose another --method")
    return Found(value, answer.method, "" if answer.is_exact else str(answer), answer.converged)

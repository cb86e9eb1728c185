"""How questions are answered: exactly where that fits, by an approximate method that says so where it does not."""

from __future__ import annotations

import argparse
from typing import Any

from dpc.dsl.record import Record
from dpc.exits import UsageError
from dpc.inference import queries as q
from dpc.inference.errors import MemoryLimitError
from dpc.inference.factors import FactorGraph

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
    if is_exact(graph, given, method, memory):
        return Found(q.infer_marginals(graph, given, names, memory=memory))
    from dpc.inference.approximate.choose import infer_marginals_auto

    found = _approximate(infer_marginals_auto, graph, given, method, memory, "marginals")
    return found if names is None else found.replace(value={name: found.value[name] for name in names})


def find_log_partition(graph: FactorGraph, given: dict[str, Any], method: str, memory: int | None) -> Found:
    if is_exact(graph, given, method, memory):
        return Found(q.infer_log_partition(graph, given, memory=memory))
    from dpc.inference.approximate.choose import infer_log_partition_auto

    return _approximate(infer_log_partition_auto, graph, given, method, memory, "log_partition")


def find_mode(graph: FactorGraph, given: dict[str, Any], method: str, memory: int | None) -> Found:
    if is_exact(graph, given, method, memory):
        return Found(q.infer_mode(graph, given, memory=memory))
    from dpc.inference.approximate.choose import infer_mode_auto

    return _approximate(infer_mode_auto, graph, given, method, memory, "mode")


def find_kbest(graph: FactorGraph, k: int, given: dict[str, Any], method: str, memory: int | None) -> Found:
    if is_exact(graph, given, method, None if memory is None else memory // k):
        return Found(q.infer_kbest(graph, k, given, memory=memory))
    if method != "auto":
        raise UsageError(f"{method} does not give this: choose another --method")
    from dpc.inference.approximate.beam import infer_kbest_by_beam

    beam = infer_kbest_by_beam(graph, k, given)
    return Found(list(beam.configurations), "beam", "" if beam.is_proven else str(beam))


def is_exact(graph: FactorGraph, given: dict[str, Any], method: str, memory: int | None) -> bool:
    """Whether the plan fits. A graph of very many variables is not even planned: the others look at its width first."""
    if method != "auto":
        return method == "exact"
    if len(graph.sizes) > MANY_VARIABLES:
        return False
    from dpc.inference.planning.plan import verify_memory

    plan = q.plan_marginals(graph, given)
    try:
        verify_memory(plan, memory)
    except MemoryLimitError:
        return False
    return plan.operations <= MANY_OPERATIONS


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

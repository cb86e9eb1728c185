"""Exact where the plan fits, something honest where it does not: one answer that says what was done, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ..errors import InferenceError
from ..evidence import Given
from ..factors import FactorGraph
from ..planning.memory import default_memory_limit
from ..planning.plan import Plan
from .cuts import NotSubmodularError
from .fits import MakePlan, cost_of, plan_if_it_fits
from .results import Approximation, Findings


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer(Findings):
    """What was asked for, the method that found it, why that one, and its report."""

    method: str
    reason: str
    report: str
    is_exact: bool
    converged: bool = True

    def __str__(self) -> str:
        return f"{self.method} ({self.reason}): {self.report}"


Method = Callable[[FactorGraph, Given | None], Approximation]
Exactly = Callable[[Plan, int], Mapping[str, Any]]
"""What exact inference finds along a plan, within a memory limit: fields of `Findings` by name."""


def choose(
    graph: FactorGraph,
    given: Given | None,
    method: str,
    memory: int | None,
    methods: Mapping[str, Method],
    fallbacks: tuple[str, ...],
    make_plan: MakePlan,
    exactly: Exactly,
) -> Answer:
    """The method asked for; of `auto`, exact inference if it fits and the first fallback that applies if not."""
    limit = default_memory_limit() if memory is None else memory
    if method in methods:
        return approximately(methods[method](graph, given), method, "asked for")
    if method == "exact":
        return by_plan(make_plan(graph, given), limit, exactly, "asked for")
    if method != "auto":
        raise InferenceError(f"method is one of {', '.join(['auto', 'exact', *methods])}, not {method!r}")
    plan, reason = plan_if_it_fits(graph, given, make_plan, limit)
    if plan is not None:
        return by_plan(plan, limit, exactly, reason)
    for name in fallbacks[:-1]:
        try:
            return approximately(methods[name](graph, given), name, reason)
        except NotSubmodularError as refusal:
            reason = f"{reason}; not by {name}: {refusal}"
    return approximately(methods[fallbacks[-1]](graph, given), fallbacks[-1], reason)


def by_plan(plan: Plan, limit: int, exactly: Exactly, reason: str) -> Answer:
    found = Answer(method="exact", reason=reason, report=cost_of(plan), is_exact=True)
    return replace(found, **exactly(plan, limit))


def approximately(found: Approximation, method: str, reason: str) -> Answer:
    findings = {field.name: getattr(found, field.name) for field in fields(Findings)}
    return Answer(
        method=method,
        reason=reason,
        report=str(found),
        is_exact=found.is_exact,
        converged=found.converged,
        **findings,
    )

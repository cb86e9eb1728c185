"""Exact where the plan fits, something honest where it does not: one answer that says what was done, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ..errors import InferenceError
from ..evidence import Given
from ..exact.decisions import Configuration, infer_mode
from ..exact.sums import infer_log_partition, infer_marginals, plan_marginals, plan_partition
from ..factors import FactorGraph, Floats, Name
from ..planning.memory import default_memory_limit, format_bytes
from ..planning.plan import FLOAT, Plan
from .cuts import NotSubmodularError, infer_mode_by_cut
from .gibbs import infer_marginals_gibbs
from .layout import lay_out
from .mean_field import infer_marginals_mean_field
from .propagation import Options, infer_marginals_bp, infer_mode_bp
from .results import Approximation
from .width import far_too_wide

OPERATIONS = 10**11  # some minutes; beyond, exact inference is not chosen by itself


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """What was asked for, the method that found it, why that one, and its report."""

    method: str
    reason: str
    report: str
    is_exact: bool
    converged: bool = True
    marginals: Mapping[Name, Floats] | None = None
    errors: Mapping[Name, Floats] | None = None
    mode: Configuration | None = None
    log_partition: float | None = None

    def __str__(self) -> str:
        return f"{self.method} ({self.reason}): {self.report}"


Method = Callable[[FactorGraph, Given | None], Approximation]
RETRY = Options(damping=0.5, max_iterations=5000)


def patient(infer: Callable[[FactorGraph, Given | None, Options], Approximation]) -> Method:
    """Belief propagation as it is and, if that does not converge, damped; the one that came closer."""

    def tried(graph: FactorGraph, given: Given | None) -> Approximation:
        first = infer(graph, given, Options())
        if first.converged:
            return first
        second = infer(graph, given, RETRY)
        return second if second.converged or second.residual < first.residual else first

    return tried


MARGINALS: dict[str, Method] = {
    "bp": patient(infer_marginals_bp),
    "mean_field": infer_marginals_mean_field,
    "gibbs": infer_marginals_gibbs,
}
MODES: dict[str, Method] = {"cut": infer_mode_by_cut, "bp": patient(infer_mode_bp)}
PARTITIONS: dict[str, Method] = {"bp": patient(infer_marginals_bp), "mean_field": infer_marginals_mean_field}


def infer_marginals_auto(
    graph: FactorGraph, given: Given | None = None, *, method: str = "auto", memory: int | None = None
) -> Answer:
    """Marginals of every variable: exact if the plan fits the memory limit, else by belief propagation."""

    def exactly(plan: Plan, limit: int) -> Answer:
        found = infer_marginals(graph, given, plan=plan, memory=limit)
        return Answer(method="exact", reason="", report=cost_of(plan), is_exact=True, marginals=found)

    return choose(graph, given, method, memory, MARGINALS, ("bp",), plan_marginals, exactly)


def infer_mode_auto(
    graph: FactorGraph, given: Given | None = None, *, method: str = "auto", memory: int | None = None
) -> Answer:
    """A mode: exact if the plan fits, else by minimum cut if that applies, else by max-product."""

    def exactly(plan: Plan, limit: int) -> Answer:
        found = infer_mode(graph, given, plan=plan, memory=limit)
        return Answer(method="exact", reason="", report=cost_of(plan), is_exact=True, mode=found)

    return choose(graph, given, method, memory, MODES, ("cut", "bp"), plan_marginals, exactly)


def infer_log_partition_auto(
    graph: FactorGraph, given: Given | None = None, *, method: str = "auto", memory: int | None = None
) -> Answer:
    """The log-partition: exact if the plan fits, else the Bethe estimate of belief propagation."""

    def exactly(plan: Plan, limit: int) -> Answer:
        found = infer_log_partition(graph, given, plan=plan, memory=limit)
        return Answer(method="exact", reason="", report=cost_of(plan), is_exact=True, log_partition=found)

    return choose(graph, given, method, memory, PARTITIONS, ("bp",), plan_partition, exactly)


def choose(
    graph: FactorGraph,
    given: Given | None,
    method: str,
    memory: int | None,
    methods: Mapping[str, Method],
    fallbacks: tuple[str, ...],
    make_plan: Callable[[FactorGraph, Given | None], Plan],
    exactly: Callable[[Plan, int], Answer],
) -> Answer:
    """The method asked for; of `auto`, exact inference if it fits and the first fallback that applies if not."""
    limit = default_memory_limit() if memory is None else memory
    if method in methods:
        return approximately(methods[method](graph, given), method, "asked for")
    if method == "exact":
        return replace(exactly(make_plan(graph, given), limit), reason="asked for")
    if method != "auto":
        raise InferenceError(f"method is one of {', '.join(['auto', 'exact', *methods])}, not {method!r}")
    plan, reason = plan_if_it_fits(graph, given, make_plan, limit)
    if plan is not None:
        return replace(exactly(plan, limit), reason=reason)
    for name in fallbacks[:-1]:
        try:
            return approximately(methods[name](graph, given), name, reason)
        except NotSubmodularError as refusal:
            reason = f"{reason}; not by {name}: {refusal}"
    return approximately(methods[fallbacks[-1]](graph, given), fallbacks[-1], reason)


def plan_if_it_fits(
    graph: FactorGraph, given: Given | None, make_plan: Callable[[FactorGraph, Given | None], Plan], limit: int
) -> tuple[Plan | None, str]:
    """The plan of exact inference, or none, and why."""
    if far_too_wide(lay_out(graph, given), limit / FLOAT):
        return None, f"exact inference needs far more than {format_bytes(limit)}"
    plan = make_plan(graph, given)
    if plan.bytes > limit:
        return None, f"exact inference needs {format_bytes(plan.bytes)}, the limit is {format_bytes(limit)}"
    if plan.operations > OPERATIONS:
        return None, f"exact inference needs {plan.operations:.2g} operations, the limit is {OPERATIONS:.2g}"
    return plan, "it fits"


def cost_of(plan: Plan) -> str:
    return f"{plan.operations:,} operations a pass, {format_bytes(plan.bytes)}"


def approximately(found: Approximation, method: str, reason: str) -> Answer:
    return Answer(
        method=method,
        reason=reason,
        report=str(found),
        is_exact=found.is_exact,
        converged=found.converged,
        marginals=found.marginals,
        errors=found.errors,
        mode=found.mode,
        log_partition=found.log_partition,
    )

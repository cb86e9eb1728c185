"""One question, one row: how it is planned and answered exactly, and by which methods if too wide.

`infer_auto` is the only choice between exact and approximate answers. Methods are imported when
they are used: an exact answer needs neither JAX nor SciPy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from ...errors import InferenceError
from ...factors.factor_graph import FactorGraph, Given
from ...planning.plan import Memory, Plan, default_memory_limit, format_bytes
from ..numpy import sums
from ..numpy.decisions import infer_mode, infer_samples
from ..numpy.functionals import infer_entropy, infer_moments, plan_moments
from .layout import plan_if_it_fits
from .results import Approximation, Findings, NotSubmodularError

Methods = dict[str, tuple[str, tuple[str, ...]]]  # a function, and the options it takes
RETRY = 0.5, 5  # damping, and how many times as many rounds
SCHEDULES: dict[str, dict[str, Any]] = {
    "bp": {},
    "bp_residual": {"schedule": "residual", "max_iterations": 20_000},
}


@dataclass(frozen=True, eq=False, kw_only=True)
class AutoAnswer(Findings):
    """What was asked for, the method that found it, why that one, and its report."""

    method: str
    reason: str
    report: str
    is_exact: bool
    converged: bool = True

    def __str__(self) -> str:
        return f"{self.method} ({self.reason}): {self.report}"


class Question(NamedTuple):
    """`methods` name functions of this package and the options they take; of `auto`, where exact
    inference does not fit, the first fallback that applies answers.
    """

    plan: Callable[..., Plan]
    exactly: Callable[..., Any]
    methods: Methods
    fallbacks: tuple[str, ...]
    exact_options: tuple[str, ...] = ()


def by_propagation(name: str) -> Methods:
    return dict.fromkeys(SCHEDULES, (f"propagation.{name}", ()))


def plan_samples(graph: FactorGraph, count: int, given: Given) -> Plan:
    return sums.plan_marginals(graph, given)


def plan_named(graph: FactorGraph, *arguments: Any) -> Plan:
    """The variables whose marginals are wanted, if only some are, come before the evidence."""
    *named, given = arguments
    return sums.plan_marginals(graph, given, *named)


def marginals_exactly(graph: FactorGraph, *arguments: Any, **options: Any) -> Any:
    *named, given = arguments
    return sums.infer_marginals(graph, given, *named, **options)


MEAN_FIELD: Methods = {"mean_field": ("mean_field.infer_marginals_mean_field", ("seed",))}
PERTURB: Methods = {"perturb": ("perturb.infer_marginals_perturbed", ("seed", "memory"))}
BY_MARGINALS = by_propagation("infer_marginals_bp") | MEAN_FIELD
BY_ENTROPY = by_propagation("infer_entropy_bp") | MEAN_FIELD
BY_MODE: Methods = {"cut": ("cuts.infer_mode_by_cut", ())} | by_propagation("infer_mode_bp")
BY_SAMPLES: Methods = {"perturb": ("perturb.infer_samples_perturbed", ("seed", "memory"))}
GIBBS: dict[str, Methods] = {
    what: {"gibbs": (f"gibbs.infer_{what}_gibbs", ("seed",))}
    for what in ("marginals", "samples", "joint", "moments")
}
BY_BOUNDS = BY_MARGINALS | PERTURB
BY_ALL = BY_MARGINALS | GIBBS["marginals"] | PERTURB
QUESTIONS = {
    "marginals": Question(plan_named, marginals_exactly, BY_ALL, ("bp",)),
    "log_partition": Question(sums.plan_partition, sums.infer_log_partition, BY_BOUNDS, ("bp",)),
    "mode": Question(sums.plan_marginals, infer_mode, BY_MODE, ("cut", "bp")),
    "entropy": Question(sums.plan_marginals, infer_entropy, BY_ENTROPY, ("bp",)),
    "samples": Question(
        plan_samples, infer_samples, GIBBS["samples"] | BY_SAMPLES, ("gibbs",), ("seed",)
    ),
    "joint": Question(sums.plan_joint, sums.infer_joint, GIBBS["joint"], ("gibbs",)),
    "moments": Question(plan_moments, infer_moments, GIBBS["moments"], ("gibbs",)),
}


def infer_auto(
    question: str,
    graph: FactorGraph,
    given: Given = None,
    *arguments: Any,
    method: str = "auto",
    memory: Memory = None,
    seed: int = 0,
) -> AutoAnswer:
    """The field `question` of an answer, by the method asked for or the one that suits. `arguments`
    are those of the question: a number of samples, the variables of a joint, terms, ...
    """
    row = QUESTIONS[question]
    limit = default_memory_limit() if memory is None else memory
    options = {"seed": seed, "memory": memory}
    reason = "asked for"
    if method in row.methods:
        return approximately(row, method, reason, graph, given, arguments, options)
    if method not in ("auto", "exact"):
        known = ", ".join(["auto", "exact", *row.methods])
        raise InferenceError(f"method is one of {known}, not {method!r}")
    make_plan = partial(row.plan, graph, *arguments, given)
    plan: Plan | None
    if method == "exact":
        plan = make_plan()
    else:
        plan, reason = plan_if_it_fits(graph, given, make_plan, limit)
    if plan is not None:
        own = {name: options[name] for name in row.exact_options}
        found = row.exactly(graph, *arguments, given, plan=plan, memory=limit, **own)
        report = f"{plan.operations:,} operations a pass, {format_bytes(plan.bytes)}"
        answer = {question: found, "report": report}
        return AutoAnswer(method="exact", reason=reason, is_exact=True, **answer)
    for name in row.fallbacks[:-1]:
        try:
            return approximately(row, name, reason, graph, given, arguments, options)
        except NotSubmodularError as refusal:
            reason = f"{reason}; not by {name}: {refusal}"
    return approximately(row, row.fallbacks[-1], reason, graph, given, arguments, options)


def approximately(
    row: Question,
    method: str,
    reason: str,
    graph: FactorGraph,
    given: Given,
    arguments: tuple[Any, ...],
    options: Mapping[str, Any],
) -> AutoAnswer:
    place, taken = row.methods[method]
    module, name = place.split(".")
    infer = getattr(import_module(f".{module}", __package__), name)
    own = {option: options[option] for option in taken}
    if method in SCHEDULES:
        found = patiently(infer, graph, given, method)
    elif row.exactly is marginals_exactly:
        found = infer(graph, given, **own)  # all marginals at once, whichever were asked for
    else:
        found = infer(graph, *arguments, given, **own)
    same = [*(field.name for field in fields(Findings)), "is_exact", "converged"]
    findings = {name: getattr(found, name) for name in same}
    return AutoAnswer(method=method, reason=reason, report=str(found), **findings)


def patiently(
    infer: Callable[..., Approximation], graph: FactorGraph, given: Given, method: str
) -> Approximation:
    """Belief propagation as it is and, if that does not converge, damped; the closer of the two."""
    from .propagation import PropagationOptions

    options = PropagationOptions(**SCHEDULES[method])
    first = infer(graph, given, options)
    if first.converged:
        return first
    damping, longer = RETRY
    damped = options._replace(damping=damping, max_iterations=longer * options.max_iterations)
    second = infer(graph, given, damped)
    return second if second.converged or second.residual < first.residual else first

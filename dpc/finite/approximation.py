"""How questions are answered: exactly where that fits, else by an approximation that says so."""

from functools import partial
from typing import Any

from dpc.dsl.record import Record
from dpc.inference import queries as q
from dpc.inference.engines.approximate.auto import QUESTIONS, infer_auto
from dpc.inference.engines.approximate.layout import plan_if_it_fits
from dpc.inference.factors.factor_graph import FactorGraph
from dpc.inference.planning.plan import default_memory_limit

from ..exits import UsageError

ANSWERED_BY = {name: tuple(row.methods) for name, row in QUESTIONS.items()}
"""The approximate methods of each question, besides `auto` and `exact`, which answer all."""

ERRORS = {
    "marginals": "errors",
    "log_partition": "log_partition_error",
    "joint": "joint_errors",
    "moments": "mean_error",
}
METHODS = ("auto", "exact", "bp", "bp_residual", "mean_field", "gibbs", "perturb", "cut")


class How(Record):
    """How a question is to be answered: by which method, in how much memory, from which seed."""

    method: str
    memory: int | None
    seed: int


class Finding(Record):
    """An answer, and what is to be said when it is not exact; `errors` are standard errors."""

    value: Any
    method: str = "exact"
    report: str = ""
    converged: bool = True
    errors: Any = None


def find(
    question: str, graph: FactorGraph, given: dict[str, Any], how: How, *asked: Any
) -> Finding:
    """The answer to one question, exact or not, by the one choice that inference has."""
    verify_method(question, how.method)
    answer = infer_auto(
        question, graph, given, *asked, method=how.method, memory=how.memory, seed=how.seed
    )
    value, errors = getattr(answer, question), getattr(answer, ERRORS.get(question, ""), None)
    if question == "marginals" and answer.method != "exact":
        names = list(graph.sizes) if not asked or asked[0] is None else asked[0]
        errors = errors and {name: errors.get(name, 0 * value[name]) for name in names}
        value = {name: value[name] for name in names}
    report = "" if answer.is_exact else str(answer)
    return Finding(value, answer.method, report, answer.converged, errors)


def find_kbest(graph: FactorGraph, k: int, given: dict[str, Any], how: How) -> Finding:
    """Exact where lists of k scores fit, else by a beam."""
    verify_method("kbest", how.method)
    limit = default_memory_limit() if how.memory is None else how.memory
    make_plan = partial(q.plan_marginals, graph, given)
    exact = how.method == "exact"
    plan = make_plan() if exact else plan_if_it_fits(graph, given, make_plan, limit // k)[0]
    if plan:
        return Finding(q.infer_kbest(graph, k, given, plan=plan, memory=how.memory))
    from dpc.inference.engines.approximate.beam import infer_kbest_by_beam

    beam = infer_kbest_by_beam(graph, k, given)
    return Finding(list(beam.configurations), "beam", "" if beam.is_proven else str(beam))


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
        raise UsageError(
            f"`method={method}` does not give {TOLD.get(question, question)}: use {use}"
        )

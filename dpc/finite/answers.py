"""Answers about finite variables: labelled, as data and as tables."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from io import StringIO
from itertools import product
from math import isfinite, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.files import read_text, reason_of
from dpc.dsl.record import Record
from dpc.inference import queries as q
from dpc.inference.engines.approximate.auto import QUESTIONS, infer_auto
from dpc.inference.engines.approximate.layout import plan_if_it_fits
from dpc.inference.factors.factor_graph import FactorGraph
from dpc.inference.planning.plan import Plan, default_memory_limit
from dpc.inference.queries import infer_cases

from ..data.raw import MAX_BYTES, repeated
from ..exits import UsageError
from ..show.answer import Answer, AnswerTable
from .discrete import Discrete
from .evidence import WrongEvidence

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
    k = min(k, q.count_configurations(graph, given))
    plan: Plan | None
    if how.method == "exact":
        plan, reason = make_plan(), ""
    else:
        plan, reason = plan_if_it_fits(graph, given, make_plan, limit, k)
    if plan:
        return Finding(q.infer_kbest(graph, k, given, plan=plan, memory=how.memory))
    from dpc.inference.engines.approximate.beam import WIDTH, infer_kbest_by_beam

    if k > WIDTH:
        what = f"`kbest={k}` is too many: {reason}, and a beam finds at most {WIDTH:,}"
        raise UsageError(f"{what}; ask for fewer, or raise `memory=`")
    beam = infer_kbest_by_beam(graph, k, given)
    return Finding(list(beam.configurations), "beam", "" if beam.is_proven else str(beam))


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
        what = f"`method={method}` does not give {TOLD.get(question, question)}"
        raise UsageError(f"{what}: use {use}")


PROBABILITY = {"probability": ".6f", "standard error": ".2g"}


class FiniteAnswer(Record):
    """The answer to one question: `content` for programs, `table` for people; `found` says how."""

    question: str
    content: Any
    table: AnswerTable
    found: Finding = Finding(None)
    errors: Any = None


class Answers(Answer, Mapping[str, Any]):
    """The answers to all that was asked at once, by the name of the question.
    `answers["marginals"]["rain"]["yes"]` is a probability. `methods` say how each was found,
    `errors` are standard errors of those that are estimates.
    """

    def __init__(self, parts: list[FiniteAnswer]):
        self.parts = parts
        self.found: dict[str, Any] = {}
        self.errors: dict[str, Any] = {}
        for part in parts:
            _add(self.found, part.question, part.content)
            if part.errors is not None:
                _add(self.errors, part.question, part.errors)
        self.methods = {part.question: part.found.method for part in parts}

    @property
    def converged(self) -> bool:
        return all(part.found.converged for part in self.parts)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.found.report for part in self.parts if part.found.report))

    def __getitem__(self, question: str) -> Any:
        return self.found[question]

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def tables(self) -> list[AnswerTable]:
        return [part.table for part in self.parts]

    def to_dict(self) -> dict[str, Any]:
        errors = {"standard_errors": self.errors} if self.errors else {}
        return {**self.found, **errors, "methods": self.methods}


def _add(found: dict[str, Any], question: str, content: Any) -> None:
    """Marginals that are asked for apart are one answer; other questions asked again a list."""
    if question not in found:
        found[question] = content
    elif question == "marginals":
        found[question] = {**found[question], **content}
    elif isinstance(found[question], list):
        found[question] = [*found[question], content]
    else:
        found[question] = [found[question], content]


def number_answer(question: str, name: str, found: Finding) -> FiniteAnswer:
    error = () if found.errors is None else ("±", f"{found.errors:.2g}")
    table = AnswerTable((), [(name, f"{found.value:.10g}", *error)])
    return FiniteAnswer(question, found.value, table, found, found.errors)


def moments_answer(text: str, found: Finding) -> FiniteAnswer:
    mean, sd = found.value.mean, found.value.variance**0.5
    content = {"expression": text, "mean": mean, "sd": sd}
    head: tuple[str, ...] = ("expression", "mean", "sd")
    row: tuple[Any, ...] = (text, *map(_in_words, (mean, sd)))
    if found.errors is not None:
        head, row = (*head, "standard error of the mean"), (*row, float(found.errors))
    table = AnswerTable(head, [row], {"standard error of the mean": ".2g"})
    return FiniteAnswer("expectation", content, table, found, found.errors)


def _in_words(moment: float) -> float | str:
    """A moment that does not exist says so."""
    if isnan(moment):
        return "not defined"
    return moment if isfinite(moment) else "infinite"


def marginals_answer(found: Finding, discrete: Discrete, given: Mapping[str, Any]) -> FiniteAnswer:
    marginals = _by_state(discrete, found.value)
    errors = _by_state(discrete, found.errors or {})
    rows: list[tuple[Any, ...]] = []
    for name, own in marginals.items():
        shown = f"{name} (given)" if name in given else name
        rows += [(shown, state, p) for state, p in own.items()]
    spread = [error for own in errors.values() for error in own.values()]
    table = _probability_table(("variable", "state"), rows, spread, grouped=True)
    return FiniteAnswer("marginals", marginals, table, found, errors or None)


def _by_state(discrete: Discrete, tables: Mapping[Any, Any]) -> dict[str, dict[str, float]]:
    return {
        str(name): dict(zip(discrete.states[str(name)], table.tolist(), strict=True))
        for name, table in tables.items()
    }


def joint_answer(names: list[str], discrete: Discrete, found: Finding) -> FiniteAnswer:
    states = [discrete.states[name] for name in names]
    cells = zip(product(*states), found.value.ravel().tolist(), strict=True)
    rows = [(*labels, p) for labels, p in cells]
    spread = [] if found.errors is None else found.errors.ravel().tolist()
    content = {"variables": names, "states": states, "probabilities": found.value.tolist()}
    errors = None if found.errors is None else found.errors.tolist()
    table = _probability_table(names, rows, spread)
    return FiniteAnswer("joint", content, table, found, errors)


def _probability_table(
    names: Sequence[str], rows: list[tuple[Any, ...]], errors: list[float], grouped: bool = False
) -> AnswerTable:
    """With a column of standard errors where there are some."""
    head = (*names, "probability")
    if errors:
        head = (*head, "standard error")
        rows = [(*row, error) for row, error in zip(rows, errors, strict=True)]
    return AnswerTable(head, rows, PROBABILITY, bars="probability", grouped=grouped)


def configurations_answer(
    question: str, discrete: Discrete, found: Finding, log_z: float | None
) -> FiniteAnswer:
    """A column each: its probability, or its log-score where that is not known."""
    items: list[dict[str, Any]] = []
    for best in found.value if isinstance(found.value, list) else [found.value]:
        states = {str(v): discrete.states[str(v)][state] for v, state in best.states.items()}
        items.append({"states": states, "log_score": float(best.log_score)})
        if log_z is not None:
            items[-1]["probability"] = float(np.exp(best.log_score - log_z))
    shown = "log_score" if log_z is None else "probability"
    rows = [(shown.replace("_", " "), *(item[shown] for item in items))]
    names = items[0]["states"] if items else {}
    rows += [(name, *(item["states"][name] for item in items)) for name in names]
    content = items[0] if question == "map" else items
    return FiniteAnswer(question, content, AnswerTable((), rows), found)


def samples_answer(discrete: Discrete, found: Finding, count: int) -> FiniteAnswer:
    states = discrete.states
    rows = [
        tuple(labels[int(found.value[name][k])] for name, labels in states.items())
        for k in range(count)
    ]
    content = [dict(zip(states, row, strict=True)) for row in rows]
    return FiniteAnswer("samples", content, AnswerTable(tuple(states), rows), found)


def answer_cases(
    discrete: Discrete, path: str, names: list[str], memory: int | None
) -> FiniteAnswer:
    """The log-probability of every case, and marginals of `names`, or of all that none observes."""
    observed = case_columns(discrete, read_cases(path))
    names = names or [name for name in discrete.states if name not in observed]
    answers = infer_cases(discrete.factors, observed, names, memory=memory)
    marginals = {name: answers.marginals[name] for name in names}
    states = [f"{name}={state}" for name in names for state in discrete.states[name]]
    rows = []
    for k, log_p in enumerate(answers.log_evidence.tolist()):
        cells = [p for name in names for p in marginals[name][k].tolist()]
        rows.append((k + 1, log_p, *cells))
    head = ("case", "log p", *states)
    content = {
        "log_evidence": answers.log_evidence.tolist(),
        "marginals": {name: table.tolist() for name, table in marginals.items()},
    }
    return FiniteAnswer("cases", content, AnswerTable(head, rows, dict.fromkeys(head, ".6f")))


def read_cases(path: str) -> list[dict[str, str]]:
    """A CSV file whose columns are variables: a case a row, empty cells are not observed."""
    try:
        reader = csv.DictReader(StringIO(read_text(path, MAX_BYTES), newline=""), strict=True)
        rows = list(reader)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason_of(error)}") from None
    except csv.Error as error:
        raise UsageError(f"{path}:{reader.line_num}: this is no CSV: {error}") from None
    twice = repeated(reader.fieldnames or ())
    if twice is not None:
        raise UsageError(f"{path}: the column `{twice}` comes twice")
    if not rows:
        raise UsageError(f"{path} has no cases below its header")
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise UsageError(f"{path}:{number}: this line has not as many cells as the header")
    return [{name: cell.strip() for name, cell in row.items() if cell.strip()} for row in rows]


def case_columns(discrete: Discrete, rows: list[dict[str, str]]) -> dict[Any, NDArray[np.intp]]:
    """The states of every variable that some case observes, -1 where one does not."""
    found: dict[Any, NDArray[np.intp]] = {}
    for number, row in enumerate(rows):
        for name, cell in row.items():
            if name not in discrete.states:
                hint = did_you_mean(name, discrete.states)
                raise WrongEvidence(f"the column `{name}` is no variable{hint and f'; {hint}'}")
            column = found.setdefault(name, np.full(len(rows), -1, np.intp))
            try:
                column[number] = discrete.variables.of(name)[0].position(cell)
            except WrongEvidence as error:
                raise WrongEvidence(f"case {number + 1}: {error}") from None
    if not found:
        raise WrongEvidence("no case observes anything")
    return found

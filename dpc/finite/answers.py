"""Answers about finite variables: labelled, as data and as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dpc.dsl.record import Record

from ..show.answer import Answer
from ..show.table import AnswerTable
from .approximation import Finding
from .discrete import Discrete

PROBABILITY = {"probability": ".6f", "standard error": ".2g"}


class FiniteAnswer(Record):
    """The answer to one question: `content` for a program, `table` for a person.

    `found` says how; `errors` are standard errors in the shape of the content.
    """

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


# ---- the kinds of answers


def number_answer(question: str, name: str, found: Finding) -> FiniteAnswer:
    error = () if found.errors is None else ("±", f"{found.errors:.2g}")
    table = AnswerTable((), [(name, f"{found.value:.10g}", *error)])
    return FiniteAnswer(question, found.value, table, found, found.errors)


def moments_answer(text: str, found: Finding) -> FiniteAnswer:
    mean, sd = found.value.mean, found.value.variance**0.5
    content = {"expression": text, "mean": mean, "sd": sd}
    head: tuple[str, ...] = ("expression", "mean", "sd")
    row: tuple[Any, ...] = (text, mean, sd)
    if found.errors is not None:
        head, row = (*head, "standard error of the mean"), (*row, float(found.errors))
    table = AnswerTable(head, [row], {"standard error of the mean": ".2g"})
    return FiniteAnswer("expectation", content, table, found, found.errors)


def marginals_answer(found: Finding, discrete: Discrete, given: Mapping[str, Any]) -> FiniteAnswer:
    marginals = _by_state(discrete, found.value)
    errors = _by_state(discrete, found.errors or {})
    rows: list[tuple[Any, ...]] = []
    for name, own in marginals.items():
        shown = f"{name} (given)" if name in given else name
        for state, p in own.items():
            error = (errors[name][state],) if errors else ()
            rows.append((shown, state, p, *error))
    head = ("variable", "state", *_probability(found))
    table = AnswerTable(head, rows, PROBABILITY, bars="probability", grouped=True)
    return FiniteAnswer("marginals", marginals, table, found, errors or None)


def _by_state(discrete: Discrete, tables: Mapping[Any, Any]) -> dict[str, dict[str, float]]:
    return {
        str(name): dict(zip(discrete.states[str(name)], table.tolist(), strict=True))
        for name, table in tables.items()
    }


def joint_answer(names: list[str], discrete: Discrete, found: Finding) -> FiniteAnswer:
    probabilities, errors = found.value, found.errors
    states = [discrete.states[name] for name in names]
    rows: list[tuple[Any, ...]] = []
    for place in np.ndindex(probabilities.shape):
        labels = (own[i] for own, i in zip(states, place, strict=True))
        error = () if errors is None else (float(errors[place]),)
        rows.append((*labels, float(probabilities[place]), *error))
    table = AnswerTable((*names, *_probability(found)), rows, PROBABILITY, bars="probability")
    content = {"variables": names, "states": states, "probabilities": probabilities.tolist()}
    spread = None if errors is None else errors.tolist()
    return FiniteAnswer("joint", content, table, found, spread)


def _probability(found: Finding) -> tuple[str, ...]:
    return ("probability",) if found.errors is None else ("probability", "standard error")


def configurations_answer(
    question: str, discrete: Discrete, found: Finding, log_z: float | None
) -> FiniteAnswer:
    """A column each: its probability, or its log-score where that is not known."""
    configurations = found.value if isinstance(found.value, list) else [found.value]
    labelled = [
        {str(v): discrete.states[str(v)][s] for v, s in c.states.items()} for c in configurations
    ]
    items: list[dict[str, Any]] = [
        {"states": states, "log_score": float(c.log_score)}
        for states, c in zip(labelled, configurations, strict=True)
    ]
    first: tuple[Any, ...] = ("log score", *(item["log_score"] for item in items))
    if log_z is not None:
        for item in items:
            item["probability"] = float(np.exp(item["log_score"] - log_z))
        first = ("probability", *(item["probability"] for item in items))
    names = labelled[0] if labelled else {}
    rows = [first, *((name, *(states[name] for states in labelled)) for name in names)]
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

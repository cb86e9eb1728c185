"""Answers to questions: as a table with bars for people, as JSON or CSV for programs."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpc.commands.methods import Found
from dpc.commands.tables import columns
from dpc.dsl.record import Record
from dpc.dsl.tabulate.discrete import Discrete

BAR = 24
EIGHTHS = " ▏▎▍▌▋▊▉█"


class Answer(Record):
    """`found` is what a program reads; `rows` what a person does, the first of them the head.

    `report` says of an answer that is not exact how it was found, and how well; `errors` are its standard errors.
    """

    question: str
    found: Any
    rows: list[tuple[str, ...]]
    method: str = "exact"
    report: str = ""
    converged: bool = True
    errors: Any = None

    def by(self, found: Found) -> Answer:
        return self.replace(method=found.method, report=found.report, converged=found.converged)


def print_answers(answers: list[Answer], args: argparse.Namespace) -> None:
    for answer in answers:
        if answer.report:
            print(f"dpc: {answer.report}", file=sys.stderr)
    if args.json:
        found = {answer.question: answer.found for answer in answers}
        errors = {answer.question: answer.errors for answer in answers if answer.errors is not None}
        methods = {answer.question: answer.method for answer in answers}
        print(json.dumps({**found, **({"standard_errors": errors} if errors else {}), "methods": methods}))
    elif args.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        for answer in answers:
            writer.writerows(answer.rows)
    else:
        print("\n\n".join("\n".join(columns(answer.rows)) for answer in answers))


def show_number(question: str, name: str, found: Found) -> Answer:
    error = () if found.errors is None else ("±", f"{found.errors:.2g}")
    row = (name, f"{found.value:.10g}", *error)
    return Answer(question, found.value, [row], errors=found.errors).by(found)


def show_marginals(found: Found, discrete: Discrete, given: Mapping[str, Any]) -> Answer:
    tables = {str(name): _by_state(discrete, name, table) for name, table in found.value.items()}
    errors = {str(name): _by_state(discrete, name, table) for name, table in (found.errors or {}).items()}
    rows: list[tuple[str, ...]] = [("variable", "state", *_head(found))]
    for name, table in tables.items():
        for k, (state, p) in enumerate(table.items()):
            error = errors[name][state] if errors else None
            rows.append((_named(name, given) if not k else "", state, *_cells(p, error)))
    return Answer("marginals", tables, rows, errors=errors or None).by(found)


def _by_state(discrete: Discrete, name: Any, table: Any) -> dict[str, float]:
    return dict(zip(discrete.states[str(name)], table.tolist(), strict=True))


def show_joint(names: list[str], discrete: Discrete, found: Found) -> Answer:
    table, errors = found.value, found.errors
    states = [discrete.states[name] for name in names]
    rows: list[tuple[str, ...]] = [(*names, *_head(found))]
    for place in np.ndindex(table.shape):
        labels = (own[i] for own, i in zip(states, place, strict=True))
        rows.append((*labels, *_cells(float(table[place]), None if errors is None else float(errors[place]))))
    shown = {"variables": names, "states": states, "probabilities": table.tolist()}
    return Answer("joint", shown, rows, errors=None if errors is None else errors.tolist()).by(found)


def _head(found: Found) -> tuple[str, ...]:
    return ("probability", "") if found.errors is None else ("probability", "standard error", "")


def _cells(probability: float, error: float | None) -> tuple[str, ...]:
    shown = () if error is None else (f"{error:.2g}",)
    return (f"{probability:.6f}", *shown, bar(probability))


def _named(name: str, given: Mapping[str, Any]) -> str:
    return f"{name} (given)" if name in given else name


def bar(probability: float) -> str:
    """A bar of up to BAR blocks, to the eighth of one."""
    eighths = round(probability * BAR * 8)
    return "█" * (eighths // 8) + (EIGHTHS[eighths % 8] if eighths % 8 else "")


def show_configurations(question: str, discrete: Discrete, found: list[Any], log_z: float | None) -> Answer:
    """Configurations with their probabilities, or log-scores where those are not known: one column for each."""
    labelled = [{str(v): discrete.states[str(v)][s] for v, s in c.states.items()} for c in found]
    items: list[dict[str, Any]] = [
        {"states": states, "log_score": float(c.log_score)} for states, c in zip(labelled, found, strict=True)
    ]
    head = ("log score", *(f"{c.log_score:.6g}" for c in found))
    if log_z is not None:
        for item, c in zip(items, found, strict=True):
            item["probability"] = float(np.exp(c.log_score - log_z))
        head = ("probability", *(f"{item['probability']:.6g}" for item in items))
    rows = [head, *((name, *(states[name] for states in labelled)) for name in labelled[0])]
    return Answer(question, items[0] if question == "map" else items, rows)

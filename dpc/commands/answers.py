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

    `report` says of an answer that is not exact how it was found, and how well.
    """

    question: str
    found: Any
    rows: list[tuple[str, ...]]
    method: str = "exact"
    report: str = ""
    converged: bool = True

    def by(self, way: Found) -> Answer:
        return self.replace(method=way.method, report=way.report, converged=way.converged)


def print_answers(answers: list[Answer], args: argparse.Namespace) -> None:
    for answer in answers:
        if answer.report:
            print(f"dpc: {answer.report}", file=sys.stderr)
    if args.json:
        methods = {answer.question: answer.method for answer in answers}
        print(json.dumps({**{answer.question: answer.found for answer in answers}, "methods": methods}))
    elif args.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        for answer in answers:
            writer.writerows(answer.rows)
    else:
        print("\n\n".join("\n".join(columns(answer.rows)) for answer in answers))


def show_number(question: str, name: str, value: float) -> Answer:
    return Answer(question, value, [(name, f"{value:.10g}")])


def show_marginals(marginals: Mapping[str, Any], discrete: Discrete, given: Mapping[str, Any]) -> Answer:
    found = {name: dict(zip(discrete.states[name], table.tolist(), strict=True)) for name, table in marginals.items()}
    rows: list[tuple[str, ...]] = [("variable", "state", "probability", "")]
    for name, table in found.items():
        for k, (state, p) in enumerate(table.items()):
            rows.append((_named(name, given) if not k else "", state, f"{p:.6f}", bar(p)))
    return Answer("marginals", found, rows)


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

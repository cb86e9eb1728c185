"""Answers to questions: as a table with bars for people, as JSON or CSV for programs."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpc.commands.tables import columns
from dpc.dsl.record import Record
from dpc.dsl.tabulate.discrete import Discrete

BAR = 24
EIGHTHS = " ▏▎▍▌▋▊▉█"


class Answer(Record):
    """`found` is what a program reads; `rows` what a person does, the first of them the head."""

    question: str
    found: Any
    rows: list[tuple[str, ...]]


def print_answers(answers: list[Answer], args: argparse.Namespace) -> None:
    if args.json:
        print(json.dumps({answer.question: answer.found for answer in answers}))
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


def show_configurations(question: str, discrete: Discrete, found: list[Any], log_z: float) -> Answer:
    """Configurations with their probabilities: one column for each."""
    labelled = [{str(v): discrete.states[str(v)][s] for v, s in c.states.items()} for c in found]
    probabilities = [float(np.exp(c.log_score - log_z)) for c in found]
    items = [
        {"states": states, "log_score": float(c.log_score), "probability": p}
        for states, c, p in zip(labelled, found, probabilities, strict=True)
    ]
    head = ("probability", *(f"{p:.6g}" for p in probabilities))
    rows = [head, *((name, *(states[name] for states in labelled)) for name in labelled[0])]
    return Answer(question, items[0] if question == "map" else items, rows)

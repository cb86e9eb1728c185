"""Expressions asked of a model: the probability that one holds, or its mean and standard deviation."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from dpc.commands.answers import Answer, show_number
from dpc.commands.discrete import Loaded, with_statement
from dpc.commands.methods import Found, Way, find_moments
from dpc.dsl.tabulate.evaluate import Evaluator
from dpc.dsl.tabulate.ground import Ground, each_table
from dpc.dsl.tabulate.slots import Sizes
from dpc.dsl.tabulate.terms import Tabulator, finite_draws
from dpc.exits import UsageError
from dpc.inference import queries as q

ASKED = "asked"


def ask_expression(plain: Loaded, text: str, given: dict[str, Any], args: argparse.Namespace, way: Way) -> Answer:
    """P(expression) for a truth value, mean and standard deviation for a number."""
    loaded = with_statement(plain, f"{ASKED} := {text}", args)
    assert loaded.graph is not None
    node = loaded.graph[ASKED]
    if node.type.shape:
        raise UsageError(f"`{text}` is an array: ask for one of its elements")
    found = find_moments(loaded.discrete.factors, _terms(loaded), given, way)
    if str(node.type.domain) == "bool":
        return show_number("probability", f"P({text})", found.replace(value=found.value.mean))
    return _expectation(text, found)


def _expectation(text: str, found: Found) -> Answer:
    mean, sd = found.value.mean, found.value.variance**0.5
    rows: list[tuple[str, ...]] = [("expression", "mean", "sd"), (text, f"{mean:.6g}", f"{sd:.6g}")]
    if found.errors is not None:
        rows = [(*rows[0], "standard error of the mean"), (*rows[1], f"{found.errors:.2g}")]
    shown = {"expression": text, "mean": mean, "sd": sd}
    return Answer("expectation", shown, rows, errors=found.errors).by(found)


def _terms(loaded: Loaded) -> list[q.Term]:
    """The expression as a sum of tables over few variables."""
    graph, known = loaded.graph, loaded.known
    assert graph is not None
    assert known is not None
    finite = tuple(n for n in finite_draws(graph) if n.name not in known.arrays)
    tabulator = Tabulator(graph, finite, known.sizes)
    evaluator = Evaluator(known.arrays, Sizes(known.sizes), tabulator.expander.functions)
    ground = Ground(tabulator.finite, evaluator)
    names = list(loaded.discrete.states)
    found = []
    for term in tabulator.values(graph[ASKED]):
        table = evaluator.table(term)
        if not term.slots:
            found.append(q.Term((), np.asarray(table.sum())))
            continue
        for group in ground.groups(term):
            for scope, values in zip(group.scopes.tolist(), each_table(group, table, len(term.binders)), strict=True):
                found.append(q.Term(tuple(names[v] for v in scope), values))
    return found

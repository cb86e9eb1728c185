"""Expressions asked of a model: the probability that one holds, or its mean and standard deviation."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from dpc.commands.answers import Answer, show_number
from dpc.commands.discrete import Loaded, with_statement
from dpc.dsl.tabulate.evaluate import Evaluator
from dpc.dsl.tabulate.ground import Ground, tables_of
from dpc.dsl.tabulate.slots import Sizes
from dpc.dsl.tabulate.terms import Tabulator, finite_draws
from dpc.exits import UsageError
from dpc.inference import queries as q

ASKED = "asked"


def ask_expression(
    plain: Loaded, text: str, given: dict[str, Any], args: argparse.Namespace, memory: int | None
) -> Answer:
    """P(expression) for a truth value, mean and standard deviation for a number."""
    loaded = with_statement(plain, f"{ASKED} := {text}", args)
    assert loaded.graph is not None
    node = loaded.graph[ASKED]
    if node.type.shape:
        raise UsageError(f"`{text}` is an array: ask for one of its elements")
    terms = _terms(loaded)
    moments = q.infer_moments(loaded.discrete.factors, terms, given, memory=memory)
    if str(node.type.domain) == "bool":
        return show_number("probability", f"P({text})", moments.mean)
    found = {"expression": text, "mean": moments.mean, "sd": moments.variance**0.5}
    rows: list[tuple[str, ...]] = [
        ("expression", "mean", "sd"),
        (text, f"{moments.mean:.6g}", f"{moments.variance**0.5:.6g}"),
    ]
    return Answer("expectation", found, rows)


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
            for scope, values in zip(group.scopes.tolist(), tables_of(group, table, len(term.binders)), strict=True):
                found.append(q.Term(tuple(names[v] for v in scope), values))
    return found

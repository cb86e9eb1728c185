"""Expressions asked of a model: the probability that one holds, or its mean and sd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpc.dsl.graph.evaluate import Evaluator, Sizes
from dpc.dsl.graph.finite import finite_draws
from dpc.inference import queries as q

from ..exits import UsageError
from .answers import FiniteAnswer, moments_answer, number_answer
from .approximation import How, find
from .ground import Ground, each_table
from .tabulated import Tabulated, tabulate
from .terms import Tabulator

if TYPE_CHECKING:
    from ..model.model import Model

ASKED = "asked"


def ask_expression(
    model: Model, text: str, given: dict[str, Any], how: How, **known: Any
) -> FiniteAnswer:
    """P(expression) for a truth value, mean and standard deviation for a number."""
    own = _with_statement(model, f"{ASKED} := {text}")
    node = own.graph[ASKED]
    if node.type.shape:
        raise UsageError(f"`{text}` is an array: ask for one of its elements")
    tabulated = tabulate(own, **known)
    found = find("moments", tabulated.discrete.factors, given, how, _terms(tabulated))
    if str(node.type.domain) == "bool":
        return number_answer("probability", f"P({text})", found.replace(value=found.value.mean))
    return moments_answer(text, found)


def _with_statement(model: Model, statement: str) -> Model:
    """The same model with one more statement, told by the language's own rules."""
    from dpc.dsl.source import Source

    from ..model.check import check_model

    if model.own_data:
        raise UsageError(
            "this network is too large to ask expressions of: ask for `joint=` of the variables"
        )
    source = model.graph.source
    checked = check_model(Source(source.path, f"{source.text.rstrip()}\n{statement}\n"))
    if checked.graph is None:
        wrong = next(d for d in checked.diagnostics if d.is_error)
        raise UsageError(f"`ask=`: {wrong.message}{wrong.help and f' ({wrong.help})'}")
    return type(model)(checked.graph, externs=model.externs)


def _terms(tabulated: Tabulated) -> list[q.Term]:
    """The expression as a sum of tables over few variables."""
    graph, known = tabulated.graph, tabulated.known
    assert graph is not None
    assert known is not None
    finite = tuple(n for n in finite_draws(graph) if n.name not in known.arrays)
    tabulator = Tabulator(graph, finite, known.sizes)
    evaluator = Evaluator(known.arrays, Sizes(known.sizes), tabulator.expander.functions)
    ground = Ground(tabulator.finite, evaluator)
    names = list(tabulated.discrete.states)
    found = []
    for term in tabulator.values(graph[ASKED]):
        table = term.table(evaluator)
        if not term.slots:
            found.append(q.Term((), np.asarray(table.sum())))
            continue
        for group in ground.groups(term):
            stacked = each_table(group, table, len(term.binders))
            for scope, values in zip(group.scopes.tolist(), stacked, strict=True):
                found.append(q.Term(tuple(names[v] for v in scope), values))
    return found

"""What is wrong with an objective, without estimating it."""

from __future__ import annotations

from ..diagnostics import Diagnostic, DpError
from ..graph import Graph
from .costs import averages_weights
from .prepare import prepare
from .refuse import refusals


def check_estimators(graph: Graph) -> list[Diagnostic]:
    """All that is refused, or nothing."""
    try:
        prepared = prepare(graph)
    except DpError as error:
        return list(error.diagnostics)
    return list(refusals(prepared.graph, prepared.terms, averages_weights(prepared.bound)))

"""Checking a model: what the language says of it, and what the estimators of its objective say."""

from collections.abc import Mapping

from dpc.dsl.diagnostics import Diagnostic, DpError
from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.pipeline import Checked, check_source
from dpc.dsl.source import Source


def check_model(source: Source, settings: Mapping[str, object] | None = None) -> Checked:
    """All that can be known about a model before any array exists."""
    return check_source(source, settings, examine=[_check_objective])


def load_graph(source: Source, settings: Mapping[str, object] | None = None) -> Graph:
    """The graph of a model in which nothing is wrong; raises DpError with all that is."""
    checked = check_model(source, settings)
    if checked.graph is None:
        raise DpError(checked.diagnostics)
    return checked.graph


def _check_objective(graph: Graph) -> list[Diagnostic]:
    """Whether an objective can be estimated, and its draws differentiated as they say."""
    if not graph.of_kind(Kind.COST) or not _has_draws(graph):
        return []
    from ..gradient.check import check_estimators

    return check_estimators(graph)


def _has_draws(graph: Graph) -> bool:
    nodes = [*graph.nodes, *(graph.guide.nodes if graph.guide else ())]
    return any(node.kind is Kind.DRAW for node in nodes)

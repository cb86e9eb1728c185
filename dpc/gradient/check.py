"""What is wrong with an objective, without estimating it."""

from collections.abc import Iterator

from dpc.dsl.diagnostics import Diagnostic, DpError
from dpc.dsl.graph.graph import Graph, Kind

from .costs import averages_weights, bound_of
from .prepare import prepare
from .refuse import grad_setting, refusals, unusable


def check_estimators(graph: Graph) -> list[Diagnostic]:
    """All that is refused, or nothing."""
    ignored = list(_ignored(graph))
    try:
        prepared = prepare(graph)
    except DpError as error:
        return [*ignored, *error.diagnostics]
    return [*ignored, *refusals(prepared.graph, prepared.terms, averages_weights(prepared.bound))]


def _ignored(graph: Graph) -> Iterator[Diagnostic]:
    """Annotations of draws that are never drawn: observed, or drawn by the guide."""
    for node in graph.of_kind(Kind.DRAW):
        if grad_setting(node) and node.observed:
            yield unusable(
                node, f"no gradient passes `{node.name}`, which is observed", "take `grad=` away"
            )
        elif grad_setting(node) and bound_of(graph):
            message = f"no gradient passes this draw: for the bound the guide draws `{node.name}`"
            yield unusable(node, message, "write `grad=` in the guide")

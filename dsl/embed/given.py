"""Evidence for ancestral sampling: it must lie upstream of everything that is drawn."""

from __future__ import annotations

from ..diagnostics import nearest_name
from ..graph import Graph, Kind
from ..types import Bool, IndexOf


def check_upstream(graph: Graph, given: frozenset[str]) -> None:
    """Raises ValueError for evidence on something whose random parents are not given: that needs inference."""
    for name in sorted(given):
        node = graph.by_name.get(name)
        if node is None or node.kind is not Kind.DRAW:
            nearest = nearest_name(name, [n.name for n in graph.of_kind(Kind.DRAW)])
            hint = f"; did you mean `{nearest}`?" if nearest else ""
            raise ValueError(f"`{name}` is not a random variable of the model{hint}")
        above = [p for p in _random_ancestors(graph, name) if p not in given and p != name]
        if above:
            finite = all(isinstance(n.type.domain, Bool | IndexOf) for n in graph.of_kind(Kind.DRAW))
            command = "dpc query" if finite else "dpc posterior"
            raise ValueError(
                f"`{name}` is drawn from `{above[0]}`, which is not given: drawing forward would ignore the evidence. "
                f"Ask `{command}`."
            )


def _random_ancestors(graph: Graph, name: str) -> list[str]:
    """The draws that a node depends on, directly or through functions."""
    found: list[str] = []
    waiting = list(graph[name].parents)
    while waiting:
        parent = waiting.pop()
        if graph[parent].kind is Kind.DRAW:
            found.append(parent)
        else:
            waiting += graph[parent].parents
    return found

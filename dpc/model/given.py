"""Evidence for ancestral sampling: it must lie upstream of everything that is drawn."""

import json
from collections.abc import Mapping
from typing import Any

from dpc.dsl.diagnostics import nearest_name
from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.types import IndexOf

from ..exits import UsageError


def is_upstream(graph: Graph, given: frozenset[str]) -> bool:
    """Whether nothing given depends on an open draw; raises for a name that is no draw."""
    for name in sorted(given):
        node = graph.by_name.get(name.partition("[")[0])
        if node is None or node.kind is not Kind.DRAW:
            nearest = nearest_name(name, [n.name for n in graph.of_kind(Kind.DRAW)])
            hint = f"; did you mean `{nearest}`?" if nearest else ""
            raise ValueError(f"`{name}` is not a random variable of the model{hint}")
    return all(
        name in graph.by_name and set(random_ancestors(graph, name)) <= given for name in given
    )


def random_ancestors(graph: Graph, name: str) -> list[str]:
    """The draws that a node depends on, directly or through functions."""
    found: list[str] = []
    waiting = list(graph[name].parents)
    seen: set[str] = set()
    while waiting:
        parent = waiting.pop()
        if parent in seen:
            continue
        seen.add(parent)
        if graph[parent].kind is Kind.DRAW:
            found.append(parent)
        else:
            waiting += graph[parent].parents
    return found


def check_values(graph: Graph, values: Mapping[str, Any]) -> None:
    """Raises ValueError for a draw that is missing, unknown, or of the wrong number of axes."""
    wanted = {node.name: node for node in graph.of_kind(Kind.DRAW)}
    missing = [name for name, node in wanted.items() if not node.observed and name not in values]
    if missing:
        raise ValueError(
            f"no value for the draw `{missing[0]}`: give one for each of {', '.join(missing)}"
        )
    for name, value in values.items():
        if name not in wanted:
            nearest = nearest_name(name, wanted)
            raise ValueError(
                f"the model draws no `{name}`" + (f"; did you mean `{nearest}`?" if nearest else "")
            )
        declared, given = len(wanted[name].type.shape), len(getattr(value, "shape", ()))
        if declared != given and hasattr(value, "shape"):
            message = (
                f"`{name}` is {wanted[name].type}, but its value has shape {value.shape}; "
                "use jax.vmap for many"
            )
            raise ValueError(message)


def positions(
    graph: Graph, given: Mapping[str, Any], labels: Mapping[str, tuple[str, ...]]
) -> dict[str, Any]:
    """Labels of draws as positions; what else evidence can be stays as it is."""
    found = {}
    for name, value in given.items():
        node = graph.by_name.get(name)
        domain = node.type.domain if node else None
        dim = domain.dim if isinstance(domain, IndexOf) else None
        own = getattr(dim, "labels", ()) or labels.get(str(dim), ())
        if isinstance(value, str) and own:
            if value not in own:
                raise UsageError(f"`{name}` has the labels {', '.join(own)}, not {value}")
            value = own.index(value)
        elif isinstance(value, str) and node is not None:
            value = _number(name, value)
        found[name] = value
    return found


def _number(name: str, text: str) -> Any:
    """A number or truth value that the command line gave."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise UsageError(f"`{name}` takes a number or truth value, not {text}") from None

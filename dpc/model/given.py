"""Evidence for ancestral sampling: it must lie upstream of everything that is drawn."""

import json
from collections.abc import Mapping
from typing import Any

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.types import IndexOf, Real

from ..exits import UsageError


def is_upstream(graph: Graph, given: frozenset[str]) -> bool:
    """Whether nothing given depends on an open draw; raises for a name that is no draw."""
    draws = [node.name for node in graph.of_kind(Kind.DRAW)]
    for name in sorted(given):
        if name.partition("[")[0] not in draws:
            hint = did_you_mean(name, draws)
            raise UsageError(
                f"`{name}` is not a random variable of the model{hint and f'; {hint}'}"
            )
    named = [name for name in given if name in graph.by_name]
    return len(named) == len(given) and all(
        set(random_ancestors(graph, name)) <= given for name in named
    )


def random_ancestors(graph: Graph, name: str) -> list[str]:
    """The draws that a node depends on, directly or through functions."""
    waiting, seen = list(graph[name].parents), dict[str, None]()
    while waiting:
        parent = waiting.pop()
        if parent not in seen:
            seen[parent] = None
            waiting += graph[parent].parents if graph[parent].kind is not Kind.DRAW else ()
    return [parent for parent in seen if graph[parent].kind is Kind.DRAW]


def check_values(graph: Graph, values: Mapping[str, Any]) -> None:
    """Raises ValueError for a draw that is missing, unknown, or of the wrong number of axes."""
    wanted = {node.name: node for node in graph.of_kind(Kind.DRAW)}
    missing = [name for name, node in wanted.items() if not node.observed and name not in values]
    if missing:
        every = f"give one for each of {', '.join(missing)}"
        raise UsageError(f"no value for the draw `{missing[0]}`: {every}")
    for name, value in values.items():
        if name not in wanted:
            hint = did_you_mean(name, wanted)
            raise UsageError(f"the model draws no `{name}`{hint and f'; {hint}'}")
        declared, shape = wanted[name].type, getattr(value, "shape", None)
        if shape is not None and len(declared.shape) != len(shape):
            what = f"`{name}` is {declared}, but its value has shape {shape}"
            raise UsageError(f"{what}; use jax.vmap for many")


def positions(
    graph: Graph, given: Mapping[str, Any], labels: Mapping[str, tuple[str, ...]]
) -> dict[str, Any]:
    """Labels of draws as positions; what else evidence can be stays as it is."""
    found = dict(given)
    for name, value in given.items():
        if name not in graph.by_name:
            continue
        domain = graph[name].type.domain
        if isinstance(domain, Real):
            found[name] = as_numbers(name, value)
        if not isinstance(value, str) or isinstance(domain, Real):
            continue
        dim = domain.dim if isinstance(domain, IndexOf) else None
        own = getattr(dim, "labels", ()) or labels.get(str(dim), ())
        if own and value not in own:
            raise UsageError(f"`{name}` has the labels {', '.join(own)}, not {value}")
        found[name] = own.index(value) if own else _number(name, value)
    return found


def as_numbers(name: str, value: Any) -> Any:
    """The value of a continuous draw: a number or an array of them, also as the shell has it."""
    import numpy as np  # not for `dpc info`, which has no values

    value = _number(name, value) if isinstance(value, str) else value
    if not isinstance(value, list | tuple | set):
        return value
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError):
        raise UsageError(f"`{name}` takes numbers, not {value}") from None


def _number(name: str, text: str) -> Any:
    """A number or truth value that the command line gave."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise UsageError(f"`{name}` takes a number or truth value, not {text}") from None

"""Parameters at an end of their range, where a score sees nothing: what a change of it would bring
is never drawn. With P(b) = p the derivative of E f(b) at p = 0 is f(1) - f(0), of which every
estimate by draws of b has f(0) alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpc.dsl.graph import core as c
from dpc.dsl.graph.graph import Graph, Kind
from dpc.estimators.methods.score import ScoreFunction
from dpc.estimators.methods.table import METHODS

from ..exits import UsageError
from ..model.traced import is_traced
from .choose import EstimatorChoice

CLOSED = frozenset({"unit", "nonnegative", "simplex"})
"""The domains of arguments at whose ends a value is no longer drawn."""
Ends = Mapping[str, tuple[str, str]]
"""By parameter, the draw that it is the chance or the rate of, and the draw's method."""


def scored_ends(graph: Graph, choices: Iterable[EstimatorChoice]) -> Ends:
    """The parameters that are arguments of draws whose scores are weighed."""
    found: dict[str, tuple[str, str]] = {}
    for choice in choices:
        if not issubclass(METHODS[choice.method], ScoreFunction):
            continue
        for law in graph[choice.name].laws:
            domains = {param.name: param.type.domain for param in law.facts.signature.params}
            for argument, core in law.arguments:
                if domains[argument] not in CLOSED:
                    continue
                read = (part.name for part in parts_of(core) if isinstance(part, c.Ref))
                known = (name for name in read if graph[name].kind is Kind.PARAMETER)
                found |= dict.fromkeys(known, (choice.name, choice.method))
    return found


def parts_of(core: c.Core) -> Iterable[c.Core]:
    """The values among which an argument is chosen: all are parameters or tables of them."""
    match core:
        case c.At():
            return parts_of(core.base)
        case c.Stack():
            return [part for item in core.items for part in parts_of(item)]
        case c.Lookup():
            return [part for entry in core.entries for part in parts_of(entry)]
        case c.If():
            return [*parts_of(core.then), *parts_of(core.otherwise)]
    return [core]


def at_end(graph: Graph, name: str, value: Any) -> Any:
    """Where a chance or a rate is 0 or 1."""
    is_simplex = graph[name].type.constraint
    low, high = (0.0, 1.0) if is_simplex else graph[name].type.bounds
    return (value == low) | (value == high)


def refuse_ends(graph: Graph, ends: Ends, params: Mapping[str, Any]) -> None:
    """Says which parameter it is, where its value is known."""
    for name, (draw, method) in ends.items():
        value = params.get(name)
        if value is None or is_traced(value) or not np.any(at_end(graph, name, np.asarray(value))):
            continue
        what = f"`{name}` is at an end of its range, where grad={method} of `{draw}` sees nothing"
        why = f"a value of `{draw}` that a change of `{name}` would bring is never drawn"
        raise UsageError(f"{what}: {why}; use grad=enumerate or grad=mvd for it, or move `{name}`")


def without_slopes(graph: Graph, ends: Ends, params: Mapping[str, Any]) -> dict[str, Any]:
    """The same values, whose derivatives at such an end are not numbers."""
    found = dict(params)
    for name in ends.keys() & params.keys():
        found[name] = _undefined_where(params[name], at_end(graph, name, params[name]))
    return found


@jax.custom_jvp
def _undefined_where(value: Any, is_undefined: Any) -> Any:
    return value


@_undefined_where.defjvp
def _slope(primals: Any, tangents: Any) -> Any:
    (value, is_undefined), (tangent, _) = primals, tangents
    factor = jnp.where(is_undefined, jnp.nan, 1.0).astype(value.dtype)
    return _undefined_where(value, is_undefined), tangent * factor

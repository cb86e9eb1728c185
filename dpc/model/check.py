"""Checks of a model, by the language and by the estimators, and of values that are given to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from dpc.dsl.diagnostics import Diagnostic, did_you_mean
from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.typed import Function
from dpc.dsl.graph.types import Bool, Real, Type
from dpc.dsl.pipeline import Checked, check_source
from dpc.dsl.printable import InWords
from dpc.dsl.source import Source

from ..exits import UsageError


def check_model(source: Source, settings: Mapping[str, object] | None = None) -> Checked:
    """All that can be known about a model before any array exists."""
    return check_source(source, settings, examine=[_check_objective])


def _check_objective(graph: Graph) -> list[Diagnostic]:
    """Whether an objective can be estimated, and its draws differentiated as they say."""
    nodes = [*graph.nodes, *(graph.guide.nodes if graph.guide else ())]
    if not graph.of_kind(Kind.COST) or not any(node.kind is Kind.DRAW for node in nodes):
        return []
    from ..gradient.prepare import check_estimators

    return check_estimators(graph)


class UnboundFunction(InWords, TypeError):
    """A function that the model calls, and that only Python can bind."""


def verify_bound(graph: Graph, bound: Mapping[str, Callable[..., Any]]) -> None:
    for function in graph.functions:
        if function.body is None and function.name not in bound:
            name = function.name
            what = f"the model needs the Python function `{name}`"
            raise UnboundFunction(f"{what}: load it from Python, with dpc.load(path, {name}=...)")


def check_externs(graph: Graph, bound: Mapping[str, Callable[..., Any]]) -> None:
    """Raises TypeError that shows both shapes, or names what is missing or unknown."""
    wanted = {f.name: f for f in graph.functions if f.body is None}
    verify_bound(graph, bound)
    for name, function in bound.items():
        if name not in wanted:
            hint = did_you_mean(name, wanted)
            raise TypeError(f"the model declares no extern function `{name}`{hint and f'; {hint}'}")
        types = [wanted[name].result, *(type_ for _, type_ in wanted[name].parameters)]
        if all(axis.size is not None for type_ in types for axis in type_.shape):
            _check_shape(wanted[name], function)


def _check_shape(function: Function, bound: Callable[..., Any]) -> None:
    import jax

    arguments = []
    for _, type_ in function.parameters:
        dtype: type = bool if isinstance(type_.domain, Bool) else int
        if isinstance(type_.domain, Real):
            dtype = float
        exact = jax.dtypes.canonicalize_dtype(dtype)
        arguments.append(jax.ShapeDtypeStruct(_shape(type_), exact))
    try:
        result = jax.eval_shape(bound, *arguments)
    except Exception as error:
        shapes = ", ".join(f"{name}{_shape(type_)}" for name, type_ in function.parameters)
        what = f"`{function.name}` fails on arguments of the declared shapes ({shapes})"
        raise TypeError(f"{what}: {error}") from error
    found = getattr(result, "shape", None)
    if found != _shape(function.result):
        declared = f"{function.result}, of shape {_shape(function.result)}"
        raise TypeError(f"`{function.name}` is declared to give {declared}, but gives {found}")


def _shape(type_: Type) -> tuple[int, ...]:
    return tuple(int(axis.size or 0) for axis in type_.shape)


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
    draws = [node.name for node in graph.of_kind(Kind.DRAW)]
    found = graph.ancestors(graph[name].parents, draws)
    return [draw for draw in draws if draw in found]


def written_values(graph: Graph, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the command line gave for continuous draws, as numbers; the rest stays as it is."""
    found = dict(given)
    for name, value in given.items():
        if name in graph.by_name and isinstance(graph[name].type.domain, Real):
            found[name] = as_numbers(name, value)
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

"""Checking a model: what the language says of it, and what the estimators of its objective say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpc.dsl.diagnostics import Diagnostic, DpError, did_you_mean
from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.typed import Function
from dpc.dsl.graph.types import Bool, Real, Type
from dpc.dsl.pipeline import Checked, check_source
from dpc.dsl.source import Source

if TYPE_CHECKING:
    import jax


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
    nodes = [*graph.nodes, *(graph.guide.nodes if graph.guide else ())]
    if not graph.of_kind(Kind.COST) or not any(node.kind is Kind.DRAW for node in nodes):
        return []
    from ..gradient.prepare import check_estimators

    return check_estimators(graph)


class UnboundFunction(TypeError):
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

    arguments = [_example(type_) for _, type_ in function.parameters]
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


def _example(type_: Type) -> jax.ShapeDtypeStruct:
    import jax

    dtype: type = bool if isinstance(type_.domain, Bool) else int
    if isinstance(type_.domain, Real):
        dtype = float
    return jax.ShapeDtypeStruct(_shape(type_), jax.dtypes.canonicalize_dtype(dtype))

"""Functions that the caller binds: there, and of the declared shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpc.dsl.diagnostics import nearest_name
from dpc.dsl.graph.graph import Graph
from dpc.dsl.graph.typed import Function
from dpc.dsl.graph.types import Bool, Real, Type

if TYPE_CHECKING:
    import jax


class UnboundFunction(TypeError):
    """A function that the model calls, and that only Python can bind."""


def verify_bound(graph: Graph, bound: Mapping[str, Callable[..., Any]]) -> None:
    for function in graph.functions:
        if function.body is None and function.name not in bound:
            name = function.name
            raise UnboundFunction(
                f"the model needs the Python function `{name}`: load it from Python, with "
                f"dpc.load(path, {name}=...)"
            )


def check_externs(graph: Graph, bound: Mapping[str, Callable[..., Any]]) -> None:
    """Raises TypeError that shows both shapes, or names what is missing or unknown."""
    wanted = {f.name: f for f in graph.functions if f.body is None}
    verify_bound(graph, bound)
    for name, function in bound.items():
        if name not in wanted:
            nearest = nearest_name(name, wanted)
            hint = f"; did you mean `{nearest}`?" if nearest else ""
            raise TypeError(f"the model declares no extern function `{name}`{hint}")
        if _is_sized(wanted[name]):
            _check_shape(wanted[name], function)


def _is_sized(function: Function) -> bool:
    types = [function.result, *(type_ for _, type_ in function.parameters)]
    return all(axis.size is not None for type_ in types for axis in type_.shape)


def _check_shape(function: Function, bound: Callable[..., Any]) -> None:
    import jax

    arguments = [_example(type_) for _, type_ in function.parameters]
    try:
        result = jax.eval_shape(bound, *arguments)
    except Exception as error:
        shapes = ", ".join(f"{name}{_shape(type_)}" for name, type_ in function.parameters)
        raise TypeError(
            f"`{function.name}` fails on arguments of the declared shapes ({shapes}): {error}"
        ) from error
    found = getattr(result, "shape", None)
    if found != _shape(function.result):
        declared = f"{function.result}, of shape {_shape(function.result)}"
        raise TypeError(f"`{function.name}` is declared to give {declared}, but gives {found}")


def _shape(type_: Type) -> tuple[int, ...]:
    return tuple(int(axis.size or 0) for axis in type_.shape)


def _example(type_: Type) -> jax.ShapeDtypeStruct:
    import jax

    dtype = (
        float if isinstance(type_.domain, Real) else bool if isinstance(type_.domain, Bool) else int
    )
    return jax.ShapeDtypeStruct(_shape(type_), jax.dtypes.canonicalize_dtype(dtype))

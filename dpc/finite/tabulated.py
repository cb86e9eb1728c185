"""A model whose finite variables are ready for questions: as tables, with what is known."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.record import Record
from dpc.inference.formats.network import Network

from ..data import bind_data
from ..data.defaults import evaluate_default, is_plain
from ..exits import UsageError
from .discrete import Discrete, KnownArrays, discrete_model

if TYPE_CHECKING:
    from ..model.model import Model

Values = Mapping[str, Any]
NOTHING: Values = MappingProxyType({})


class Tabulated(Record):
    """`graph` and `known` are there for .dp files: what can be asked beyond variables."""

    name: str
    discrete: Discrete
    graph: Graph | None = None
    known: KnownArrays | None = None


def tabulate(
    model: Model, data: Any = (), params: Values = NOTHING, values: Values = NOTHING
) -> Tabulated:
    """The tables of a model, given data, parameters and the values of continuous draws."""
    if model.network is not None:
        if data or params or values:
            raise UsageError(
                f"{model.network.name} has all its numbers in it: `data=` and `params=` are for "
                ".dp models"
            )
        return tabulated_network(model.network)
    known = known_values(model.graph, data, params, values)
    tables = _tables_by_jax(known, model.externs)
    found = discrete_model(model.graph, known, tables)
    return Tabulated(model.graph.name, found, model.graph, known)


def tabulated_network(network: Network) -> Tabulated:
    states = {variable.name: variable.states for variable in network.variables}
    discrete = Discrete(states, network.factor_graph(), network.is_bayesian)
    return Tabulated(network.name, discrete)


# ---- what is known


def known_values(graph: Graph, data: Any, params: Values, values: Values) -> KnownArrays:
    """Data, parameters and whatever else was given, as arrays."""
    import numpy as np

    bound = bind_data(graph, *as_sources(data), partial=True)
    arrays: dict[str, Any] = {
        **bound.arrays,
        **_parameters(graph, params, bound),
        **{name: np.asarray(value) for name, value in values.items()},
    }
    return KnownArrays(arrays, bound.sizes, bound.labels)


def as_sources(data: Any) -> list[Any]:
    """One source of data, several in a list or tuple, or none."""
    if data is None:
        return []
    return list(data) if isinstance(data, list | tuple) else [data]


def _parameters(graph: Graph, given: Values, bound: Any) -> dict[str, Any]:
    """What was given, or the file; a question is never answered with numbers that nobody wrote."""
    unknown = [name for name in given if not _is_parameter(graph, name)]
    if unknown:
        raise UsageError(f"the model has no parameter `{unknown[0]}`")
    return {node.name: _parameter(node, given, bound) for node in graph.of_kind(Kind.PARAMETER)}


def _is_parameter(graph: Graph, name: str) -> bool:
    return name in graph.by_name and graph[name].kind is Kind.PARAMETER


def _parameter(node: Any, given: Values, bound: Any) -> Any:
    import numpy as np

    sizes = {str(axis): bound.sizes.get(str(axis), axis.size) for axis in node.type.shape}
    if node.name in given:
        shape = tuple(sizes[str(axis)] for axis in node.type.shape)
        found = np.asarray(given[node.name], float)
        if found.shape != shape:
            raise UsageError(f"`{node.name}` has shape {shape}, but `params=` gives {found.shape}")
        return found
    if node.default is None or not is_plain(node.default):
        raise UsageError(
            f"the parameter `{node.name}` has no value in the file: give it with "
            f"`params={node.name}`"
        )
    return evaluate_default(node, sizes)


def _tables_by_jax(known: KnownArrays, externs: Values) -> Any:
    """Tables that NumPy alone does not evaluate are compiled, in double precision."""

    def by_jax(*question: Any) -> Any:
        import jax

        from .tables import tables_once

        with jax.enable_x64(True):
            return tables_once(known.arrays, known.sizes, externs)(*question)

    return by_jax

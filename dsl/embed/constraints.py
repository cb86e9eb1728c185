"""Parameters with bounds and shapes live in an unconstrained space, by NumPyro's bijections."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

import jax
import jax.numpy as jnp
from numpyro.distributions import biject_to, constraints

from ..data.defaults import evaluate_default
from ..graph import Graph, Kind, Node
from ..types import Type

BY_WORD = {
    "simplex": constraints.simplex,
    "ordered": constraints.ordered_vector,
    "positive_ordered": constraints.positive_ordered_vector,
    "unit_vector": constraints.sphere,
    "cholesky": constraints.lower_cholesky,
    "corr_cholesky": constraints.corr_cholesky,
    "covariance": constraints.positive_definite,
    "correlation": constraints.corr_matrix,
}


def constraint_of(type_: Type) -> Any:
    if type_.constraint:
        return BY_WORD[type_.constraint]
    lower, upper = type_.bounds
    if lower == -inf and upper == inf:
        return constraints.real
    if upper == inf:
        return constraints.greater_than(lower) if lower else constraints.positive
    return constraints.less_than(upper) if lower == -inf else constraints.interval(lower, upper)


def parameters(graph: Graph) -> tuple[Node, ...]:
    nodes = graph.of_kind(Kind.PARAMETER)
    own = graph.guide.of_kind(Kind.PARAMETER) if graph.guide else ()
    return tuple({node.name: node for node in (*nodes, *own)}.values())


def constrain(graph: Graph, raw: Mapping[str, Any]) -> dict[str, Any]:
    return {n.name: biject_to(constraint_of(n.type))(raw[n.name]) for n in parameters(graph)}


def unconstrain(graph: Graph, params: Mapping[str, Any]) -> dict[str, Any]:
    return {n.name: biject_to(constraint_of(n.type)).inv(jnp.asarray(params[n.name], float)) for n in parameters(graph)}


def initial_values(graph: Graph, key: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """The file's own values; what has none starts near zero in unconstrained space, at zero without a key."""
    found = {}
    for number, node in enumerate(parameters(graph)):
        sizes = {str(axis): _size(axis, data, node) for axis in node.type.shape}
        if node.default is not None:
            found[node.name] = jnp.asarray(evaluate_default(node, sizes), float)
            continue
        shape = tuple(sizes[str(axis)] for axis in node.type.shape)
        transform = biject_to(constraint_of(node.type))
        raw_shape = transform.inverse_shape(shape)
        raw = jnp.zeros(raw_shape)
        if key is not None:
            raw = 0.1 * jax.random.normal(jax.random.fold_in(key, number), raw_shape)
        found[node.name] = transform(raw)
    return found


def _size(axis: Any, data: Mapping[str, Any], node: Node) -> int:
    if axis.size is not None:
        return int(axis.size)
    if str(axis) not in data:
        raise ValueError(f"the size of `{axis}` is needed for the parameter `{node.name}`: pass the bound data")
    return int(data[str(axis)])

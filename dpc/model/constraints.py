"""Parameters with bounds and shapes live in an unconstrained space, by NumPyro's bijections."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import biject_to, constraints

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph.dependence import nodes_read
from dpc.dsl.graph.graph import Node
from dpc.dsl.graph.types import Type

from ..data.arrays import evaluate_default, is_plain
from ..data.bound import Data
from ..exits import UsageError, verify_seed
from .model import Model
from .traced import is_masked

Values = dict[str, Any]

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

MOST_SHOWN = 60


def constraint_of(type_: Type) -> Any:
    if type_.constraint:
        return BY_WORD[type_.constraint]
    lower, upper = type_.bounds
    if lower == -inf and upper == inf:
        return constraints.real
    if upper == inf:
        return constraints.greater_than(lower) if lower else constraints.positive
    return constraints.less_than(upper) if lower == -inf else constraints.interval(lower, upper)


def constrain_nodes(nodes: Iterable[Node], raw: Mapping[str, Any]) -> Values:
    nodes = tuple(nodes)
    known = as_arrays("raw", raw, nodes)
    return {n.name: biject_to(constraint_of(n.type))(known[n.name]) for n in nodes}


def unconstrain_nodes(nodes: Iterable[Node], params: Mapping[str, Any]) -> Values:
    nodes = tuple(nodes)
    known = as_arrays("params", params, nodes)
    return {n.name: biject_to(constraint_of(n.type)).inv(known[n.name]) for n in nodes}


def as_arrays(argument: str, given: Mapping[str, Any], nodes: Iterable[Node] = ()) -> Values:
    """Numbers by name, with one for each of these nodes."""
    for node in nodes:
        if node.name not in given:
            raise UsageError(f"`{argument}=` has no value for the parameter `{node.name}`")
    return {name: _as_array(argument, name, value) for name, value in given.items()}


def _as_array(argument: str, name: str, value: Any) -> Any:
    shown = repr(value)[:MOST_SHOWN]
    refused = UsageError(f"`{name}` takes numbers, but `{argument}=` gives {shown}")
    if value is None or isinstance(value, str) or is_masked(value):
        raise refused
    try:
        return jnp.asarray(value, float)
    except (TypeError, ValueError, OverflowError):
        raise refused from None


def initial_nodes(
    nodes: Iterable[Node],
    key: Any,
    data: Mapping[str, Any],
    compute: Callable[[], Mapping[str, Any]],
) -> Values:
    """The file's values, by `compute` where data have a part; others near zero, unconstrained."""
    nodes = tuple(nodes)
    found: Values = {}
    for node in nodes:
        missing = [name for name in nodes_read(node.default) if name not in data]
        if missing:
            what = f"the starting value of `{node.name}` is computed from `{missing[0]}`"
            raise UsageError(f"{what}: give it as data")
    shapes = {n.name: tuple(_size(axis, data, n) for axis in n.type.shape) for n in nodes}
    for node in nodes:
        if node.default is not None:
            sizes = dict(zip(map(str, node.type.shape), shapes[node.name], strict=True))
            plain = is_plain(node.default)
            value = evaluate_default(node, sizes) if plain else compute()[node.name]
            verify_start(node, value)
            found[node.name] = jnp.asarray(value, float)

    def near_zero(key: Any) -> Values:
        starts = {}
        for number, node in enumerate(nodes):
            if node.name not in found:
                transform = biject_to(constraint_of(node.type))
                raw_shape = transform.inverse_shape(shapes[node.name])
                raw = jnp.zeros(raw_shape)
                if key is not None:
                    raw = 0.1 * jax.random.normal(jax.random.fold_in(key, number), raw_shape)
                starts[node.name] = transform(raw)
        return starts

    if len(found) < len(nodes):
        found |= jax.jit(near_zero)(key)  # one program is compiled faster than many
    return {node.name: found[node.name] for node in nodes}


def verify_start(node: Node, value: Any) -> None:
    """A starting value outside its constraint has no place in unconstrained space."""
    if isinstance(value, jax.core.Tracer):
        return
    if not np.all(constraint_of(node.type)(np.asarray(value, float))):
        raise UsageError(f"`{node.name}` is {node.type}, but its starting value is {value}")


def _size(axis: Any, data: Mapping[str, Any], node: Node) -> int:
    size = axis.size if axis.size is not None else data.get(str(axis))
    if size is None:
        what = f"the size of `{axis}` is needed for the parameter `{node.name}`"
        raise UsageError(f"{what}: pass the bound data")
    return int(size)


def known_inputs(
    model: Model, params: Mapping[str, Any], sources: Sequence[Any], seed: int, partial: bool
) -> tuple[dict[str, Any], Data]:
    """Parameters where they start, but for those that are given, and bound data."""
    key = jax.random.key(verify_seed(seed))
    is_bound = len(sources) == 1 and isinstance(sources[0], Data)
    data = sources[0] if is_bound else model.bind(*sources, partial=partial)
    try:
        found = model.init(key, data)
    except ValueError as error:
        raise UsageError(str(error)) from None
    for name, value in params.items():
        if name not in found:
            hint = did_you_mean(name, found)
            raise UsageError(f"the model has no parameter `{name}`{hint and f'; {hint}'}")
        found[name] = _parameter(name, value, found[name].shape)
    return found, data


def _parameter(name: str, value: Any, shape: tuple[int, ...]) -> Any:
    """Numbers of the right shape."""
    array = _as_array("params", name, value)
    if array.shape != shape:
        raise UsageError(f"`{name}` has shape {shape}, but `params=` gives {array.shape}")
    if not isinstance(array, jax.core.Tracer) and not bool(jnp.isfinite(array).all()):
        raise UsageError(f"`{name}` takes finite numbers, but `params=` gives {value}")
    return array

"""One array: of the declared shape, positions for labels, within bounds and constraints."""

from __future__ import annotations

import numpy as np

from dpc.dsl.graph import core as c
from dpc.dsl.graph.graph import Node
from dpc.dsl.graph.types import Int, Real

from .collect import declaration
from .constraints import CONSTRAINTS, TOLERANCE
from .defaults import evaluate_default
from .dims import GivenVariable, Resolved, indexed_dim
from .errors import did_you_mean_label, quoted
from .kinds import typed_values
from .raw import Array, Index, Mask, Origin, RawVariable, first_true, show_sizes


def checked_array(node: Node, found: GivenVariable | None, dims: Resolved) -> Array | None:
    """The array of a node; None if it is absent, or if another problem leaves nothing to check."""
    if not _has_sizes(node, dims):
        return None
    if found is None:
        return _default(node, dims) if node.default is not None else None
    if found.values is None:
        return None
    _verify_shape(found, dims)
    values = _positions(found, found.values, dims) if indexed_dim(node) else found.values
    _verify_bounds(node, values, found.variable)
    values = _aligned(found, values, dims)
    _verify_constraint(node, values, found.variable)
    return np.ascontiguousarray(values).reshape(values.shape)


def _has_sizes(node: Node, dims: Resolved) -> bool:
    parts = c.walk(node.default) if node.default is not None else ()
    needed = {part.dim.name for part in parts if isinstance(part, c.DimRef)} | set(
        map(str, node.type.shape)
    )
    return (needed | {indexed_dim(node)}) - {""} <= set(dims.sizes)


def _default(node: Node, dims: Resolved) -> Array:
    value = evaluate_default(node, {name: found.size for name, found in dims.sizes.items()})
    variable = RawVariable(value, Origin(node.source.path, node.name))
    values = typed_values(variable, node.type.domain, node.observed)
    _verify_bounds(node, values, variable)
    _verify_constraint(node, values, variable)
    return values


def _verify_shape(found: GivenVariable, dims: Resolved) -> None:
    known = [dims.sizes[str(axis)] for axis in found.node.type.shape]
    expected = tuple(size.size for size in known)
    if found.variable.shape != expected:
        actual = found.variable.shape
        wrong = [k for k, size in enumerate(expected) if actual[k] != size]
        reasons = [
            f"`{found.node.type.shape[k]}` has {expected[k]} by {known[k].why}" for k in wrong
        ]
        message = (
            f"has shape {show_sizes(actual)}, but `{declaration(found.node)}` is "
            f"{show_sizes(expected)}"
        )
        raise found.variable.refuse(message, help=", ".join(dict.fromkeys(reasons)))


def _positions(found: GivenVariable, values: Array, dims: Resolved) -> Array:
    name = indexed_dim(found.node)
    if not found.has_labels:
        _verify_in_range(found.variable, values, name, dims.sizes[name].size)
        return values
    labels = dims.labels[name].labels if name in dims.labels else ()
    code = {label: k for k, label in enumerate(labels)}
    positions = np.fromiter(
        (code.get(label, -1) for label in values.flat), dtype=np.int64, count=values.size
    )
    positions = positions.reshape(values.shape)
    if (positions < 0).any():
        at = first_true(positions < 0)
        message = f"has the label {quoted(values[at])}, which is not in `{name}`"
        raise found.variable.refuse(message, at, did_you_mean_label(values[at], labels))
    return positions


def _verify_in_range(variable: RawVariable, values: Array, name: str, size: int) -> None:
    good = (values >= 0) & (values < size)
    if not np.all(good):
        at = first_true(~good)
        message = f"has the position {values[at]}, but `{name}` has {size} members"
        raise variable.refuse(message, at, f"positions run from 0 to {size - 1}" if size else "")


def _aligned(found: GivenVariable, values: Array, dims: Resolved) -> Array:
    """Entries in the order of the dims' labels, where the data say which is which."""
    for k, own in enumerate(found.variable.labels):
        axis = str(found.node.type.shape[k])
        wanted = dims.labels[axis].labels if axis in dims.labels else own
        if own and own != wanted and set(own) == set(wanted):
            where = {label: place for place, label in enumerate(own)}
            values = np.take(values, [where[label] for label in wanted], axis=k)
    return values


def _verify_bounds(node: Node, values: Array, variable: RawVariable) -> None:
    """A constraint implies its bounds, with its tolerance."""
    if isinstance(node.type.domain, Real | Int) and not node.type.constraint:
        lower, upper = node.type.bounds
        if lower > -np.inf:
            _verify_bound(values, values >= lower, f"below its lower bound {lower:g}", variable)
        if upper < np.inf:
            _verify_bound(values, values <= upper, f"above its upper bound {upper:g}", variable)


def _verify_bound(values: Array, good: Mask, says: str, variable: RawVariable) -> None:
    if not np.all(good):
        at = first_true(~np.asarray(good))
        raise variable.refuse(f"has the entry {values[at]:g}, {says}", at)


def _verify_constraint(node: Node, values: Array, variable: RawVariable) -> None:
    if not node.type.constraint:
        return
    constraint = CONSTRAINTS[node.type.constraint]
    good = constraint.holds(values)
    if not np.all(good):
        at: Index = first_true(~good)
        entry = f"`{node.name}{show_sizes(at) if at else ''}`"
        message = (
            f"is a {node.type.constraint}, but {entry} is not {constraint.says} (within "
            f"{TOLERANCE:g})"
        )
        raise variable.refuse(message)

"""One array: of the declared shape, positions for labels, within bounds and constraints."""

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
from .raw import Array, Origin, RawVariable, first_true, show_sizes


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
    needed = {part.dim.name for part in parts if isinstance(part, c.DimRef)}
    return (needed | {*map(str, node.type.shape), indexed_dim(node)}) - {""} <= set(dims.sizes)


def _default(node: Node, dims: Resolved) -> Array:
    value = evaluate_default(node, {name: found.size for name, found in dims.sizes.items()})
    variable = RawVariable(value, Origin(node.source.path, node.name))
    values = typed_values(variable, node.type.domain, node.observed)
    _verify_bounds(node, values, variable)
    _verify_constraint(node, values, variable)
    return values


def _verify_shape(found: GivenVariable, dims: Resolved) -> None:
    variable, axes = found.variable, found.node.type.shape
    known = [dims.sizes[str(axis)] for axis in axes]
    expected = tuple(size.size for size in known)
    if variable.shape == expected:
        return
    reasons = [
        f"`{axis}` has {size.size} by {size.why}"
        for axis, size, actual in zip(axes, known, variable.shape, strict=True)
        if actual != size.size
    ]
    shape, declared = show_sizes(variable.shape), declaration(found.node)
    message = f"has shape {shape}, but `{declared}` is {show_sizes(expected)}"
    raise variable.refuse(message, help=", ".join(dict.fromkeys(reasons)))


def _positions(found: GivenVariable, values: Array, dims: Resolved) -> Array:
    name = indexed_dim(found.node)
    if not found.has_labels:
        _verify_in_range(found.variable, values, name, dims.sizes[name].size)
        return values
    labels = dims.labels[name].labels if name in dims.labels else ()
    code = {label: k for k, label in enumerate(labels)}
    codes = [code.get(label, -1) for label in values.flat]
    positions = np.array(codes, dtype=np.int64).reshape(values.shape)
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
    if not isinstance(node.type.domain, Real | Int) or node.type.constraint:
        return
    lower, upper = node.type.bounds
    for bad, bound in (
        (~(values >= lower), f"below its lower bound {lower:g}"),
        (~(values <= upper), f"above its upper bound {upper:g}"),
    ):
        if np.any(bad):
            at = first_true(np.asarray(bad))
            raise variable.refuse(f"has the entry {values[at]:g}, {bound}", at)


def _verify_constraint(node: Node, values: Array, variable: RawVariable) -> None:
    if not node.type.constraint:
        return
    words, holds = CONSTRAINTS[node.type.constraint]
    good = holds(values)
    if not np.all(good):
        at = first_true(~good)
        entry = f"`{node.name}{show_sizes(at) if at else ''}`"
        message = f"is a {node.type.constraint}, but {entry} is not {words}"
        raise variable.refuse(f"{message} (within {TOLERANCE:g})")

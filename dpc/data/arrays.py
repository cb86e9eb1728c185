"""One array: of the declared shape, positions for labels, within bounds and constraints."""

from collections.abc import Callable

import numpy as np

from dpc.dsl.graph import core as c
from dpc.dsl.graph.evaluate import Evaluator, NeedsJax, Sizes
from dpc.dsl.graph.graph import Node
from dpc.dsl.graph.types import Int, Real

from .dims import GivenVariable, Resolved, declaration, indexed_dim
from .errors import did_you_mean_label, problem, quoted
from .kinds import typed_values
from .raw import Array, Mask, Origin, RawVariable, first_true, show_sizes

TOLERANCE = 1e-6


def _sums_to_one(x: Array) -> Mask:
    return np.asarray((np.abs(x.sum(-1) - 1) <= TOLERANCE) & (x >= -TOLERANCE).all(-1))


def _increases(x: Array) -> Mask:
    return np.asarray((np.diff(x) > 0).all(-1))


def _increases_above_zero(x: Array) -> Mask:
    return _increases(x) & (x > 0).all(-1)


def _has_length_one(x: Array) -> Mask:
    return np.asarray(np.abs(np.sqrt((x**2).sum(-1)) - 1) <= TOLERANCE)


def _is_triangular(x: Array) -> Mask:
    above = np.abs(np.triu(x, 1)).max((-2, -1), initial=0)
    return np.asarray((above <= TOLERANCE) & (_diagonal(x) > 0).all(-1))


def _is_triangular_with_unit_rows(x: Array) -> Mask:
    return _is_triangular(x) & _has_length_one(x).all(-1)


def _is_positive_definite(x: Array) -> Mask:
    scale = np.maximum(1, np.abs(x).max((-2, -1), initial=0))
    finite = np.isfinite(scale)
    tame = np.where(finite[..., None, None], x, 0)
    skew = np.abs(tame - np.swapaxes(tame, -1, -2)).max((-2, -1), initial=0)
    return np.asarray(finite & (skew <= TOLERANCE * scale) & (np.linalg.eigvalsh(tame) > 0).all(-1))


def _is_correlation(x: Array) -> Mask:
    return np.asarray(_is_positive_definite(x) & (np.abs(_diagonal(x) - 1) <= TOLERANCE).all(-1))


def _diagonal(x: Array) -> Array:
    return np.diagonal(x, axis1=-2, axis2=-1)


# In words, and asked of arrays with leading axes, for each of which the test answers.
CONSTRAINTS: dict[str, tuple[str, Callable[[Array], Mask]]] = {
    "simplex": ("not negative, with sum 1", _sums_to_one),
    "ordered": ("in increasing order", _increases),
    "positive_ordered": ("positive and in increasing order", _increases_above_zero),
    "unit_vector": ("of length 1", _has_length_one),
    "cholesky": ("lower triangular with a positive diagonal", _is_triangular),
    "corr_cholesky": ("lower triangular with rows of length 1", _is_triangular_with_unit_rows),
    "covariance": ("symmetric and positive definite", _is_positive_definite),
    "correlation": ("symmetric and positive definite with ones on the diagonal", _is_correlation),
}


def is_plain(core: c.Core) -> bool:
    """What depends on data or calls a function of the program needs the compiled program."""
    return not any(isinstance(part, c.Ref | c.CallFn) for part in c.walk(core))


def evaluate_default(node: Node, sizes: dict[str, int]) -> Array:
    """The default of a node in its declared shape: a scalar fills it, an array has it already."""
    assert node.default is not None
    evaluator = Evaluator({}, Sizes(sizes), {})
    shape = tuple(map(evaluator.sizes.of, node.type.shape))
    try:
        with np.errstate(all="ignore"):
            value = evaluator.value(node.default, ())
    except (NeedsJax, KeyError):
        message = f"the value of `{node.name}` in the model is not a plain constant"
        help = f"give `{node.name}` with the data"
        raise problem(node.name, message, help, node.source.path) from None
    return np.full(shape, value) if value.ndim == 0 else value


def checked_array(node: Node, found: GivenVariable | None, dims: Resolved) -> Array | None:
    """The array of a node; None if it is absent, or if another problem leaves nothing to check."""
    parts = c.walk(node.default) if node.default is not None else ()
    needed = {part.dim.name for part in parts if isinstance(part, c.DimRef)}
    needed |= {*map(str, node.type.shape), indexed_dim(node)}
    if not needed - {""} <= set(dims.sizes):
        return None
    if found is None and node.default is not None:
        value = evaluate_default(node, {name: known.size for name, known in dims.sizes.items()})
        variable = RawVariable(value, Origin(node.source.path, node.name))
        typed = typed_values(variable, node.type.domain, node.observed)
        found = GivenVariable(node, variable, typed)
    if found is None or found.values is None:
        return None
    _verify_shape(found, dims)
    values = _positions(found, found.values, dims) if indexed_dim(node) else found.values
    _verify_bounds(node, values, found.variable)
    # Entries in the order of the dims' labels, where the data say which is which.
    for k, own in enumerate(found.variable.labels):
        axis = str(found.node.type.shape[k])
        wanted = dims.labels[axis].labels if axis in dims.labels else own
        if own and own != wanted and set(own) == set(wanted):
            where = {label: place for place, label in enumerate(own)}
            values = np.take(values, [where[label] for label in wanted], axis=k)
    _verify_constraint(node, values, found.variable)
    return np.ascontiguousarray(values).reshape(values.shape)


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
        size = dims.sizes[name].size
        good = (values >= 0) & (values < size)
        if not np.all(good):
            at = first_true(~good)
            message = f"has the position {values[at]}, but `{name}` has {size} members"
            help = f"positions run from 0 to {size - 1}" if size else ""
            raise found.variable.refuse(message, at, help)
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

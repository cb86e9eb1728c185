"""Nodes as Python statements: values of functions, log densities, ancestral draws."""

from collections.abc import Sequence
from math import inf

from ..graph import core as c
from ..graph.graph import Node
from ..graph.typed import Piece
from ..graph.types import Bool, IndexOf, Real, Type
from . import code as py
from .distributions import expanded, has_mass, lower_density, lower_distribution, lower_log_mass
from .expressions import lower
from .scope import Scope, Value, align, length_code, size_code, slice_code
from .shapes import as_array, as_number, full
from .smooth import lower_smooth


def piece_scope(node: Node, piece: Piece, scope: Scope) -> Scope:
    """The scope inside one statement: its binders are axes, its soft annotation holds."""
    binders = _own_binders(piece, scope)
    soft = next((s for s in piece.settings if s.name == "soft"), None)
    return scope.inside(*binders).replace(soft=soft, owner=node.name)


def own_axes(piece: Piece, scope: Scope) -> tuple[str, ...]:
    return tuple(bind.name for bind in _own_binders(piece, scope))


def _own_binders(piece: Piece, scope: Scope) -> list[c.Bind]:
    binders = (index for index in piece.indices if isinstance(index, c.Bind))
    return [bind for bind in binders if bind.name not in scope.scalars]


def places_of(piece: Piece) -> list[py.Code]:
    """The part of the variable that a piece defines, as a Python index; empty when it is all."""
    return py.without_tail(place_along(piece, axis) for axis in range(len(piece.indices)))


def place_along(piece: Piece, axis: int) -> py.Code:
    """The places of a piece along one axis."""
    found = piece.indices[axis]
    if isinstance(found, c.Bind):
        return slice_code(found)
    assert isinstance(found, c.Const)
    return py.const(int(found.value))


def lower_body(piece: Piece, inside: Scope) -> Value:
    """The value of a statement, or its mean over noise where it is `with smooth(...)`."""
    assert isinstance(piece.body, c.Core)
    smooth = next((s for s in piece.settings if s.name == "smooth"), None)
    return lower_smooth(piece.body, smooth, inside) if smooth else lower(piece.body, inside)


def lower_piece(piece: Piece, node: Node, scope: Scope) -> Value:
    """The value of one piece with all its axes at full length."""
    inside = piece_scope(node, piece, scope)
    assert isinstance(piece.body, c.Core)
    value = as_number(lower_body(piece, inside), piece.body.type, Type(node.type.domain))
    shape = piece.body.type.shape
    return full(value, own_axes(piece, scope), len(shape), inside, shape)


def value_statements(node: Node, scope: Scope) -> list[py.Statement]:
    """One assignment, or one for each piece when there are several."""
    values = [lower_piece(piece, node, scope).code for piece in node.pieces]
    return piece_statements(scope.names[node.name], node.type, node.pieces, values, scope)


def piece_statements(
    own: str, type_: Type, pieces: Sequence[Piece], values: Sequence[py.Code], scope: Scope
) -> list[py.Statement]:
    """The variable, given the value of each of its pieces."""
    if len(values) == 1:
        return [py.assign(own, values[0])]
    lines = [py.assign(own, empty_array(type_, scope))]
    for piece, value in zip(pieces, values, strict=True):
        lines.append(py.set_at(own, places_of(piece), value))
    return lines


def empty_array(type_: Type, scope: Scope) -> py.Code:
    sizes = [size_code(axis, scope.names) for axis in type_.shape]
    return py.call("jnp.zeros", py.pack(sizes), py.name(dtype_of(type_)))


def dtype_of(type_: Type) -> str:
    if isinstance(type_.domain, Real):
        return "float"
    return "bool" if isinstance(type_.domain, Bool) else "int"


def density_terms(node: Node, scope: Scope) -> list[py.Code]:
    """One number for each piece: the sum of its log densities or log potentials."""
    return [_density_term(node, piece, scope) for piece in node.pieces]


def _density_term(node: Node, piece: Piece, scope: Scope) -> py.Code:
    inside, axes = piece_scope(node, piece, scope), own_axes(piece, scope)
    if not isinstance(piece.body, c.Law):
        potential = as_number(lower_body(piece, inside), piece.body.type, Type(Real()))
        return _masked_sum(full(potential, axes, 0, inside, ()).code, axes, piece, inside)
    if has_mass(piece):
        return _masked_sum(lower_log_mass(node, piece, inside).code, axes, piece, inside)
    value = value_of(node, piece, scope)
    density = lower_density(piece.body, value, axes, inside)
    term = _masked_sum(density, axes, piece, inside)
    return _ordered_term(term, value, axes, inside) if is_ordered(piece) else term


def value_of(node: Node, piece: Piece, scope: Scope) -> py.Code:
    """The part of the variable that a piece defines, as distributions take it."""
    part = py.index(py.name(scope.names[node.name]), *places_of(piece))
    return as_array(part, "int") if isinstance(node.type.domain, Bool) else part


def is_ordered(piece: Piece) -> bool:
    return any(setting.name == "ordered" for setting in piece.settings)


def _ordered_term(term: py.Code, value: py.Code, axes: tuple[str, ...], scope: Scope) -> py.Code:
    """K draws in order have K! times the density of one where they increase, and none elsewhere."""
    *outer, size = [length_code(scope.bind(axis), scope.names) for axis in axes]
    gaps = py.call("jnp.diff", value, axis=py.const(len(axes) - 1))
    rising = py.call("jnp.all", py.infix(gaps, ">", py.const(0)))
    orders = py.call("jax.scipy.special.gammaln", py.infix(size, "+", py.const(1.0)))
    for length in outer:
        orders = py.infix(orders, "*", length)
    return py.call("jnp.where", rising, py.infix(term, "+", orders), py.const(-inf))


def _masked_sum(code: py.Code, axes: tuple[str, ...], piece: Piece, scope: Scope) -> py.Code:
    code = masked(code, axes, piece, scope)
    return py.call("jnp.sum", code) if axes else code


def masked(code: py.Code, axes: tuple[str, ...], piece: Piece, scope: Scope) -> py.Code:
    """Zero where the statement does not hold."""
    if piece.where is None:
        return code
    return py.call("jnp.where", mask_of(piece.where, axes, scope), code, py.const(0.0))


def mask_of(where: c.Core, axes: tuple[str, ...], scope: Scope) -> py.Code:
    return align(lower(where, scope.replace(soft=None)), axes, 0).code


def drawn_value(node: Node, piece: Piece, key: py.Code, scope: Scope) -> py.Code:
    """A draw for every place of the piece, independent given the parents."""
    assert isinstance(piece.body, c.Law)
    axes = own_axes(piece, scope)
    inside = piece_scope(node, piece, scope)
    law = expanded(lower_distribution(piece.body, axes, inside), axes, inside)
    found = as_domain(py.method(law, "sample", key), node.type)
    return py.call("jnp.sort", found, axis=py.const(len(axes) - 1)) if is_ordered(piece) else found


def as_domain(code: py.Code, type_: Type) -> py.Code:
    """NumPyro draws truth values as integers and some counts as floats."""
    if isinstance(type_.domain, Bool):
        return as_array(code, "bool")
    return code if isinstance(type_.domain, Real | IndexOf) else as_array(code, "int")


def draw_statements(node: Node, keys: Sequence[py.Code], scope: Scope) -> list[py.Statement]:
    pairs = zip(node.pieces, keys, strict=True)
    values = [drawn_value(node, *pair, scope) for pair in pairs]
    return piece_statements(scope.names[node.name], node.type, node.pieces, values, scope)


# ---- starting values of parameters: those of the file, which may use the data, or plain ones


def starting_value(node: Node, scope: Scope) -> py.Code:
    sizes = [size_code(axis, scope.names) for axis in node.type.shape]
    shape = py.pack(sizes)
    is_array = node.default is not None and bool(node.default.type.shape)
    value = py.const(_inside(node.type))
    if node.default is not None:
        value = lower(node.default, scope.replace(owner=node.name)).code
    elif node.type.constraint == "simplex":
        return py.call("jnp.full", shape, py.infix(py.const(1), "/", sizes[-1]))
    elif node.type.constraint in ("cholesky", "corr_cholesky", "covariance", "correlation"):
        return py.call("jnp.broadcast_to", py.call("jnp.eye", sizes[-1]), shape)
    elif "ordered" in node.type.constraint:
        rising = py.infix(py.const(1.0), "+", py.call("jnp.arange", sizes[-1]))
        return py.call("jnp.broadcast_to", rising, shape)
    elif node.type.constraint == "unit_vector":
        return py.call("jnp.full", shape, py.infix(sizes[-1], "**", py.const(-0.5)))
    if is_array or not sizes:
        return as_array(value, "float")
    return py.call("jnp.full", shape, value, py.name("float"))


def _inside(type_: Type) -> float:
    """A number within the bounds of a type."""
    low, high = (bound if abs(bound) < 1e300 else None for bound in type_.bounds)
    if low is not None and high is not None:
        return (low + high) / 2
    return low + 1.0 if low is not None else high - 1.0 if high is not None else 0.0

"""Nodes as Python statements: values of function nodes, log densities of draws and factors, ancestral draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import core as c
from ..check.typed import Piece
from ..graph import Node
from ..types import Bool, IndexOf, Real, Type
from .expressions import lower
from .laws import lower_density, lower_law
from .mass import has_mass, lower_log_mass
from .scope import Scope, length_text, size_text, slice_text
from .shapes import as_number, full
from .smooth import lower_smooth
from .value import Value, align


def piece_scope(node: Node, piece: Piece, scope: Scope) -> Scope:
    """The scope inside one statement: its binders are axes, its soft annotation holds."""
    binders = tuple(i for i in piece.indices if isinstance(i, c.Bind) and i.name not in scope.scalars)
    soft = next((s for s in piece.settings if s.name == "soft"), None)
    return scope.inside(*binders).replace(soft=soft, owner=node.name)


def own_axes(piece: Piece, scope: Scope) -> tuple[str, ...]:
    return tuple(i.name for i in piece.indices if isinstance(i, c.Bind) and i.name not in scope.scalars)


def place_text(piece: Piece, scope: Scope, skip: int | None = None) -> str:
    """The part of the variable that a piece defines, as a Python index; empty when it is all of it."""
    parts = []
    for axis, index in enumerate(piece.indices):
        if axis != skip:
            parts.append(slice_text(index) if isinstance(index, c.Bind) else _fixed(index))
    while parts and parts[-1] == ":":
        parts.pop()
    return f"[{', '.join(parts)}]" if parts else ""


def _fixed(index: c.Core) -> str:
    assert isinstance(index, c.Const)
    return str(int(index.value))


# ---- values


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
    return full(value, own_axes(piece, scope), len(piece.body.type.shape), inside, piece.body.type.shape)


def value_statements(node: Node, scope: Scope) -> Iterator[str]:
    """One assignment, or one for each piece when there are several."""
    name = scope.names[node.name]
    if len(node.pieces) == 1:
        yield f"{name} = {lower_piece(node.pieces[0], node, scope).text}"
        return
    yield f"{name} = {empty_array(node.type, scope)}"
    for piece in node.pieces:
        place = place_text(piece, scope)
        yield f"{name} = {name}.at{place or '[...]'}.set({lower_piece(piece, node, scope).text})"


def empty_array(type_: Type, scope: Scope, drop: int | None = None) -> str:
    sizes = [size_text(axis, scope.names) for k, axis in enumerate(type_.shape) if k != drop]
    shape = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
    return f"jnp.zeros({shape}, {dtype_text(type_)})"


def dtype_text(type_: Type) -> str:
    return "float" if isinstance(type_.domain, Real) else "bool" if isinstance(type_.domain, Bool) else "int"


# ---- densities


def density_terms(node: Node, scope: Scope) -> Iterator[str]:
    """One number for each piece: the sum of its log densities or log potentials."""
    for piece in node.pieces:
        yield _draw_term(node, piece, scope) if isinstance(piece.body, c.Law) else _factor_term(node, piece, scope)


def _draw_term(node: Node, piece: Piece, scope: Scope) -> str:
    assert isinstance(piece.body, c.Law)
    inside = piece_scope(node, piece, scope)
    axes = own_axes(piece, scope)
    if has_mass(piece):
        return _masked_sum(lower_log_mass(node, piece, inside).text, Value("", axes), piece, inside)
    value = f"{scope.names[node.name]}{place_text(piece, scope)}"
    if isinstance(node.type.domain, Bool):
        value = f"jnp.asarray({value}, int)"
    text = _masked_sum(lower_density(piece.body, value, axes, inside), Value("", axes), piece, inside)
    return _ordered_term(text, value, axes, inside) if _is_ordered(piece) else text


def _is_ordered(piece: Piece) -> bool:
    return any(setting.name == "ordered" for setting in piece.settings)


def _ordered_term(text: str, value: str, axes: tuple[str, ...], scope: Scope) -> str:
    """K draws of one law, told in order, have K! times the density wherever they increase, and none elsewhere."""
    size = length_text(scope.bind(axes[-1]), scope.names)
    count = "".join(f" * {length_text(scope.bind(axis), scope.names)}" for axis in axes[:-1])
    rising = f"jnp.all(jnp.diff({value}, axis={len(axes) - 1}) > 0)"
    return f"jnp.where({rising}, {text} + jax.scipy.special.gammaln({size} + 1.0){count}, -jnp.inf)"


def _masked_sum(text: str, shape: Value, piece: Piece, scope: Scope) -> str:
    if piece.where is not None:
        mask = align(lower(piece.where, scope.replace(soft=None)), shape.axes, 0).text
        text = f"jnp.where({mask}, {text}, 0.0)"
    return f"jnp.sum({text})" if shape.axes else text


def _factor_term(node: Node, piece: Piece, scope: Scope) -> str:
    inside = piece_scope(node, piece, scope)
    axes = own_axes(piece, scope)
    value = as_number(lower_body(piece, inside), piece.body.type, Type(Real()))
    return _masked_sum(full(value, axes, 0, inside, ()).text, Value("", axes), piece, inside)


# ---- draws


def draw_text(node: Node, piece: Piece, key: str, scope: Scope) -> str:
    """A draw for every place of the piece, independent given the parents."""
    assert isinstance(piece.body, c.Law)
    inside = piece_scope(node, piece, scope)
    axes = own_axes(piece, scope)
    law = lower_law(piece.body, axes, inside)
    lengths = [length_text(inside.bind(axis), scope.names) for axis in axes]
    expand = f".expand(({', '.join(lengths)}{',' if len(lengths) == 1 else ''}))" if axes else ""
    text = as_domain(f"{law}{expand}.sample({key})", node.type)
    return f"jnp.sort({text}, axis={len(axes) - 1})" if _is_ordered(piece) else text


def as_domain(text: str, type_: Type) -> str:
    """NumPyro draws truth values as integers and some counts as floats."""
    if isinstance(type_.domain, Bool):
        return f"jnp.asarray({text}, bool)"
    return text if isinstance(type_.domain, Real | IndexOf) else f"jnp.asarray({text}, int)"


def draw_statements(node: Node, key: Sequence[str], scope: Scope) -> Iterator[str]:
    name = scope.names[node.name]
    if len(node.pieces) == 1:
        yield f"{name} = {draw_text(node, node.pieces[0], key[0], scope)}"
        return
    yield f"{name} = {empty_array(node.type, scope)}"
    for piece, own in zip(node.pieces, key, strict=True):
        yield f"{name} = {name}.at{place_text(piece, scope)}.set({draw_text(node, piece, own, scope)})"

"""The log mass of a Categorical at its value: one entry of a table of probabilities, and one logarithm.

NumPyro takes the logarithm of a whole row for every draw. Here log p[i][x] is log p[i, x]: the value is one more index.
"""

from __future__ import annotations

from .. import core as c
from ..check.typed import Piece
from ..graph import Node
from ..types import Real, Type
from .expressions import lower
from .scope import Scope
from .value import Value

CATEGORICAL = "Categorical(p: simplex[N]) -> index[N]"


def is_categorical(piece: Piece) -> bool:
    """Under a mask the gradient of log 0 must not count, which NumPyro sees to."""
    return isinstance(piece.body, c.Law) and piece.body.row == CATEGORICAL and piece.where is None


def lower_log_mass(node: Node, piece: Piece, scope: Scope) -> Value:
    assert isinstance(piece.body, c.Law)
    ((_, probabilities),) = piece.body.arguments
    entry = lower(_entry(probabilities, _value(node, piece)), scope)
    return Value(f"jnp.log({entry.text})", entry.axes)


def _value(node: Node, piece: Piece) -> c.Core:
    """The places of the node that the piece defines."""
    number = Type(node.type.domain)
    whole = c.Ref(piece.span, node.type, node.name)
    places = tuple(c.Var(i.span, number, i.name) if isinstance(i, c.Bind) else i for i in piece.indices)
    return c.At(piece.span, number, whole, places) if places else whole


def _entry(row: c.Core, place: c.Core) -> c.Core:
    """`row[place]`, as one index of the table that the row is taken from."""
    number = Type(Real())
    if isinstance(row, c.At):
        return row.replace(type=number, indices=(*row.indices, place))
    if isinstance(row, c.Stack):
        return c.Lookup(row.span, number, (place,), row.items)
    if isinstance(row, c.Lookup) and all(isinstance(entry, c.Stack) for entry in row.entries):
        items = tuple(item for entry in row.entries if isinstance(entry, c.Stack) for item in entry.items)
        return row.replace(type=number, parents=(*row.parents, place), entries=items)
    return c.At(row.span, number, row, (place,))

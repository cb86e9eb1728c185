"""The log mass of a draw with few values: one entry of a table of probabilities, and one logarithm.

NumPyro takes the logarithm of a whole row for every Categorical, and keeps the probabilities of a
Bernoulli away from zero and one. Here log p[i][x] is log p[i, x]: the value is one more index, and
what is impossible has no mass.
"""

from __future__ import annotations

from ..graph import core as c
from ..graph.graph import Node
from ..graph.typed import Piece
from ..graph.types import Real, Type
from .code import call
from .expressions import lower
from .scope import Scope
from .value import Value, align, joint_axes

CATEGORICAL = "Categorical(p: simplex[N]) -> index[N]"
BERNOULLI = "Bernoulli(p: unit) -> bool"
LOGITS = "Bernoulli(logits: real) -> bool"
POISSON = "Poisson(rate: nonnegative) -> count"


def has_mass(piece: Piece) -> bool:
    """Under a mask the gradient of log 0 must not count, which NumPyro sees to."""
    known = isinstance(piece.body, c.Law) and piece.body.row in (CATEGORICAL, BERNOULLI, LOGITS)
    return known and piece.where is None


def lower_log_mass(node: Node, piece: Piece, scope: Scope) -> Value:
    assert isinstance(piece.body, c.Law)
    found = log_mass_at(piece.body, _value(node, piece), scope)
    assert found is not None
    return found


def log_mass_at(law: c.Law, value: c.Core, scope: Scope) -> Value | None:
    """log of one entry, or for logits x, log P(true) = log sigmoid(x) and log P(false) = log
    sigmoid(-x).

    That of a Poisson has derivatives where the rate is 0 too, as it is where a finite draw says
    that there is nothing.
    """
    mass = mass_at(law, value)
    if mass is not None:
        entry = lower(mass, scope)
        return Value(call("jnp.log", entry.code), entry.axes)
    if law.row == POISSON:
        count, rate = lower(value, scope), lower(law.arguments[0][1], scope)
        axes = joint_axes([count, rate], scope.order)
        given = [align(value, axes, 0).code for value in (count, rate)]
        return Value(call(scope.needs.helper("poisson_log_mass"), *given), axes)
    if law.row != LOGITS:
        return None
    ((_, logits),) = law.arguments
    against = c.Apply(law.span, Type(Real()), "negate", (("x", logits),))
    odds = lower(c.If(law.span, Type(Real()), value, logits, against), scope)
    return Value(call(scope.needs.helper("log_sigmoid"), odds.code), odds.axes)


def mass_at(law: c.Law, value: c.Core) -> c.Core | None:
    """The probability of a value as an expression; None for laws that have no such short one."""
    if law.row not in (CATEGORICAL, BERNOULLI):
        return None
    ((_, probability),) = law.arguments
    if law.row == CATEGORICAL:
        return _entry(probability, value)
    one = c.Const(law.span, Type(Real()), 1.0)
    fails = c.Apply(law.span, Type(Real()), "subtract", (("a", one), ("b", probability)))
    return c.If(law.span, Type(Real()), value, probability, fails)


def _value(node: Node, piece: Piece) -> c.Core:
    """The places of the node that the piece defines."""
    number = Type(node.type.domain)
    whole = c.Ref(piece.span, node.type, node.name)
    places = tuple(
        c.Var(i.span, number, i.name) if isinstance(i, c.Bind) else i for i in piece.indices
    )
    return c.At(piece.span, number, whole, places) if places else whole


def _entry(row: c.Core, place: c.Core) -> c.Core:
    """`row[place]`, as one index of the table that the row is taken from."""
    number = Type(Real())
    if isinstance(row, c.At):
        return row.replace(type=number, indices=(*row.indices, place))
    if isinstance(row, c.Stack):
        return c.Lookup(row.span, number, (place,), row.items)
    if isinstance(row, c.Lookup) and all(isinstance(entry, c.Stack) for entry in row.entries):
        items = tuple(
            item for entry in row.entries if isinstance(entry, c.Stack) for item in entry.items
        )
        return row.replace(type=number, parents=(*row.parents, place), entries=items)
    return c.At(row.span, number, row, (place,))

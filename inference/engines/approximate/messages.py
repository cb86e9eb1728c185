"""One round of messages: m_f->v = sum_rest f prod_u m_u->f, m_v->f = unary_v prod_g m_g->v.

Messages are kept per group and axis, as arrays `[states, factors]`, in scaled real numbers, in
logarithms, or in max-plus. Scaled numbers are used where nothing can underflow: no factor of two or
more variables has a zero, and the ranges of the factors around a variable add up to less than
RANGE. Sums along short leading axes are unrolled: XLA's own are 5 to 20 times slower.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...factors.factor_graph import Array
from .layout import FactorBatch, FactorLayout

UNROLLED = 16
Messages = tuple[tuple[Array, ...], ...]
ProductKind = Literal["sum", "max"]
Schedule = Literal["flooding", "residual"]
RANGE = 600.0  # of 708, the exponents of float64
# the residual schedule sends messages that change by at least this share of the largest change
NEAR_LARGEST = 0.5


class Arithmetic(NamedTuple):
    """How potentials multiply, and how a list of terms, or an axis of them, adds up."""

    multiply: Callable[[Array, Array], Array]
    add_terms: Callable[[Sequence[Array]], Array]
    add_axis: Callable[[Array, int], Array]


def log_add_terms(terms: Sequence[Array]) -> Array:
    """log sum exp; minus infinity where every term is."""
    top = reduce(jnp.maximum, terms)
    top = jnp.where(jnp.isneginf(top), 0.0, top)
    return jnp.log(sum([jnp.exp(term - top) for term in terms], jnp.zeros_like(top))) + top


def log_add_axis(x: Array, axis: int) -> Array:
    top = jnp.max(x, axis=axis, keepdims=True)
    top = jnp.where(jnp.isneginf(top), 0.0, top)
    return jnp.log(jnp.sum(jnp.exp(x - top), axis=axis)) + jnp.squeeze(top, axis)


REAL = Arithmetic(jnp.multiply, partial(reduce, jnp.add), jnp.sum)
LOG = Arithmetic(jnp.add, log_add_terms, log_add_axis)
MAX = Arithmetic(jnp.add, partial(reduce, jnp.maximum), jnp.max)


def add_up(arithmetic: Arithmetic, x: Array, axis: int = 0) -> Array:
    if x.shape[axis] > UNROLLED:
        return arithmetic.add_axis(x, axis)
    return arithmetic.add_terms(along(x, axis))


def along(x: Array, axis: int) -> list[Array]:
    return [jax.lax.index_in_dim(x, i, axis, keepdims=False) for i in range(x.shape[axis])]


def contract_axis(arithmetic: Arithmetic, x: Array, message: Array, axis: int) -> Array:
    """sum_i x[.., i, .., f] message[i, f]."""
    shape = [1] * x.ndim
    shape[axis], shape[-1] = message.shape
    if x.shape[axis] > UNROLLED:
        whole = jnp.broadcast_to(message.reshape(shape), x.shape)
        return arithmetic.add_axis(arithmetic.multiply(x, whole), axis)
    parts = along(x, axis)
    wide = [jnp.broadcast_to(message[i], part.shape) for i, part in enumerate(parts)]
    return arithmetic.add_terms(list(map(arithmetic.multiply, parts, wide)))


def contract_others(
    arithmetic: Arithmetic, table: Array, messages: Sequence[Array], kept: int
) -> Array:
    """sum over all axes but one of the table times their messages: `[kept states, factors]`."""
    for axis in reversed(range(len(messages))):
        if axis != kept:
            table = contract_axis(arithmetic, table, messages[axis], axis)
    return table


def take(x: Array, columns: Array) -> Array:
    """x[:, columns], without the checks of bounds."""
    return x.at[:, columns].get(mode="promise_in_bounds")


class MessageSetting(NamedTuple):
    """What the compiled program depends on besides shapes."""

    product: ProductKind
    schedule: Schedule
    scaled: bool
    zeros: bool

    @property
    def arithmetic(self) -> Arithmetic:
        if self.product == "max":
            return MAX
        return REAL if self.scaled else LOG


class Potentials(NamedTuple):
    """Unary potentials and groups, as logarithms or, scaled, as they are."""

    unary: Array
    groups: tuple[FactorBatch, ...]


def fits_scaled(layout: FactorLayout) -> bool:
    """Whether products of messages stay within RANGE of the exponents around every variable."""
    if layout.has_zeros:
        return False
    around = np.zeros(layout.count)
    for group in layout.groups:
        axes = tuple(range(group.arity))
        spans = group.logs.max(axis=axes) - group.logs.min(axis=axes) + np.log(layout.states)
        for members in group.members:
            np.add.at(around, members, spans)
    return bool(around.max(initial=0.0) < RANGE)


def potentials_of(layout: FactorLayout, setting: MessageSetting) -> Potentials:
    """The potentials in the arithmetic of the setting; factors scaled by their largest entry."""
    unary = layout.unary - layout.unary.max(axis=0, initial=-np.inf)[None]
    lower: Callable[[np.ndarray], np.ndarray] = np.exp if setting.scaled else np.asarray
    groups = []
    for group in layout.groups:
        top = group.logs.max(axis=tuple(range(group.arity)), keepdims=True)
        logs = group.logs - np.where(np.isneginf(top), 0.0, top)
        groups.append(FactorBatch(lower(logs), group.members))
    return Potentials(lower(unary), tuple(groups))


def first_messages(potentials: Potentials, setting: MessageSetting) -> Messages:
    """All constant."""

    one = 1.0 if setting.arithmetic is REAL else 0.0

    def constant(group: FactorBatch, axis: int) -> Array:
        return normalise(setting, jnp.full((group.logs.shape[axis], group.logs.shape[-1]), one))

    return tuple([tuple([constant(g, axis) for axis in range(g.arity)]) for g in potentials.groups])


def normalise(setting: MessageSetting, message: Array) -> Array:
    """Scaled messages sum to one; the largest entry of the others is zero."""
    if setting.scaled:
        return message / add_up(REAL, message)[None]
    top = add_up(MAX, message)[None]
    return message - jnp.where(jnp.isneginf(top), 0.0, top)


def totals_of(potentials: Potentials, messages: Messages, setting: MessageSetting) -> Array:
    """unary_v times all messages to v: beliefs, not normalised, `[states, variables]`."""
    total = potentials.unary
    for group, row in zip(potentials.groups, messages, strict=True):
        for members, message in zip(group.members, row, strict=True):
            place = total.at[: message.shape[0], members]
            send = place.multiply if setting.scaled else place.add
            total = send(message, mode="promise_in_bounds")
    return total


def outgoing_messages(
    potentials: Potentials, messages: Messages, setting: MessageSetting
) -> Messages:
    """unary_v times the messages to v from all factors but f, whose own is divided out. Zeros of
    messages are counted apart: a product without f is zero if another factor sent a zero.
    """
    if not setting.zeros:
        total = totals_of(potentials, messages, setting)
        divide = jnp.divide if setting.scaled else jnp.subtract

        def divided(group: FactorBatch, axis: int, m: Array) -> Array:
            return divide(take(total[: m.shape[0]], group.members[axis]), m)

        return map_axes(divided, potentials, messages)
    dead = jax.tree.map(lambda m: jnp.where(jnp.isneginf(m), 1.0, 0.0), messages)
    finite = jax.tree.map(lambda m: jnp.where(jnp.isneginf(m), 0.0, m), messages)
    total = totals_of(potentials, finite, setting)
    deaths = totals_of(Potentials(jnp.zeros_like(total), potentials.groups), dead, setting)

    def without(group: FactorBatch, axis: int, m: Array) -> Array:
        mine = jnp.isneginf(m)
        sent = take(total[: m.shape[0]], group.members[axis]) - jnp.where(mine, 0.0, m)
        others = take(deaths[: m.shape[0]], group.members[axis]) - jnp.where(mine, 1.0, 0.0)
        return jnp.where(others > 0, -jnp.inf, sent)

    return map_axes(without, potentials, messages)


def map_axes(
    function: Callable[[FactorBatch, int, Array], Array], potentials: Potentials, messages: Messages
) -> Messages:
    found = []
    for group, row in zip(potentials.groups, messages, strict=True):
        found.append(tuple([function(group, axis, m) for axis, m in enumerate(row)]))
    return tuple(found)


def next_messages(
    potentials: Potentials, messages: Messages, damping: Array, setting: MessageSetting
) -> Messages:
    """One round, damped: damping * old + (1 - damping) * new, of logarithms where they are."""
    outgoing = outgoing_messages(potentials, messages, setting)
    outgoing = jax.lax.optimization_barrier(jax.tree.map(partial(normalise, setting), outgoing))
    found = []
    for group, row, olds in zip(potentials.groups, outgoing, messages, strict=True):
        answers = [contract_others(setting.arithmetic, group.logs, row, a) for a in range(len(row))]
        news = [normalise(setting, answer) for answer in answers]
        found.append(tuple([damped(*pair, damping) for pair in zip(news, olds, strict=True)]))
    return tuple(found)


def damped(new: Array, old: Array, damping: Array) -> Array:
    """Between old and new; what was or becomes zero is new, as zeros are never taken back."""
    return jnp.where(jnp.isneginf(new) | jnp.isneginf(old), new, new + damping * (old - new))


def changes(new: Messages, old: Messages) -> Messages:
    """How much each message changes: the largest change of its entries, `[factors]`."""

    def change(a: Array, b: Array) -> Array:
        return add_up(MAX, jnp.abs(jnp.where(a == b, 0.0, a - b)))  # both may be -inf

    moved: Messages = jax.tree.map(change, new, old)
    return moved


def largest(values: Messages) -> Array:
    leaves = [jnp.max(leaf, initial=0.0) for leaf in jax.tree.leaves(values)]
    return jnp.max(jnp.stack(leaves)) if leaves else jnp.zeros(())


def send_largest(new: Messages, old: Messages) -> tuple[Messages, Array]:
    """The residual schedule in bulk: messages near the largest change are sent; and that."""
    moved = changes(new, old)
    top = largest(moved)
    near = jax.tree.map(lambda change: (change >= NEAR_LARGEST * top)[None], moved)
    sent = jax.tree.map(jnp.where, near, new, old)
    return sent, top

"""One round of messages: m_f->v = sum_rest f prod_u m_u->f, m_v->f = unary_v prod_g m_g->v.

Messages are kept per group and axis, as arrays `[states, factors]`, in scaled real numbers, in
logarithms, or in max-plus. Scaled numbers are used where nothing can underflow: no factor of two or
more variables has a zero, and the ranges of the factors around a variable add up to less than
RANGE. Sums along short leading axes are unrolled: XLA's own are 5 to 20 times slower.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...factors.factor_graph import Array
from .layout import FactorBatch, FactorLayout

UNROLLED = 16


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


REAL = Arithmetic(
    jnp.multiply, lambda terms: reduce(jnp.add, terms), lambda x, axis: jnp.sum(x, axis=axis)
)
LOG = Arithmetic(jnp.add, log_add_terms, log_add_axis)
MAX = Arithmetic(
    jnp.add, lambda terms: reduce(jnp.maximum, terms), lambda x, axis: jnp.max(x, axis=axis)
)


def add_up(arithmetic: Arithmetic, x: Array, axis: int = 0) -> Array:
    """x summed along an axis."""
    if x.shape[axis] > UNROLLED:
        return arithmetic.add_axis(x, axis)
    return arithmetic.add_terms(
        [jax.lax.index_in_dim(x, i, axis, keepdims=False) for i in range(x.shape[axis])]
    )


def contract_axis(arithmetic: Arithmetic, x: Array, message: Array, axis: int) -> Array:
    """sum_i x[.., i, .., f] message[i, f]."""
    shape = [1] * x.ndim
    shape[axis], shape[-1] = message.shape
    if x.shape[axis] > UNROLLED:
        wide = jnp.broadcast_to(message.reshape(shape), x.shape)
        return arithmetic.add_axis(arithmetic.multiply(x, wide), axis)
    parts = [jax.lax.index_in_dim(x, i, axis, keepdims=False) for i in range(x.shape[axis])]
    terms = [
        arithmetic.multiply(part, jnp.broadcast_to(message[i], part.shape))
        for i, part in enumerate(parts)
    ]
    return arithmetic.add_terms(terms)


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


Messages = tuple[tuple[Array, ...], ...]
ProductKind = Literal["sum", "max"]
Schedule = Literal["flooding", "residual"]
RANGE = 600.0  # of 708, the exponents of float64
# the residual schedule sends messages that change by at least this share of the largest change
NEAR_LARGEST = 0.5


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
    tops = [
        group.logs.max(axis=tuple(range(group.arity)), keepdims=True) for group in layout.groups
    ]
    logs = [
        group.logs - np.where(np.isneginf(top), 0.0, top)
        for group, top in zip(layout.groups, tops, strict=True)
    ]
    lower: Callable[[np.ndarray], np.ndarray] = np.exp if setting.scaled else np.asarray
    groups = [
        FactorBatch(lower(x), group.members) for x, group in zip(logs, layout.groups, strict=True)
    ]
    return Potentials(lower(unary), tuple(groups))


def first_messages(potentials: Potentials, setting: MessageSetting) -> Messages:
    """All constant."""

    def constant(group: FactorBatch, axis: int) -> Array:
        shape = (group.logs.shape[axis], group.logs.shape[-1])
        return normalise(
            setting, jnp.zeros(shape) if setting.arithmetic is not REAL else jnp.ones(shape)
        )

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
    paired = zip(potentials.groups, messages, strict=True)
    return tuple(
        [tuple([function(group, axis, m) for axis, m in enumerate(row)]) for group, row in paired]
    )


def answer_messages(
    potentials: Potentials, outgoing: Messages, setting: MessageSetting
) -> Messages:
    """The messages of factors to variables, given those of variables to factors; not normalised."""
    arithmetic = setting.arithmetic
    return tuple(
        [
            tuple(
                [contract_others(arithmetic, group.logs, row, kept) for kept in range(group.arity)]
            )
            for group, row in zip(potentials.groups, outgoing, strict=True)
        ]
    )


def normalise_all(setting: MessageSetting, messages: Messages) -> Messages:
    return tuple([tuple([normalise(setting, m) for m in row]) for row in messages])


def next_messages(
    potentials: Potentials, messages: Messages, damping: Array, setting: MessageSetting
) -> Messages:
    """One round, damped: damping * old + (1 - damping) * new, of logarithms where they are."""
    outgoing = outgoing_messages(potentials, messages, setting)
    outgoing = jax.lax.optimization_barrier(normalise_all(setting, outgoing))
    answers = normalise_all(setting, answer_messages(potentials, outgoing, setting))
    mixed: Messages = jax.tree.map(lambda new, old: damped(new, old, damping), answers, messages)
    return mixed


def damped(new: Array, old: Array, damping: Array) -> Array:
    """Between old and new; what was or becomes zero is new, as zeros are never taken back."""
    return jnp.where(jnp.isneginf(new) | jnp.isneginf(old), new, new + damping * (old - new))


def difference(a: Array, b: Array) -> Array:
    """a - b, zero where both are minus infinity."""
    return jnp.where(a == b, 0.0, a - b)


def changes(new: Messages, old: Messages) -> Messages:
    """How much each message changes: the largest change of its entries, `[factors]`."""
    moved: Messages = jax.tree.map(lambda a, b: add_up(MAX, jnp.abs(difference(a, b))), new, old)
    return moved


def largest(values: Messages) -> Array:
    leaves = [jnp.max(leaf, initial=0.0) for leaf in jax.tree.leaves(values)]
    return jnp.max(jnp.stack(leaves)) if leaves else jnp.zeros(())


def send_largest(new: Messages, old: Messages) -> tuple[Messages, Array]:
    """The residual schedule in bulk: messages near the largest change are sent; and that."""
    moved = changes(new, old)
    top = largest(moved)
    sent = jax.tree.map(
        lambda a, b, change: jnp.where((change >= NEAR_LARGEST * top)[None], a, b), new, old, moved
    )
    return sent, top

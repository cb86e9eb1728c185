"""Sums of products along short leading axes, unrolled: XLA's own are 5 to 20 times slower."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ...factors.factor_graph import Array

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
    spread = [1] * x.ndim
    spread[axis], spread[-1] = message.shape
    if x.shape[axis] > UNROLLED:
        wide = jnp.broadcast_to(message.reshape(spread), x.shape)
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

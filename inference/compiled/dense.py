"""The few large products of a plan, one by one, as matrix products.

out[b, m, n] = sum_k left[b, m, k] * right[b, k, n], on tensors of plain floats over one power of two each, so that
their largest entry is in [1, 2): what lies below 2**-1022 (2**-126 in single precision) of it is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from .circuit import Variables
from .numbers import LOG_TWO, Array, Wide, normalised, power_of_two

FEW = 16  # terms of a matrix below which a loop over all of them is faster than matrix products


class Scaled(NamedTuple):
    """values * 2**exponent, with one exponent for all."""

    values: Array
    exponent: Array


class Operand(NamedTuple):
    """How a tensor becomes (batch, kept alone, shared and summed, summed alone)."""

    axes: tuple[int, ...]
    shape: tuple[int, int, int, int]


class Dense(NamedTuple):
    """Array `out` from the arrays `left` and `right`; `shape` has an axis for each variable of out."""

    out: int
    left: int
    right: int
    first: Operand
    second: Operand
    shape: tuple[int, ...]


def plan_dense(
    out: int, left: int, right: int, scopes: Mapping[int, Variables], kept: Variables, sizes: Sequence[int]
) -> tuple[Dense, Variables]:
    """The product of two arrays summed to the variables `kept`, and the axis order of its result."""
    one, two = scopes[left], scopes[right]
    batch = [v for v in one if v in two and v in kept]
    inner = [v for v in one if v in two and v not in kept]

    def operand(variables: Variables, other: Variables) -> tuple[Operand, list[int]]:
        alone = [v for v in variables if v not in other and v in kept]
        gone = [v for v in variables if v not in other and v not in kept]
        groups = (batch, alone, inner, gone)
        b, m, k, g = [prod([sizes[v] for v in group]) for group in groups]
        return Operand(tuple([variables.index(v) for group in groups for v in group]), (b, m, k, g)), alone

    first, rows = operand(one, two)
    second, columns = operand(two, one)
    result = tuple([*batch, *rows, *columns])
    return Dense(out, left, right, first, second, tuple([sizes[v] for v in result])), result


def run_dense(step: Dense, left: Scaled, right: Scaled) -> Scaled:
    one, two = arranged(step.first, left.values), arranged(step.second, right.values)
    _, m, k = one.shape
    n = two.shape[1]
    if k * max(m, n) < FEW:
        product = jnp.sum(one[:, :, None, :] * two[:, None, :, :], axis=-1)
    else:
        product = jnp.einsum("bmk,bnk->bmn", one, two)
    return rescaled(product.reshape(step.shape), left.exponent + right.exponent)


def arranged(operand: Operand, values: Array) -> Array:
    """(batch, kept, summed), what is summed alone already gone."""
    grouped = values.transpose(operand.axes).reshape(operand.shape)
    return jnp.sum(grouped, axis=3) if operand.shape[3] > 1 else grouped[..., 0]


def rescaled(values: Array, exponent: Array) -> Scaled:
    """The same numbers with the largest in [1, 2)."""
    top = normalised(jnp.max(values), exponent).exponent
    return Scaled(values * power_of_two(exponent - top, values.dtype), top)


def scaled_of_logs(logs: Array) -> Scaled:
    """exp(logs); a tensor of nothing but zeros has the exponent zero."""
    top = lax.stop_gradient(jnp.max(logs))
    whole = jnp.floor(jnp.where(top == -jnp.inf, 0.0, top) / LOG_TWO)
    return Scaled(jnp.exp(logs - whole * LOG_TWO), whole.astype(jnp.int32))


def scaled_of_wide(number: Wide) -> Scaled:
    top = jnp.max(number.exponent)
    return Scaled(number.mantissa * power_of_two(number.exponent - top, number.mantissa.dtype), top)

"""Reals without underflow: mantissa * 2**exponent, entry by entry, or one exponent a tensor.

Sums and products of potentials stay in the real domain (no exp and log at each term), and no
evidence, however unlikely, rounds to zero: a mantissa is 0 or in [1, 2), its exponent a whole
number of 32 bits. Exponents are constants to differentiation, which goes through the mantissas.
The few large products of a plan are matrix products, out[b, m, n] = sum_k left[b, m, k] *
right[b, k, n], on tensors of plain floats over one power of two each, so that their largest entry
is in [1, 2): what lies below 2**-1022 (2**-126 in single precision) of it is lost.
"""

from collections.abc import Mapping, Sequence
from math import log, prod
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from .circuit import Variables

Array = Any
LOG_TWO = log(2.0)
ZERO_EXPONENT = -(1 << 28)  # of the number zero: two of them still add without overflow
FEW = 16  # terms of a matrix below which a loop over all of them is faster than matrix products


class Wide(NamedTuple):
    mantissa: Array
    exponent: Array


class FloatBits(NamedTuple):
    """Where a float keeps its exponent."""

    bits: Any
    fraction: int
    bias: int


LAYOUTS = {4: FloatBits(jnp.int32, 23, 127), 8: FloatBits(jnp.int64, 52, 1023)}


def power_of_two(exponent: Array, dtype: Any) -> Array:
    """2**exponent, written into the bits of a float; zero where it is too small for one."""
    bits, fraction, bias = LAYOUTS[jnp.dtype(dtype).itemsize]
    return lax.bitcast_convert_type(jnp.maximum(exponent + bias, 0).astype(bits) << fraction, dtype)


def normalised(mantissa: Array, exponent: Array) -> Wide:
    """The same number with its mantissa in [1, 2), read from the bits."""
    bits, fraction, bias = LAYOUTS[mantissa.dtype.itemsize]
    raw = lax.bitcast_convert_type(lax.stop_gradient(mantissa), bits)
    moved = ((raw >> fraction) - bias).astype(jnp.int32)
    shifted = jnp.where(mantissa > 0, exponent + moved, ZERO_EXPONENT)
    return Wide(mantissa * power_of_two(-moved, mantissa.dtype), shifted)


def wide_of_logs(logs: Array) -> Wide:
    """exp(logs); minus infinity is zero, with gradient zero."""
    zero = logs == -jnp.inf
    finite = jnp.where(zero, 0.0, logs)
    whole = jnp.floor(lax.stop_gradient(finite) / LOG_TWO)
    mantissa = jnp.where(zero, 0.0, jnp.exp(finite - whole * LOG_TWO))
    return Wide(mantissa, jnp.where(zero, ZERO_EXPONENT, whole.astype(jnp.int32)))


def logs_of_wide(number: Wide) -> Array:
    """The logarithm; minus infinity, with gradient zero, at zero."""
    some = number.mantissa > 0
    power = number.exponent.astype(number.mantissa.dtype) * LOG_TWO
    return jnp.where(some, jnp.log(jnp.where(some, number.mantissa, 1.0)) + power, -jnp.inf)


def sum_of_products(left: Wide, right: Wide) -> Wide:
    """sum_k left[k] * right[k]: the terms are brought to their largest exponent."""
    products, exponents = left.mantissa * right.mantissa, left.exponent + right.exponent
    top = jnp.max(exponents, axis=0)
    scaled = products * power_of_two(exponents - top[None], products.dtype)
    return normalised(jnp.sum(scaled, axis=0), top)


def ratio(number: Wide, other: Wide, total: Wide) -> Array:
    """number * other / total as a float, for totals at least as large; 0 / 0 is 0."""
    exponent = number.exponent + other.exponent - total.exponent
    scaled = number.mantissa * other.mantissa * power_of_two(exponent, number.mantissa.dtype)
    some = total.mantissa > 0
    return jnp.where(some, scaled / jnp.where(some, total.mantissa, 1.0), 0.0)


class Scaled(NamedTuple):
    """values * 2**exponent, with one exponent for all."""

    values: Array
    exponent: Array


class Operand(NamedTuple):
    """How a tensor becomes (batch, kept alone, shared and summed, summed alone), or the middle two
    turned: the order that leaves its axes where they are, if one does, as moving is slow.
    """

    axes: tuple[int, ...]
    shape: tuple[int, int, int, int]
    summed_first: bool


class Dense(NamedTuple):
    """Array `out` from `left` and `right`; `shape` has an axis for each variable of out. Not all
    are rescaled: double precision has room for a few products, in a smaller program.
    """

    out: int
    left: int
    right: int
    first: Operand
    second: Operand
    shape: tuple[int, ...]
    rescale: bool


def plan_dense(
    arrays: tuple[int, int, int],
    scopes: Mapping[int, Variables],
    kept: Variables,
    sizes: Sequence[int],
    rescale: bool,
) -> tuple[Dense, Variables]:
    """The product (out, left, right) summed to the variables `kept`, and its axis order."""
    out, left, right = arrays
    one, two = scopes[left], scopes[right]
    larger, smaller = sorted((one, two), key=lambda s: -prod([sizes[v] for v in s]))
    batch = [v for v in larger if v in smaller and v in kept]
    inner = [v for v in larger if v in smaller and v not in kept]

    def operand(variables: Variables, other: Variables) -> tuple[Operand, list[int]]:
        alone = [v for v in variables if v not in other and v in kept]
        gone = [v for v in variables if v not in other and v not in kept]
        summed_first = (*batch, *inner, *alone, *gone) == variables
        groups = (batch, inner, alone, gone) if summed_first else (batch, alone, inner, gone)
        a, b, c, d = [prod([sizes[v] for v in group]) for group in groups]
        axes = tuple([variables.index(v) for group in groups for v in group])
        return Operand(axes, (a, b, c, d), summed_first), alone

    first, rows = operand(one, two)
    second, columns = operand(two, one)
    result = (*batch, *rows, *columns)
    shape = tuple([sizes[v] for v in result])
    return Dense(out, left, right, first, second, shape, rescale), result


def run_dense(step: Dense, left: Scaled, right: Scaled) -> Scaled:
    one, two = arranged(step.first, left.values), arranged(step.second, right.values)
    first = "bkm" if step.first.summed_first else "bmk"
    second = "bkn" if step.second.summed_first else "bnk"
    sizes = dict(zip(first + second, one.shape + two.shape, strict=True))
    if sizes["k"] * max(sizes["m"], sizes["n"]) < FEW:
        one, two = jnp.einsum(f"{first}->bmk", one), jnp.einsum(f"{second}->bnk", two)
        product = jnp.sum(one[:, :, None, :] * two[:, None, :, :], axis=-1)
    else:
        product = jnp.einsum(f"{first},{second}->bmn", one, two)
    found = Scaled(product.reshape(step.shape), left.exponent + right.exponent)
    return rescaled(found) if step.rescale or product.dtype != jnp.float64 else found


def arranged(operand: Operand, values: Array) -> Array:
    """Three axes, what is summed alone already gone."""
    grouped = values.transpose(operand.axes).reshape(operand.shape)
    return jnp.sum(grouped, axis=3) if operand.shape[3] > 1 else grouped[..., 0]


def rescaled(number: Scaled) -> Scaled:
    """The same numbers with the largest in [1, 2); zeros stay as they are."""
    most = jnp.max(number.values)
    top = jnp.where(most > 0, normalised(most, number.exponent).exponent, number.exponent)
    return Scaled(number.values * power_of_two(number.exponent - top, number.values.dtype), top)


def scaled_of_logs(logs: Array) -> Scaled:
    """exp(logs); a tensor of nothing but zeros has the exponent zero."""
    top = lax.stop_gradient(jnp.max(logs))
    whole = jnp.floor(jnp.where(top == -jnp.inf, 0.0, top) / LOG_TWO)
    return Scaled(jnp.exp(logs - whole * LOG_TWO), whole.astype(jnp.int32))


def scaled_of_wide(number: Wide) -> Scaled:
    top = jnp.max(number.exponent)
    return Scaled(number.mantissa * power_of_two(number.exponent - top, number.mantissa.dtype), top)

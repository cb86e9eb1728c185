"""Reals without underflow: mantissa * 2**exponent, entry by entry.

Sums and products of potentials stay in the real domain (no exp and log at each term), and no
evidence, however unlikely, rounds to zero: a mantissa is 0 or in [1, 2), its exponent a whole
number of 32 bits. Exponents are constants to differentiation, which goes through the mantissas.
"""

from math import log
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

Array = Any
LOG_TWO = log(2.0)
ZERO_EXPONENT = -(1 << 28)  # of the number zero: two of them still add without overflow


class Wide(NamedTuple):
    mantissa: Array
    exponent: Array


class FloatBits(NamedTuple):
    """Where a float keeps its exponent."""

    bits: Any
    fraction: int
    bias: int


LAYOUTS = {4: FloatBits(jnp.int32, 23, 127), 8: FloatBits(jnp.int64, 52, 1023)}


def layout_of(dtype: Any) -> FloatBits:
    return LAYOUTS[jnp.dtype(dtype).itemsize]


def power_of_two(exponent: Array, dtype: Any) -> Array:
    """2**exponent, written into the bits of a float; zero where it is too small for one."""
    bits, fraction, bias = layout_of(dtype)
    return lax.bitcast_convert_type(jnp.maximum(exponent + bias, 0).astype(bits) << fraction, dtype)


def normalised(mantissa: Array, exponent: Array) -> Wide:
    """The same number with its mantissa in [1, 2), read from the bits."""
    bits, fraction, bias = layout_of(mantissa.dtype)
    moved = (
        (lax.bitcast_convert_type(lax.stop_gradient(mantissa), bits) >> fraction) - bias
    ).astype(jnp.int32)
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
    logs = (
        jnp.log(jnp.where(some, number.mantissa, 1.0))
        + number.exponent.astype(number.mantissa.dtype) * LOG_TWO
    )
    return jnp.where(some, logs, -jnp.inf)


def sum_of_products(left: Wide, right: Wide) -> Wide:
    """sum_k left[k] * right[k]: the terms are brought to their largest exponent."""
    products, exponents = left.mantissa * right.mantissa, left.exponent + right.exponent
    top = jnp.max(exponents, axis=0)
    return normalised(
        jnp.sum(products * power_of_two(exponents - top[None], products.dtype), axis=0), top
    )


def ratio(number: Wide, other: Wide, total: Wide) -> Array:
    """number * other / total as a float, for totals at least as large; 0 / 0 is 0."""
    exponent = number.exponent + other.exponent - total.exponent
    scaled = number.mantissa * other.mantissa * power_of_two(exponent, number.mantissa.dtype)
    return jnp.where(
        total.mantissa > 0, scaled / jnp.where(total.mantissa > 0, total.mantissa, 1.0), 0.0
    )

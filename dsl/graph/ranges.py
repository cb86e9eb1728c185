"""Ranges of numbers: from the ranges of its arguments that of a value."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from math import inf

from ..library.rows import FunctionRow

Interval = tuple[float, float]


def join(*parts: Interval) -> Interval:
    return min(low for low, _ in parts), max(high for _, high in parts)


def meet(a: Interval, b: Interval) -> Interval:
    """What both allow; the first where they exclude each other."""
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else a


# ---- operators


def _products(a: Interval, b: Interval) -> list[float]:
    return [0 if 0 in (x, y) else x * y for x in a for y in b]


def multiply(a: Interval, b: Interval) -> Interval:
    return min(_products(a, b)), max(_products(a, b))


def divide(a: Interval, b: Interval) -> Interval:
    if b[0] > 0 or b[1] < 0:
        return multiply(a, (1 / b[1], 1 / b[0]))
    if b[0] == 0:
        return multiply(a, (0 if b[1] == inf else 1 / b[1] if b[1] else 0, inf))
    return -inf, inf


def power(a: Interval, b: Interval) -> Interval:
    """Monotone in a base above 0; an even power of any base is 0 or above."""
    exponent = b[0] if b[0] == b[1] else None
    if a[0] < 0:
        if exponent is None or exponent % 2 == 1:
            return -inf, inf
        if exponent % 1:  # what is below 0 has no such power
            return power((0.0, max(a[1], 0.0)), b)
        least = 0.0 if a[1] >= 0 else -a[1]
        return power((least, max(-a[0], a[1])), b)
    if exponent is None:
        is_share = a[1] <= 1 and b[0] >= 0
        return (0, 1) if is_share else (0, inf)
    ends = [_evaluated(math.pow, (end, exponent), inf) for end in a]
    return min(ends), max(ends)


OPERATORS: dict[str, Callable[[Interval, Interval], Interval]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "subtract": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "multiply": multiply,
    "divide": divide,
    "power": power,
}


# ---- functions

PLAIN: dict[str, Callable[..., float]] = {
    **{name: getattr(math, name) for name in ("exp", "expm1", "log", "log1p", "log2", "log10")},
    **{name: getattr(math, name) for name in ("sqrt", "tanh", "sinh", "asinh", "atan", "erf")},
    **{name: getattr(math, name) for name in ("floor", "ceil", "trunc", "erfc", "acos", "asin")},
    **{name: getattr(math, name) for name in ("cosh", "lgamma", "sin", "cos", "tan", "pow")},
    "square": lambda x: x * x,
    "Phi": lambda x: math.erfc(-x / math.sqrt(2)) / 2,
    "logistic": lambda x: 1 / (1 + math.exp(-x)),
    "softplus": lambda x: math.log1p(math.exp(x)),
    "round": round,
    "relu": lambda x: max(x, 0.0),
    "max": max,
    "min": min,
    "sign": lambda x: float((x > 0) - (x < 0)),
    "clip": lambda x, lower, upper: min(max(x, lower), upper),
}
"""The value of a monotone function at the ends of a range."""


AT_A_POINT: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": math.pow,
    "negate": operator.neg,
}
"""Operators of numbers, which are more than the ends of a range."""


def value_at(name: str, points: list[float]) -> float | None:
    """The value of an operator or a function at a point, infinite where it is too large.

    None where it is not known, or has none.
    """
    function = AT_A_POINT.get(name) or PLAIN.get(name)
    try:
        return float(function(*points)) if function else None
    except OverflowError:
        return math.inf
    except (ArithmeticError, ValueError, TypeError):
        return None


def range_of_function(row: FunctionRow, given: dict[str, Interval], result: Interval) -> Interval:
    """A function that rises or falls in every argument has its ends where they have theirs."""
    rising, falling = row.rising.split(), row.falling.split()
    result = meet(row.within, result)
    if row.name not in PLAIN or not given.keys() <= {*rising, *falling}:
        return result
    low = [ends[name in falling] for name, ends in given.items()]
    high = [ends[name in rising] for name, ends in given.items()]
    function = PLAIN[row.name]
    ends = _evaluated(function, low, result[0]), _evaluated(function, high, result[1])
    return meet(result, ends)


def _evaluated(function: Callable[..., float], at: object, otherwise: float) -> float:
    """`otherwise` where Python has no answer: beyond the largest number, or outside a domain."""
    try:
        found = float(function(*at))  # type: ignore[misc]
    except (ArithmeticError, ValueError):
        return otherwise
    return otherwise if math.isnan(found) else found

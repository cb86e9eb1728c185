"""Semirings as values (GM29): one pass over a plan, read in the semiring of the question.

A semiring has two operations on arrays (they broadcast), their units, a sum along axes, and a way
to read a log-potential as an element. Laws, checked by property tests for each row of SEMIRINGS:
addition is associative and commutative with unit zero, multiplication is associative with unit one
and distributes over addition, zero annihilates. Elements of composite semirings (k-best,
expectation) take `event` trailing axes. The last argument of every operation is the array
namespace, numpy or jax.numpy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
Namespace = Any
Axes = tuple[int, ...]
Binary = Callable[[Array, Array, Namespace], Array]
Reduce = Callable[[Array, Axes, Namespace], Array]


@dataclass(frozen=True)
class Semiring:
    """`reduce(x, axes, xp)` is addition along axes (counted from the front, events excluded)."""

    name: str
    add: Binary
    mul: Binary
    zero: Any
    one: Any
    reduce: Reduce
    lift: Callable[[Array, Namespace], Array]
    event: int = 0
    verified: bool = True  # false of a user's own: its laws are checked where it is used


def namespace_of(x: Array) -> Namespace:
    """numpy for NumPy arrays and numbers, jax.numpy for the rest."""
    if isinstance(x, np.ndarray | np.generic | float | int):
        return np
    import jax.numpy as jnp

    return jnp


def along_one_axis(x: Array, axes: Axes, xp: Namespace) -> Array:
    """The axes merged into a last one."""
    moved = xp.moveaxis(x, axes, range(-len(axes), 0))
    return xp.reshape(moved, (*moved.shape[: moved.ndim - len(axes)], -1))


def log_sum_exp(x: Array, axes: Axes, xp: Namespace = np) -> Array:
    """log sum exp(x) (GM24); -inf, with gradient zero, where every term is -inf."""
    top = xp.max(x, axis=axes, keepdims=True)
    if xp is not np:
        from jax.lax import stop_gradient

        top = stop_gradient(top)
    top = xp.where(xp.isfinite(top), top, 0.0)
    mass = xp.sum(xp.exp(x - top), axis=axes)
    some = mass > 0
    value = xp.log(xp.where(some, mass, 1.0)) + xp.reshape(top, mass.shape)
    return xp.where(some, value, -xp.inf)


def first_max(x: Array, axes: Axes, xp: Namespace = np) -> Array:
    """The maximum; its gradient goes to the first of the largest, it is not shared among ties."""
    if not axes:
        return x
    if xp is np:
        return np.max(x, axis=axes)
    merged = along_one_axis(x, axes, xp)
    return xp.take_along_axis(merged, xp.argmax(merged, axis=-1, keepdims=True), axis=-1)[..., 0]


def pairwise(reduce: Reduce) -> Binary:
    """The binary operation of a reduction."""

    def add(a: Array, b: Array, xp: Namespace) -> Array:
        a, b = xp.broadcast_arrays(xp.asarray(a), xp.asarray(b))
        return reduce(xp.stack([a, b]), (0,), xp)

    return add


def folded(add: Binary) -> Reduce:
    """The reduction of a binary operation: halves are added until one is left."""

    def reduce(x: Array, axes: Axes, xp: Namespace) -> Array:
        for axis in sorted(axes, reverse=True):
            front = xp.moveaxis(x, axis, 0)
            while front.shape[0] > 1:
                half = front.shape[0] // 2
                joined = add(front[:half], front[half : 2 * half], xp)
                front = xp.concatenate([joined, front[2 * half :]])
            x = front[0]
        return x

    return reduce


def plus(a: Array, b: Array, xp: Namespace) -> Array:
    return a + b


def times(a: Array, b: Array, xp: Namespace) -> Array:
    return a * b


def total(x: Array, axes: Axes, xp: Namespace) -> Array:
    return xp.sum(x, axis=axes)


def same(x: Array, xp: Namespace) -> Array:
    return x


PROBABILITY = Semiring("probability", plus, times, 0.0, 1.0, total, lambda x, xp: xp.exp(x))
LOG = Semiring("log", pairwise(log_sum_exp), plus, -np.inf, 0.0, log_sum_exp, same)
MAX_PLUS = Semiring(
    "max-plus", lambda a, b, xp: xp.where(a >= b, a, b), plus, -np.inf, 0.0, first_max, same
)
MIN_PLUS = Semiring(
    "min-plus",
    lambda a, b, xp: xp.where(a <= b, a, b),
    plus,
    np.inf,
    0.0,
    lambda x, axes, xp: -first_max(-x, axes, xp),
    lambda x, xp: -x,
)
BOOLEAN = Semiring(
    "boolean",
    lambda a, b, xp: a | b,
    lambda a, b, xp: a & b,
    False,
    True,
    lambda x, axes, xp: xp.any(x, axis=axes),
    lambda x, xp: x > -xp.inf,
)


def lift_count(x: Array, xp: Namespace) -> Array:
    """One where the potential is not zero: in NumPy Python integers, so nothing is rounded."""
    alive = x > -xp.inf
    return np.where(alive, 1, 0).astype(object) if xp is np else xp.where(alive, 1.0, 0.0)


COUNTING = Semiring("counting", plus, times, 0, 1, total, lift_count)


def smoothed_max(temperature: float) -> Semiring:
    """temperature * log sum exp(x / temperature); 1 is log, 0+ is max-plus (GM28, GM31)."""

    def reduce(x: Array, axes: Axes, xp: Namespace) -> Array:
        return temperature * log_sum_exp(x / temperature, axes, xp)

    return Semiring(
        f"smoothed max at {temperature:g}", pairwise(reduce), plus, -np.inf, 0.0, reduce, same
    )


def ranked_pairs(k: int) -> tuple[Array, Array]:
    """Ranks i, j from 0 of two descending lists whose sums may be among the k largest.

    a_i + b_j has (i + 1) (j + 1) sums that are as large, so i, j matter if that is at most k: there
    are k (1 + log k) such pairs at most, not k^2.
    """
    counts = k // np.arange(1, k + 1)
    first = np.repeat(np.arange(k), counts)
    return first, np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)


def k_best(k: int) -> Semiring:
    """The k largest scores, in descending order along a last axis; -inf where there are fewer."""
    left, right = ranked_pairs(k)

    def top(x: Array, xp: Namespace) -> Array:
        return -xp.sort(-x, axis=-1)[..., :k]

    def add(a: Array, b: Array, xp: Namespace) -> Array:
        return top(xp.concatenate(xp.broadcast_arrays(a, b), axis=-1), xp)

    def mul(a: Array, b: Array, xp: Namespace) -> Array:
        return top(a[..., left] + b[..., right], xp)

    def reduce(x: Array, axes: Axes, xp: Namespace) -> Array:
        return top(along_one_axis(x, (*axes, x.ndim - 1), xp), xp)

    def lift(x: Array, xp: Namespace) -> Array:
        return xp.concatenate([x[..., None], xp.full((*x.shape, k - 1), -xp.inf)], axis=-1)

    rest = np.full(k - 1, -np.inf)
    return Semiring(
        f"{k}-best", add, mul, np.full(k, -np.inf), np.append(0.0, rest), reduce, lift, event=1
    )


def multiply_first(a: Array, b: Array, xp: Namespace) -> Array:
    """(p, r)(q, s) = (pq, ps + rq)."""
    p, r, q, s = a[..., 0], a[..., 1], b[..., 0], b[..., 1]
    return xp.stack([p * q, p * s + r * q], axis=-1)


def multiply_second(a: Array, b: Array, xp: Namespace) -> Array:
    """(p, r, s, t) and (q, u, v, w): the last is pw + rv + su + tq."""
    p, r, s, t = (a[..., i] for i in range(4))
    q, u, v, w = (b[..., i] for i in range(4))
    return xp.stack([p * q, p * u + r * q, p * v + s * q, p * w + r * v + s * u + t * q], axis=-1)


def expectation(name: str, width: int, multiply: Callable[..., Array]) -> Semiring:
    def lift(x: Array, xp: Namespace) -> Array:
        return xp.concatenate([xp.exp(x)[..., None], xp.zeros((*x.shape, width - 1))], axis=-1)

    zero, one = np.zeros(width), np.eye(width)[0]
    return Semiring(name, plus, multiply, zero, one, total, lift, event=1)


EXPECTATION = expectation("expectation", 2, multiply_first)
SECOND_EXPECTATION = expectation("second-order expectation", 4, multiply_second)


def with_value(weight: Array, value: Array, xp: Namespace = np) -> Array:
    """The element (p, p r): a weight that carries the value whose expectation is wanted."""
    return xp.stack([weight, weight * value], axis=-1)


def with_values(weight: Array, first: Array, second: Array, xp: Namespace = np) -> Array:
    """The element (p, p r, p s, p r s), for E of the product of two additive functions."""
    return xp.stack([weight, weight * first, weight * second, weight * first * second], axis=-1)


def choose_first(log_weights: Array, uniforms: Array) -> Array:
    """The position of the first largest weight in each row."""
    return np.argmax(log_weights, axis=-1)


def choose_at_random(log_weights: Array, uniforms: Array) -> Array:
    """A position in each row, in proportion to its weight, from one uniform each."""
    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    heights = np.cumsum(weights, axis=-1)
    return np.argmax(heights > (uniforms * heights[..., -1])[..., None], axis=-1)


def user_semiring(
    name: str,
    add: Callable[[Array, Array], Array],
    mul: Callable[[Array, Array], Array],
    zero: Any,
    one: Any,
    lift: Callable[[Array], Array] = lambda x: x,
) -> Semiring:
    """A semiring from two functions and two units; sums fold `add`. See `verify_laws`."""

    def add_in(a: Array, b: Array, xp: Namespace) -> Array:
        return add(a, b)

    def mul_in(a: Array, b: Array, xp: Namespace) -> Array:
        return mul(a, b)

    lift_in, reduce = lambda x, xp: lift(x), folded(add_in)
    return Semiring(name, add_in, mul_in, zero, one, reduce, lift_in, verified=False)


def verify_laws(
    semiring: Semiring, a: Array, b: Array, c: Array, xp: Namespace = np, tolerance: float = 1e-9
) -> None:
    """Raises ValueError naming the law that the elements a, b, c break."""

    def add(x: Array, y: Array) -> Array:
        return semiring.add(x, y, xp)

    def mul(x: Array, y: Array) -> Array:
        return semiring.mul(x, y, xp)

    zero, one = (xp.broadcast_to(xp.asarray(x), a.shape) for x in (semiring.zero, semiring.one))
    along = semiring.reduce(xp.stack([a, b, c]), (0,), xp)
    laws = {
        "addition is commutative": (add(a, b), add(b, a)),
        "addition is associative": (add(add(a, b), c), add(a, add(b, c))),
        "multiplication is associative": (mul(mul(a, b), c), mul(a, mul(b, c))),
        "multiplication distributes from the left": (mul(a, add(b, c)), add(mul(a, b), mul(a, c))),
        "multiplication distributes from the right": (mul(add(a, b), c), add(mul(a, c), mul(b, c))),
        "zero is the unit of addition": (add(a, zero), a),
        "one is the unit of multiplication": (mul(a, one), a),
        "one is the unit of multiplication on the left": (mul(one, a), a),
        "zero annihilates": (mul(a, zero), zero),
        "a sum along an axis is repeated addition": (along, add(add(a, b), c)),
    }
    for law, (left, right) in laws.items():
        sides = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
        if not np.allclose(*sides, rtol=tolerance, atol=tolerance):
            raise ValueError(f"semiring {semiring.name!r}: {law} fails: {left} against {right}")


PLAIN = PROBABILITY, LOG, MAX_PLUS, MIN_PLUS, BOOLEAN, COUNTING
COMPOSITE = EXPECTATION, SECOND_EXPECTATION, smoothed_max(0.5), k_best(3)
SEMIRINGS: dict[str, Semiring] = {semiring.name: semiring for semiring in PLAIN + COMPOSITE}

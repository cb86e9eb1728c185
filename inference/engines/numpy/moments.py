"""Mean and variance of an additive function f(x) = sum_i f_i(x_i): the second-order expectation
semiring, scaled.

A node carries (p, r, t): the sums of p, p f and p f^2 over what lies below it. Products give (p q,
p s + r q, p w + 2 r s + t q), each term one contraction; parts without f are left out. f is centred
first, so that t / p is the variance itself and not a difference of large numbers.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...factors.factor_graph import Floats
from ...planning.contraction import ALONE
from ...planning.plan import Plan
from .kernels import einsum
from .passes import Upward
from .program import Product, program_of


class NodeMoments(NamedTuple):
    """Sums of p f and p f^2; both absent where nothing of f lies below."""

    first: Floats
    second: Floats


def second_moments(
    plan: Plan, upward: Upward, leaf_values: Sequence[Floats | None]
) -> list[NodeMoments | None]:
    """Moments of every node in the scale of its value; `leaf_values` is f_i on each leaf."""
    moments: list[NodeMoments | None] = [
        None if f is None else NodeMoments(upward.values[i] * f, upward.values[i] * f * f)
        for i, f in enumerate(leaf_values)
    ]
    for product in program_of(plan).products:
        moments.append(moment_of_product(upward, moments, product))
    return moments


def moment_of_product(
    upward: Upward, moments: list[NodeMoments | None], product: Product
) -> NodeMoments | None:
    left, right = moments[product.left], moments[product.right] if product.right != ALONE else None
    if left is None and right is None:
        return None
    raw = raw_moment(upward, product, left, right)
    scale = rescaling(upward, product)
    return NodeMoments(raw.first * scale, raw.second * scale)


def raw_moment(
    upward: Upward, product: Product, left: NodeMoments | None, right: NodeMoments | None
) -> NodeMoments:
    expression, p = product.expression, upward.values[product.left]
    if product.right == ALONE:
        assert left is not None
        return NodeMoments(einsum(expression, left.first), einsum(expression, left.second))
    q = upward.values[product.right]
    first: Floats = np.zeros(())
    second: Floats = np.zeros(())
    if left is not None:
        first = first + einsum(expression, left.first, q)
        second = second + einsum(expression, left.second, q)
    if right is not None:
        first = first + einsum(expression, p, right.first)
        second = second + einsum(expression, p, right.second)
    if left is not None and right is not None:
        second = second + 2 * einsum(expression, left.first, right.first)
    return NodeMoments(first, second)


def rescaling(upward: Upward, product: Product) -> float:
    """What the upward pass divided this product by."""
    return upward.scales.get(product.out, 1.0)


def variance_of(plan: Plan, upward: Upward, leaf_values: Sequence[Floats | None]) -> float:
    """The variance of a centred f: parts that share no variable are independent, and add."""
    moments = second_moments(plan, upward, leaf_values)
    variance = 0.0
    for root in plan.tree.roots:
        moment = moments[root]
        if moment is not None:
            p = upward.values[root]
            variance += float(moment.second / p - (moment.first / p) ** 2)
    return variance

"""The plan in any semiring: broadcast, multiply, add along the axes that go."""

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import NamedTuple

from ...factors.semirings import Array, Namespace, Semiring
from ...planning.contraction import ALONE
from ...planning.plan import Plan
from .program import Product, program_of


class Alignment(NamedTuple):
    """For each operand the transpose into output order and its axes; which axes are summed."""

    orders: tuple[tuple[int, ...], ...]
    places: tuple[tuple[int, ...], ...]
    rank: int
    gone: tuple[int, ...]


@lru_cache(maxsize=1 << 14)
def alignment_of(expression: str, event: int) -> Alignment:
    inputs, out = expression.split("->")
    terms = inputs.split(",")
    axes = out + "".join([x for x in dict.fromkeys("".join(terms)) if x not in out])
    orders = [[term.index(x) for x in axes if x in term] for term in terms]
    events = [list(range(len(term), len(term) + event)) for term in terms]
    places = [tuple([i for i, x in enumerate(axes) if x in term]) for term in terms]
    whole = tuple([tuple(order + tail) for order, tail in zip(orders, events, strict=True)])
    return Alignment(whole, tuple(places), len(axes), tuple(range(len(out), len(axes))))


def contract(
    semiring: Semiring, expression: str, operands: Sequence[Array], xp: Namespace
) -> Array:
    """einsum in a semiring: `ab,bc->ac` adds over b the products of the operands."""
    aligned = alignment_of(expression, semiring.event)
    product = None
    for operand, order, places in zip(operands, aligned.orders, aligned.places, strict=True):
        shape = [1] * aligned.rank
        turned = operand.transpose(order)
        for place, size in zip(places, turned.shape, strict=False):
            shape[place] = size
        spread = turned.reshape((*shape, *turned.shape[len(places) :]))
        product = spread if product is None else semiring.mul(product, spread, xp)
    return semiring.reduce(product, aligned.gone, xp) if aligned.gone else product


def run_upward(
    plan: Plan, leaves: Sequence[Array], semiring_of: Callable[[Product], Semiring], xp: Namespace
) -> list[Array]:
    """The value of every node, each product in the semiring chosen for it."""
    values = list(leaves)
    for product in program_of(plan).products:
        inputs = (
            [values[product.left]]
            if product.right == ALONE
            else [values[product.left], values[product.right]]
        )
        values.append(contract(semiring_of(product), product.expression, inputs, xp))
    return values


def total_of(plan: Plan, values: Sequence[Array], semiring: Semiring, xp: Namespace) -> Array:
    """The product of the roots: the answer when nothing is kept."""
    roots = [values[root] for root in plan.tree.roots]
    return reduce(lambda a, b: semiring.mul(a, b, xp), roots) if roots else xp.asarray(semiring.one)

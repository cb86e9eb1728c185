"""From the roots down, a choice at each product: the mode, samples, the k best. Nothing is stored
on the way up.

Given states of what a product keeps, the terms it added are left[...] * right[...] at those states:
they are looked up again and one is chosen. Looking up again is cheaper than back-pointers, as only
the chosen states are visited.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...factors.factor_graph import Array, Floats, Name
from ...planning.contraction import ALONE
from ...planning.orders import bits
from ...planning.plan import Plan
from .program import Product, program_of, union_of

States = dict[int, NDArray[np.intp]]
Choose = Callable[[Floats], NDArray[np.intp]]


def decode(
    plan: Plan,
    values: Sequence[Floats],
    count: int,
    choose: Choose,
    chooses: Callable[[Product], bool],
) -> dict[Name, NDArray[np.intp]]:
    """`count` configurations; `choose` picks a term of a row, at products where it `chooses`."""
    states: States = {}
    for product in reversed(program_of(plan).products):
        gone = gone_ranks(plan, product)
        if gone and chooses(product):
            terms = terms_of(plan, values, product, states, gone, count)
            shape = terms.shape[1:]
            picked = choose(terms.reshape(count, -1))
            states.update(zip(gone, np.unravel_index(picked, shape), strict=True))
    return {plan.names[v]: s for v, s in states.items()}


def gone_ranks(plan: Plan, product: Product) -> tuple[int, ...]:
    step = plan.tree.steps[product.out - plan.tree.leaf_count]
    return bits(union_of(plan.tree, step) & ~step.scope)


def terms_of(
    plan: Plan,
    values: Sequence[Floats],
    product: Product,
    states: States,
    gone: tuple[int, ...],
    count: int,
) -> Floats:
    """Log-weights of a product's terms at the chosen states: [configuration, gone variables]."""
    left = gather(plan, values[product.left], product.left, states, gone)
    right = (
        0.0
        if product.right == ALONE
        else gather(plan, values[product.right], product.right, states, gone)
    )
    return np.broadcast_to(left + right, (count, *[plan.sizes[v] for v in gone]))


def gather(plan: Plan, value: Floats, node: int, states: States, gone: tuple[int, ...]) -> Floats:
    """value at the chosen states: rows, then the gone variables (size one where it lacks them)."""
    ranks = node_ranks(plan, node)
    index = [axis_index(plan, v, states, gone) for v in ranks]
    found = value[tuple(index)] if index else value
    return found.reshape((1,) * (1 + len(gone) - found.ndim) + found.shape)


def axis_index(plan: Plan, v: int, states: States, gone: tuple[int, ...]) -> Array:
    """Where the axis of v is read: at its state in each row, or all along its own axis."""
    if v not in gone:
        return states[v].reshape((-1,) + (1,) * len(gone))
    place = gone.index(v)
    return np.arange(plan.sizes[v]).reshape((-1,) + (1,) * (len(gone) - place - 1))


def node_ranks(plan: Plan, node: int) -> list[int]:
    """The variables of a node in the order of its axes."""
    program = program_of(plan)
    letter_of = {program.letters[v]: v for v in bits(plan.tree.scopes[node])}
    return [letter_of[x] for x in program.subscripts[node]]

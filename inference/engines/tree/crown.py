"""Which products are matrix products, and the arrays between them."""

from collections.abc import Sequence
from math import prod

from ...planning.plan import Plan
from .circuit import ONE, Variables
from .dense import Dense, plan_dense
from .program import Crown, Slice

MOST_DENSE = 28
UNSCALED = 4  # products in double precision before their largest entry is brought back to [1, 2)


def choose_crown(plan: Plan, dense_from: float) -> set[int]:
    """Nodes of products of at least `dense_from` terms and all above; fewer if they are many."""
    crown = crown_above(plan, dense_from)
    while len(crown) > MOST_DENSE and dense_from > 0:
        dense_from *= 2
        crown = crown_above(plan, dense_from)
    return crown


def crown_above(plan: Plan, limit: float) -> set[int]:
    tree = plan.tree
    crown: set[int] = set()
    for i, (step, work) in enumerate(zip(tree.steps, tree.work, strict=True)):
        if work >= limit or step.left in crown or step.right in crown:
            crown.add(tree.leaf_count + i)
    return crown


def crown_leaves(plan: Plan, crown: set[int]) -> set[int]:
    """Leaves that only the crown reads."""
    count = plan.tree.leaf_count
    steps = [plan.tree.steps[node - count] for node in crown]
    return {leaf for step in steps for leaf in (step.left, step.right) if 0 <= leaf < count}


class CrownBuilder:
    """Collects the arrays of the crown; it writes to the buffer from `cursor`. Array 0 is one."""

    def __init__(self, sizes: Sequence[int], cursor: int) -> None:
        self.sizes = sizes
        self.cursor = cursor
        self.scopes: dict[int, Variables] = {}
        self.unscaled: dict[int, int] = {}
        self.inputs: list[Slice] = []
        self.tables: list[Slice] = []
        self.steps: list[Dense] = []
        self.outputs: list[int] = []
        self.read((), ONE, self.inputs)

    def read(self, variables: Variables, place: int, source: list[Slice]) -> int:
        number = len(self.scopes)
        self.scopes[number] = variables
        self.unscaled[number] = 0
        source.append(Slice(number, place, self.shape(variables)))
        return number

    def multiply(self, left: int, right: int, kept: Variables) -> int:
        number = len(self.scopes)
        unscaled = self.unscaled[left] + self.unscaled[right] + 1
        rescale = unscaled > UNSCALED
        self.unscaled[number] = 0 if rescale else unscaled
        step, self.scopes[number] = plan_dense(
            (number, left, right), self.scopes, kept, self.sizes, rescale
        )
        self.steps.append(step)
        return number

    def write(self, array: int) -> int:
        place = self.cursor
        self.outputs.append(array)
        self.cursor += prod(self.shape(self.scopes[array]))
        return place

    def shape(self, variables: Variables) -> tuple[int, ...]:
        return tuple([self.sizes[v] for v in variables])

    def finish(self) -> Crown:
        return Crown(tuple(self.inputs), tuple(self.tables), tuple(self.steps), tuple(self.outputs))

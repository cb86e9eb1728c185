"""What a structure is lowered to: the tiles that fill the buffer, and where the answers lie in it.

The buffer holds one, zero, the leaves, then values upwards and gradients downwards. The largest
products and all above them, the crown, are matrix products between two walks; where there is none,
one walk goes up and down.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import Any, NamedTuple

import jax

from ...planning.plan import Plan
from .circuit import ONE, STATIC, Tiles, Variables
from .numbers import Dense, plan_dense


class Outputs(Enum):
    """What is read off: the partition alone, marginals of variables, or those of factors too."""

    PARTITION = 0
    UNARY = 1
    ALL = 2


class Slice(NamedTuple):
    """An array of the crown that is read from a place in the buffer, or in the tables given."""

    array: int
    place: int
    shape: tuple[int, ...]


class Crown(NamedTuple):
    """Arrays by number: read from the buffer or tables, computed in order, written at its end."""

    inputs: tuple[Slice, ...]
    tables: tuple[Slice, ...]
    steps: tuple[Dense, ...]
    outputs: tuple[int, ...]


class Lengths(NamedTuple):
    """Of the buffer: for the first walk, and after the crown for the second."""

    first: int
    second: int


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class TreeProgram:
    """Index arrays (arguments of the compiled code) and what shapes it (`crown`, `lengths`). Places
    in the last buffer: `roots`; `unary` of each variable and state (padding: zero); `values` and
    `gradients` of all entries of the tables; `unary_roots`, `value_roots` number their roots.
    """

    sources: Any
    evidence: Any
    up: Tiles
    down: Tiles | None
    roots: Any
    unary: Any
    unary_roots: Any
    values: Any
    gradients: Any
    value_roots: Any
    crown: Crown | None = field(metadata=STATIC)
    lengths: Lengths = field(metadata=STATIC)


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

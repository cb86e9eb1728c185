"""A plan becomes a program: values up, gradient[node] = sum of gradient[parent] * value[sibling].

That is backpropagation (GM32); a marginal is value * gradient over the root's value.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import Any, NamedTuple

import jax
import numpy as np

from ...factors.factor_graph import Name
from ...planning.orders import bits
from ...planning.plan import ALONE, Plan, plan_contraction
from .circuit import ONE, RESERVED, STATIC, ZERO, Circuit, Schedule, Tiles, Variables, schedule
from .numbers import Dense, plan_dense
from .structure import Leaves, Structure, joined, lay_leaves

MOST_DENSE = 28
UNSCALED = 4  # products in double precision before their largest entry is brought back to [1, 2)

# ---- What a structure is lowered to: tiles that fill the buffer, and where the answers lie in it
#
# The buffer holds one, zero, the leaves, then values upwards and gradients downwards. The largest
# products and all above them, the crown, are matrix products between two walks; where there is
# none, one walk goes up and down.


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


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class TreeProgram:
    """Index arrays (arguments of the compiled code) and what shapes it: the `crown` and the lengths
    of the buffer before and after it. Places in the last buffer: `roots`; `unary` of each variable
    and state (padding: zero); `values` and `gradients` of all entries of the tables; `unary_roots`,
    `value_roots` number their roots.
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
    first_length: int = field(metadata=STATIC)
    length: int = field(metadata=STATIC)


def crown_above(plan: Plan, limit: float) -> set[int]:
    tree = plan.tree
    crown: set[int] = set()
    for i, (step, work) in enumerate(zip(tree.steps, tree.work, strict=True)):
        if work >= limit or step.left in crown or step.right in crown:
            crown.add(tree.leaf_count + i)
    return crown


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
        arrays = number, left, right
        step, self.scopes[number] = plan_dense(arrays, self.scopes, kept, self.sizes, rescale)
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


def plan_structure(structure: Structure) -> tuple[Leaves, Plan]:
    leaves = lay_leaves(structure)
    sizes: dict[Name, int] = dict(enumerate(structure.sizes))
    return leaves, plan_contraction(sizes, [leaf.scope for leaf in leaves.leaves])


def lower_plan(
    structure: Structure, leaves: Leaves, plan: Plan, wanted: Outputs, dense_from: float
) -> TreeProgram:
    """The program of what is wanted; products of `dense_from` terms are matrix products."""
    crown = crown_above(plan, dense_from)
    while len(crown) > MOST_DENSE and dense_from > 0:
        dense_from *= 2
        crown = crown_above(plan, dense_from)
    if crown and wanted is not Outputs.ALL:
        count = plan.tree.leaf_count
        read = {child for node in crown for child in plan.tree.steps[node - count][:2]}
        leaves = lay_leaves(structure, read & set(range(count)))  # others than the crown's
    lowering = Lowering(structure, leaves, plan, crown)
    if wanted is Outputs.UNARY:
        lowering.go_down(leaves.hosts)
    elif wanted is Outputs.ALL:
        lowering.go_down(range(len(leaves.leaves)))
    return finish(lowering, wanted)


class Lowering:
    """Of each node: `values`, `gradients` in the circuit, `..._arrays` in the crown."""

    def __init__(self, structure: Structure, leaves: Leaves, plan: Plan, crown: set[int]) -> None:
        self.sizes, self.leaves, self.plan, self.tree = structure.sizes, leaves, plan, plan.tree
        names: Any = plan.names  # the numbers of the variables
        self.scopes = [tuple([names[v] for v in bits(scope)]) for scope in plan.tree.scopes]
        for i, leaf in enumerate(leaves.leaves):
            self.scopes[i] = leaf.scope
        self.crown = crown
        self.circuit = Circuit(self.sizes)
        self.end = RESERVED + len(leaves.sources)
        self.values: dict[int, int] = {}
        for i, leaf in enumerate(leaves.leaves):
            if leaf.place is not None:
                self.values[i] = self.circuit.place(leaf.scope, leaf.place)
        self.gradients: dict[int, int] = {}
        self.value_arrays: dict[int, int] = {}
        self.gradient_arrays: dict[int, int] = {}
        self.numbered = [(self.tree.leaf_count + i, step) for i, step in enumerate(self.tree.steps)]
        for node, step in self.numbered:
            if node not in self.crown:
                left, right = self.values[step.left], self.values.get(step.right, 0)
                self.values[node] = self.circuit.add(self.scopes[node], left, right)
        self.first = schedule(self.circuit, self.end) if crown else None
        self.builder = CrownBuilder(self.sizes, self.first.length if self.first else self.end)
        if self.first:
            self.go_up_crown(self.first)

    def go_up_crown(self, first: Schedule) -> None:
        """A new circuit for the way down reads what the first one wrote, and the crown."""
        old, self.circuit = self.circuit, Circuit(self.sizes)
        for node, t in self.values.items():
            self.values[node] = self.circuit.place(old.variables[t], first.starts[t])
        for node, step in self.numbered:
            if node in self.crown:
                right = self.array_of(step.right) if step.right != ALONE else 0
                left = self.array_of(step.left)
                self.value_arrays[node] = self.builder.multiply(left, right, self.scopes[node])
        for root in self.tree.roots:
            if root in self.crown:
                place = self.builder.write(self.value_arrays[root])
                self.values[root] = self.circuit.place((), place)

    def array_of(self, node: int) -> int:
        """The value of a node of the crown, or just below it: in the buffer or the tables."""
        if node not in self.value_arrays:
            if node in self.values:
                tensor, source = self.values[node], self.builder.inputs
                scope, place = self.circuit.variables[tensor], self.circuit.places[tensor]
            else:
                scope, _, start, _ = self.leaves.leaves[node]
                assert start is not None
                place, source = start, self.builder.tables
            self.value_arrays[node] = self.builder.read(scope, place, source)
        return self.value_arrays[node]

    def go_down(self, wanted: Iterable[int]) -> None:
        needed = set(wanted)
        for node, step in self.numbered:
            if step.left in needed or step.right in needed:
                needed.add(node)
        for root in self.tree.roots:
            self.gradients[root] = self.gradient_arrays[root] = 0
        for node, step in reversed(self.numbered):
            pairs = [(step.left, step.right)] if step.right == ALONE else [step[:2], step[1::-1]]
            for child, other in pairs:
                if child in needed:
                    self.move_down(node, child, other)

    def move_down(self, parent: int, child: int, other: int) -> None:
        """The gradient above times the value beside; under a root that value alone."""
        dense = parent in self.crown
        gradients = self.gradient_arrays if dense else self.gradients
        found = above = gradients[parent]
        if other != ALONE:
            scope = self.builder.scopes[above] if dense else self.circuit.variables[above]
            beside = self.array_of(other) if dense else self.values[other]
            present = {*scope, *self.scopes[other]}  # elsewhere the gradient is constant
            kept = tuple([v for v in self.scopes[child] if v in present])
            if above == 0 and len(kept) == len(self.scopes[other]):
                found = beside
            elif dense:
                found = self.builder.multiply(above, beside, kept)
            else:
                found = self.circuit.add(kept, above, beside)
        gradients[child] = found
        if dense and child not in self.crown:
            place = self.builder.write(found)
            self.gradients[child] = self.circuit.place(self.builder.scopes[found], place)


def roots_of(lowering: Lowering) -> list[int]:
    """For each leaf the number of its root."""
    found = {root: i for i, root in enumerate(lowering.tree.roots)}
    for node, step in reversed(lowering.numbered):
        found |= dict.fromkeys(step[:2], found[node])
    return [found[leaf] for leaf in range(lowering.tree.leaf_count)]


def finish(lowering: Lowering, wanted: Outputs) -> TreeProgram:
    """Schedules what is left and looks up where the answers lie."""
    unary: list[int] = []  # each variable's marginal: value * gradient at its host
    if wanted is not Outputs.PARTITION:
        for v, host in enumerate(lowering.leaves.hosts):
            value, gradient = lowering.values[host], lowering.gradients[host]
            unary.append(lowering.circuit.add((v,), value, gradient))
    last = schedule(lowering.circuit, lowering.builder.cursor)
    first = lowering.first or last
    leaves, leaf_roots = lowering.leaves, np.array(roots_of(lowering), np.int32)
    places = [last.starts[lowering.values[root]] for root in lowering.tree.roots]
    states = np.full((len(unary), max(lowering.sizes, default=1)), ZERO, np.int32)
    for v, tensor in enumerate(unary):
        size = lowering.sizes[v]
        states[v, :size] = last.starts[tensor] + np.arange(size)
    values, gradients, roots = [], [], []
    for i, leaf in enumerate(leaves.leaves):
        if wanted is Outputs.ALL and leaf.start is not None:
            tensor = lowering.gradients[i]
            offsets = lowering.circuit.offsets(tensor, leaf.scope)
            assert leaf.place is not None
            values.append(np.arange(leaf.place, leaf.place + len(offsets)))
            gradients.append(last.starts[tensor] + offsets)
            roots.append(np.full(len(offsets), leaf_roots[i]))
    return TreeProgram(
        sources=leaves.sources,
        evidence=leaves.evidence,
        up=first.tiles,
        down=last.tiles if lowering.first and len(last.tiles.starts) else None,
        roots=np.array(places, np.int32),
        unary=states,
        unary_roots=leaf_roots[leaves.hosts],
        values=joined(values),
        gradients=joined(gradients),
        value_roots=joined(roots),
        crown=lowering.builder.finish() if lowering.first else None,
        first_length=first.length,
        length=last.length,
    )

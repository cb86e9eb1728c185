"""A plan becomes a program: values up, gradient[node] = sum of gradient[parent] * value[sibling].

That is backpropagation (GM32); a marginal is value * gradient over the root's value.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...factors.factor_graph import Name
from ...planning.contraction import ALONE, Contraction
from ...planning.orders import bits
from ...planning.plan import Plan, plan_contraction
from .circuit import RESERVED, ZERO, Circuit, Ints, Schedule, Variables, schedule
from .crown import CrownBuilder, Lengths, Outputs, TreeProgram, choose_crown, crown_leaves
from .leaves import Leaves, joined, lay_leaves
from .structure import Structure


def plan_structure(structure: Structure) -> tuple[Leaves, Plan]:
    leaves = lay_leaves(structure)
    sizes: dict[Name, int] = dict(enumerate(structure.sizes))
    return leaves, plan_contraction(sizes, [leaf.scope for leaf in leaves.leaves])


def lower_plan(
    structure: Structure, leaves: Leaves, plan: Plan, wanted: Outputs, dense_from: float
) -> TreeProgram:
    """The program of what is wanted; products of `dense_from` terms are matrix products."""
    crown = choose_crown(plan, dense_from)
    if crown and wanted is not Outputs.ALL:
        leaves = lay_leaves(structure, crown_leaves(plan, crown))
    lowering = Lowering(structure, leaves, plan, crown)
    if wanted is not Outputs.PARTITION:
        lowering.go_down(
            set(leaves.hosts) if wanted is Outputs.UNARY else set(range(len(leaves.leaves)))
        )
    return finish(lowering, wanted)


class Lowering:
    """Of each node: `values`, `gradients` in the circuit, `..._arrays` in the crown."""

    def __init__(self, structure: Structure, leaves: Leaves, plan: Plan, crown: set[int]) -> None:
        self.sizes, self.leaves, self.plan, self.tree = structure.sizes, leaves, plan, plan.tree
        self.scopes = [
            tuple([number_of(plan.names[v]) for v in bits(scope)]) for scope in plan.tree.scopes
        ]
        for i, leaf in enumerate(leaves.leaves):
            self.scopes[i] = leaf.scope
        self.crown = crown
        self.circuit = Circuit(self.sizes)
        self.end = RESERVED + len(leaves.sources)
        inside = [
            (i, leaf.scope, leaf.place)
            for i, leaf in enumerate(leaves.leaves)
            if leaf.place is not None
        ]
        self.values = {i: self.circuit.place(scope, place) for i, scope, place in inside}
        self.gradients: dict[int, int] = {}
        self.value_arrays: dict[int, int] = {}
        self.gradient_arrays: dict[int, int] = {}
        self.numbered = [(self.tree.leaf_count + i, step) for i, step in enumerate(self.tree.steps)]
        for node, step in self.numbered:
            if node not in self.crown:
                right = self.values[step.right] if step.right != ALONE else 0
                self.values[node] = self.circuit.add(
                    self.scopes[node], self.values[step.left], right
                )
        self.first = schedule(self.circuit, self.end) if crown else None
        self.builder = CrownBuilder(self.sizes, self.first.length if self.first else self.end)
        if self.first:
            old = self.circuit
            self.circuit = Circuit(self.sizes)
            places = {
                node: (old.variables[t], self.first.starts[t]) for node, t in self.values.items()
            }
            self.values = {node: self.circuit.place(*place) for node, place in places.items()}
            self.go_up_crown()

    def go_up_crown(self) -> None:
        for node, step in self.numbered:
            if node in self.crown:
                right = self.array_of(step.right) if step.right != ALONE else 0
                self.value_arrays[node] = self.builder.multiply(
                    self.array_of(step.left), right, self.scopes[node]
                )
        for root in self.tree.roots:
            if root in self.crown:
                self.values[root] = self.circuit.place(
                    (), self.builder.write(self.value_arrays[root])
                )

    def array_of(self, node: int) -> int:
        """The value of a node of the crown, or just below it: in the buffer or the tables."""
        if node not in self.value_arrays:
            self.value_arrays[node] = self.read_array(node)
        return self.value_arrays[node]

    def read_array(self, node: int) -> int:
        if node in self.values:
            tensor = self.values[node]
            place = self.circuit.places[tensor]
            return self.builder.read(self.circuit.variables[tensor], place, self.builder.inputs)
        leaf = self.leaves.leaves[node]
        assert leaf.start is not None
        return self.builder.read(leaf.scope, leaf.start, self.builder.tables)

    def go_down(self, wanted: set[int]) -> None:
        needed = needed_nodes(self.numbered, wanted)
        for root in self.tree.roots:
            self.gradients[root] = self.gradient_arrays[root] = 0
        for node, step in reversed(self.numbered):
            pairs = [(step.left, step.right)] if step.right == ALONE else [step[:2], step[1::-1]]
            for child, other in pairs:
                if child in needed:
                    self.move_down(node, child, other)

    def move_down(self, parent: int, child: int, other: int) -> None:
        if parent not in self.crown:
            self.gradients[child] = self.tensor_below(parent, child, other)
            return
        self.gradient_arrays[child] = below = self.array_below(parent, child, other)
        if child not in self.crown:
            self.gradients[child] = self.circuit.place(
                self.builder.scopes[below], self.builder.write(below)
            )

    def tensor_below(self, parent: int, child: int, other: int) -> int:
        """The gradient above times the value beside; under a root that value alone."""
        above = self.gradients[parent]
        if other == ALONE:
            return above
        kept = self.varying(child, self.circuit.variables[above], other)
        if above == 0 and len(kept) == len(self.scopes[other]):
            return self.values[other]
        return self.circuit.add(kept, above, self.values[other])

    def array_below(self, parent: int, child: int, other: int) -> int:
        above = self.gradient_arrays[parent]
        if other == ALONE:
            return above
        kept = self.varying(child, self.builder.scopes[above], other)
        if above == 0 and len(kept) == len(self.scopes[other]):
            return self.array_of(other)
        return self.builder.multiply(above, self.array_of(other), kept)

    def varying(self, child: int, above: Variables, other: int) -> Variables:
        """The axes along which the gradient of the child is not constant."""
        beside = self.scopes[other] if other != ALONE else ()
        return tuple([v for v in self.scopes[child] if v in above or v in beside])


def number_of(name: Any) -> int:
    number: int = name
    return number


def needed_nodes(numbered: list[tuple[int, Contraction]], wanted: set[int]) -> set[int]:
    """The wanted leaves and all above them."""
    needed = set(wanted)
    for node, step in numbered:
        if step.left in needed or step.right in needed:
            needed.add(node)
    return needed


def finish(lowering: Lowering, wanted: Outputs) -> TreeProgram:
    """Schedules what is left and looks up where the answers lie."""
    unary: list[int] = []  # each variable's marginal: value * gradient at its host
    if wanted is not Outputs.PARTITION:
        for v, host in enumerate(lowering.leaves.hosts):
            value, gradient = lowering.values[host], lowering.gradients[host]
            unary.append(lowering.circuit.add((v,), value, gradient))
    last = schedule(lowering.circuit, lowering.builder.cursor)
    first = lowering.first or last
    tree = lowering.tree
    found = {root: i for i, root in enumerate(tree.roots)}
    for node, step in reversed(lowering.numbered):
        for child in step[:2]:
            found[child] = found[node]
    leaf_roots = np.array([found[leaf] for leaf in range(tree.leaf_count)], np.int32)
    leaves = lowering.leaves
    places = [last.starts[lowering.values[root]] for root in lowering.tree.roots]
    values, gradients, roots = [], [], []
    for i, leaf in enumerate(lowering.leaves.leaves):
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
        unary=unary_places(lowering.sizes, [last.starts[t] for t in unary]),
        unary_roots=leaf_roots[leaves.hosts],
        values=joined(values),
        gradients=joined(gradients),
        value_roots=joined(roots),
        crown=lowering.builder.finish() if lowering.first else None,
        lengths=Lengths(first.length, last.length),
    )


def unary_places(sizes: Sequence[int], starts: list[int]) -> Ints:
    """(variable, state) to its place; zero beyond the states a variable has."""
    places = np.full((len(starts), max(sizes, default=1)), ZERO, np.int32)
    for v, start in enumerate(starts):
        places[v, : sizes[v]] = np.arange(start, start + sizes[v])
    return places

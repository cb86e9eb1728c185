"""An arithmetic circuit over a flat buffer: out[o] = sum_k buffer[left[k, o]] buffer[right[k, o]].

Every product of a plan, upwards or downwards, is such a sum for each of its entries (book lines
4279-4306). Entries of one level do not depend on each other, so they are cut into tiles of one
shape (terms, columns), whatever factors they come from: a program that walks the tiles has the size
of one tile. Sums of more terms become sums of sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Variables = tuple[int, ...]
ONE, ZERO, RESERVED = 0, 1, 2  # the first places of every buffer hold these numbers
STATIC = {"static": True}  # fields of a pytree that shape the compiled code
TERMS = (2, 4, 8)
COLUMNS = (16, 32, 64, 128, 256)
TURN, TERM = 2500.0, 5.0  # nanoseconds of a tile, and of a term in it


class Sum(NamedTuple):
    """Tensor `out` = sum over `summed` of tensor `left` * tensor `right`."""

    out: int
    left: int
    right: int
    summed: Variables


class Tiles(NamedTuple):
    """Indices of all tiles (tile, term, column), and the place where each writes its columns."""

    left: Ints
    right: Ints
    starts: Ints


@dataclass(eq=False)
class Circuit:
    """Tensors by number with their axes; inputs have a place, others are sums, 0 is one."""

    sizes: Sequence[int]
    variables: list[Variables] = field(default_factory=lambda: [()])
    places: dict[int, int] = field(default_factory=lambda: {0: ONE})
    sums: list[Sum] = field(default_factory=list)

    def place(self, variables: Variables, start: int) -> int:
        """An input that lies at `start`."""
        self.variables.append(variables)
        self.places[len(self.variables) - 1] = start
        return len(self.variables) - 1

    def add(self, variables: Variables, left: int, right: int = 0) -> int:
        """A product, summed over the variables it does not keep."""
        here = dict.fromkeys([*self.variables[left], *self.variables[right]])
        self.variables.append(variables)
        out = len(self.variables) - 1
        self.sums.append(Sum(out, left, right, tuple([v for v in here if v not in variables])))
        return out

    def entries(self, variables: Variables) -> int:
        return prod([self.sizes[v] for v in variables])

    def offsets(self, tensor: int, along: Variables) -> Ints:
        """Offsets within the tensor of all configurations of `along`, the last variable fastest."""
        strides = {}
        step = 1
        for v in reversed(self.variables[tensor]):
            strides[v] = step
            step *= self.sizes[v]
        found = np.zeros(1, np.int32)
        for v in along:
            states = np.arange(self.sizes[v], dtype=np.int32) * strides.get(v, 0)
            found = (found[:, None] + states).ravel()
        return found


@dataclass(frozen=True, eq=False)
class Schedule:
    """Tiles in order, where each tensor starts, and how long the buffer has to be."""

    tiles: Tiles
    starts: dict[int, int]
    length: int


def layers_of(count: int, terms: int) -> list[int]:
    """How many sums of at most `terms` each layer of a sum of `count` has, down to one."""
    layers = [-(-count // terms)]
    while layers[-1] > 1:
        layers.append(-(-layers[-1] // terms))
    return layers


def levels_of(circuit: Circuit, terms: int) -> list[list[tuple[Sum, int]]]:
    """Sums and their layers by the level at which all they read is known; a layer but the last
    leaves several sums for each entry.
    """
    ready = dict.fromkeys(circuit.places, 0)
    levels: list[list[tuple[Sum, int]]] = []
    for item in circuit.sums:
        level = max(ready[item.left], ready[item.right])
        depth = len(layers_of(circuit.entries(item.summed), terms))
        levels += [[] for _ in range(level + depth - len(levels))]
        for layer in range(depth):
            levels[level + layer].append((item, layer))
        ready[item.out] = level + depth
    return levels


def choose_tile(circuit: Circuit) -> tuple[int, int]:
    """The tile shape (terms, columns) that should take the least time over all levels."""
    widths: dict[int, list[int]] = {terms: [] for terms in TERMS}  # entries each level writes
    for terms, own in widths.items():
        for level in levels_of(circuit, terms):
            own.append(0)
            for item, layer in level:
                layers = layers_of(circuit.entries(item.summed), terms)
                own[-1] += circuit.entries(circuit.variables[item.out]) * layers[layer]

    def cost(shape: tuple[int, int]) -> float:
        terms, columns = shape
        return sum([-(-w // columns) for w in widths[terms]]) * (TURN + TERM * terms * columns)

    return min(product(TERMS, COLUMNS), key=cost)


def schedule(circuit: Circuit, first: int) -> Schedule:
    """Writes from `first` on, level by level; the next tile overwrites unused columns."""
    terms, columns = choose_tile(circuit)
    starts = dict(circuit.places)
    cursor = first
    lefts: list[Ints] = []
    rights: list[Ints] = []
    tile_starts: list[Ints] = []
    for level in levels_of(circuit, terms):
        blocks = []
        begin = cursor
        for item, layer in level:
            left, right = block_of(circuit, item, layer, terms, starts)
            starts[item.out] = cursor
            cursor += left.shape[1]
            blocks.append((left, right))
        for parts, own in zip((lefts, rights), zip(*blocks, strict=True), strict=True):
            parts.append(cut(np.concatenate(own, axis=1), columns))
        tile_starts.append(np.arange(begin, cursor, columns, dtype=np.int32))
    empty = np.zeros((0, terms, columns), np.int32)
    first_columns = np.concatenate([np.zeros(0, np.int32), *tile_starts])
    tiles = Tiles(np.concatenate([empty, *lefts]), np.concatenate([empty, *rights]), first_columns)
    return Schedule(tiles, starts, cursor + columns)


def block_of(
    circuit: Circuit, item: Sum, layer: int, terms: int, starts: dict[int, int]
) -> tuple[Ints, Ints]:
    """Indices (term, sum of this layer) of one layer, which reads where the last one wrote."""
    count = circuit.entries(item.summed)
    if layer == 0:
        keep = circuit.variables[item.out]
        left, right = (
            starts[t] + circuit.offsets(t, item.summed)[:, None] + circuit.offsets(t, keep)
            for t in (item.left, item.right)
        )
    else:
        before = layers_of(count, terms)[layer - 1]
        width = circuit.entries(circuit.variables[item.out])
        left = starts[item.out] + np.arange(before * width, dtype=np.int32).reshape(before, width)
        right = np.full_like(left, ONE)
    return grouped(left, terms), grouped(right, terms)


def grouped(indices: Ints, terms: int) -> Ints:
    """(k, o) to (terms, groups of k * o), filled up with zeros."""
    count, width = indices.shape
    groups = -(-count // terms)
    full = np.full((groups * terms, width), ZERO, np.int32)
    full[:count] = indices
    return full.reshape(groups, terms, width).transpose(1, 0, 2).reshape(terms, groups * width)


def cut(indices: Ints, columns: int) -> Ints:
    """(term, all columns of a level) to (tile, term, column)."""
    terms, width = indices.shape
    tiles = -(-width // columns)
    full = np.full((terms, tiles * columns), ZERO, np.int32)
    full[:, :width] = indices
    return full.reshape(terms, tiles, columns).transpose(1, 0, 2)

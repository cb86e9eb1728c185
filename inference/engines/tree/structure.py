"""What is compiled: sizes and scopes, no numbers; tables are an array per group of factors."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError
from .circuit import RESERVED, Ints, Variables

Array = Any
HOST_ENTRIES = 1024


@dataclass(frozen=True, eq=False)
class FactorGroup:
    """Factors of one table shape: `scopes[i]` are the variables of the axes of table i."""

    scopes: NDArray[np.intp]


class FactorPlace(NamedTuple):
    scope: tuple[int, ...]
    start: int


@dataclass(frozen=True, eq=False)
class Structure:
    """Variables 0 to V - 1 with their numbers of states, and the factors on them."""

    sizes: tuple[int, ...]
    groups: tuple[FactorGroup, ...]

    def __post_init__(self) -> None:
        verify_structure(self)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each group's array: factors first, then the states of their variables."""
        firsts = [(len(group.scopes), group.scopes[0].tolist()) for group in self.groups]
        return tuple([(count, *[self.sizes[v] for v in first]) for count, first in firsts])

    @cached_property
    def most_states(self) -> int:
        return max(self.sizes, default=1)

    @cached_property
    def entries(self) -> int:
        """Of all tables together."""
        return sum([prod(shape) for shape in self.shapes])

    @cached_property
    def factors(self) -> tuple[FactorPlace, ...]:
        """Every factor with the place of its table in the arrays laid end to end."""
        places = []
        start = 0
        for group, shape in zip(self.groups, self.shapes, strict=True):
            for scope in group.scopes.tolist():
                places.append(FactorPlace(tuple(scope), start))
                start += prod(shape[1:])
        return tuple(places)


def verify_structure(structure: Structure) -> None:
    sizes = np.array(structure.sizes, dtype=np.intp)
    if (sizes < 1).any():
        raise InferenceError(
            f"variable {int(np.argmax(sizes < 1))} has no states; give it at least one"
        )
    for number, group in enumerate(structure.groups):
        scopes = group.scopes
        if scopes.ndim != 2 or len(scopes) == 0:
            needed = "scopes need the shape (factors, axes) and at least one factor"
            raise InferenceError(f"group {number}: {needed}")
        if scopes.size and not (scopes.min() >= 0 and scopes.max() < len(sizes)):
            raise InferenceError(f"group {number} names variables beyond 0 to {len(sizes) - 1}")
        if (sizes[scopes] != sizes[scopes[0]]).any():
            many = "holds factors of different shapes; make a group of each shape"
            raise InferenceError(f"group {number} {many}")
        twice = (np.diff(np.sort(scopes, axis=1), axis=1) == 0).any(axis=1)
        if twice.any():
            first = scopes[np.argmax(twice)].tolist()
            twofold = f"{first} names a variable twice; take the diagonal first"
            raise InferenceError(f"group {number}: {twofold}")


# ---- Where tables and evidence enter: tables are leaves, evidence joins a variable's smallest one
#
# A variable without a small table gets a leaf of its own. Leaves with evidence (hosts) lie first.


class Leaf(NamedTuple):
    """A table at `place` in the buffer and at `start` in the arrays given (None: all ones)."""

    scope: Variables
    place: int | None
    start: int | None
    takes: tuple[int, ...]


class Leaves(NamedTuple):
    """`leaves[i]` is factor i, then come leaves of evidence alone; `hosts[v]` takes the evidence of
    v; `sources` of all entries among the tables (a last zero), `evidence` of those that take it.
    """

    leaves: list[Leaf]
    hosts: list[int]
    sources: Ints
    evidence: Ints


def lay_leaves(structure: Structure, outside: Collection[int] = ()) -> Leaves:
    """Hosts first, then the other tables, but for those that are to stay outside the buffer."""
    hosts = find_hosts(structure)
    takes: dict[int, list[int]] = {}
    for v, host in enumerate(hosts):
        takes.setdefault(host, []).append(v)
    count = len(structure.factors)
    rest = [i for i in range(count) if i not in takes and i not in outside]
    kept_out = [i for i in range(count) if i not in takes and i in outside]
    leaves: dict[int, Leaf] = {}
    sources = []
    place = RESERVED
    zero = structure.entries
    for i in [*takes, *rest]:
        taken = tuple(takes.get(i, ()))
        scope, start = structure.factors[i] if i < count else (taken, None)
        entries = prod([structure.sizes[v] for v in scope])
        leaves[i] = Leaf(scope, place, start, taken)
        sources.append(np.full(entries, zero) if start is None else start + np.arange(entries))
        place += entries
    for i in kept_out:
        leaves[i] = Leaf(structure.factors[i].scope, None, structure.factors[i].start, ())
    ordered = [leaves[i] for i in range(len(leaves))]
    evidence = evidence_sources(structure, [leaves[i] for i in takes])
    return Leaves(ordered, hosts, joined(sources), evidence)


def find_hosts(structure: Structure) -> list[int]:
    """The smallest table that has the variable; a new leaf where none is small."""
    hosts = [-1] * len(structure.sizes)
    entries = [prod([structure.sizes[v] for v in f.scope]) for f in structure.factors]
    for i in sorted(range(len(entries)), key=entries.__getitem__):
        if entries[i] <= HOST_ENTRIES:
            for v in structure.factors[i].scope:
                hosts[v] = i if hosts[v] < 0 else hosts[v]
    new = len(entries)
    for v, host in enumerate(hosts):
        if host < 0:
            hosts[v] = new
            new += 1
    return hosts


def evidence_sources(structure: Structure, hosting: list[Leaf]) -> Ints:
    """Row j: where entries of hosts find the evidence of their j-th variable, else a zero."""
    none = len(structure.sizes) * structure.most_states
    rows = max([len(leaf.takes) for leaf in hosting], default=0)
    blocks = []
    for leaf in hosting:
        shape = [structure.sizes[v] for v in leaf.scope]
        states = np.indices(shape, dtype=np.int32).reshape(len(shape), -1)
        block = np.full((rows, states.shape[1]), none, np.int32)
        for j, v in enumerate(leaf.takes):
            block[j] = v * structure.most_states + states[leaf.scope.index(v)]
        blocks.append(block)
    return np.concatenate([np.zeros((rows, 0), np.int32), *blocks], axis=1)


def joined(parts: Sequence[NDArray[Any]]) -> Ints:
    return np.concatenate([np.zeros(0, np.int32), *parts]).astype(np.int32)

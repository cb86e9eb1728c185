"""Where tables and evidence enter: tables are leaves, evidence joins a variable's smallest one.

A variable without a small table gets a leaf of its own. Leaves with evidence (hosts) lie first.
"""

from collections.abc import Collection, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .circuit import RESERVED, Ints, Variables
from .structure import Structure

HOST_ENTRIES = 1024


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
        sources.append(
            np.full(entries, zero) if start is None else np.arange(start, start + entries)
        )
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

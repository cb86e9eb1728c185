"""Chains among the variables: where tables are over one variable or two neighbours, a scan.

Chains side by side are a batch, shorter ones end in padding, and a variable with fewer states than
another has states that are excluded.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import jax.numpy as jnp
import numpy as np

from ..engine import Decoded, Engine, Tables
from ..tree.structure import Structure
from .decode import mode, sample
from .domains import Domain
from .rows import ChainRows, Ints, one_a_row, packed
from .sums import log_partition

Array = Any
SPARED = 0.9
"""Chains share rows where that takes less than this part of the places."""


@dataclass(frozen=True, eq=False)
class PathEngine(Engine):
    """`domain` is that of the log-partition (path/domains.py)."""

    structure: Structure
    chains: list[Ints]
    domain: Domain = "auto"

    @cached_property
    def rows(self) -> ChainRows:
        return one_a_row(self.structure, self.chains)

    @cached_property
    def packed(self) -> ChainRows:
        if self.rows.lengths is None:
            return self.rows
        found = packed(self.structure, self.chains)
        return found if found.order.size < SPARED * self.rows.order.size else self.rows

    def log_partition(self, tables: Tables, log_evidence: Array) -> Array:
        rows = self.packed
        unary, pair, constant = rows.potentials(tables, log_evidence)
        if rows is self.rows:
            return jnp.sum(log_partition(unary, pair, rows.lengths, domain=self.domain)) + constant
        alone = np.where(
            np.arange(unary.shape[-1]) == 0, 0.0, -np.inf
        )  # padding is chains of one state
        unary = jnp.where(rows.real[..., None], unary, alone)
        found = log_partition(unary, pair, fresh=rows.fresh | ~rows.real, domain=self.domain)
        return jnp.sum(found) + constant

    def in_any_range(self) -> Self:
        return replace(self, domain="auto") if self.domain == "checked" else self

    def mode(self, tables: Tables, log_evidence: Array) -> Decoded:
        unary, pair, constant = self.rows.potentials(tables, log_evidence)
        found = mode(unary, pair, self.rows.lengths)
        return Decoded(self.rows.by_variable(found.states), jnp.sum(found.score) + constant)

    def sample(self, key: Array, count: int, tables: Tables, log_evidence: Array) -> Array:
        unary, pair, _ = self.rows.potentials(tables, log_evidence)
        drawn = sample(key, unary, pair, self.rows.lengths, draws=count)
        return drawn[:, self.rows.places[:, 0], self.rows.places[:, 1]]


def find_paths(structure: Structure, domain: Domain = "auto") -> PathEngine | None:
    """The structure as chains, or None when it is something else."""
    count = len(structure.sizes)
    scopes = [group.scopes for group in structure.groups]
    if not count or any(own.shape[1] > 2 for own in scopes):
        return None
    pairs = [np.sort(own, axis=1) for own in scopes if own.shape[1] == 2]
    edges = np.unique(np.concatenate([np.zeros((0, 2), np.intp), *pairs]), axis=0)
    if len(edges) and np.bincount(edges.reshape(-1)).max() > 2:
        return None
    chains = _walk(count, edges)
    return None if chains is None else PathEngine(structure, chains, domain)


def _walk(count: int, edges: Ints) -> list[Ints] | None:
    """Every chain from its end with the smaller number; None when a ring is left over."""
    if (edges[:, 1] == edges[:, 0] + 1).all():
        ends = np.setdiff1d(np.arange(count - 1), edges[:, 0]) + 1
        return np.split(np.arange(count), ends)
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges.tolist():
        neighbours[a].append(b)
        neighbours[b].append(a)
    seen = [False] * count
    chains = []
    for start, beside in enumerate(neighbours):
        if seen[start] or len(beside) > 1:
            continue
        chain, previous = [start], -1
        while True:
            seen[chain[-1]] = True
            ahead = [v for v in neighbours[chain[-1]] if v != previous]
            if not ahead:
                break
            previous = chain[-1]
            chain.append(ahead[0])
        chains.append(np.array(chain))
    return chains if all(seen) else None

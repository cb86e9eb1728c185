"""Chains among the variables: where every table is over one variable or two neighbours, all of it is a scan.

The variables are laid out as [chains, steps]: chains side by side are a batch, shorter ones end in padding, and a
variable with fewer states than another has states that are excluded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..chains.decode import Sequences, mode, sample
from ..chains.functionals import entropy
from ..chains.sums import log_partition, unary_marginals
from ..compiled.structure import Structure

Array = Any
Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PathEngine:
    """`order` [chains, steps] are the variables, `places` [variables, 2] is its inverse; `lengths` None when equal."""

    structure: Structure
    order: Ints
    places: Ints
    lengths: Ints | None

    def log_partition(self, tables: Sequence[Array], log_evidence: Array) -> Array:
        unary, pair, constant = self._potentials(tables, log_evidence)
        return jnp.sum(log_partition(unary, pair, self.lengths)) + constant

    def marginals(self, tables: Sequence[Array], log_evidence: Array) -> Array:
        unary, pair, _ = self._potentials(tables, log_evidence)
        return self._by_variable(unary_marginals(unary, pair, self.lengths))

    def entropy(self, tables: Sequence[Array], log_evidence: Array) -> Array:
        unary, pair, _ = self._potentials(tables, log_evidence)
        return jnp.sum(entropy(unary, pair, self.lengths))

    def mode(self, tables: Sequence[Array], log_evidence: Array) -> Sequences:
        unary, pair, constant = self._potentials(tables, log_evidence)
        found = mode(unary, pair, self.lengths)
        return Sequences(self._by_variable(found.states), jnp.sum(found.score) + constant)

    def sample(self, key: Array, count: int, tables: Sequence[Array], log_evidence: Array) -> Array:
        unary, pair, _ = self._potentials(tables, log_evidence)
        drawn = sample(key, unary, pair, self.lengths, draws=count)
        return drawn[:, self.places[:, 0], self.places[:, 1]]

    def _by_variable(self, found: Array) -> Array:
        return found[self.places[:, 0], self.places[:, 1]]

    def _potentials(self, tables: Sequence[Array], log_evidence: Array) -> tuple[Array, Array, Array]:
        """Every table added at its place: log_unary [chains, steps, K], log_pair [chains, steps - 1 or 1, K, K]."""
        chains, steps = self.order.shape
        states = self.structure.most_states
        there = np.arange(states)[None, :] < np.array(self.structure.sizes)[:, None]
        unary = jnp.where(there, log_evidence, -jnp.inf)[self.order]
        pair = jnp.zeros((chains, max(steps - 1, 1), states, states), log_evidence.dtype)
        constant = jnp.zeros((), log_evidence.dtype)
        for group, table in zip(self.structure.groups, tables, strict=True):
            scopes = group.scopes
            if scopes.shape[1] == 0:
                constant += jnp.sum(table)
            elif scopes.shape[1] == 1:
                chain, step = self.places[scopes[:, 0]].T
                unary = unary.at[chain, step, : table.shape[1]].add(table)
            else:
                pair = self._with_pairs(pair, scopes, table)
        return unary, pair, constant

    def _with_pairs(self, pair: Array, scopes: Ints, table: Array) -> Array:
        """Tables over neighbours, the earlier one first."""
        (chain, first), (_, second) = self.places[scopes[:, 0]].T, self.places[scopes[:, 1]].T
        forward = first < second
        for rows, oriented in ((forward, table), (~forward, jnp.swapaxes(table, 1, 2))):
            if rows.any():
                step = np.minimum(first, second)[rows]
                pair = pair.at[chain[rows], step, : oriented.shape[1], : oriented.shape[2]].add(oriented[rows])
        return pair


def find_paths(structure: Structure) -> PathEngine | None:
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
    return None if chains is None else _lay_out(structure, chains)


def _lay_out(structure: Structure, chains: list[list[int]]) -> PathEngine:
    lengths = np.array(list(map(len, chains)), np.intp)
    order = np.zeros((len(chains), int(lengths.max())), np.intp)
    places = np.empty((len(structure.sizes), 2), np.intp)
    for number, chain in enumerate(chains):
        order[number, : len(chain)] = chain
        places[chain, 0], places[chain, 1] = number, np.arange(len(chain))
    return PathEngine(structure, order, places, None if len(set(lengths.tolist())) == 1 else lengths)


def _walk(count: int, edges: Ints) -> list[list[int]] | None:
    """Every chain from its end with the smaller number; None when something is left over, a ring."""
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
        chains.append(chain)
    return chains if all(seen) else None

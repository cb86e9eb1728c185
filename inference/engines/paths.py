"""Chains among the variables: where every table is over one variable or two neighbours, all of it is a scan.

The variables are laid out as [chains, steps]: chains side by side are a batch, shorter ones end in padding, and a
variable with fewer states than another has states that are excluded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

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

    # ---- potentials by place

    def _potentials(self, tables: Sequence[Array], log_evidence: Array) -> tuple[Array, Array, Array]:
        """log_unary [chains, steps, K], log_pair [chains, steps - 1, K, K], or [1, 1, K, K] where one serves all."""
        states = self.structure.most_states
        there = np.arange(states)[None, :] < np.array(self.structure.sizes)[:, None]
        unary = take_rows(jnp.where(there, log_evidence, -jnp.inf), self.order)
        pair = jnp.zeros((1, 1, states, states), log_evidence.dtype)
        constant = jnp.zeros((), log_evidence.dtype)
        for group, place, table in zip(self.structure.groups, self.group_places, tables, strict=True):
            if group.scopes.shape[1] == 0:
                constant += jnp.sum(table)
                continue
            padded = jnp.pad(table, [(0, 0)] + [(0, states - size) for size in table.shape[1:]])
            if group.scopes.shape[1] == 1:
                unary = place.add_to(unary, padded)
            else:
                pair = place.add_to(pair, place.earlier_first(padded))
        return unary, pair, constant

    @cached_property
    def group_places(self) -> list[Place]:
        """Where the tables of each group belong."""
        return [self._place(group.scopes) for group in self.structure.groups]

    def _place(self, scopes: Ints) -> Place:
        if not scopes.shape[1]:
            return Place(scopes, (0, 0), None, np.zeros(0, bool))
        at = self.places[scopes]
        turned = at[:, 0, 1] > at[:, -1, 1]
        spots = np.stack([at[:, 0, 0], at[:, :, 1].min(axis=1)], axis=1)
        shape = (len(self.order), self.order.shape[1] - scopes.shape[1] + 1)
        return Place(spots, shape, self._rows(spots, shape), turned)

    def _rows(self, spots: Ints, shape: tuple[int, int]) -> Ints | None:
        """Which table belongs to each spot, any in the padding; None where spots have none or several."""
        rows = np.full(shape, -1, np.intp)
        rows[spots[:, 0], spots[:, 1]] = np.arange(len(spots))
        lengths = np.full(len(self.order), self.order.shape[1]) if self.lengths is None else self.lengths
        inside = np.arange(shape[1]) < (lengths - self.order.shape[1] + shape[1])[:, None]
        return np.maximum(rows, 0) if len(spots) == inside.sum() == (rows[inside] >= 0).sum() else None


class Place(NamedTuple):
    """`spots` [tables, 2] are chains and steps among `shape` of them; `rows` is their inverse, if each has one table.

    `turned` [tables] says where the later variable of a pair comes first.
    """

    spots: Ints
    shape: tuple[int, int]
    rows: Ints | None
    turned: NDArray[np.bool_]

    def earlier_first(self, tables: Array) -> Array:
        """Tables [tables, K, K] of pairs with the axis of the earlier variable first."""
        if not self.turned.any():
            return tables
        swapped = jnp.swapaxes(tables, 1, 2)
        return swapped if self.turned.all() else jnp.where(self.turned[:, None, None], swapped, tables)

    def add_to(self, total: Array, tables: Array) -> Array:
        """The tables at their spots; one that belongs to all spots stays one."""
        if self.rows is not None:
            return total + (tables[None] if len(tables) == 1 else take_rows(tables, self.rows))
        whole = jnp.broadcast_to(total, (*self.shape, *total.shape[2:]))
        return whole.at[self.spots[:, 0], self.spots[:, 1]].add(tables)


def take_rows(array: Array, rows: Ints) -> Array:
    """array[rows], by its shape alone where the rows come in their order."""
    if rows.size == len(array) and (rows.reshape(-1) == np.arange(rows.size)).all():
        return array.reshape(*rows.shape, *array.shape[1:])
    return array.at[rows].get(mode="promise_in_bounds")


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
    if (edges[:, 1] == edges[:, 0] + 1).all():
        ends = np.setdiff1d(np.arange(count - 1), edges[:, 0]) + 1
        return [chain.tolist() for chain in np.split(np.arange(count), ends)]
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

"""Chains among the variables: where tables are over one variable or two neighbours, a scan.

Chains side by side are a batch, shorter ones end in padding, and a variable with fewer states than
another has states that are excluded.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError
from ..engine import Decoded, Engine, Tables
from ..tree.structure import Structure
from .decode import kbest, mode, sample
from .layout import Domain
from .sums import log_partition

Array = Any
Ints = NDArray[np.intp]
Mask = NDArray[np.bool_]
SPARED = 0.9  # chains share rows where that takes less than this part of the places


# ---- Chains laid out in rows [rows, steps], and the potentials of a structure there
#
# Most questions want one chain a row, shorter ones padded. In a sum over all chains several short
# ones share a row, one after the other, and hardly anything is padding.


class TableSpots(NamedTuple):
    """`spots` are variables, or (row, step), among `shape`; `rows` is the inverse, if each has one
    table; `turned` [tables] says where the later variable of a pair comes first.
    """

    spots: tuple[Ints, ...]
    shape: tuple[int, ...]
    rows: Ints | None
    turned: Mask

    def earlier_first(self, tables: Array) -> Array:
        """Tables [tables, K, K] of pairs with the axis of the earlier variable first."""
        if not self.turned.any():
            return tables
        swapped = jnp.swapaxes(tables, 1, 2)
        turned = self.turned[:, None, None]
        return swapped if turned.all() else jnp.where(turned, swapped, tables)

    def add_to(self, total: Array, tables: Array) -> Array:
        """The tables at their spots; one that belongs to all spots stays one."""
        if self.rows is not None:
            if len(tables) == 1:
                return total + tables.reshape((1,) * self.rows.ndim + tables.shape[1:])
            return total + take_rows(tables, self.rows)
        whole = jnp.broadcast_to(total, (*self.shape, *total.shape[len(self.shape) :]))
        return whole.at[self.spots].add(tables)


@dataclass(frozen=True, eq=False)
class ChainRows:
    """`order` [rows, steps] are the variables, -1 in the padding; `places` [variables, 2] is its
    inverse; `fresh` [rows, steps] says where chains start.
    """

    structure: Structure
    order: Ints
    places: Ints
    fresh: Mask

    @cached_property
    def real(self) -> Mask:
        """False in the padding."""
        return self.order >= 0

    @cached_property
    def lengths(self) -> Ints | None:
        """Of rows with one chain each; None where there is no padding."""
        return None if self.real.all() else self.real.sum(axis=1)

    def by_variable(self, found: Array) -> Array:
        """[rows, steps, ...] to [variables, ...]."""
        return found[self.places[:, 0], self.places[:, 1]]

    def potentials(self, tables: Tables, log_evidence: Array) -> tuple[Array, Array, Array]:
        """log_unary [rows, steps, K] and log_pair [rows, steps - 1, K, K], or [1, 1, K, K]; what is
        about one variable is added up before it is laid out.
        """
        states = self.structure.most_states
        there = np.arange(states)[None, :] < np.array(self.structure.sizes)[:, None]
        unary = log_evidence if there.all() else jnp.where(there, log_evidence, -jnp.inf)
        pair = jnp.zeros((1, 1, states, states), log_evidence.dtype)
        constant = jnp.zeros((), log_evidence.dtype)
        groups = self.structure.groups
        for group, place, table in zip(groups, self.group_places, tables, strict=True):
            if group.scopes.shape[1] == 0:
                constant += jnp.sum(table)
                continue
            padded = jnp.pad(table, [(0, 0)] + [(0, states - size) for size in table.shape[1:]])
            if group.scopes.shape[1] == 1:
                unary = place.add_to(unary, padded)
            else:
                pair = place.add_to(pair, place.earlier_first(padded))
        return take_rows(unary, np.maximum(self.order, 0)), pair, constant

    @cached_property
    def group_places(self) -> list[TableSpots]:
        """Where the tables of each group belong: among the variables, or among the transitions."""
        return [self._place(group.scopes) for group in self.structure.groups]

    def _place(self, scopes: Ints) -> TableSpots:
        spots: tuple[Ints, ...] = tuple(scopes.T)
        wanted = np.ones(len(self.structure.sizes) if spots else 0, bool)
        turned = np.zeros(0, bool)
        if scopes.shape[1] == 2:
            at = self.places[scopes]
            spots = at[:, 0, 0], at[:, :, 1].min(axis=1)
            wanted = (self.real & ~self.fresh)[:, 1:]
            turned = at[:, 0, 1] > at[:, -1, 1]
        count = len(spots[0]) if spots else 0
        rows = np.full(wanted.shape, -1, np.intp)
        rows[spots] = np.arange(count)
        one_each = count == wanted.sum() == (rows[wanted] >= 0).sum()
        return TableSpots(spots, wanted.shape, np.maximum(rows, 0) if one_each else None, turned)


def take_rows(array: Array, rows: Ints) -> Array:
    """array[rows], by its shape alone where the rows come in their order."""
    if rows.size == len(array) and (rows.reshape(-1) == np.arange(rows.size)).all():
        return array.reshape(*rows.shape, *array.shape[1:])
    return array.at[rows].get(mode="promise_in_bounds")


def packed(structure: Structure, chains: list[Ints]) -> ChainRows:
    """In rows as long as the longest chain; longest first, each where it leaves least room."""
    lengths = np.array(list(map(len, chains)))
    size = int(lengths.max())
    rows, starts = np.zeros(len(chains), np.intp), np.zeros(len(chains), np.intp)
    room: list[tuple[int, int]] = []
    count = 0
    for chain in np.argsort(-lengths, kind="stable").tolist():
        length = int(lengths[chain])
        best = bisect_left(room, (length, -1))
        left, row = room.pop(best) if best < len(room) else (size, count)
        count = max(count, row + 1)
        rows[chain], starts[chain] = row, size - left
        insort(room, (left - length, row))
    return lay_out(structure, chains, rows, starts)


def lay_out(structure: Structure, chains: list[Ints], rows: Ints, starts: Ints) -> ChainRows:
    """Each chain in its row, from its start there."""
    lengths = np.array(list(map(len, chains)))
    variables = np.concatenate(chains)
    steps = np.arange(len(variables)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    spots = np.repeat(rows, lengths), np.repeat(starts, lengths) + steps
    order = np.full((rows.max() + 1, int((starts + lengths).max())), -1, np.intp)
    order[spots] = variables
    places = np.empty((len(structure.sizes), 2), np.intp)
    places[variables] = np.stack(spots, axis=1)
    fresh = np.zeros(order.shape, bool)
    fresh[rows, starts] = True
    return ChainRows(structure, order, places, fresh)


@dataclass(frozen=True, eq=False)
class PathEngine(Engine):
    """`domain` is that of the log-partition (path/layout.py)."""

    structure: Structure
    chains: list[Ints]
    domain: Domain = "auto"

    @cached_property
    def rows(self) -> ChainRows:
        count = len(self.chains)
        return lay_out(self.structure, self.chains, np.arange(count), np.zeros(count, np.intp))

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
        alone = np.where(np.arange(unary.shape[-1]) == 0, 0.0, -np.inf)
        unary = jnp.where(rows.real[..., None], unary, alone)  # padding is chains of one state
        found = log_partition(unary, pair, fresh=rows.fresh | ~rows.real, domain=self.domain)
        return jnp.sum(found) + constant

    def in_any_range(self) -> Self:
        return replace(self, domain="auto") if self.domain == "checked" else self

    def mode(self, tables: Tables, log_evidence: Array) -> Decoded:
        unary, pair, constant = self.rows.potentials(tables, log_evidence)
        found = mode(unary, pair, self.rows.lengths)
        return Decoded(self.rows.by_variable(found.states), jnp.sum(found.score) + constant)

    def kbest(self, tables: Tables, log_evidence: Array, k: int) -> Decoded:
        """The k best configurations of a single chain, best first; scores of -inf if fewer."""
        if len(self.chains) > 1:
            raise InferenceError("the k best are found for a single chain alone")
        unary, pair, constant = self.rows.potentials(tables, log_evidence)
        found = kbest(unary, pair, self.rows.lengths, k=k)
        states = found.states[:, self.rows.places[:, 0], self.rows.places[:, 1]]
        return Decoded(states, found.score[:, 0] + constant)

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

"""Chains laid out in rows [rows, steps], and the potentials of a structure at their places there.

Most questions want one chain a row, shorter ones padded. In a sum over all chains several short
ones share a row, one after the other, and hardly anything is padding.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..tree.structure import Structure

Array = Any
Ints = NDArray[np.intp]
Mask = NDArray[np.bool_]


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
        return (
            swapped if self.turned.all() else jnp.where(self.turned[:, None, None], swapped, tables)
        )

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

    def potentials(
        self, tables: Sequence[Array], log_evidence: Array
    ) -> tuple[Array, Array, Array]:
        """log_unary [rows, steps, K] and log_pair [rows, steps - 1, K, K], or [1, 1, K, K]; what is
        about one variable is added up before it is laid out.
        """
        states = self.structure.most_states
        there = np.arange(states)[None, :] < np.array(self.structure.sizes)[:, None]
        unary = log_evidence if there.all() else jnp.where(there, log_evidence, -jnp.inf)
        pair = jnp.zeros((1, 1, states, states), log_evidence.dtype)
        constant = jnp.zeros((), log_evidence.dtype)
        for group, place, table in zip(
            self.structure.groups, self.group_places, tables, strict=True
        ):
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
        if scopes.shape[1] < 2:
            wanted = np.ones(len(self.structure.sizes) if scopes.shape[1] else 0, bool)
            return TableSpots(
                tuple(scopes.T), wanted.shape, _inverse(tuple(scopes.T), wanted), np.zeros(0, bool)
            )
        at = self.places[scopes]
        turned = at[:, 0, 1] > at[:, -1, 1]
        spots = at[:, 0, 0], at[:, :, 1].min(axis=1)
        wanted = (self.real & ~self.fresh)[:, 1:]
        return TableSpots(spots, wanted.shape, _inverse(spots, wanted), turned)


def _inverse(spots: tuple[Ints, ...], wanted: Mask) -> Ints | None:
    """Which table belongs to each spot (any if unwanted); None unless each wants just one."""
    count = len(spots[0]) if spots else 0
    rows = np.full(wanted.shape, -1, np.intp)
    rows[spots] = np.arange(count)
    return np.maximum(rows, 0) if count == wanted.sum() == (rows[wanted] >= 0).sum() else None


def take_rows(array: Array, rows: Ints) -> Array:
    """array[rows], by its shape alone where the rows come in their order."""
    if rows.size == len(array) and (rows.reshape(-1) == np.arange(rows.size)).all():
        return array.reshape(*rows.shape, *array.shape[1:])
    return array.at[rows].get(mode="promise_in_bounds")


# ---- layouts


def one_a_row(structure: Structure, chains: list[Ints]) -> ChainRows:
    return lay_out(structure, chains, np.arange(len(chains)), np.zeros(len(chains), np.intp))


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

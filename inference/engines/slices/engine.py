"""Steps among the variables: where tables reach back a few steps, a scan over slices.

Coupled and factorial chains, chains of higher order and grids: the variables of one step are a
slice, and a table is known by which variables of which of the last slices it is about.
"""

from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple, Self

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..engine import Decoded, Engine, Tables
from ..path.layout import Domain
from ..tree.structure import Structure
from .slices import Slices, log_partition, mode, sample
from .slice_plan import Scope

Array = Any
Ints = NDArray[np.intp]
FEWEST_STEPS = 8
WIDEST_MESSAGE = 2**12
MOST_SCOPES = 400


class ScopeTables(NamedTuple):
    """The tables of a group that share a scope: which they are, and at which step each stands."""

    group: int
    scope: Scope
    rows: Ints
    steps: Ints


@dataclass(frozen=True, eq=False)
class SliceEngine(Engine):
    """`order` [steps, variables of a slice] are the variables; `places` is its inverse; `domain` is
    that of the log-partition (path/layout.py).
    """

    structure: Structure
    order: Ints
    places: Ints
    rows: tuple[ScopeTables, ...]
    domain: Domain = "auto"

    def log_partition(self, tables: Tables, log_evidence: Array) -> Array:
        slices, constant = self._slices(tables, log_evidence)
        return log_partition(slices, domain=self.domain) + constant

    def in_any_range(self) -> Self:
        return replace(self, domain="auto") if self.domain == "checked" else self

    def mode(self, tables: Tables, log_evidence: Array) -> Decoded:
        slices, constant = self._slices(tables, log_evidence)
        found = mode(slices)
        return Decoded(found.states[self.places[:, 0], self.places[:, 1]], found.score + constant)

    def sample(self, key: Array, count: int, tables: Tables, log_evidence: Array) -> Array:
        slices, _ = self._slices(tables, log_evidence)
        return sample(key, slices, draws=count)[:, self.places[:, 0], self.places[:, 1]]

    def _slices(self, tables: Tables, log_evidence: Array) -> tuple[Slices, Array]:
        """Evidence as a factor of every variable, and every table added at its step."""
        steps, width = self.order.shape
        sizes = tuple(self.structure.sizes[v] for v in self.order[0])
        scopes: dict[Scope, Array] = {}
        for k in range(width):
            scopes[((0, k),)] = log_evidence[self.order[:, k], : sizes[k]]
        for own in self.rows:
            table = tables[own.group]
            table = table if len(table) == 1 else table[own.rows]
            reach = max(lag for lag, _ in own.scope)
            if own.scope not in scopes:
                scopes[own.scope] = jnp.zeros((steps - reach, *table.shape[1:]), log_evidence.dtype)
            scopes[own.scope] = scopes[own.scope].at[own.steps - reach].add(table)
        constant = jnp.zeros((), log_evidence.dtype)
        for group, table in zip(self.structure.groups, tables, strict=True):
            if not group.scopes.shape[1]:
                constant = constant + jnp.sum(table)
        return Slices(sizes, steps, tuple(scopes), tuple(scopes.values())), constant


def find_slices(structure: Structure, steps: Ints, domain: Domain = "auto") -> SliceEngine | None:
    """The structure as equal slices by the `steps` of the variables; None where it does not pay."""
    count = int(steps.max()) + 1 if len(steps) else 0
    members = [np.flatnonzero(steps == t) for t in range(count)]
    if count < FEWEST_STEPS or len({len(own) for own in members}) != 1:
        return None
    order = np.stack(members)
    sizes = np.array(structure.sizes)[order]
    if (sizes != sizes[0]).any():
        return None
    places = np.empty((len(steps), 2), np.intp)
    places[order] = np.stack(np.meshgrid(*map(np.arange, order.shape), indexing="ij"), -1)
    rows = _rows(structure, places)
    reach = max((lag for own in rows for lag, _ in own.scope), default=0)
    message = prod(sizes[0].tolist()) ** max(reach, 1)
    if message > WIDEST_MESSAGE or len(rows) > MOST_SCOPES or reach >= count:
        return None
    return SliceEngine(structure, order, places, tuple(rows), domain)


def _rows(structure: Structure, places: Ints) -> list[ScopeTables]:
    """Tables by group and scope: for each of its variables the lag, and the place in the slice."""
    found = []
    for number, group in enumerate(structure.groups):
        if not group.scopes.shape[1]:
            continue
        steps, within = places[group.scopes, 0], places[group.scopes, 1]
        last = steps.max(1)
        keys = np.stack([last[:, None] - steps, within], -1)
        patterns, which = np.unique(keys.reshape(len(keys), -1), axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            scope = tuple((int(lag), int(place)) for lag, place in pattern.reshape(-1, 2))
            rows = np.flatnonzero(which.reshape(-1) == k)
            found.append(ScopeTables(number, scope, rows, last[rows]))
    return found

"""A graph as a few regular arrays: a row of states per variable, factors of a shape in a batch.

States lead and factors trail, so that loops run along many factors at once. The axes of a factor
are sorted by size and a shape may be padded into a larger one, which keeps the batches few. A
padded entry is never read: the unary potential of a state that does not exist is zero.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...factors.factor_graph import Array, FactorGraph, Floats, Given, Name, impossible, log_score
from ...planning.orders import neighbours_of
from ...planning.plan import FLOAT, Plan, format_bytes
from ..numpy.decisions import Configuration
from ..numpy.passes import BoundGraph, bind

Shape = tuple[int, ...]
Ints = NDArray[np.int32]
WASTE = 4  # a shape joins a larger batch if that makes its tables at most this many times larger
OPERATIONS = 10**11  # some minutes; beyond, exact inference is not chosen by itself
MANY_VARIABLES = 500  # from which a plan that does not fit takes long to make
FAR = 2**12  # what a full search for an order may gain on this one; ten is much in practice


class FactorBatch(NamedTuple):
    """`logs[i, j, ..., f]` and `members[axis, f]`, the variables of factor f; arity two or more."""

    logs: Array
    members: Array

    @property
    def arity(self) -> int:
        return int(self.members.shape[0])


@dataclass(frozen=True, eq=False)
class FactorLayout:
    """Free variables `names` of `sizes`; `unary[state, variable]`, -inf where no such state is."""

    bound: BoundGraph
    names: tuple[Name, ...]
    sizes: tuple[int, ...]
    unary: Floats
    groups: tuple[FactorBatch, ...]
    constant: float

    @property
    def count(self) -> int:
        return len(self.names)

    @property
    def states(self) -> int:
        return int(self.unary.shape[0])

    @cached_property
    def has_zeros(self) -> bool:
        """Whether a factor of two or more variables has a zero."""
        return any(bool(np.isneginf(group.logs).any()) for group in self.groups)

    @cached_property
    def scopes(self) -> list[tuple[int, ...]]:
        """The variables of every factor, group by group."""
        return [tuple(scope) for group in self.groups for scope in group.members.T.tolist()]

    def named_marginals(self, beliefs: Array) -> dict[Name, Floats]:
        """`beliefs[state, variable]` by name, in the graph's order; what is fixed is certain."""
        rows = np.asarray(beliefs, dtype=np.float64).T
        columns = zip(self.names, rows, self.sizes, strict=True)
        free = {v: row[:size] for v, row, size in columns}
        bound = self.bound
        return {v: free[v] if v in free else bound.certain(v) for v in bound.graph.sizes}

    def named_configuration(self, states: Array) -> Configuration:
        """The states of the free variables as a configuration, scored by the factors themselves."""
        found = {v: int(s) for v, s in zip(self.names, np.asarray(states), strict=True)}
        merged = self.bound.completed(found)
        return Configuration(merged, float(log_score(self.bound.factors, merged)))


def lay_out(graph: FactorGraph, given: Given = None) -> FactorLayout:
    """The arrays of a graph, evidence sliced away; raises where one variable is impossible."""
    assert graph.tables is not None  # made once per graph, and verified on the way
    bound = bind(graph, given)
    names = tuple([v for v in graph.sizes if v not in bound.fixed])
    number = {v: i for i, v in enumerate(names)}
    sizes = tuple([graph.sizes[v] for v in names])
    exists = np.arange(max(sizes, default=1))[:, None] < np.array(sizes, int)[None]
    unary = np.where(exists, 0.0, -np.inf)
    constant = 0.0
    wide: dict[Shape, tuple[list[Floats], list[list[int]]]] = {}
    for scope, logs in zip(bound.scopes, bound.log_leaves(), strict=True):
        if not scope:
            constant += float(logs)
        elif len(scope) == 1:
            unary[: logs.size, number[scope[0]]] += logs
        else:
            order = np.argsort([-size for size in logs.shape], kind="stable")
            tables, members = wide.setdefault(tuple(sorted(logs.shape, reverse=True)), ([], []))
            tables.append(logs.transpose(order))
            members.append([number[scope[axis]] for axis in order])
    if constant == -np.inf or (unary.max(axis=0) == -np.inf).any():
        raise impossible(bound.evidence)
    return FactorLayout(bound, names, sizes, unary, batch(wide), constant)


def batch(wide: dict[Shape, tuple[list[Floats], list[list[int]]]]) -> tuple[FactorBatch, ...]:
    """One group per shape that hosts others; constant potentials fill what padding adds."""
    guests: dict[Shape, list[Shape]] = {}
    for shape in sorted(wide, key=lambda shape: (-prod(shape), shape)):
        near = [h for h in guests if len(h) == len(shape) and prod(h) <= WASTE * prod(shape)]
        fitting = [h for h in near if all(a <= b for a, b in zip(shape, h, strict=True))]
        guests.setdefault(min(fitting, key=prod, default=shape), []).append(shape)
    groups = []
    for host, shapes in guests.items():
        tables = []
        for shape in shapes:  # smaller tables lie in the corner of larger ones
            own = np.stack(wide[shape][0], axis=-1)
            added = [(0, size - have) for size, have in zip(host, shape, strict=True)]
            tables.append(own if shape == host else np.pad(own, [*added, (0, 0)]))
        members = np.concatenate([np.array(wide[shape][1], np.int32).T for shape in shapes], axis=1)
        groups.append(FactorBatch(np.concatenate(tables, axis=-1), members))
    return tuple(groups)


def soft_columns(logs: Floats) -> Floats:
    """exp(logs), each column summing to one."""
    weights = np.exp(logs - logs.max(axis=0, initial=-np.inf)[None])
    return np.asarray(weights / weights.sum(axis=0)[None])


def greedy_colours(count: int, scopes: Sequence[Sequence[int]]) -> NDArray[np.intp]:
    """A colour for each variable, unlike those it shares a factor with; busiest first."""
    near = neighbours_of(count, scopes)
    colours = np.full(count, -1)
    for v in sorted(range(count), key=lambda v: -len(near[v])):
        taken = {int(colours[u]) for u in near[v]}
        colours[v] = next(c for c in range(len(taken) + 1) if c not in taken)
    return colours


# ---- Whether exact inference fits: elimination by least degree, then the plan itself


def plan_if_it_fits(
    graph: FactorGraph, given: Given, make_plan: Callable[[], Plan], limit: int, k: int = 1
) -> tuple[Plan | None, str]:
    """The plan of exact inference (of the k best), or none, and why."""
    many = len(graph.sizes) > MANY_VARIABLES
    if many and far_too_wide(lay_out(graph, given), limit / FLOAT):
        return None, f"exact inference needs far more than {format_bytes(limit)}"
    plan = make_plan()
    if plan.bytes_for(k) > limit:
        needed = format_bytes(plan.bytes_for(k))
        return None, f"exact inference needs {needed}, the limit is {format_bytes(limit)}"
    if plan.operations > OPERATIONS:
        needed = f"{plan.operations:.2g} operations"
        return None, f"exact inference needs {needed}, the limit is {OPERATIONS:.2g}"
    return plan, "it fits"


def far_too_wide(layout: FactorLayout, limit: float) -> bool:
    """Whether elimination by least degree meets a clique of over FAR * `limit` entries."""
    near = neighbours_of(layout.count, layout.scopes)
    heap = [(len(members), v) for v, members in enumerate(near)]
    heapq.heapify(heap)
    gone: set[int] = set()
    while heap:
        degree, v = heapq.heappop(heap)
        if v not in gone and degree == len(near[v]):
            around = near[v]
            if prod([layout.sizes[u] for u in (v, *around)]) > FAR * limit:
                return True
            gone.add(v)
            for u in around:
                near[u] |= around
                near[u] -= {u, v}
                heapq.heappush(heap, (len(near[u]), u))
    return False

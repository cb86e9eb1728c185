"""A graph with its evidence put in: the leaves of a plan, in the real or the log domain."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...factors.factor_graph import (
    Evidence,
    Factor,
    FactorGraph,
    Floats,
    Name,
    ScaledTable,
    factor_of_values,
    variables_of,
)

ALL = slice(None)


class LeafSource(Protocol):
    """What a pass needs: leaves in either domain, and the evidence to name if impossible."""

    @property
    def evidence(self) -> object: ...

    def real_leaves(self) -> tuple[list[Floats], float, list[float]]:
        """Scaled potentials, the log of their scale in all, and lower bounds of their logs."""

    def log_leaves(self) -> list[Floats]: ...


@dataclass(frozen=True, eq=False)
class BoundGraph:
    """Factors that matter (`positions`, then `extras`), what is fixed, the scopes left."""

    graph: FactorGraph
    evidence: Evidence
    fixed: dict[Name, int]
    positions: Sequence[int]
    extras: tuple[Factor, ...]
    scopes: list[tuple[Name, ...]]

    def index(self, variables: tuple[Name, ...]) -> tuple[int | slice, ...]:
        fixed = self.fixed
        return tuple([fixed.get(v, ALL) for v in variables])

    def real_leaves(self) -> tuple[list[Floats], float, list[float]]:
        tables = self.graph.tables
        factors = self.graph.factors
        leaves, lows, log_scale = [], [], 0.0
        untouched = self.fixed.keys().isdisjoint
        for i in self.positions:
            values, scale, low = tables[i]
            variables = factors[i].variables
            leaves.append(values if untouched(variables) else values[self.index(variables)])
            lows.append(low)
            log_scale += scale
        for factor, (values, scale, low) in zip(
            self.extras, map(table_of, self.extras), strict=True
        ):
            leaves.append(values[self.index(factor.variables)])
            lows.append(low)
            log_scale += scale
        return leaves, log_scale, lows

    def log_leaves(self) -> list[Floats]:
        factors = [*[self.graph.factors[i] for i in self.positions], *self.extras]
        return [
            np.asarray(f.log_values, dtype=np.float64)[self.index(f.variables)] for f in factors
        ]


def table_of(factor: Factor) -> ScaledTable:
    """One factor scaled by its largest entry."""
    logs = np.asarray(factor.log_values, dtype=np.float64)
    scale = float(logs.max())
    scale = scale if scale > -np.inf else 0.0
    finite = logs[logs > -np.inf]
    return ScaledTable(
        np.exp(logs - scale), scale, float(finite.min()) - scale if finite.size else 0.0
    )


def bind(
    graph: FactorGraph,
    evidence: Evidence,
    needed: Collection[Name] | None = None,
    extras: tuple[Factor, ...] = (),
) -> BoundGraph:
    """Evidence sliced away; where only `needed` variables matter to a sum, barren tables are left
    out.

    A variable without a factor gets a constant one, so that it is counted; likelihoods become
    factors.
    """
    fixed = (
        evidence.hard | dict.fromkeys(graph.single_states, 0)
        if graph.single_states
        else evidence.hard
    )
    extras = (*extras, *[factor_of_values((name,), v) for name, v in evidence.soft.items()])
    positions: Sequence[int] = range(len(graph.factors))
    pruned: set[Name] = set()
    if needed is not None and graph.conditionals:
        held = {*needed, *fixed, *variables_of([f.variables for f in extras])}
        positions, pruned = prune(graph, held)
    scopes = [graph.factors[i].variables for i in positions] + [f.variables for f in extras]
    lonely = graph.sizes.keys() - variables_of(scopes) - fixed.keys() - pruned
    if lonely:
        free = tuple(
            [
                Factor((name,), np.zeros(size))
                for name, size in graph.sizes.items()
                if name in lonely
            ]
        )
        extras += free
        scopes += [f.variables for f in free]
    if fixed:
        untouched = fixed.keys().isdisjoint
        scopes = [s if untouched(s) else tuple([v for v in s if v not in fixed]) for s in scopes]
    return BoundGraph(graph, evidence, fixed, positions, extras, scopes)


def prune(graph: FactorGraph, held: Collection[Name]) -> tuple[list[int], set[Name]]:
    """Positions that stay, and the children that were summed out with their tables."""
    children = [f.child if i in graph.conditionals else None for i, f in enumerate(graph.factors)]
    stay = without_barren([f.variables for f in graph.factors], children, held)
    gone = set(range(len(graph.factors))).difference(stay)
    return stay, {name for i in gone if (name := children[i]) is not None}


def without_barren(
    scopes: Sequence[tuple[Name, ...]], children: Sequence[Name | None], needed: Collection[Name]
) -> list[int]:
    """Positions of the factors that matter: barren children (in one table) go, repeatedly."""
    holders: dict[Name, set[int]] = {}
    for i, scope in enumerate(scopes):
        for name in scope:
            holders.setdefault(name, set()).add(i)
    waiting = [i for i, child in enumerate(children) if child is not None]
    gone: set[int] = set()
    while waiting:
        i = waiting.pop()
        child = children[i]
        if i in gone or child is None or child in needed or holders[child] != {i}:
            continue
        gone.add(i)
        for name in scopes[i]:
            holders[name].discard(i)
            if len(holders[name]) == 1:
                waiting.extend(j for j in holders[name] if children[j] == name)
    return [i for i in range(len(scopes)) if i not in gone]

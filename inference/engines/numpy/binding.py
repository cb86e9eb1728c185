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
    Given,
    Name,
    ScaledTable,
    check_evidence,
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

    def certain(self, name: Name) -> Floats:
        """The marginal of a fixed variable."""
        return self.widened([name], np.ones(()))

    def widened(self, variables: Sequence[Name], marginal: Floats) -> Floats:
        """A marginal on the free variables, with axes for the fixed ones: zero off their states."""
        if self.fixed.keys().isdisjoint(variables):
            return marginal
        full = np.zeros([self.graph.sizes[v] for v in variables])
        full[self.index(tuple(variables))] = marginal
        return full

    def completed(self, states: dict[Name, int]) -> dict[Name, int]:
        """All variables in the order of the graph, with those that evidence fixed."""
        merged = self.fixed | states
        return {v: merged[v] for v in self.graph.sizes}

    @property
    def factors(self) -> list[Factor]:
        return [*[self.graph.factors[i] for i in self.positions], *self.extras]

    def real_leaves(self) -> tuple[list[Floats], float, list[float]]:
        tables = [*[self.graph.tables[i] for i in self.positions], *map(table_of, self.extras)]
        leaves, lows, log_scale = [], [], 0.0
        untouched = self.fixed.keys().isdisjoint
        for factor, (values, scale, low) in zip(self.factors, tables, strict=True):
            variables = factor.variables
            leaves.append(values if untouched(variables) else values[self.index(variables)])
            lows.append(low)
            log_scale += scale
        return leaves, log_scale, lows

    def log_leaves(self) -> list[Floats]:
        return [
            np.asarray(f.log_values, dtype=np.float64)[self.index(f.variables)]
            for f in self.factors
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
    given: Given,
    needed: Collection[Name] | None = None,
    extras: tuple[Factor, ...] = (),
) -> BoundGraph:
    """Evidence sliced away, likelihoods as factors, a constant one for a variable without any;
    barren tables left out of a sum where only `needed` variables matter.
    """
    evidence = check_evidence(graph.sizes, given)
    fixed = evidence.hard
    if graph.single_states:
        fixed = fixed | dict.fromkeys(graph.single_states, 0)
    extras = (*extras, *[factor_of_values((name,), v) for name, v in evidence.soft.items()])
    positions: Sequence[int] = range(len(graph.factors))
    pruned: set[Name] = set()
    if needed is not None and graph.conditionals:
        held = {*needed, *fixed, *variables_of([f.variables for f in extras])}
        positions, pruned = prune(graph, held)
    scopes = [graph.factors[i].variables for i in positions] + [f.variables for f in extras]
    lonely = graph.sizes.keys() - variables_of(scopes) - fixed.keys() - pruned
    if lonely:
        free = [v for v in graph.sizes if v in lonely]
        extras += tuple([Factor((v,), np.zeros(graph.sizes[v])) for v in free])
        scopes += [(v,) for v in free]
    if fixed:
        untouched = fixed.keys().isdisjoint
        scopes = [s if untouched(s) else tuple([v for v in s if v not in fixed]) for s in scopes]
    return BoundGraph(graph, evidence, fixed, positions, extras, scopes)


def prune(graph: FactorGraph, held: Collection[Name]) -> tuple[list[int], set[Name]]:
    """Positions that stay, and the children that go: not held, and in their own table alone, which
    sums to one over them.
    """
    children = {i: graph.factors[i].child for i in graph.conditionals}
    holders: dict[Name, set[int]] = {}
    for i, factor in enumerate(graph.factors):
        for name in factor.variables:
            holders.setdefault(name, set()).add(i)
    waiting = list(children)
    gone: set[int] = set()
    while waiting:
        i = waiting.pop()
        child = children[i]
        if i in gone or child in held or holders[child] != {i}:
            continue
        gone.add(i)
        for name in graph.factors[i].variables:
            holders[name].discard(i)
            if len(holders[name]) == 1:
                waiting.extend(j for j in holders[name] if children.get(j) == name)
    stay = [i for i in range(len(graph.factors)) if i not in gone]
    return stay, {children[i] for i in gone}

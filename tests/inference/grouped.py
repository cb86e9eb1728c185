"""Factor graphs as the compiled engines take them: a structure and an array for each group."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dpc.inference.engines.tree.structure import FactorGroup, Structure
from dpc.inference.factors.factor_graph import FactorGraph, Floats, Given, check_evidence


class Grouped(NamedTuple):
    """A factor graph by numbers: variable i is `names[i]`, factor j the (group, row) `rows[j]`."""

    structure: Structure
    tables: tuple[Floats, ...]
    names: tuple[Any, ...]
    rows: tuple[tuple[int, int], ...]


def group_factors(graph: FactorGraph) -> Grouped:
    """Factors of one shape together, in the order of their first."""
    number = {name: i for i, name in enumerate(graph.sizes)}
    members: dict[tuple[int, ...], list[int]] = {}
    for i, factor in enumerate(graph.factors):
        members.setdefault(factor.log_values.shape, []).append(i)
    factors = graph.factors
    groups, tables = [], []
    rows = [(0, 0)] * len(factors)
    for g, inside in enumerate(members.values()):
        scopes = [[number[v] for v in factors[i].variables] for i in inside]
        groups.append(FactorGroup(np.array(scopes, dtype=np.intp).reshape(len(scopes), -1)))
        tables.append(np.stack([np.asarray(factors[i].log_values, np.float64) for i in inside]))
        for row, i in enumerate(inside):
            rows[i] = (g, row)
    structure = Structure(tuple(graph.sizes.values()), tuple(groups))
    return Grouped(structure, tuple(tables), tuple(graph.sizes), tuple(rows))


def log_evidence_of(sizes: Mapping[Any, int], given: Given = None) -> Floats:
    """One row of log-likelihoods for each variable, padded with zeros to the most states."""
    rows = np.zeros((len(sizes), max(sizes.values(), default=1)))
    evidence = check_evidence(sizes, given)
    number = {name: i for i, name in enumerate(sizes)}
    with np.errstate(divide="ignore"):
        for name, state in evidence.hard.items():
            rows[number[name], : sizes[name]] = np.log(np.arange(sizes[name]) == state)
        for name, likelihood in evidence.soft.items():
            rows[number[name], : sizes[name]] = np.log(likelihood)
    return rows

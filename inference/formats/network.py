"""A network as files hold it: variables with labelled states, and tables over them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..factors.factor_graph import FactorGraph, factor_of_values

Floats = NDArray[np.float64]
ROUNDED = 1e-4
"""Rows of printed tables sum to one up to the digits that were printed; what is further off is a
mistake.
"""


class FormatError(Exception):
    """A file that is not what it says it is; carries the line and the reason."""

    def __init__(self, path: str, line: int | None, reason: str):
        self.path = path
        self.line = line
        self.reason = reason
        super().__init__(f"{path}:{line}: {reason}" if line else f"{path}: {reason}")


@dataclass(frozen=True)
class NetworkVariable:
    name: str
    states: tuple[str, ...]
    properties: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class NetworkTable:
    """One axis for each name of `scope`: p(last | others), or potentials."""

    scope: tuple[str, ...]
    values: Floats
    properties: tuple[str, ...] = ()

    @property
    def child(self) -> str:
        return self.scope[-1]

    @property
    def parents(self) -> tuple[str, ...]:
        return self.scope[:-1]


@dataclass(frozen=True, eq=False)
class Network:
    """A Bayesian network has one table for each variable, its own; a Markov network any tables."""

    name: str
    variables: tuple[NetworkVariable, ...]
    tables: tuple[NetworkTable, ...]
    is_bayesian: bool
    properties: tuple[str, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, NetworkVariable]:
        return {variable.name: variable for variable in self.variables}

    def factor_graph(self) -> FactorGraph:
        sizes: dict[Any, int] = {variable.name: len(variable.states) for variable in self.variables}
        factors = []
        for table in self.tables:
            child = table.child if self.is_bayesian else None
            factors.append(factor_of_values(table.scope, table.values, child))
        return FactorGraph(sizes, tuple(factors))


def normalise_rows(values: Floats) -> tuple[Floats, tuple[int, ...] | None]:
    """Rows that sum to exactly one, and the index of one that is no distribution, if any."""
    totals = values.sum(-1)
    wrong = (np.abs(totals - 1) > ROUNDED) | (values < 0).any(-1)
    if wrong.any():
        return values, tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    return values / totals[..., None], None

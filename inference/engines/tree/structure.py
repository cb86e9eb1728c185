"""What is compiled: sizes and scopes, no numbers; tables are an array per group of factors."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError
from ...factors.factor_graph import FactorGraph, Floats, Given, check_evidence

Array = Any


@dataclass(frozen=True, eq=False)
class FactorGroup:
    """Factors of one table shape: `scopes[i]` are the variables of the axes of table i."""

    scopes: NDArray[np.intp]


class FactorPlace(NamedTuple):
    scope: tuple[int, ...]
    start: int


@dataclass(frozen=True, eq=False)
class Structure:
    """Variables 0 to V - 1 with their numbers of states, and the factors on them."""

    sizes: tuple[int, ...]
    groups: tuple[FactorGroup, ...]

    def __post_init__(self) -> None:
        verify_structure(self)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each group's array: factors first, then the states of their variables."""
        return tuple(
            [(len(g.scopes), *[self.sizes[v] for v in first_scope(g)]) for g in self.groups]
        )

    @cached_property
    def most_states(self) -> int:
        return max(self.sizes, default=1)

    @cached_property
    def entries(self) -> int:
        """Of all tables together."""
        return sum([prod(shape) for shape in self.shapes])

    @cached_property
    def factors(self) -> tuple[FactorPlace, ...]:
        """Every factor with the place of its table in the arrays laid end to end."""
        places = []
        start = 0
        for group, shape in zip(self.groups, self.shapes, strict=True):
            for scope in group.scopes.tolist():
                places.append(FactorPlace(tuple(scope), start))
                start += prod(shape[1:])
        return tuple(places)


def first_scope(group: FactorGroup) -> list[int]:
    scope: list[int] = group.scopes[0].tolist()
    return scope


def verify_structure(structure: Structure) -> None:
    sizes = np.array(structure.sizes, dtype=np.intp)
    if (sizes < 1).any():
        raise InferenceError(
            f"variable {int(np.argmax(sizes < 1))} has no states; give it at least one"
        )
    for number, group in enumerate(structure.groups):
        scopes = group.scopes
        if scopes.ndim != 2 or len(scopes) == 0:
            raise InferenceError(
                f"group {number}: scopes need the shape (factors, axes) and at least one factor"
            )
        if scopes.size and not (scopes.min() >= 0 and scopes.max() < len(sizes)):
            raise InferenceError(f"group {number} names variables beyond 0 to {len(sizes) - 1}")
        if (sizes[scopes] != sizes[scopes[0]]).any():
            raise InferenceError(
                f"group {number} holds factors of different shapes; make a group of each shape"
            )
        twice = (np.diff(np.sort(scopes, axis=1), axis=1) == 0).any(axis=1)
        if twice.any():
            first = scopes[np.argmax(twice)].tolist()
            raise InferenceError(
                f"group {number}: {first} names a variable twice; take the diagonal first"
            )


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
    scopes = [
        [[number[v] for v in factors[i].variables] for i in inside] for inside in members.values()
    ]
    groups = [FactorGroup(np.array(rows, dtype=np.intp).reshape(len(rows), -1)) for rows in scopes]
    tables = tuple(
        [
            np.stack([np.asarray(factors[i].log_values, np.float64) for i in g])
            for g in members.values()
        ]
    )
    rows = {
        i: (g, row) for g, inside in enumerate(members.values()) for row, i in enumerate(inside)
    }
    structure = Structure(tuple(graph.sizes.values()), tuple(groups))
    return Grouped(
        structure, tables, tuple(graph.sizes), tuple([rows[i] for i in range(len(rows))])
    )


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

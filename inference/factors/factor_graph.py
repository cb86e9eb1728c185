"""A factor is an array of log-potentials with named axes; a graph is sizes and factors.

Evidence is a state (sliced away), a likelihood (one more factor), or a set of states (a mask).
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ImpossibleEvidenceError, InferenceError

Name = Hashable
Array = Any
Floats = NDArray[np.float64]
NORMALISED_TO = 1e-6


@dataclass(frozen=True, eq=False, slots=True)
class Factor:
    """`log_values` at the states of `variables`; a `child` has the others as its parents."""

    variables: tuple[Name, ...]
    log_values: Array
    child: Name | None = None


def factor_of_values(variables: Iterable[Name], values: Array, child: Name | None = None) -> Factor:
    """The factor whose potentials, not their logarithms, are given."""
    with np.errstate(divide="ignore"):
        return Factor(tuple(variables), np.log(np.asarray(values, dtype=np.float64)), child)


class ScaledTable(NamedTuple):
    """exp(log_values - log_scale), the largest entry one; non-zero ones at least exp(low)."""

    values: Floats
    log_scale: float
    low: float


@dataclass(frozen=True, eq=False)
class FactorGraph:
    """exp of the sum of the factors, up to a constant; without a factor, uniform."""

    sizes: Mapping[Name, int]
    factors: tuple[Factor, ...]

    def __post_init__(self) -> None:
        sizes = self.sizes
        if sizes and min(sizes.values()) < 1:
            empty = next(name for name, size in sizes.items() if size < 1)
            raise InferenceError(f"variable {empty!r} has no states; give it at least one")
        for factor in self.factors:
            verify_factor(sizes, factor)

    @cached_property
    def tables(self) -> tuple[ScaledTable, ...]:
        """Each factor in the real domain, scaled by its largest entry; made once per graph."""
        logs = [np.asarray(f.log_values, dtype=np.float64) for f in self.factors]
        if not logs:
            return ()
        flat = np.concatenate([a.ravel() for a in logs])
        lengths = np.array([a.size for a in logs])
        starts = np.cumsum(lengths) - lengths
        highs = np.maximum.reduceat(flat, starts)
        wrong = ~(highs < np.inf)
        if wrong.any():
            variables = self.factors[int(np.argmax(wrong))].variables
            raise InferenceError(f"the factor on {variables} holds NaN or an infinite potential")
        if np.isnan(flat).any():
            raise InferenceError("a factor holds NaN")
        scales = np.where(np.isneginf(highs), 0.0, highs)
        flat -= np.repeat(scales, lengths)
        lows = np.minimum.reduceat(np.where(np.isneginf(flat), 0.0, flat), starts)
        np.exp(flat, out=flat)
        pairs = zip(starts.tolist(), logs, strict=True)
        values = [flat[a : a + log.size].reshape(log.shape) for a, log in pairs]
        rows = zip(values, scales.tolist(), lows.tolist(), strict=True)
        return tuple([ScaledTable(*row) for row in rows])

    @cached_property
    def single_states(self) -> tuple[Name, ...]:
        return tuple([name for name, size in self.sizes.items() if size == 1])

    @cached_property
    def conditionals(self) -> frozenset[int]:
        """Positions of the tables of a child given its parents; verified to sum to one."""
        directed = [i for i, f in enumerate(self.factors) if f.child is not None]
        for i in directed:
            factor, table = self.factors[i], self.tables[i]
            totals = table.values.sum(factor.variables.index(factor.child))
            error = np.abs(totals * np.exp(table.log_scale) - 1.0).max(initial=0.0)
            if error > NORMALISED_TO:
                raise InferenceError(
                    f"the table of {factor.child!r} on {factor.variables} sums to one only within "
                    f"{error:.2g}; normalise it, or leave out `child`"
                )
        return frozenset(directed)


def verify_factor(sizes: Mapping[Name, int], factor: Factor) -> None:
    variables = factor.variables
    try:
        shape = tuple([sizes[v] for v in variables])
    except KeyError as unknown:
        raise InferenceError(f"a factor on {variables} uses {unknown}, which has no size") from None
    if factor.log_values.shape != shape:
        raise InferenceError(
            f"the factor on {variables} has shape {factor.log_values.shape}, needs {shape}"
        )
    if len(set(variables)) < len(variables):
        raise InferenceError(
            f"the factor on {variables} names a variable twice; take its diagonal first"
        )
    if factor.child is not None and factor.child not in variables:
        raise InferenceError(
            f"the factor on {variables} has no axis for its child {factor.child!r}"
        )


def verify_known(sizes: Mapping[Name, int], asked: Iterable[Name]) -> None:
    unknown = [name for name in asked if name not in sizes]
    if unknown:
        raise InferenceError(f"asked about {unknown}, which the graph does not have")


def log_score(factors: Iterable[Factor], states: Mapping[Name, Array]) -> Floats:
    """The sum of log-potentials at given states (arrays of equal shape are looked up together)."""
    looked_up = [np.asarray(f.log_values)[tuple([states[v] for v in f.variables])] for f in factors]
    return np.asarray(sum(looked_up, np.zeros(())), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was given, sorted by kind: `hard` states and `soft` likelihoods (not logarithms)."""

    hard: dict[Name, int] = field(default_factory=dict)
    soft: dict[Name, Floats] = field(default_factory=dict)

    def __str__(self) -> str:
        states = [f"{name}={state}" for name, state in self.hard.items()]
        vectors = [f"{name}~{np.round(v, 6).tolist()}" for name, v in self.soft.items()]
        return ", ".join(states + vectors) or "nothing"


Given = Mapping[Any, Any] | Evidence | None  # by variable; names are any hashable values


def check_evidence(sizes: Mapping[Name, int], given: Given) -> Evidence:
    """Evidence of known variables with states in range; raises where it contradicts itself."""
    if isinstance(given, Evidence):
        return given
    evidence = Evidence()
    for name, value in (given or {}).items():
        if name not in sizes:
            raise InferenceError(f"evidence on {name!r}, which is not a variable of the graph")
        if isinstance(value, int | np.integer):
            evidence.hard[name] = check_state(name, int(value), sizes[name])
        elif isinstance(value, set | frozenset):
            size = sizes[name]
            mask = np.zeros(size)
            for state in value:
                mask[check_state(name, int(state), size)] = 1.0
            if not value:
                raise ImpossibleEvidenceError(f"evidence {name!r} in the empty set is impossible")
            evidence.soft[name] = mask
        else:
            likelihood = np.asarray(value, dtype=np.float64)
            evidence.soft[name] = check_likelihood(name, likelihood, sizes[name])
    return evidence


def check_state(name: Name, state: int, size: int) -> int:
    if not 0 <= state < size:
        raise InferenceError(f"evidence {name!r} = {state}, but its states are 0 to {size - 1}")
    return state


def check_likelihood(name: Name, likelihood: Floats, size: int) -> Floats:
    which = f"the likelihood of {name!r}"
    if likelihood.shape != (size,):
        raise InferenceError(f"{which} has shape {likelihood.shape}, needs ({size},)")
    if not (np.isfinite(likelihood).all() and (likelihood >= 0).all()):
        raise InferenceError(f"{which} must be finite and not negative: {likelihood.tolist()}")
    if not likelihood.any():
        raise ImpossibleEvidenceError(f"{which} is zero in every state: impossible evidence")
    return likelihood


def impossible(evidence: object) -> ImpossibleEvidenceError:
    if isinstance(evidence, Evidence) and not (evidence.hard or evidence.soft):
        return ImpossibleEvidenceError(
            "every configuration of the graph has potential zero: nothing can be inferred"
        )
    return ImpossibleEvidenceError(
        f"the evidence is impossible, it has probability zero: {evidence}"
    )

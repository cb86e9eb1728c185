"""Evidence: a state (sliced away), a likelihood (one more factor), or a set (a mask)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ImpossibleEvidenceError, InferenceError
from .factor_graph import Floats, Name

Given = Mapping[Any, Any]
"""By variable; names are any hashable values."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was given, sorted by kind: `hard` states and `soft` likelihoods (not logarithms)."""

    hard: dict[Name, int] = field(default_factory=dict)
    soft: dict[Name, Floats] = field(default_factory=dict)

    def __str__(self) -> str:
        states = [f"{name}={state}" for name, state in self.hard.items()]
        vectors = [f"{name}~{np.round(v, 6).tolist()}" for name, v in self.soft.items()]
        return ", ".join(states + vectors) or "nothing"


def check_evidence(sizes: Mapping[Name, int], given: Given | None) -> Evidence:
    """Evidence of known variables with states in range; raises where it contradicts itself."""
    evidence = Evidence()
    for name, value in (given or {}).items():
        if name not in sizes:
            raise InferenceError(f"evidence on {name!r}, which is not a variable of the graph")
        if isinstance(value, int | np.integer):
            evidence.hard[name] = check_state(name, int(value), sizes[name])
        elif isinstance(value, set | frozenset):
            evidence.soft[name] = check_set(name, value, sizes[name])
        else:
            evidence.soft[name] = check_likelihood(
                name, np.asarray(value, dtype=np.float64), sizes[name]
            )
    return evidence


def check_state(name: Name, state: int, size: int) -> int:
    if not 0 <= state < size:
        raise InferenceError(f"evidence {name!r} = {state}, but its states are 0 to {size - 1}")
    return state


def check_set(name: Name, states: set[int] | frozenset[int], size: int) -> Floats:
    mask = np.zeros(size)
    for state in states:
        mask[check_state(name, int(state), size)] = 1.0
    if not states:
        raise ImpossibleEvidenceError(f"evidence {name!r} in the empty set is impossible")
    return mask


def check_likelihood(name: Name, likelihood: Floats, size: int) -> Floats:
    if likelihood.shape != (size,):
        raise InferenceError(
            f"the likelihood of {name!r} has shape {likelihood.shape}, needs ({size},)"
        )
    if not (np.isfinite(likelihood).all() and (likelihood >= 0).all()):
        raise InferenceError(
            f"the likelihood of {name!r} must be finite and not negative: {likelihood.tolist()}"
        )
    if not likelihood.any():
        raise ImpossibleEvidenceError(
            f"the likelihood of {name!r} is zero in every state: impossible evidence"
        )
    return likelihood


def impossible(evidence: object) -> ImpossibleEvidenceError:
    if isinstance(evidence, Evidence) and not (evidence.hard or evidence.soft):
        return ImpossibleEvidenceError(
            "every configuration of the graph has potential zero: nothing can be inferred"
        )
    return ImpossibleEvidenceError(
        f"the evidence is impossible, it has probability zero: {evidence}"
    )

"""What compiled questions are about: numbered variables, and groups of tables of one shape over them.

Tables are given when a question is asked, one array [N, d1, ..., dk] of log-potentials for each group; evidence is one
array [variables, most states] of log-likelihoods, zero where nothing is known and minus infinity where a state is
excluded or not there. Both can be traced by JAX; the structure cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = Any
Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Structure:
    """`sizes` of the variables; row n of a group's `scopes` are the variables of its table n."""

    sizes: tuple[int, ...]
    scopes: tuple[Ints, ...]

    @cached_property
    def most_states(self) -> int:
        return max(self.sizes, default=1)

    def open_evidence(self) -> NDArray[np.float64]:
        """Nothing known: zero for the states that are there."""
        there = np.arange(self.most_states)[None, :] < np.array(self.sizes)[:, None]
        return np.where(there, 0.0, -np.inf)


class Engine(Protocol):
    """Answers for one structure, as pure functions that jit, vmap and grad accept."""

    def log_partition(self, tables: list[Array], log_evidence: Array) -> Array: ...

    def marginals(self, tables: list[Array], log_evidence: Array) -> Array: ...

    def mode(self, tables: list[Array], log_evidence: Array) -> Array: ...

    def sample(self, key: Array, tables: list[Array], log_evidence: Array, count: int) -> Array: ...

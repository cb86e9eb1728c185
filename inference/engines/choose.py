"""Which engine answers: scans for chains, the compiled contraction tree for everything else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ..compiled.model import compile_structure
from ..compiled.structure import Structure
from .paths import find_paths

Array = Any


class Engine(Protocol):
    """Answers for one structure, as pure functions that jit, vmap and grad accept.

    Tables are log-potentials, one array for each group; evidence is [variables, most states] of log-likelihoods.
    """

    def log_partition(self, tables: Sequence[Array], log_evidence: Array) -> Array: ...

    def marginals(self, tables: Sequence[Array], log_evidence: Array) -> Array: ...

    def entropy(self, tables: Sequence[Array], log_evidence: Array) -> Array: ...

    def mode(self, tables: Sequence[Array], log_evidence: Array) -> Any: ...

    def sample(self, key: Array, count: int, tables: Sequence[Array], log_evidence: Array) -> Array: ...


def choose_engine(structure: Structure, memory: int | None = None) -> Engine:
    return find_paths(structure) or compile_structure(structure, memory=memory)

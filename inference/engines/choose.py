"""Which engine answers: scans for chains and for slices, the compiled contraction tree for everything else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ..chains.domains import Domain
from ..compiled.model import compile_structure
from ..compiled.structure import Structure
from .paths import find_paths
from .rows import Ints
from .slices import find_slices

Array = Any


class Engine(Protocol):
    """Answers for one structure, as pure functions that jit, vmap and grad accept.

    Tables are log-potentials, one array [factors or 1, states...] for each group; evidence is [variables, most states]
    of log-likelihoods.
    """

    def log_partition(self, tables: Sequence[Array], log_evidence: Array) -> Array: ...

    def marginals(self, tables: Sequence[Array], log_evidence: Array) -> Array: ...

    def entropy(self, tables: Sequence[Array], log_evidence: Array) -> Array: ...

    def mode(self, tables: Sequence[Array], log_evidence: Array) -> Any: ...

    def sample(self, key: Array, count: int, tables: Sequence[Array], log_evidence: Array) -> Array: ...


def choose_engine(
    structure: Structure, layouts: Iterable[Ints] = (), memory: int | None = None, domain: Domain = "auto"
) -> Engine:
    """`layouts` are ways to tell the step of every variable, the most promising first; `domain` is for scans."""
    slices = (find_slices(structure, steps, domain) for steps in layouts)
    found = find_paths(structure, domain) or next(filter(None, slices), None)
    return found or compile_structure(structure, memory=memory)

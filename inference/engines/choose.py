"""Which engine answers: scans for chains and for slices, the compiled contraction tree for
everything else.
"""

from __future__ import annotations

from collections.abc import Iterable

from .engine import Engine
from .path.domains import Domain
from .path.engine import find_paths
from .path.rows import Ints
from .slices.engine import find_slices
from .tree.model import compile_structure
from .tree.structure import Structure


def choose_engine(
    structure: Structure,
    layouts: Iterable[Ints] = (),
    memory: int | None = None,
    domain: Domain = "auto",
) -> Engine:
    """`layouts` are ways to tell the step of every variable, the most promising first; `domain` is
    for scans.
    """
    slices = (find_slices(structure, steps, domain) for steps in layouts)
    found = find_paths(structure, domain) or next(filter(None, slices), None)
    return found or compile_structure(structure, memory=memory)

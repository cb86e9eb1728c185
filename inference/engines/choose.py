"""Which engine answers: scans for chains and slices, the contraction tree for the rest."""

from collections.abc import Iterable

from .engine import Engine
from .path.engine import Ints, find_paths
from .path.layout import Domain
from .slices.slices import find_slices
from .tree.model import compile_structure
from .tree.structure import Structure


def choose_engine(
    structure: Structure,
    layouts: Iterable[Ints] = (),
    memory: int | None = None,
    domain: Domain = "auto",
) -> Engine:
    """`layouts` are the step of every variable, the most promising first; `domain` is of scans."""
    slices = (find_slices(structure, steps, domain) for steps in layouts)
    found = find_paths(structure, domain) or next(filter(None, slices), None)
    return found or compile_structure(structure, memory=memory)

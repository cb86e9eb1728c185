"""What a structure is lowered to: the tiles that fill the buffer, and where the answers lie in it.

The buffer holds one, zero, the leaves, then values upwards and gradients downwards. The largest
products and all above them, the crown, are matrix products between two walks; where there is none,
one walk goes up and down.
"""

from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

import jax

from .circuit import Tiles
from .dense import Dense


class Outputs(Enum):
    """What is read off: the partition alone, marginals of variables, or those of factors too."""

    PARTITION = 0
    UNARY = 1
    ALL = 2


class Slice(NamedTuple):
    """An array of the crown that is read from a place in the buffer, or in the tables given."""

    array: int
    place: int
    shape: tuple[int, ...]


class Crown(NamedTuple):
    """Arrays by number: read from the buffer or tables, computed in order, written at its end."""

    inputs: tuple[Slice, ...]
    tables: tuple[Slice, ...]
    steps: tuple[Dense, ...]
    outputs: tuple[int, ...]


class Lengths(NamedTuple):
    """Of the buffer: for the first walk, and after the crown for the second."""

    first: int
    second: int


FIELDS = (
    "sources",
    "evidence",
    "up",
    "down",
    "roots",
    "unary",
    "unary_roots",
    "values",
    "gradients",
    "value_roots",
)


@partial(jax.tree_util.register_dataclass, data_fields=FIELDS, meta_fields=("crown", "lengths"))
@dataclass(frozen=True, eq=False)
class TreeProgram:
    """Index arrays (arguments of the compiled code) and what shapes it (`crown`, `lengths`).

    Places in the last buffer: `roots`; `unary` of each variable and state (padding: zero); `values`
    and `gradients` of all entries of the tables given. `unary_roots` and `value_roots` are numbers
    of the roots they belong to.
    """

    sources: Any
    evidence: Any
    up: Tiles
    down: Tiles | None
    roots: Any
    unary: Any
    unary_roots: Any
    values: Any
    gradients: Any
    value_roots: Any
    crown: Crown | None
    lengths: Lengths

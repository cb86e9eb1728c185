"""A network as files hold it: variables with labelled states, and tables over them."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import visible
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
        where = f"{path}:{line}" if line else path
        super().__init__(visible(f"{where}: {reason}"))


# ---- numbers of files: Python's own readers also take 1_000, nan and the digits of all scripts

_DECIMALS = re.compile(r"[-+.0-9eE\s]*")
_WHOLE = re.compile(r"[0-9]{1,18}")


def numbers_of(text: str) -> list[float]:
    """Decimal numbers with blanks between them; raises ValueError that names what is none."""
    if _DECIMALS.fullmatch(text):
        with suppress(ValueError):
            found = list(map(float, text.split()))
            if all(map(isfinite, found)):
                return found
    wrong = next(word for word in text.split() if not _is_number(word))
    raise ValueError(f"`{shortened(wrong)}` is no number")


def _is_number(word: str) -> bool:
    try:
        return bool(_DECIMALS.fullmatch(word)) and isfinite(float(word))
    except ValueError:
        return False


def whole_number(word: str) -> int | None:
    return int(word) if _WHOLE.fullmatch(word) else None


def shortened(word: str) -> str:
    return word if len(word) <= MOST_SHOWN else f"{word[:MOST_SHOWN]}..."


# ---- how large a network may be: a short file can ask for arrays that no machine has

MOST_SHOWN = 40
MOST_STATES = 1_000_000
MOST_AXES = 32
MOST_BYTES = 1 << 31


def refuse_states(count: int) -> str:
    """Why so many states of all variables together are not read; empty if they are."""
    if count <= MOST_STATES:
        return ""
    return f"there are {count:,} states, and at most {MOST_STATES:,} are read"


def refuse_table(shape: tuple[int, ...]) -> str:
    """Why a table of this shape is not read; empty if it is."""
    if len(shape) > MOST_AXES:
        return f"it is over {len(shape)} variables, and at most {MOST_AXES} are read"
    size = 8 * prod(shape)
    if size > MOST_BYTES:
        return f"it takes {size:.3g} bytes, and at most {MOST_BYTES:.3g} are read"
    return ""


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
    with np.errstate(over="ignore"):
        totals = values.sum(-1)
    right = (np.abs(totals - 1) <= ROUNDED) & (values >= 0).all(-1)
    wrong = ~right
    if wrong.any():
        return values, tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    return values / totals[..., None], None

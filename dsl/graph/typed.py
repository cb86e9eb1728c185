"""What checking gives: every statement with types, and nothing left of names that mean nothing."""

from collections.abc import Iterable
from itertools import chain, pairwise
from typing import ClassVar

from ..record import Record
from ..source import Source, Span
from . import core as c
from .dependence import Recurrence
from .types import Dim, IndexOf, Type

Scalar = float | int | str


class Setting(Record):
    """An annotation: `grad=rloo(samples=16)` is Setting("grad", "rloo", (("samples", 16),))."""

    name: str
    method: str = ""
    options: tuple[tuple[str, Scalar], ...] = ()


class Piece(Record):
    """One defining statement; binders and fixed indices say which part it defines."""

    not_compared: ClassVar[frozenset[str]] = frozenset({"span"})

    span: Span
    indices: tuple[c.Bind | c.Core, ...]
    where: c.Core | None
    body: c.Core | c.Law
    settings: tuple[Setting, ...] = ()


Cut = tuple[bool, int]
"""(False, k) is k steps after the start, (True, -k) is k steps before the end: in this order."""


def interval(index: c.Bind | c.Core) -> tuple[Cut, Cut]:
    """Where an index of a piece starts along its axis, and where it has ended."""
    ends = index if isinstance(index, c.Bind) else index.type.domain
    assert isinstance(ends, c.Bind | IndexOf)
    low, high = ends.low, ends.high.shift(1)
    return (low.from_end, low.offset), (high.from_end, high.offset)


def cut_axis(intervals: Iterable[tuple[Cut, Cut]], size: int | None) -> list[tuple[Cut, Cut]]:
    """The axis from start to end, cut where an interval starts or ends.

    Places counted from the start come first: a dim is taken to be long enough for the program.
    """
    end = (True, 0) if size is None else (False, size)
    return [*pairwise(sorted({(False, 0), end, *chain.from_iterable(intervals)}))]


class Definition(Record):
    """A variable: given (data, param), drawn, computed, or undirected (latent); or a factor."""

    not_compared: ClassVar[frozenset[str]] = frozenset({"span", "source"})

    name: str
    kind: str
    type: Type
    span: Span
    source: Source
    pieces: tuple[Piece, ...] = ()
    kept: bool = False
    default: c.Core | None = None


class Function(Record):
    """`body` is None for a function that the caller binds."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    result: Type
    body: c.Core | None

    @property
    def of_numbers(self) -> bool:
        """From numbers to a number: it applies to arrays elementwise."""
        shapes = [self.result.shape, *(type_.shape for _, type_ in self.parameters)]
        return bool(self.body and self.parameters and not any(shapes))


class Objective(Record):
    not_compared: ClassVar[frozenset[str]] = frozenset({"span"})

    span: Span
    minimize: bool
    value: c.Core
    settings: tuple[Setting, ...] = ()


class Typed(Record):
    """`definitions` stand in an order in which each uses earlier ones or its recurrence."""

    not_compared: ClassVar[frozenset[str]] = frozenset({"source"})

    name: str
    source: Source
    dims: tuple[Dim, ...]
    functions: tuple[Function, ...]
    definitions: tuple[Definition, ...]
    recurrences: tuple[Recurrence, ...]
    guide: tuple[Definition, ...]
    guide_recurrences: tuple[Recurrence, ...]
    objective: Objective | None
    least_sizes: dict[str, int]

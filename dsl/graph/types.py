"""Types: a domain, a shape in named dims, and for some arrays a constraint on their last axes.

Everything here is known before any data: a dim may have no size yet, and places in it are counted
from its start or from its end.
"""

from __future__ import annotations

from math import inf
from typing import ClassVar

from ..record import Record
from ..source import Span

# ---- axes


class Dim(Record):
    """A named index set. Size and labels are given in the file, or come with the data."""

    not_compared: ClassVar[frozenset[str]] = frozenset({"span"})

    name: str
    size: int | None
    labels: tuple[str, ...]
    span: Span

    def __str__(self) -> str:
        return self.name


class Fixed(Record):
    """An axis without a name, as of [1, 2, 3]; its size may be unknown until there is data."""

    size: int | None

    def __str__(self) -> str:
        return "?" if self.size is None else str(self.size)


Axis = Dim | Fixed
Shape = tuple[Axis, ...]


def same_axis(a: Axis, b: Axis) -> bool:
    """Two dims are the same by name; an unnamed axis fits what has its size."""
    if isinstance(a, Dim) and isinstance(b, Dim):
        return a.name == b.name
    return a.size is not None and a.size == b.size


def same_shape(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(map(same_axis, a, b))


def named(a: Shape, b: Shape) -> Shape:
    """One shape for two that are the same, with the names that either knows."""
    return tuple(y if isinstance(x, Fixed) else x for x, y in zip(a, b, strict=True))


def show_shape(shape: Shape) -> str:
    return f"[{', '.join(map(str, shape))}]"


# ---- places along an axis


class Place(Record):
    """An index counted from the start (0, 1, ...) or from the end (-1 is the last)."""

    offset: int
    from_end: bool = False

    def shift(self, by: int) -> Place:
        return Place(self.offset + by, self.from_end)

    def __str__(self) -> str:
        if not self.from_end:
            return str(self.offset)
        return "the last" if self.offset == -1 else f"{-self.offset - 1} before the last"


FIRST = Place(0)
LAST = Place(-1, from_end=True)


def anchored(offset: int, size: int | None) -> Place:
    """Negative offsets count from the end; with a known size, all count from the start."""
    if offset >= 0:
        return Place(offset)
    return Place(offset, from_end=True) if size is None else Place(size + offset)


# ---- domains


class Domain(Record):
    word: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.word


class Unknown(Domain):
    """The domain of what could not be checked: it agrees with all, to report once."""

    word = "unknown"


class _Number(Domain):
    lower: float = -inf
    upper: float = inf

    def __str__(self) -> str:
        bounds = {"lower": self.lower, "upper": self.upper}
        parts = [f"{end}={bound:g}" for end, bound in bounds.items() if abs(bound) != inf]
        return self.word + (f"({', '.join(parts)})" if parts else "")


class Real(_Number):
    word = "real"


class Truth(Real):
    """What a soft statement has for true or false: a number between them."""


class Int(_Number):
    word = "int"


class Bool(Domain):
    word = "bool"
    lower: ClassVar[float] = 0
    upper: ClassVar[float] = 1


class IndexOf(Domain):
    """A label or index of a dim, known to lie between two places."""

    dim: Axis
    low: Place = FIRST
    high: Place = LAST

    @property
    def lower(self) -> float:
        return self._number(self.low, -inf)

    @property
    def upper(self) -> float:
        return self._number(self.high, inf)

    def _number(self, place: Place, unknown: float) -> float:
        if not place.from_end:
            return place.offset
        return unknown if self.dim.size is None else self.dim.size + place.offset

    def __str__(self) -> str:
        return str(self.dim) if isinstance(self.dim, Dim) else f"index below {self.dim}"


# ---- types

CONSTRAINT_RANK = {
    **dict.fromkeys(("simplex", "ordered", "positive_ordered", "unit_vector"), 1),
    **dict.fromkeys(("cholesky", "corr_cholesky", "covariance", "correlation"), 2),
}

CONSTRAINT_DOMAIN: dict[str, Domain] = {
    "simplex": Real(0, 1),
    "positive_ordered": Real(0, inf),
    "unit_vector": Real(-1, 1),
    "corr_cholesky": Real(-1, 1),
    "correlation": Real(-1, 1),
}


class Type(Record):
    domain: Domain
    shape: Shape = ()
    constraint: str = ""

    @property
    def known(self) -> bool:
        return not isinstance(self.domain, Unknown)

    @property
    def numeric(self) -> bool:
        """Numbers, truth values as 0 and 1, and positions in a dim without labels."""
        if isinstance(self.domain, IndexOf):
            return isinstance(self.domain.dim, Fixed) or not self.domain.dim.labels
        return True

    @property
    def whole(self) -> bool:
        return isinstance(self.domain, Int | Bool | IndexOf)

    @property
    def bounds(self) -> tuple[float, float]:
        return getattr(self.domain, "lower", -inf), getattr(self.domain, "upper", inf)

    @property
    def softened(self) -> Type:
        """That of a mean of such values; a label has none."""
        if isinstance(self.domain, Bool):
            return self.replace(domain=TRUTH)
        return self.replace(domain=Real(*self.bounds)) if isinstance(self.domain, Int) else self

    def __str__(self) -> str:
        word = self.constraint or str(self.domain)
        return word + (show_shape(self.shape) if self.shape else "")


UNKNOWN = Type(Unknown())
REAL = Type(Real())
BOOL = Type(Bool())
TRUTH = Truth(0, 1)


def number_type(whole: bool, lower: float, upper: float, shape: Shape = ()) -> Type:
    return Type(Int(lower, upper) if whole else Real(lower, upper), shape)


def join_domains(a: Domain, b: Domain) -> Domain | None:
    """The smallest domain that holds both, or None when no value could be of either."""
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return Unknown()
    if isinstance(a, IndexOf) and isinstance(b, IndexOf):
        return IndexOf(a.dim) if same_axis(a.dim, b.dim) else None
    if isinstance(a, Bool | Truth) and isinstance(b, Bool | Truth):
        return a if isinstance(a, Truth) else b
    first, second = Type(a), Type(b)
    if not (first.numeric and second.numeric):
        return None
    (l1, u1), (l2, u2) = first.bounds, second.bounds
    return number_type(first.whole and second.whole, min(l1, l2), max(u1, u2)).domain

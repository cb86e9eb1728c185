"""Functions of small arrays as arithmetic of their entries: norm(x)  is  sqrt(x[0]^2 + x[1]^2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from itertools import product
from math import prod

from .. import core as c
from ..forms import arithmetic, compare, element, number, pair
from ..substitute import substitute
from ..types import BOOL, Axis, IndexOf, Place, Type
from .solve import applied

MOST_TERMS = 1000
EXTREME = "{0}(a: num, b: num) -> num"


def in_entries(core: c.Core) -> c.Core | None:
    """The same number; None for other functions, and for arrays whose size is not known."""
    if isinstance(core, c.Reduce):
        return _reduction(core)
    if not isinstance(core, c.Apply) or core.type.shape:
        return None
    arrays = [value for _, value in core.arguments]
    if core.function not in (*JOINED, *_WRITTEN) or not _are_small(arrays):
        return None
    entries = [list(_entries(array, array.type.shape)) for array in arrays]
    if core.function in _WRITTEN:
        return _WRITTEN[core.function](*entries).replace(span=core.span)
    return joined(core, core.function, entries[0]) if len(entries) == 1 else None


def _are_small(arrays: list[c.Core]) -> bool:
    """Of one shape, which is known."""
    shapes = {array.type.shape for array in arrays}
    shape = shapes.pop()
    sizes = [axis.size or 0 for axis in shape]
    return bool(shape) and not shapes and 0 < prod(sizes) <= MOST_TERMS


def _entries(core: c.Core, shape: tuple[Axis, ...]) -> Iterator[c.Core]:
    if not shape:
        yield core
        return
    index = Type(IndexOf(shape[0]))
    for k in range(shape[0].size or 0):
        yield from _entries(element(core, c.Const(core.span, index, k)), shape[1:])


def _reduction(core: c.Reduce) -> c.Core | None:
    if core.operator not in JOINED or core.where is not None:
        return None
    if prod(len(places_of(bind)) for bind in core.binders) > MOST_TERMS:
        return None
    terms = list(_terms(core))
    return joined(core, core.operator, terms) if terms else None


def _terms(core: c.Reduce) -> Iterator[c.Core]:
    """The body for every place of the binders; none where a size is not known."""
    for found in product(*(places_of(bind) for bind in core.binders)):
        pairs = zip(core.binders, found, strict=True)
        yield substitute(core.body, {bind.name: constant(bind, k) for bind, k in pairs})


def places_of(index: c.Bind | c.Core) -> range:
    """The places of a statement's index, or none where its size is not known."""
    if isinstance(index, c.Const):
        return range(int(index.value), int(index.value) + 1)
    if not isinstance(index, c.Bind) or index.dim.size is None:
        return range(0)
    low, high = (_offset(place, index.dim.size) for place in (index.low, index.high))
    return range(low, high + 1)


def _offset(place: Place, size: int) -> int:
    return size + place.offset if place.from_end else place.offset


def constant(bind: c.Bind, place: int) -> c.Core:
    type_ = Type(IndexOf(bind.dim, Place(place), Place(place)))
    return c.Const(bind.span, type_, place)


# ---- what joins entries


def _sum(terms: list[c.Core]) -> c.Core:
    return reduce(lambda a, b: arithmetic("add", a, b), terms)


def _squares(terms: list[c.Core]) -> c.Core:
    return _sum([applied("square", term) for term in terms])


def _gaps(a: list[c.Core], b: list[c.Core]) -> list[c.Core]:
    return [arithmetic("subtract", *both) for both in zip(a, b, strict=True)]


def _dot(a: list[c.Core], b: list[c.Core]) -> c.Core:
    return _sum([arithmetic("multiply", *both) for both in zip(a, b, strict=True)])


_WRITTEN: dict[str, Callable[..., c.Core]] = {
    "dot": _dot,
    "norm": lambda x: applied("sqrt", _squares(x)),
    "norm1": lambda x: _sum([applied("abs", entry) for entry in x]),
    "distance": lambda a, b: applied("sqrt", _squares(_gaps(a, b))),
    "squared_distance": lambda a, b: _squares(_gaps(a, b)),
}


def _extreme(word: str) -> Callable[[c.Core, c.Core], c.Core]:
    def join(a: c.Core, b: c.Core) -> c.Core:
        return c.Apply(a.span, a.type, word, pair(a, b), EXTREME.format(word))

    return join


JOINED: dict[str, Callable[[c.Core, c.Core], c.Core]] = {
    "sum": lambda a, b: arithmetic("add", a, b),
    "mean": lambda a, b: arithmetic("add", a, b),
    "max": _extreme("max"),
    "min": _extreme("min"),
    "any": lambda a, b: compare("or", a, b),
    "all": lambda a, b: compare("and", a, b),
}


def joined(core: c.Core, operator: str, terms: list[c.Core]) -> c.Core:
    if operator == "sum" and terms[0].type == BOOL:
        terms = [c.If(t.span, core.type, t, number(t, 1.0), number(t, 0.0)) for t in terms]
    found = reduce(JOINED[operator], terms)
    if operator == "mean":
        found = arithmetic("multiply", found, number(core, 1 / len(terms)))
    return found.replace(span=core.span)

"""Numbers, text and nested lists to arrays; unlike NumPy's, mixed lists do not become text."""

from collections.abc import Callable, Collection
from itertools import chain
from typing import Any

import numpy as np

from .errors import DataError, Report, problem
from .raw import MAX_RANK, Array, Index, Mask, Origin, Raw, RawVariable, repeated

WORDS = {
    int: "whole numbers",
    float: "numbers",
    str: "text",
    bool: "true and false",
    list: "lists",
    dict: "objects",
}
EXACT = 1 << 53


def raw_of(
    where: str,
    pairs: Collection[tuple[str, Any]],
    read: Callable[[Any, Origin], RawVariable],
    table: bool = False,
) -> Raw:
    """What `read` makes of each named value, or a DataError with the problems of all."""
    twice = repeated(name for name, _ in pairs)
    if twice is not None:
        what = f"the column `{twice}` comes twice" if table else f"`{twice}` comes twice in {where}"
        raise problem(twice, what, place=where)
    report, variables = Report(), {}
    for name, value in pairs:
        with report.collecting():
            variables[name] = read(value, Origin(where, name))
    report.verify_empty()
    return Raw(where, variables, table)


def _refuse(origin: Origin, message: str, at: Index | None = None, help: str = "") -> DataError:
    return RawVariable(np.zeros(0), origin).refuse(message, at, help)


def variable_from_nested(value: object, origin: Origin) -> RawVariable:
    """A scalar, or lists in lists of one length at each depth."""
    shape: list[int] = []
    level: list[Any] = [value]
    while level and all(isinstance(item, list | tuple) for item in level):
        _verify_even(level, shape, origin)
        shape.append(len(level[0]))
        level = list(chain.from_iterable(level))
    if any(isinstance(item, list | tuple) for item in level):
        raise _refuse(origin, "has lists and values side by side at the same depth")
    return variable_from_items(level, tuple(shape), origin)


def _verify_even(level: list[Any], shape: list[int], origin: Origin) -> None:
    if len(shape) == MAX_RANK:
        raise _refuse(origin, f"has more than {MAX_RANK} axes")
    length = len(level[0])
    for k, item in enumerate(level):
        if len(item) != length:
            message = f"is ragged: a list of {len(item)} beside one of {length}"
            raise _refuse(origin, message, _unravel(k, tuple(shape)))


def _unravel(k: int, shape: tuple[int, ...]) -> Index:
    return tuple(int(i) for i in np.unravel_index(k, shape)) if shape else ()


def variable_from_array(array: Array, origin: Origin) -> RawVariable:
    kind = array.dtype.kind
    if kind in "biuf":
        return RawVariable(array, origin)
    if kind in "UT":
        return RawVariable(array.astype(object), origin)
    if kind == "O":
        return variable_from_items(array.ravel().tolist(), array.shape, origin)
    message = f"holds {array.dtype}, which is neither numbers, truth values nor text"
    raise RawVariable(array, origin).refuse(message)


def variable_from_items(items: list[Any], shape: tuple[int, ...], origin: Origin) -> RawVariable:
    """Items are of one kind; None and NaN are missing."""
    items = [item.item() if isinstance(item, np.generic) else item for item in items]
    missing = [item is None or (isinstance(item, float) and item != item) for item in items]
    kinds = {type(item) for item, gone in zip(items, missing, strict=True) if not gone}
    for accepted, fill, convert in (
        ({bool}, False, _booleans),
        ({int}, 0, _integers),
        ({int, float}, 0.0, _floats),
        ({str}, "", _texts),
    ):
        if kinds <= accepted and (kinds or accepted == {int, float}):
            filled = [fill if gone else item for item, gone in zip(items, missing, strict=True)]
            return RawVariable(
                convert(filled, origin).reshape(shape), origin, _mask(missing, shape)
            )
    raise _mixed(items, missing, shape, origin)


def _mask(missing: list[bool], shape: tuple[int, ...]) -> Mask | None:
    return np.array(missing, dtype=bool).reshape(shape) if any(missing) else None


def _booleans(items: list[Any], origin: Origin) -> Array:
    return np.array(items, dtype=bool)


def _integers(items: list[Any], origin: Origin) -> Array:
    try:
        return np.array(items, dtype=np.int64)
    except OverflowError:
        raise _refuse(origin, "has a whole number that does not fit in 64 bits") from None


def _floats(items: list[Any], origin: Origin) -> Array:
    if any(type(item) is int and abs(item) > EXACT for item in items):
        message = "mixes decimals with whole numbers too large for them"
        raise _refuse(origin, message, help="write all of them with a decimal point, or none")
    return np.array(items, dtype=np.float64)


def _texts(items: list[Any], origin: Origin) -> Array:
    return np.fromiter(items, dtype=object, count=len(items))


def _mixed(
    items: list[Any], missing: list[bool], shape: tuple[int, ...], origin: Origin
) -> DataError:
    present = [k for k, gone in enumerate(missing) if not gone]
    first = type(items[present[0]])
    other = next((k for k in present if type(items[k]) is not first), present[0])
    kinds = dict.fromkeys((first, type(items[other])))
    names = [WORDS.get(kind, kind.__name__.strip("_").lower()) for kind in kinds]
    message = f"{'mixes' if len(names) > 1 else 'holds'} {' and '.join(names)}"
    help = "an entry is a number, a truth value, a text, or nested lists of one of these"
    return _refuse(origin, message, _unravel(other, shape), help)

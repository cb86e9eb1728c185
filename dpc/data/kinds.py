"""Values of the declared kind: float64, int64 for int and positions, bool; labels stay text."""

import re
from collections.abc import Callable, Collection
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np

from dpc.dsl.graph.types import Bool, Domain, IndexOf, Int, Real

from .errors import DataError, Report, counted, problem, quoted
from .raw import MAX_RANK, Array, Index, Mask, Origin, Raw, RawVariable, first_true, repeated

NO_NUMBER = frozenset({"", "NA", "NaN", "nan", "null"})
NO_LABEL = frozenset({""})
DECIMALS = re.compile(r"[-+.0-9eE \t]*")
LEADING_ZERO = re.compile(r"[+-]?0\d")
TRUTH = {"true": True, "false": False}
WRITTEN_TRUTH = {**TRUTH, "1": True, "0": False, "1.0": True, "0.0": False}
ROWS_SHOWN = 3
BEYOND_INT64 = 2.0**63
LEAVE_OUT = "leave these rows out"
INTEGRATED = (
    "`dpc fit` and `dpc posterior` integrate over missing observations, other commands need them "
    "all"
)
WRITE_TRUTH = "write true or false, or 1 or 0"


def typed_values(variable: RawVariable, domain: Domain, observed: bool) -> Array:
    """The values as the domain has them; an entry that is missing or none of them is refused."""
    if variable.written:
        variable = _read_cells(variable, domain)
    missing = _missing_entries(variable)
    if missing.any():
        first = [tuple(map(int, at)) for at in np.argwhere(missing)[:ROWS_SHOWN]]
        seen = "; ".join(dict.fromkeys(map(variable.origin.at, first)))
        count = int(missing.sum())
        more = f"; and {count - len(first)} more" if count > len(first) else ""
        message = f"`{variable.name}` has {counted(count, 'missing value')}"
        raise problem(variable.name, message, INTEGRATED if observed else LEAVE_OUT, seen + more)
    return CONVERTERS[type(domain)](variable, str(domain))


def typed_with_missing(variable: RawVariable, domain: Domain) -> tuple[Array, Mask]:
    """The values, and which are missing: these hold a value of another entry, or a plain one."""
    if variable.written:
        variable = _read_cells(variable, domain)
    missing, values = _missing_entries(variable), variable.values
    if missing.any() and missing.all():
        return np.full(variable.shape, PLAIN[type(domain)]), missing
    if missing.any():
        filled = np.where(missing, values[~missing][0], values).astype(values.dtype)
        variable = variable.replace(values=filled, missing=None)
    return CONVERTERS[type(domain)](variable, str(domain)), missing


def _missing_entries(variable: RawVariable) -> Mask:
    values = variable.values
    missing = np.zeros(values.shape, dtype=bool) if variable.missing is None else variable.missing
    if values.dtype.kind == "f":
        # Squares of numbers add up to a number or infinity: one product, and no array is made.
        flat = values.ravel(order="K")
        with np.errstate(over="ignore"):
            has_nan = bool(np.isnan(np.dot(flat, flat)))
        return missing | np.isnan(values) if has_nan else missing
    return missing


def _as_real(variable: RawVariable, wanted: str) -> Array:
    _verify_not_text(variable, wanted)
    return variable.values.astype(np.float64, copy=False)


def _as_int(variable: RawVariable, wanted: str) -> Array:
    _verify_not_text(variable, wanted)
    values = variable.values
    if values.dtype.kind == "f":
        is_whole = (values == np.floor(values)) & (np.abs(values) < BEYOND_INT64)
        _verify_all(variable, is_whole, wanted)
    elif values.dtype.kind == "u":
        _verify_all(variable, values <= np.iinfo(np.int64).max, wanted)
    return values.astype(np.int64, copy=False)


def _as_bool(variable: RawVariable, wanted: str) -> Array:
    values = variable.values
    if variable.is_text:
        words = WRITTEN_TRUTH if variable.written else TRUTH
        truths = [words.get(cell.lower()) for cell in values.flat]
        known = np.array([truth is not None for truth in truths], dtype=bool)
        _verify_all(variable, known.reshape(values.shape), wanted, WRITE_TRUTH)
        return np.array(truths, dtype=bool).reshape(values.shape)
    if values.dtype.kind != "b":
        _verify_all(variable, (values == 0) | (values == 1), wanted, WRITE_TRUTH)
    return values.astype(bool, copy=False)


def _as_index(variable: RawVariable, wanted: str) -> Array:
    if variable.is_text:
        return variable.values if variable.values.size else np.zeros(variable.shape, dtype=np.int64)
    if variable.values.dtype.kind == "b":
        help = f"give labels of `{wanted}` as text, or positions as whole numbers"
        raise variable.refuse(f"is an index of `{wanted}`, but holds truth values", help=help)
    return _as_int(variable, f"an index of `{wanted}`")


Converter = Callable[[RawVariable, str], Array]
PLAIN: dict[type[Domain], float | int | bool] = {Real: 0.5, Int: 0, Bool: False, IndexOf: 0}
CONVERTERS: dict[type[Domain], Converter] = {
    Real: _as_real,
    Int: _as_int,
    Bool: _as_bool,
    IndexOf: _as_index,
}


def _verify_not_text(variable: RawVariable, wanted: str) -> None:
    if variable.is_text and variable.values.size:
        at: Index = (0,) * variable.values.ndim
        raise variable.refuse(f"is {wanted}, but has the text {quoted(variable.values[at])}", at)


def _verify_all(variable: RawVariable, good: Mask, wanted: str, help: str = "") -> None:
    if not np.all(good):
        at = first_true(~good)
        entry = variable.values[at]
        shown = quoted(entry) if isinstance(entry, str) else f"{entry}"
        raise variable.refuse(f"is {wanted}, but has the entry {shown}", at, help)


def _read_cells(variable: RawVariable, domain: Domain) -> RawVariable:
    """With typed values. A number may be missing as NA, a label as an empty cell only."""
    blank = NO_LABEL if isinstance(domain, IndexOf) else NO_NUMBER
    cells = variable.values
    if not blank.isdisjoint(cells.ravel().tolist()):
        flags = [cell in blank for cell in cells.ravel()]
        missing = np.array(flags, dtype=bool).reshape(cells.shape)
        zeros = np.where(missing, "0", cells).astype(object)
        variable = variable.replace(missing=missing, values=zeros)
    if isinstance(domain, Bool):
        return variable
    if isinstance(domain, IndexOf):
        # Labels such as 007 are text: nobody writes a position like that.
        present = cells if variable.missing is None else cells[~variable.missing]
        for cell in dict.fromkeys(present.ravel().tolist()):
            if LEADING_ZERO.match(cell) or not _reads(cell):
                return variable.replace(written=False)
    return variable.replace(values=_numbers(variable, str(domain)), written=False)


def _numbers(variable: RawVariable, wanted: str) -> Array:
    """Whole numbers where all cells are, else decimals."""
    cells: list[str] = variable.values.ravel().tolist()
    are_plain = bool(DECIMALS.fullmatch("".join(cells)))
    for convert, dtype in ((int, np.int64), (float, np.float64)):
        try:
            found: Array = np.fromiter(map(convert, cells), dtype=dtype, count=len(cells))
        except (ValueError, OverflowError):
            continue
        if (are_plain and np.isfinite(found).all()) or all(map(_reads, cells)):
            return found.reshape(variable.shape)
    bad = np.array([not _reads(cell) for cell in cells], dtype=bool).reshape(variable.shape)
    at = first_true(bad)
    raise variable.refuse(f"is {wanted}, but has the entry {quoted(variable.values[at])}", at)


def _reads(cell: str) -> bool:
    """Is it a number? Python also takes 1_000, digits of all scripts, and 1e400 for infinity."""
    if "_" in cell or not cell.isascii():
        return False
    try:
        number = float(cell)
    except ValueError:
        return False
    return isfinite(number) or not any(map(str.isdigit, cell))


WORDS = {
    int: "whole numbers",
    float: "numbers",
    str: "text",
    bool: "true and false",
    list: "lists",
    dict: "objects",
}
EXACT = 1 << 53
# Python types of entries, what stands for one that is missing, and the type of the array.
KINDS: tuple[tuple[set[type], Any, type], ...] = (
    ({bool}, False, bool),
    ({int}, 0, int),
    ({int, float}, 0.0, float),
    ({str}, "", object),
)


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
        if len(shape) == MAX_RANK:
            raise _refuse(origin, f"has more than {MAX_RANK} axes")
        length = len(level[0])
        for k, item in enumerate(level):
            if len(item) != length:
                message = f"is ragged: a list of {len(item)} beside one of {length}"
                raise _refuse(origin, message, _unravel(k, tuple(shape)))
        shape.append(length)
        level = list(chain.from_iterable(level))
    if any(isinstance(item, list | tuple) for item in level):
        raise _refuse(origin, "has lists and values side by side at the same depth")
    return variable_from_items(level, tuple(shape), origin)


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
    """Items are of one kind, mixed ones do not become text; None and NaN are missing."""
    items = [item.item() if isinstance(item, np.generic) else item for item in items]
    missing = [item is None or (isinstance(item, float) and item != item) for item in items]
    kinds = {type(item) for item, gone in zip(items, missing, strict=True) if not gone}
    for accepted, fill, dtype in KINDS:
        if kinds <= accepted and (kinds or accepted == {int, float}):
            filled = [fill if gone else item for item, gone in zip(items, missing, strict=True)]
            if dtype is float and any(type(one) is int and abs(one) > EXACT for one in filled):
                message = "mixes decimals with whole numbers too large for them"
                help = "write all of them with a decimal point, or none"
                raise _refuse(origin, message, help=help)
            try:
                values: Array = np.fromiter(filled, dtype=dtype, count=len(filled))
            except OverflowError:
                message = "has a whole number that does not fit in 64 bits"
                raise _refuse(origin, message) from None
            mask = np.array(missing, dtype=bool).reshape(shape) if any(missing) else None
            return RawVariable(values.reshape(shape), origin, mask)
    present = [k for k, gone in enumerate(missing) if not gone]
    first = type(items[present[0]])
    other = next((k for k in present if type(items[k]) is not first), present[0])
    both = dict.fromkeys((first, type(items[other])))
    names = [WORDS.get(kind, kind.__name__.strip("_").lower()) for kind in both]
    message = f"{'mixes' if len(names) > 1 else 'holds'} {' and '.join(names)}"
    help = "an entry is a number, a truth value, a text, or nested lists of one of these"
    raise _refuse(origin, message, _unravel(other, shape), help)

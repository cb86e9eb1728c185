"""Values of the declared kind: float64, int64 for int and positions, bool; labels stay text."""

import re
from collections.abc import Callable

import numpy as np

from dpc.dsl.graph.types import Bool, Domain, IndexOf, Int, Real

from .errors import counted, problem, quoted
from .raw import Array, Index, Mask, RawVariable, first_true

NO_NUMBER = frozenset({"", "NA", "NaN", "nan", "null"})
NO_LABEL = frozenset({""})
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
    _verify_none_missing(variable, _missing_entries(variable), observed)
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
    none = np.zeros(variable.shape, dtype=bool)
    missing = none if variable.missing is None else variable.missing
    return missing | np.isnan(variable.values) if _has_nan(variable.values) else missing


def _has_nan(values: Array) -> bool:
    """Squares of numbers add up to a number or infinity: one product, and no array is made."""
    if values.dtype.kind != "f":
        return False
    flat = values.ravel(order="K")
    with np.errstate(over="ignore"):
        return bool(np.isnan(np.dot(flat, flat)))


def _verify_none_missing(variable: RawVariable, missing: Mask, observed: bool) -> None:
    if not missing.any():
        return
    first = [tuple(map(int, at)) for at in np.argwhere(missing)[:ROWS_SHOWN]]
    seen = "; ".join(dict.fromkeys(map(variable.origin.at, first)))
    count = int(missing.sum())
    more = f"; and {count - len(first)} more" if count > len(first) else ""
    help = INTEGRATED if observed else LEAVE_OUT
    message = f"`{variable.name}` has {counted(count, 'missing value')}"
    raise problem(variable.name, message, help, seen + more)


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


# ---- cells of a text file


def _read_cells(variable: RawVariable, domain: Domain) -> RawVariable:
    """With typed values. A number may be missing as NA, a label as an empty cell only."""
    blank = NO_LABEL if isinstance(domain, IndexOf) else NO_NUMBER
    variable = _mark_missing(variable, blank)
    if isinstance(domain, Bool):
        return variable
    if isinstance(domain, IndexOf) and not _is_numeric(variable):
        return variable.replace(written=False)
    return variable.replace(values=_numbers(variable, str(domain)), written=False)


def _mark_missing(variable: RawVariable, blank: frozenset[str]) -> RawVariable:
    cells = variable.values
    if blank.isdisjoint(cells.ravel().tolist()):
        return variable
    missing = np.array([cell in blank for cell in cells.ravel()], dtype=bool).reshape(cells.shape)
    return variable.replace(missing=missing, values=np.where(missing, "0", cells).astype(object))


def _is_numeric(variable: RawVariable) -> bool:
    """Labels such as 007 are text: nobody writes a position like that."""
    present = variable.values if variable.missing is None else variable.values[~variable.missing]
    return all(
        not LEADING_ZERO.match(cell) and _reads(cell)
        for cell in dict.fromkeys(present.ravel().tolist())
    )


def _numbers(variable: RawVariable, wanted: str) -> Array:
    """Whole numbers where all cells are, else decimals."""
    cells: list[str] = variable.values.ravel().tolist()
    for convert, dtype in ((int, np.int64), (float, np.float64)):
        try:
            found: Array = np.fromiter(map(convert, cells), dtype=dtype, count=len(cells))
        except (ValueError, OverflowError):
            continue
        if not any("_" in cell for cell in cells):
            return found.reshape(variable.shape)
    bad = np.array([not _reads(cell) for cell in cells], dtype=bool).reshape(variable.shape)
    at = first_true(bad)
    raise variable.refuse(f"is {wanted}, but has the entry {quoted(variable.values[at])}", at)


def _reads(cell: str) -> bool:
    """Is it a number? Python also takes 1_000."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell

"""Values of the declared kind: float64 for real, int64 for int and positions, bool; labels stay
text for now.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpc.dsl.graph.types import Bool, Domain, IndexOf, Int, Real

from .cells import read_cells
from .errors import counted, problem, quoted
from .raw import Array, Index, Mask, RawVariable, first_true

TRUTH = {"true": True, "false": False}
WRITTEN_TRUTH = {**TRUTH, "1": True, "0": False, "1.0": True, "0.0": False}
ROWS_SHOWN = 3
BEYOND_INT64 = 2.0**63
LEAVE_OUT = "leave these rows out"


def typed_values(variable: RawVariable, domain: Domain, observed: bool) -> Array:
    """The values as the domain has them, or a DataError at the first entry that is missing or none
    of them.
    """
    if variable.written:
        variable = read_cells(variable, domain)
    _verify_none_missing(variable, missing_entries(variable), observed)
    return CONVERTERS[type(domain)](variable, str(domain))


def typed_with_missing(variable: RawVariable, domain: Domain) -> tuple[Array, Mask]:
    """The values, and which of them are missing: these hold a value that another entry has, or a
    plain one.
    """
    if variable.written:
        variable = read_cells(variable, domain)
    missing = missing_entries(variable)
    if not missing.any():
        return CONVERTERS[type(domain)](variable, str(domain)), missing
    if missing.all():
        return np.full(variable.shape, PLAIN[type(domain)]), missing
    present = variable.values[~missing]
    filled = variable.replace(values=np.where(missing, present[0], variable.values), missing=None)
    filled = filled.replace(values=filled.values.astype(variable.values.dtype))
    return CONVERTERS[type(domain)](filled, str(domain)), missing


def missing_entries(variable: RawVariable) -> Mask:
    missing = (
        variable.missing if variable.missing is not None else np.zeros(variable.shape, dtype=bool)
    )
    return missing | np.isnan(variable.values) if has_nan(variable.values) else missing


def has_nan(values: Array) -> bool:
    """Squares of numbers add up to a number or to infinity: one product, and nothing as long as the
    array is made.
    """
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
    help = (
        (
            "`dpc fit` and `dpc posterior` integrate over missing observations, other commands need "
            "them all"
        )
        if observed
        else LEAVE_OUT
    )
    raise problem(
        variable.name, f"`{variable.name}` has {counted(count, 'missing value')}", help, seen + more
    )


def _as_real(variable: RawVariable, wanted: str) -> Array:
    _verify_not_text(variable, wanted)
    return variable.values.astype(np.float64, copy=False)


def _as_int(variable: RawVariable, wanted: str) -> Array:
    _verify_not_text(variable, wanted)
    values = variable.values
    if values.dtype.kind == "f":
        _verify_all(
            variable, (values == np.floor(values)) & (np.abs(values) < BEYOND_INT64), wanted
        )
    elif values.dtype.kind == "u":
        _verify_all(variable, values <= np.iinfo(np.int64).max, wanted)
    return values.astype(np.int64, copy=False)


def _as_bool(variable: RawVariable, wanted: str) -> Array:
    values = variable.values
    if variable.is_text:
        words = WRITTEN_TRUTH if variable.written else TRUTH
        lowered = np.array([cell.lower() for cell in values.ravel()], dtype=object).reshape(
            values.shape
        )
        known = np.array([cell in words for cell in lowered.ravel()], dtype=bool).reshape(
            values.shape
        )
        _verify_all(variable, known, wanted, "write true or false, or 1 or 0")
        return np.array([words[cell] for cell in lowered.ravel()], dtype=bool).reshape(values.shape)
    if values.dtype.kind != "b":
        _verify_all(
            variable, (values == 0) | (values == 1), wanted, "write true or false, or 1 or 0"
        )
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
        raise variable.refuse(
            f"is {wanted}, but has the entry {show_entry(variable.values[at])}", at, help
        )


def show_entry(value: object) -> str:
    return quoted(value) if isinstance(value, str) else f"{value}"

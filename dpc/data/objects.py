"""Python objects as data: one row for each kind. Libraries are asked only if the program has
already loaded them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from .errors import collect_each, problem
from .items import variable_from_array, variable_from_nested
from .raw import Array, Origin, Raw, RawVariable, repeated
from .read import read_data
from .read_netcdf import raw_from_dataset, variable_from_dataarray
from .read_parquet import raw_from_arrow


def as_raw(source: object) -> Raw:
    """What a source holds: a path, a mapping, a DataFrame, a Dataset, or what was read before."""
    for accepts, read in SOURCES:
        if accepts(source):
            return read(source)
    help = "give a path, a dict, a DataFrame or an xarray Dataset"
    raise problem("", f"no data can be read from a {type(source).__name__}", help)


def _is_loaded(library: str, *classes: str) -> Callable[[object], bool]:
    """Is it an instance of these classes of a library?"""

    def accepts(value: object) -> bool:
        module = sys.modules.get(library)
        return module is not None and isinstance(
            value, tuple(getattr(module, name) for name in classes)
        )

    return accepts


# ---- sources


def raw_from_mapping(entries: Any, where: str = "") -> Raw:
    """A dictionary of values by name; `where` says in words where it was found."""
    where = where or f"the {type(entries).__name__}"
    for name in entries:
        if not isinstance(name, str):
            raise problem("", f"{name!r} is no name: names of data are text", place=where)
    return Raw(
        where,
        collect_each(lambda name, value: _variable(value, Origin(where, name)), entries.items()),
    )


def _raw_from_pandas(frame: Any) -> Raw:
    """Columns over rows; an index of text gives the rows their labels, any other index is only a
    count.
    """
    where = f"the {type(frame).__name__}"
    names = list(map(str, frame.columns))
    twice = repeated(names)
    if twice is not None:
        raise problem(twice, f"the column `{twice}` comes twice", place=where)
    if frame.index.nlevels > 1:
        raise problem(
            "", "the DataFrame has an index of several levels", "use reset_index()", where
        )
    columns = (frame.iloc[:, k] for k in range(len(names)))
    pairs = zip(names, columns, strict=True)
    variables = collect_each(
        lambda name, column: _variable_from_pandas(column, Origin(where, name)), pairs
    )
    return Raw(where, variables, table=True)


def _raw_from_arrow_stream(table: Any) -> Raw:
    try:
        pyarrow = import_module("pyarrow")
    except ImportError:
        help = "pip install 'dpc[parquet]', or convert it to a dict or a pandas DataFrame"
        raise problem(
            "", f"a {type(table).__name__} is read with pyarrow, which is missing", help
        ) from None
    return raw_from_arrow(pyarrow.table(table), f"the {type(table).__name__}")


SOURCES: tuple[tuple[Callable[[object], bool], Callable[[Any], Raw]], ...] = (
    (lambda source: isinstance(source, Raw), lambda source: source),
    (lambda source: isinstance(source, str | os.PathLike), read_data),
    (_is_loaded("pandas", "DataFrame"), _raw_from_pandas),
    (_is_loaded("xarray", "Dataset"), lambda source: raw_from_dataset(source, "the Dataset")),
    (lambda source: isinstance(source, Mapping), raw_from_mapping),
    (lambda source: hasattr(source, "__arrow_c_stream__"), _raw_from_arrow_stream),
)


# ---- single values


def _variable(value: object, origin: Origin) -> RawVariable:
    for accepts, read in VALUES:
        if accepts(value):
            return read(value, origin)
    return variable_from_nested(value, origin)


def _variable_from_list(value: Any, origin: Origin) -> RawVariable:
    return variable_from_nested(_plain(value), origin)


def _plain(value: Any) -> Any:
    """Arrays inside lists become lists."""
    if isinstance(value, list | tuple):
        return (
            [_plain(item) for item in value] if any(_has_shape(item) for item in value) else value
        )
    return np.asarray(value).tolist() if _has_shape(value) else value


def _has_shape(item: object) -> bool:
    return isinstance(item, list | tuple) or hasattr(item, "__array__")


def _variable_from_pandas(column: Any, origin: Origin) -> RawVariable:
    pandas = import_module("pandas")
    column = pandas.Series(column)
    labels = (_row_labels(column.index),)
    if isinstance(column.dtype, pandas.CategoricalDtype):
        levels = tuple(map(str, column.cat.categories))
        codes = column.cat.codes.to_numpy()
        texts = np.array([*levels, ""], dtype=object)[codes]
        missing = codes < 0
        return RawVariable(
            texts, origin, missing if missing.any() else None, labels=labels, levels=levels
        )
    return variable_from_array(_without_na(column), origin).replace(labels=labels)


def _row_labels(index: Any) -> tuple[str, ...]:
    is_text = bool(len(index)) and all(isinstance(label, str) for label in index)
    return tuple(index) if is_text else ()


def _without_na(column: Any) -> Array:
    """Entries that pandas calls missing are None where the array would hold objects."""
    array: Array = column.to_numpy()
    if array.dtype.kind == "O":
        array = array.copy()
        array[column.isna().to_numpy()] = None
    return array


VALUES: tuple[tuple[Callable[[object], bool], Callable[[Any, Origin], RawVariable]], ...] = (
    (lambda value: isinstance(value, list | tuple), _variable_from_list),
    (_is_loaded("pandas", "Series", "Categorical"), _variable_from_pandas),
    (_is_loaded("xarray", "DataArray"), variable_from_dataarray),
    (
        lambda value: hasattr(value, "__array__"),
        lambda value, origin: variable_from_array(np.asarray(value), origin),
    ),
)

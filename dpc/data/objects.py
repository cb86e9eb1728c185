"""Python objects as data: a row for each kind; a library is asked only if it is loaded already."""

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from .errors import problem
from .items import raw_of, variable_from_array, variable_from_nested
from .raw import Array, Origin, Raw, RawVariable
from .read import raw_from_arrow, raw_from_dataset, read_data, variable_from_dataarray


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
        kinds = tuple(getattr(module, name) for name in classes) if module is not None else ()
        return isinstance(value, kinds)

    return accepts


# ---- sources


def raw_from_mapping(entries: Any, where: str = "") -> Raw:
    """A dictionary of values by name; `where` says in words where it was found."""
    where = where or f"the {type(entries).__name__}"
    for name in entries:
        if not isinstance(name, str):
            raise problem("", f"{name!r} is no name: names of data are text", place=where)
    return raw_of(where, list(entries.items()), _variable)


def _raw_from_pandas(frame: Any) -> Raw:
    """Columns over rows; an index of text labels the rows, any other index is only a count."""
    where = f"the {type(frame).__name__}"
    if frame.index.nlevels > 1:
        message = "the DataFrame has an index of several levels"
        raise problem("", message, "use reset_index()", where)
    columns = [(str(name), frame.iloc[:, k]) for k, name in enumerate(frame.columns)]
    return raw_of(where, columns, _variable_from_pandas, table=True)


def _raw_from_arrow_stream(table: Any) -> Raw:
    kind = type(table).__name__
    try:
        pyarrow = import_module("pyarrow")
    except ImportError:
        help = "pip install 'dpc[parquet]', or convert it to a dict or a pandas DataFrame"
        raise problem("", f"a {kind} is read with pyarrow, which is missing", help) from None
    return raw_from_arrow(pyarrow.table(table), f"the {kind}")


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
        return [_plain(item) for item in value] if any(map(_has_shape, value)) else value
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
        missing = codes < 0 if (codes < 0).any() else None
        return RawVariable(texts, origin, missing, labels=labels, levels=levels)
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

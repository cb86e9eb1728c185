"""Data for a graph: every input and observed variable as a checked array, shaped as declared."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph.extents import largest_extent
from dpc.dsl.graph.graph import Graph, Node
from dpc.dsl.limits import MAX_DIM
from dpc.dsl.record import Record
from dpc.inference.errors import MemoryLimitError
from dpc.inference.planning.plan import available_memory, format_bytes

from . import kinds
from .arrays import checked_array
from .dims import (
    DimLabels,
    DimSize,
    GivenVariable,
    Resolved,
    collect_variables,
    declaration,
    fit_axes,
    given_nodes,
    indexed_dim,
    resolve_dims,
)
from .errors import Report, problem
from .netcdf import raw_from_dataset, variable_from_dataarray
from .raw import Array, Mask, Origin, Raw, RawVariable
from .read import raw_from_arrow, read_data


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


def raw_from_mapping(entries: Any, where: str = "") -> Raw:
    """A dictionary of values by name; `where` says in words where it was found."""
    where = where or f"the {type(entries).__name__}"
    for name in entries:
        if not isinstance(name, str):
            raise problem("", f"{name!r} is no name: names of data are text", place=where)
    return kinds.raw_of(where, list(entries.items()), _variable)


def _raw_from_pandas(frame: Any) -> Raw:
    """Columns over rows; an index of text labels the rows, any other index names them."""
    where = f"the {type(frame).__name__}"
    if frame.index.nlevels > 1:
        message = "the DataFrame has an index of several levels"
        raise problem("", message, "use reset_index()", where)
    columns = [(str(name), frame.iloc[:, k]) for k, name in enumerate(frame.columns)]
    return kinds.raw_of(where, columns, _variable_from_pandas, table=True)


def _raw_from_arrow_stream(table: Any) -> Raw:
    kind = type(table).__name__
    try:
        pyarrow = import_module("pyarrow")
    except ImportError:
        help = "pip install 'dpc[parquet]', or convert it to a dict or a pandas DataFrame"
        raise problem("", f"a {kind} is read with pyarrow, which is missing", help) from None
    return raw_from_arrow(pyarrow.table(table), f"the {kind}")


# A row for each kind; a library is asked only if it is loaded already.
SOURCES: tuple[tuple[Callable[[object], bool], Callable[[Any], Raw]], ...] = (
    (lambda source: isinstance(source, Raw), lambda source: source),
    (lambda source: isinstance(source, str | os.PathLike), read_data),
    (_is_loaded("pandas", "DataFrame"), _raw_from_pandas),
    (_is_loaded("xarray", "Dataset"), lambda source: raw_from_dataset(source, "the Dataset")),
    (lambda source: isinstance(source, Mapping), raw_from_mapping),
    (lambda source: hasattr(source, "__arrow_c_stream__"), _raw_from_arrow_stream),
)


def _variable(value: object, origin: Origin) -> RawVariable:
    for accepts, read in VALUES:
        if accepts(value):
            return read(value, origin)
    return kinds.variable_from_nested(value, origin)


def _plain(value: Any) -> Any:
    """Arrays inside lists become lists."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value] if any(map(_has_shape, value)) else value
    if isinstance(value, np.ma.MaskedArray):
        return value.tolist()  # None where it is masked
    return np.asarray(value).tolist() if _has_shape(value) else value


def _has_shape(item: object) -> bool:
    return isinstance(item, list | tuple) or hasattr(item, "__array__")


def _variable_from_pandas(column: Any, origin: Origin) -> RawVariable:
    pandas = import_module("pandas")
    is_indexed = isinstance(column, pandas.Series)
    column = pandas.Series(column)
    is_text = bool(len(column)) and all(isinstance(label, str) for label in column.index)
    labels = (tuple(column.index) if is_text else (),)
    rows = column.index if is_indexed and not is_text else None
    if isinstance(column.dtype, pandas.CategoricalDtype):
        levels = tuple(map(str, column.cat.categories))
        codes = column.cat.codes.to_numpy()
        texts = np.array([*levels, ""], dtype=object)[codes]
        missing = codes < 0 if (codes < 0).any() else None
        return RawVariable(texts, origin, missing, labels=labels, levels=levels, rows=rows)
    array: Array = column.to_numpy()
    if array.dtype.kind == "O":
        array = array.copy()
        array[column.isna().to_numpy()] = None
    return kinds.variable_from_array(array, origin).replace(labels=labels, rows=rows)


def _variable_from_masked(array: Any, origin: Origin) -> RawVariable:
    """What a mask hides is no value, whatever stands behind it."""
    variable = kinds.variable_from_array(np.asarray(array.filled()), origin)
    hidden = np.ma.getmaskarray(array)
    if variable.missing is not None:
        hidden = hidden | variable.missing
    return variable.replace(missing=hidden if hidden.any() else None)


VALUES: tuple[tuple[Callable[[object], bool], Callable[[Any, Origin], RawVariable]], ...] = (
    (
        lambda value: isinstance(value, list | tuple),
        lambda value, origin: kinds.variable_from_nested(_plain(value), origin),
    ),
    (_is_loaded("pandas", "Series", "Categorical"), _variable_from_pandas),
    (_is_loaded("xarray", "DataArray"), variable_from_dataarray),
    (lambda value: isinstance(value, np.ma.MaskedArray), _variable_from_masked),
    (
        lambda value: hasattr(value, "__array__"),
        lambda value, origin: kinds.variable_from_array(np.asarray(value), origin),
    ),
)


def array_of(node: Node, value: object, labels: Mapping[str, tuple[str, ...]]) -> Array:
    """One value for a node, as it stands in an array: with positions for labels."""
    variable = fit_axes(_variable(value, Origin("", node.name)), node)
    values = kinds.typed_values(variable, node.type.domain, observed=False)
    known = {name: DimLabels(own, "") for name, own in labels.items()}
    sizes = {name: DimSize(len(own), "") for name, own in labels.items()}
    own_sizes = zip(map(str, node.type.shape), variable.shape, strict=True)
    # The sizes of other dims are for the caller to compare.
    sizes |= {name: DimSize(size, "") for name, size in own_sizes}
    sizes.setdefault(indexed_dim(node), DimSize(MAX_DIM, ""))
    found = checked_array(node, GivenVariable(node, variable, values), Resolved(sizes, known))
    assert found is not None
    return found


class BoundData(Record):
    """Sizes and labels of dims, and arrays; `missing` marks entries that the data lack."""

    sizes: dict[str, int]
    labels: dict[str, tuple[str, ...]]
    arrays: dict[str, Array]
    missing: dict[str, Mask] = {}  # noqa: RUF012  (records are frozen, and this one is never changed)

    def own(self) -> BoundData:
        """With arrays of its own: those of a caller may be written to later."""
        return self.replace(arrays={name: np.array(array) for name, array in self.arrays.items()})


def bind_data(
    graph: Graph,
    *sources: object,
    sizes: Mapping[str, int] | None = None,
    partial: bool = False,
    missing: bool = False,
) -> BoundData:
    """Arrays for the graph from files and Python objects, or a DataError with every problem. With
    `partial`, observed variables may be absent; with `missing`, some of their entries. Arrays that
    are already as they should be are not copied.
    """
    report = Report()
    sizes = sizes or {}
    raws = []
    for source in sources:
        with report.collecting():
            raws.append(as_raw(source))
    report.verify_empty()
    entries = collect_variables(graph, raws, report)
    names = [dim.name for dim in graph.dims]
    for name in (name for name in sizes if name not in names):
        report.add(name, f"the model has no dim `{name}`", did_you_mean(name, names), "`sizes`")
    nodes = given_nodes(graph)
    settled = {name: _settle(node, entries, missing, report) for name, node in nodes.items()}
    given = {name: own for name, own in settled.items() if own is not None}
    absent = [node for name, node in nodes.items() if name not in entries]
    _report_absent(absent, partial, report)
    known = {name for name, own in given.items() if own.values is not None}
    unknown = [node for name, node in nodes.items() if name not in known]
    _verify_same_rows(given, report)
    dims = resolve_dims(graph, given, entries, sizes, _touched(unknown, report), report)
    verify_extents(graph, {name: known.size for name, known in dims.sizes.items()})
    arrays = {}
    for name, node in nodes.items():
        with report.collecting():
            array = checked_array(node, given.get(name), dims)
            if array is not None:
                arrays[name] = array
    report.verify_empty()
    masks = {name: own.missing for name, own in given.items() if own.missing is not None}
    return BoundData(
        {name: found.size for name, found in dims.sizes.items()},
        {name: found.labels for name, found in dims.labels.items()},
        arrays,
        {name: mask for name, mask in masks.items() if mask.any()},
    )


SPARE = 4
"""Sums are often computed without their array, in more time: a few times the memory may do."""


def verify_extents(graph: Graph, sizes: Mapping[str, int]) -> None:
    """Before any array is made."""
    extent = largest_extent(graph, sizes)
    needed, limit = extent.bytes(sizes), available_memory()
    if needed > SPARE * limit:
        axes = ", ".join(f"{dim} of {sizes.get(dim.name, dim.size):,}" for dim in extent.dims)
        what = f"`{extent.node}` has an array over {axes}: {format_bytes(needed)}"
        help = "make a dim smaller, or sum over one at a time"
        raise MemoryLimitError(f"{what}, and {format_bytes(limit)} of memory are free; {help}")


def _settle(
    node: Node, entries: dict[str, RawVariable], missing: bool, report: Report
) -> GivenVariable | None:
    """The entry as declared; None if it is absent or of another rank."""
    if node.name not in entries:
        return None
    variable = None
    with report.collecting():
        variable = fit_axes(entries[node.name], node)
        if missing and node.observed:
            found = kinds.typed_with_missing(variable, node.type.domain)
            return GivenVariable(node, variable, *found)
        values = kinds.typed_values(variable, node.type.domain, node.observed)
        return GivenVariable(node, variable, values)
    return GivenVariable(node, variable, None) if variable else None


def _report_absent(absent: list[Node], partial: bool, report: Report) -> None:
    reported = {found.name for found in report.problems}
    for node in absent:
        if node.default is None and not (partial and node.observed) and node.name not in reported:
            role = "observed" if node.observed else "data"
            kind = node.type.constraint or node.type.domain
            help = f"it is declared `{role} {declaration(node)} : {kind}`"
            report.add(node.name, f"the data lack `{node.name}`", help)


def _verify_same_rows(given: dict[str, GivenVariable], report: Report) -> None:
    """Rows that pandas names differently would be put together by their order alone."""
    first: dict[str, GivenVariable] = {}
    for name, own in given.items():
        if own.variable.rows is None:
            continue
        axis = str(own.node.type.shape[0])
        known = first.setdefault(axis, own)
        if not own.variable.rows.equals(known.variable.rows):
            other = f"`{known.node.name}` in {known.variable.origin.whole()}"
            message = f"`{name}` has another pandas index than {other}, over the same dim `{axis}`"
            help = "give both the same order, as reindex does, or drop the index with .to_numpy()"
            report.add(name, message, help, own.variable.origin.whole())


def _touched(nodes: list[Node], report: Report) -> set[str]:
    """Dims that these nodes would have sized, where their absence is a problem of its own."""
    reported = {found.name for found in report.problems}
    named = [node for node in nodes if node.name in reported]
    axes = {str(axis) for node in named for axis in node.type.shape}
    return axes | {indexed_dim(node) for node in named}

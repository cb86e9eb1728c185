"""Parquet and whatever offers itself as Arrow: columns with types, missing entries and
dictionaries.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .errors import collect_each, problem
from .items import variable_from_array, variable_from_items
from .raw import Origin, Raw, RawVariable, repeated, verify_size

LARGEST_ENTRY = 8


def read_parquet(path: Path) -> Raw:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        help = "pip install 'dpc[parquet]'"
        raise problem(
            "", f"{path.name} cannot be read: Parquet files need pyarrow", help, str(path)
        ) from None
    with path.open("rb") as stream:
        file = parquet.ParquetFile(stream)
        facts = file.metadata
        packed = sum(facts.row_group(k).total_byte_size for k in range(facts.num_row_groups))
        verify_size(max(packed, facts.num_rows * facts.num_columns * LARGEST_ENTRY), path.name)
        return raw_from_arrow(file.read(), path.name)


def raw_from_arrow(table: Any, where: str) -> Raw:
    """Columns of a pyarrow.Table."""
    twice = repeated(table.column_names)
    if twice is not None:
        raise problem(twice, f"the column `{twice}` comes twice", place=where)
    pairs = zip(table.column_names, table.columns, strict=True)
    variables = collect_each(lambda name, column: _variable(column, Origin(where, name)), pairs)
    return Raw(where, variables, table=True)


def _variable(column: Any, origin: Origin) -> RawVariable:
    types = import_module("pyarrow.types")
    column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if types.is_dictionary(column.type):
        texts = [None if item is None else str(item) for item in column.to_pylist()]
        levels = tuple(map(str, column.dictionary.to_pylist()))
        return variable_from_items(texts, (len(texts),), origin).replace(levels=levels)
    if (
        types.is_boolean(column.type)
        or types.is_integer(column.type)
        or types.is_floating(column.type)
    ):
        return _numbers(column, origin)
    if types.is_null(column.type) or _is_string(column.type):
        return variable_from_items(column.to_pylist(), (len(column),), origin)
    raise RawVariable(np.zeros(0), origin).refuse(
        f"is a column of {column.type}, neither numbers, truth values nor text"
    )


def _is_string(type_: Any) -> bool:
    return str(type_) in ("string", "large_string", "string_view")


def _numbers(column: Any, origin: Origin) -> RawVariable:
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    filled = (
        column.fill_null(False if str(column.type) == "bool" else 0)
        if column.null_count
        else column
    )
    return variable_from_array(filled.to_numpy(zero_copy_only=False), origin).replace(
        missing=missing
    )

"""Reading data files: one row for each format."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from dpc.dsl.record import Record

from .errors import DataError, problem
from .raw import Raw
from .read_json import read_json
from .read_netcdf import read_netcdf
from .read_npz import read_npz
from .read_parquet import read_parquet
from .read_text import read_csv, read_tsv

Reader = Callable[[Path], Raw]


class FileFormat(Record):
    title: str
    endings: tuple[str, ...]
    read: Reader


FORMATS = (
    FileFormat("CSV", (".csv", ".csv.gz"), read_csv),
    FileFormat("TSV", (".tsv", ".tsv.gz"), read_tsv),
    FileFormat("JSON", (".json",), read_json),
    FileFormat("NPZ", (".npz",), read_npz),
    FileFormat("netCDF", (".nc",), read_netcdf),
    FileFormat("Parquet", (".parquet",), read_parquet),
)


def read_data(path: str | os.PathLike[str]) -> Raw:
    """What a file holds, read by its ending; a file that cannot be read is a DataError."""
    file = Path(path)
    found = _format_of(file)
    try:
        return found.read(file)
    except DataError:
        raise
    except OSError as error:
        raise problem(
            "", f"cannot read {file.name}: {error.strerror or error}", place=str(file)
        ) from error
    except (
        Exception
    ) as error:  # libraries that read binary formats raise anything on a damaged file
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise problem(
            "", f"{file.name} is not a {found.title} file: {reason}", place=str(file)
        ) from error


def _format_of(file: Path) -> FileFormat:
    name = file.name.lower()
    for row in FORMATS:
        if name.endswith(row.endings):
            return row
    endings = ", ".join(ending for row in FORMATS for ending in row.endings)
    raise problem(
        "", f"{file.name} has no ending that is known", f"data are read from {endings}", str(file)
    )

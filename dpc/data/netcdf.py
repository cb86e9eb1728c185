"""netCDF files: variables with named axes and their labels.

A damaged HDF5 file can make its library run forever, or crash, where Python has no say. So the file
is first read in another process, which can be stopped.
"""

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .errors import problem
from .kinds import raw_of, variable_from_array
from .raw import Origin, Raw, RawVariable, verify_size

# Of an InferenceData file, the groups that hold data.
DATA_GROUPS = ("observed_data", "constant_data")
HDF5 = b"\x89HDF"

SECONDS = 30
BYTES_A_SECOND = 10_000_000
"""How long a file may take: a slow disk gives more than that."""

TRIAL = "import sys; from dpc.data.netcdf import try_to_read; try_to_read(sys.argv[1])"


def read_netcdf(path: Path) -> Raw:
    if _is_hdf5(path):
        _verify_readable(path)
    return _read(path)


def try_to_read(path: str) -> None:
    """In a process of its own: an error that is raised here comes again where it is told."""
    _read(Path(path))


def _verify_readable(path: Path) -> None:
    """Raises a DataError for a file on which the library hangs or crashes."""
    seconds = SECONDS + path.stat().st_size / BYTES_A_SECOND
    command = [sys.executable, "-c", TRIAL, str(path)]
    help = "it is damaged: write it again, or convert it to CSV or NPZ"
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        message = f"{path.name} is not read after {seconds:.0f} seconds"
        raise problem("", message, help, str(path)) from None
    if done.returncode < 0:  # by a signal
        raise problem("", f"the HDF5 library crashes on {path.name}", help, str(path))


def _read(path: Path) -> Raw:
    variables: dict[str, RawVariable] = {}
    for dataset in _datasets(path):
        with dataset:
            for name, variable in raw_from_dataset(dataset, path.name).variables.items():
                if name in variables:
                    message = f"`{name}` is in both {' and '.join(DATA_GROUPS)}"
                    raise problem(name, message, place=path.name)
                variables[name] = variable
    return Raw(path.name, variables)


def _is_hdf5(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == HDF5


def _datasets(path: Path) -> Iterator[Any]:
    """The file itself, or those of its groups that hold data."""
    xarray = import_module("xarray")
    if not _is_hdf5(path):
        verify_size(path.stat().st_size, path.name)
        yield xarray.open_dataset(path, engine="scipy")
        return
    # Sizes are read off here: xarray would load coordinates before it can be asked.
    h5py = import_module("h5py")
    with h5py.File(path) as content:
        groups = [name for name, item in content.items() if isinstance(item, h5py.Group)]
        used = [name for name in DATA_GROUPS if name in groups] if groups else ["/"]
        items = [item for name in used for item in content[name].values()]
        arrays = [item for item in items if isinstance(item, h5py.Dataset)]
        verify_size(sum(array.nbytes for array in arrays), path.name)
    if not used:
        message = f"{path.name} has groups, but neither {' nor '.join(DATA_GROUPS)}"
        raise problem("", message, f"its groups are {', '.join(sorted(groups))}", path.name)
    for group in used:
        yield xarray.open_dataset(path, engine="h5netcdf", group=group, phony_dims="sort")


def raw_from_dataset(dataset: Any, where: str) -> Raw:
    arrays = [(str(name), array) for name, array in dataset.data_vars.items()]
    return raw_of(where, arrays, variable_from_dataarray)


def variable_from_dataarray(array: Any, origin: Origin) -> RawVariable:
    labels = tuple(
        _labels(array.coords[axis].values) if axis in array.coords else () for axis in array.dims
    )
    variable = variable_from_array(array.values, origin)
    return variable.replace(axes=tuple(map(str, array.dims)), labels=labels)


def _labels(coordinate: Any) -> tuple[str, ...]:
    """Coordinates 0, 1, 2, ... say nothing that the position does not."""
    if coordinate.dtype.kind in "iu" and np.array_equal(coordinate, np.arange(len(coordinate))):
        return ()
    return tuple(map(str, coordinate.tolist() if coordinate.dtype.kind != "M" else coordinate))

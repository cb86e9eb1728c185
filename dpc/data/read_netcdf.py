"""netCDF and xarray: variables with named axes and their labels; of an InferenceData file the
groups that hold data.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .errors import collect_each, problem
from .items import variable_from_array
from .raw import Origin, Raw, RawVariable, verify_size

DATA_GROUPS = ("observed_data", "constant_data")
HDF5 = b"\x89HDF"


def read_netcdf(path: Path) -> Raw:
    variables: dict[str, RawVariable] = {}
    for dataset in _datasets(path):
        with dataset:
            for name, variable in raw_from_dataset(dataset, path.name).variables.items():
                if name in variables:
                    raise problem(
                        name, f"`{name}` is in both {' and '.join(DATA_GROUPS)}", place=path.name
                    )
                variables[name] = variable
    return Raw(path.name, variables)


def _datasets(path: Path) -> Iterator[Any]:
    """The file itself, or those of its groups that hold data."""
    xarray = import_module("xarray")
    with path.open("rb") as file:
        is_hdf5 = file.read(4) == HDF5
    if not is_hdf5:
        verify_size(path.stat().st_size, path.name)
        yield xarray.open_dataset(path, engine="scipy")
        return
    for group in _groups(path):
        yield xarray.open_dataset(path, engine="h5netcdf", group=group, phony_dims="sort")


def _groups(path: Path) -> list[str]:
    """Sizes are read off here: xarray would load coordinates before it can be asked."""
    h5py = import_module("h5py")
    with h5py.File(path) as content:
        groups = [name for name, item in content.items() if isinstance(item, h5py.Group)]
        found = [name for name in DATA_GROUPS if name in groups] if groups else ["/"]
        arrays = [
            item
            for name in found
            for item in content[name].values()
            if isinstance(item, h5py.Dataset)
        ]
        verify_size(sum(array.nbytes for array in arrays), path.name)
    if not found:
        message = f"{path.name} has groups, but neither {' nor '.join(DATA_GROUPS)}"
        raise problem("", message, f"its groups are {', '.join(sorted(groups))}", path.name)
    return found


def raw_from_dataset(dataset: Any, where: str) -> Raw:
    """Variables and labels of an xarray.Dataset."""
    arrays = ((str(name), array) for name, array in dataset.data_vars.items())
    return Raw(
        where,
        collect_each(
            lambda name, array: variable_from_dataarray(array, Origin(where, name)), arrays
        ),
    )


def variable_from_dataarray(array: Any, origin: Origin) -> RawVariable:
    labels = tuple(
        _labels(array.coords[axis].values) if axis in array.coords else () for axis in array.dims
    )
    found = variable_from_array(array.values, origin)
    return found.replace(axes=tuple(map(str, array.dims)), labels=labels)


def _labels(coordinate: Any) -> tuple[str, ...]:
    """Coordinates 0, 1, 2, ... say nothing that the position does not."""
    if coordinate.dtype.kind in "iu" and np.array_equal(coordinate, np.arange(len(coordinate))):
        return ()
    return tuple(map(str, coordinate.tolist() if coordinate.dtype.kind != "M" else coordinate))

"""Draws in ArviZ's layout: an InferenceData (ArviZ 0.x) or a DataTree (ArviZ 1.x)."""

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore", FutureWarning
    )  # ArviZ 0.x announces 1.x once a day, and both are served here
    import arviz

az: Any = arviz  # of either version, which have different functions
SAMPLE = ("chain", "draw")


class Coordinates(NamedTuple):
    """The dims of every variable, and the coordinates of every dim."""

    dims: Mapping[str, tuple[str, ...]]
    coords: Mapping[str, Any]


def dataset(
    arrays: Mapping[str, Any], labels: Coordinates, sample: tuple[str, ...] = SAMPLE
) -> xr.Dataset:
    """`sample` are the dims that come before those of the variable."""
    variables = {}
    for name, array in arrays.items():
        array = np.asarray(array)
        own = (*sample, *labels.dims.get(name, ()))
        own += tuple(f"{name}_dim_{k}" for k in range(array.ndim - len(own)))
        variables[name] = xr.DataArray(array, dims=own[: array.ndim])
    used = {dim: size for variable in variables.values() for dim, size in variable.sizes.items()}
    coords = {str(dim): labels.coords.get(str(dim), np.arange(size)) for dim, size in used.items()}
    return xr.Dataset(variables, coords)


def container(groups: Mapping[str, xr.Dataset], **attributes: Any) -> Any:
    """Empty groups are left out; the attributes are those of the posterior."""
    full = {name: group for name, group in groups.items() if len(group.data_vars)}
    full["posterior"].attrs.update({"inference_library": "dpc", **attributes})
    if "InferenceData" in vars(az):  # ArviZ 1.x answers to the name, with a warning, but has none
        return az.InferenceData(**full)
    return xr.DataTree.from_dict(full)


def write_netcdf(found: Any, path: str) -> None:
    """The file appears whole or not at all."""
    beside = Path(path).with_name(f".{Path(path).name}.{os.getpid()}.nc")
    try:
        found.to_netcdf(str(beside))
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def group(found: Any, name: str) -> xr.Dataset:
    """One group of either kind of container."""
    part = found[name]
    whole: xr.Dataset = part.to_dataset() if hasattr(part, "to_dataset") else part
    return whole


def has_group(found: Any, name: str) -> bool:
    return name in (
        found.groups() if callable(found.groups) else [path.strip("/") for path in found.groups]
    )


# ---- what ArviZ measures of chains


def rhat(draws: xr.Dataset) -> xr.Dataset:
    found: xr.Dataset = az.rhat(draws)
    return found


def ess(draws: xr.Dataset, kind: str) -> xr.Dataset:
    """Effective draws of the bulk or the tail."""
    found: xr.Dataset = az.ess(draws, method=kind)
    return found


def mcse(draws: xr.Dataset) -> xr.Dataset:
    """The standard error of the mean."""
    found: xr.Dataset = az.mcse(draws)
    return found

"""Draws in ArviZ's layout, an InferenceData (ArviZ 0.x) or a DataTree (1.x), and what it measures.

Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao, Gabry 2024): the largest of S
weights follow a generalised Pareto distribution with shape k; they are replaced by its quantiles,
and k says how far the estimates can be trusted: below 0.7 they can.
"""

import os
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

with warnings.catch_warnings():
    # ArviZ 0.x announces 1.x once a day, and both are served here
    warnings.simplefilter("ignore", FutureWarning)
    import arviz

az: Any = arviz  # of either version, which have different functions
SAMPLE = ("chain", "draw")
Array = np.ndarray[Any, Any]


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


Measure = Callable[[xr.Dataset], xr.Dataset]
rhat: Measure = az.rhat
mcse: Measure = az.mcse  # the standard error of the mean


def ess(draws: xr.Dataset, kind: str) -> xr.Dataset:
    """Effective draws of the bulk or the tail."""
    found: xr.Dataset = az.ess(draws, method=kind)
    return found


TRUSTED = 0.7
EQUAL = 1e-6


class SmoothedWeights(NamedTuple):
    """`log_weights` add up to one."""

    log_weights: Array
    k: float

    @property
    def effective(self) -> float:
        """1 / sum of squared weights."""
        return float(1 / np.sum(np.exp(2 * self.log_weights)))


def smooth_weights(log_ratios: Array) -> SmoothedWeights:
    """Equal weights have no tail; where no weight is above zero, none can be trusted."""
    level = np.full(len(log_ratios), -np.log(len(log_ratios)))
    if not np.isfinite(np.max(log_ratios)):
        return SmoothedWeights(level, np.inf)
    logs = np.asarray(log_ratios, float) - np.max(log_ratios)
    if np.min(logs) > -EQUAL:
        return SmoothedWeights(level, -np.inf)
    with np.errstate(over="ignore"):  # a shape whose weight is 1 / infinity has none
        if az.__version__.startswith("0."):
            weights, k = az.psislw(logs)
        else:
            # Version 1 takes log likelihoods, whose inverses are the ratios of leave-one-out.
            weights, k = import_module("arviz_stats.base").array_stats.psislw(-logs)
    return SmoothedWeights(np.asarray(weights), float(k))

"""Posteriors of a model: a NumPyro program, draws, and what was done with missing data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpc.dsl.graph.passes.noncentered import decentre
from dpc.dsl.record import Record

from ..data.bound import Data
from ..data.errors import unfit_as_problem
from ..exits import UsageError
from .numpyro_model import NumpyroModel

if TYPE_CHECKING:
    from dpc.inference.mcmc.run import NutsPlan, NutsRun

    from ..model.model import Model

Values = dict[str, Any]
LEAST = {"draws": 4, "chains": 1, "warmup": 0, "max_tree_depth": 1, "steps": 1}


class Posteriors:
    """What a model says once there are data."""

    def __init__(self, model: Model):
        self.model = model

    def to_numpyro(self, data: Mapping[str, Any]) -> Callable[..., None]:
        bound = self.model.functions.with_sizes(data)

        def model(data: Mapping[str, Any] | None = None) -> None:
            own = bound if data is None else self.model.functions.with_sizes(data)
            self.decentred.run(own)

        return model

    @cached_property
    def decentred(self) -> NumpyroModel:
        """With standard noise in place of draws that are `noncentered`: what is sampled."""
        graph = decentre(self.model.graph)
        if graph == self.model.graph:
            return self.as_written
        return NumpyroModel(type(self.model)(graph, externs=self.model.externs))

    @cached_property
    def as_written(self) -> NumpyroModel:
        return NumpyroModel(self.model)

    def draw(self, method: str, data: Data, options: PosteriorOptions) -> Any:
        """Values and statistics [chain, draw, ...] of what is unknown, and attributes."""
        from .methods import METHODS, Request, verify_continuous

        verify_continuous(self.decentred)
        return METHODS[method](Request(self.model, data, options))

    def run(self, data: Data, plan: NutsPlan) -> NutsRun:
        """NUTS in stretches: `start()` gives a state, `advance(state, n)` the next and draws."""
        from dpc.inference.mcmc.run import NutsRun

        from .methods import verify_continuous

        verify_continuous(self.decentred)
        return NutsRun(self.to_numpyro(data), plan)

    def with_missing(self, sources: tuple[Any, ...], sizes: dict[str, int]) -> tuple[Model, Data]:
        from dpc.dsl.graph.passes.missing import open_missing

        from ..data import bind_data

        bound = bind_data(self.model.graph, *sources, sizes=sizes, missing=True).own()
        if not bound.missing:
            return self.model, Data(bound.arrays, bound.sizes, bound.labels)
        with unfit_as_problem():
            opened = open_missing(self.model.graph, bound.arrays, bound.missing)
        model = type(self.model)(opened.graph, externs=self.model.externs, notes=opened.notes)
        labels = {**bound.labels, **opened.labels}
        return model, Data(opened.arrays, {**bound.sizes, **opened.sizes}, labels)

    def opened(self, data: Any) -> tuple[Model, Data]:
        """The model that takes these data; those that were bound have nothing missing."""
        if isinstance(data, Data):
            return self.model, data
        sources = data if isinstance(data, tuple) else () if data is None else (data,)
        return self.with_missing(sources, {})


class PosteriorOptions(Record):
    """What a posterior is asked for; `plan` is for NUTS, `steps` for variational inference."""

    plan: NutsPlan
    draws: int
    steps: int
    checkpoint: str | None
    resume: bool
    progress: Any


def read_options(
    method: str, draws: int, seed: int, progress: Any, resume: bool, said: Mapping[str, Any]
) -> PosteriorOptions:
    """Options that were said, checked: each is for one method, and a number has a least value."""
    from dpc.inference.mcmc.run import NutsPlan

    from .methods import METHODS

    if method not in METHODS:
        raise UsageError(f"there is no method {method!r}: {', '.join(METHODS)}")
    known = {name: value for name, value in said.items() if value is not None}
    if resume:
        known["resume"] = True
    for name in known:
        owner = "svi" if name == "steps" else "nuts"
        if method != owner:
            raise UsageError(f"`{name}=` is for `method={owner}`, not {method}")
    for name, least in LEAST.items():
        value = {**known, "draws": draws}.get(name, least)
        if value < least:
            raise UsageError(f"`{name}=` takes a number from {least} up, not {value}")
    if not 0 < known.get("target_accept", 0.5) < 1:
        accept = known["target_accept"]
        raise UsageError(f"`target_accept=` takes a number between 0 and 1, not {accept}")
    plan = NutsPlan(**{name: known[name] for name in NutsPlan._fields if name in known}, seed=seed)
    steps, folder = known.get("steps", 10_000), known.get("checkpoint")
    return PosteriorOptions(plan, draws, steps, folder, resume, progress)


def write_posterior(
    model: Model, data: Data, found: Any, out: str | None, plots: str | None, ending: str
) -> None:
    """As netCDF where `out` says so, as pictures in the folder `plots`."""
    if out:
        from dpc.inference.mcmc.container import write_netcdf

        write_netcdf(found, out)
    if plots:
        from .summary import write_plots

        write_plots(model, data, found, Path(plots), ending)

"""Posteriors of a model: the ways to draws, and what is done with missing data."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from dpc.dsl.files import write_whole
from dpc.dsl.graph.graph import Kind
from dpc.dsl.graph.passes.missing import open_missing
from dpc.dsl.graph.passes.noncentered import decentre
from dpc.dsl.record import Record
from dpc.inference.mcmc import target as gaussians
from dpc.inference.mcmc.container import smooth_weights
from dpc.inference.mcmc.run import CHUNK, Draws, NutsPlan, NutsRun, NutsState, join, key_for
from dpc.inference.mcmc.target import TargetDensity

from ..data import bind_data
from ..data.bound import Data
from ..data.errors import unfit_as_problem
from ..exits import UsageError, verify_folder, verify_seed
from ..gradient.optimise import OptimisePlan, optimise, start
from ..model.keeper import Keeper, WrongCheckpoint, digest, load_arrays
from ..model.model import Model
from .run_numpyro import NumpyroModel, numpyro_text

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
        return NumpyroModel(Model(graph, externs=self.model.externs))

    @cached_property
    def as_written(self) -> NumpyroModel:
        return NumpyroModel(self.model)

    def draw(self, method: str, data: Data, options: PosteriorOptions) -> Any:
        """Values and statistics [chain, draw, ...] of what is unknown, and attributes."""
        verify_continuous(self.decentred)
        return METHODS[method](Request(self.model, data, options))

    def run(self, data: Data, plan: NutsPlan) -> NutsRun:
        """NUTS in stretches: `start()` gives a state, `advance(state, n)` the next and draws."""
        verify_continuous(self.decentred)
        return NutsRun(self.to_numpyro(data), plan)

    def with_missing(self, sources: tuple[Any, ...], sizes: dict[str, int]) -> tuple[Model, Data]:
        bound = bind_data(self.model.graph, *sources, sizes=sizes, missing=True).own()
        if not bound.missing:
            return self.model, Data(bound.arrays, bound.sizes, bound.labels)
        with unfit_as_problem():
            opened = open_missing(self.model.graph, bound.arrays, bound.missing)
        model = Model(opened.graph, externs=self.model.externs, notes=opened.notes)
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
    verify_seed(seed)
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


PLOT_FORMATS = ("svg", "png", "pdf")


def verify_outputs(out: str | None, format: str) -> None:
    """Before the draws, not after them."""
    if out is not None:
        if not out.endswith(".nc"):
            raise UsageError(f"`out=` writes netCDF: call it {Path(out).stem}.nc, not {out}")
        verify_folder(out)
    if format not in PLOT_FORMATS:
        raise UsageError(f"`format=` of plots is one of {', '.join(PLOT_FORMATS)}, not {format}")


OVERSAMPLING = 4
"""Proposals for each draw of importance sampling."""


class Request(NamedTuple):
    model: Any
    data: Data
    options: PosteriorOptions

    @property
    def target(self) -> TargetDensity:
        return TargetDensity(self.model.to_numpyro(self.data))

    @property
    def keys(self) -> Any:
        return jax.random.split(key_for("fit", self.options.plan.seed), 3)


class PosteriorDraws(NamedTuple):
    """[chain, draw, ...] of values and statistics."""

    values: Values
    stats: Values
    attributes: Values


def verify_continuous(model: NumpyroModel) -> None:
    """Raises UsageError unless what is not summed over is continuous, and is something."""
    draws = [node for node in model.graph.of_kind(Kind.DRAW) if not node.observed]
    latent = [node for node in draws if node.name not in model.sites.hidden]
    for node in latent:
        if node.type.whole:
            why = "it cannot be summed over, and has no gradient"
            bound = "Bound it (`Binomial` with a constant `n`, a dim)"
            what = f"`{node.name}` is a whole number without bounds"
            raise UsageError(f"{what}: {why}. {bound}, or approximate it by a continuous draw")
    if not latent and not model.graph.of_kind(Kind.PARAMETER):
        what = "nothing in this model is continuous and unknown: its marginals and its mode are"
        raise UsageError(f"{what} exact (`dpc query`, `m.marginals`, `m.mode`)")


def _laplace(request: Request) -> PosteriorDraws:
    flat = gaussians.flatten(request.target, request.keys[0])
    return _as_drawn(request, flat, gaussians.fit_laplace(flat), {"method": "laplace"})


def _svi(request: Request) -> PosteriorDraws:
    if request.model.graph.guide is not None:
        # The guide at the parameters that maximise the file's own bound.
        model, data, count = request.model, request.data, request.options.draws
        steps = OptimisePlan(request.options.steps, seed=request.options.plan.seed)
        state = start(model, model.init(request.keys[0], data), data, steps)
        for after in optimise(model, data, steps, state):
            state = after
        params = model.constrain(state.raw)
        guide = model.functions.load(model.graph.guide)["sample"]
        given = {**data.arrays, **data.sizes}
        draw = jax.jit(jax.vmap(lambda key: guide(key, params, given)))
        drawn = draw(jax.random.split(request.keys[1], count))
        values = {name: np.asarray(value)[None] for name, value in drawn.items()}
        for node in model.graph.of_kind(Kind.PARAMETER):
            fixed = params[node.name]
            values[node.name] = np.broadcast_to(fixed, (1, count, *np.shape(fixed)))
        elbo = -float(np.mean(state.losses[-100:]))
        return PosteriorDraws(values, {}, {"method": "svi", "elbo": elbo})
    flat = gaussians.flatten(request.target, request.keys[0])
    gaussian, losses = gaussians.fit_svi(flat, request.keys[2], request.options.steps)
    tail = losses[-max(1, len(losses) // 100) :]
    return _as_drawn(request, flat, gaussian, {"method": "svi", "elbo": -float(np.mean(tail))})


def _as_drawn(
    request: Request, flat: gaussians.FlatTarget, gaussian: gaussians.Gaussian, attributes: Values
) -> PosteriorDraws:
    """Draws of the Gaussian as they are; their weights tell how near it is."""
    drawn = gaussians.draw_gaussian(flat, gaussian, request.keys[1], request.options.draws)
    about = {**attributes, "pareto_k": smooth_weights(drawn.log_ratios).k}
    return PosteriorDraws(_constrained(request, flat, drawn.points), {}, about)


def _importance(request: Request) -> PosteriorDraws:
    """Proposals from a Student's t at the mode, resampled by their smoothed weights."""
    flat = gaussians.flatten(request.target, request.keys[0])
    first, second = jax.random.split(request.keys[1])
    mode, count = gaussians.fit_laplace(flat), OVERSAMPLING * request.options.draws
    drawn = gaussians.draw_student(flat, mode, first, count)
    smoothed = smooth_weights(drawn.log_ratios)
    # Each point is taken count * weight times, rounded up or down.
    steps = (
        np.arange(request.options.draws) + float(jax.random.uniform(second))
    ) / request.options.draws
    edges = np.cumsum(np.exp(smoothed.log_weights))
    order = np.searchsorted(edges / edges[-1], steps)
    chosen = np.random.default_rng(0).permutation(order)
    about = {"pareto_k": smoothed.k, "effective_draws": smoothed.effective}
    values = _constrained(request, flat, drawn.points[chosen])
    return PosteriorDraws(values, {}, {"method": "importance", **about})


def _constrained(request: Request, flat: gaussians.FlatTarget, points: Any) -> Values:
    constrain = TargetDensity(request.model.to_numpyro(request.data)).constrain
    found = jax.jit(jax.vmap(lambda point: constrain(flat.unravel(point))))(points)
    return {name: np.asarray(value)[None] for name, value in found.items()}


# NUTS runs in stretches of about half a second, shown and kept as they come.
FIRST_STRETCH = 10
SECONDS = 0.5


def _nuts(request: Request) -> PosteriorDraws:
    model, data, options = request
    plan = options.plan
    # What a run depends on, but for its number of draws: program, data and plan.
    text = numpyro_text(model.posteriors.decentred.graph)
    kept = Kept(options, digest([text, repr(plan)], sorted(data.items())))
    drawn = sample(model.posteriors.run(data, plan), kept, options)
    values, stats = jax.tree.map(lambda leaf: leaf[:, : options.draws], drawn)
    about = {"method": "nuts", "warmup": plan.warmup, "target_accept": plan.target_accept}
    return PosteriorDraws(values, stats, about)


def sample(run: Any, kept: Kept, options: PosteriorOptions) -> Draws:
    """All draws. Whatever stops it, those that were made are kept where `checkpoint` says."""
    end = run.plan.warmup + options.draws
    steps = FIRST_STRETCH
    progress = options.progress
    seen = [progress.see] if progress else []
    state = kept.load(run.blank()) if options.resume else run.start()
    if progress:
        progress.begin(state.step, run.plan, options.draws)
    kept.add(state, None)
    try:
        while state.step < end:
            began = time.monotonic()
            # So many steps, but not beyond the warm-up or the end.
            stop = run.plan.warmup if state.step < run.plan.warmup else end
            state, draws = run.advance(state, min(steps, stop - state.step), *seen)
            seconds = time.monotonic() - began
            # More when the last ones were quick, fewer when slow: the draws stay the same.
            if seconds < SECONDS / 2:
                steps = min(2 * steps, CHUNK)
            elif seconds > 2 * SECONDS:
                steps = max(1, steps // 2)
            kept.add(state, draws)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(kept.where()) from None
    finally:
        if progress:
            progress.end()
        kept.write()
        kept.keeper.release()
    return join(kept.draws)


class Kept:
    """The draws so far and those in a folder: each file begins where the one before it ends. The
    state is written after the draws that led to it. Draws beyond it are those of a run that was
    killed in between; they are made again, and are the same.
    """

    def __init__(self, options: PosteriorOptions, run: str):
        self.keeper = Keeper(options.checkpoint, options.resume, run)
        self.folder = Path(options.checkpoint or "")
        self.plan = options.plan
        self.draws: list[Draws] = []
        self.waiting: list[Draws] = []
        self.state = NutsState(-1, None)

    def add(self, state: NutsState, draws: Draws | None) -> None:
        self.state = state
        if draws is not None and draws.length:
            self.draws.append(draws)
            self.waiting.append(draws)
        if self.keeper.is_due:
            self.write()

    def write(self) -> None:
        if not self.keeper.wanted:
            return
        if self.waiting:
            part = join(self.waiting)
            named: dict[str, Any] = {}
            for kind, own in part._asdict().items():
                named |= {f"{kind} {name}": array for name, array in own.items()}
            content = io.BytesIO()
            np.savez(content, **named)
            first = self.state.step - self.plan.warmup - part.length
            write_whole(self.file(first), content.getvalue())
            self.waiting = []
        self.keeper.keep(self.state.step, tuple(self.state), now=True)

    def file(self, first: int) -> Path:
        return self.folder / f"draws-{first:07d}.npz"

    def load(self, like: NutsState) -> NutsState:
        step, kernel = self.keeper.load(tuple(like))
        state = NutsState(int(step), kernel)
        count = 0
        while count < state.step - self.plan.warmup:
            self.draws.append(load_draws(self.file(count)))
            count += self.draws[-1].length
        return state

    def where(self) -> str:
        """What can be gone on from when a run is interrupted."""
        if not self.keeper.wanted:
            return ""
        count = max(0, self.state.step - self.plan.warmup)
        return f"{count} draws of every chain are in {self.folder}: `resume=` continues"


def load_draws(path: Path) -> Draws:
    found: dict[str, dict[str, Any]] = {"values": {}, "stats": {}}
    try:
        for name, array in load_arrays(path).items():
            kind, _, own = name.partition(" ")
            found[kind][own] = array
    except (OSError, KeyError) as error:
        why = "cannot be read, and the checkpoint beside it goes on after it"
        raise WrongCheckpoint(f"{path} {why}: {error}") from None
    return Draws(**found)


METHODS: dict[str, Callable[[Request], PosteriorDraws]] = {
    "nuts": _nuts,
    "svi": _svi,
    "laplace": _laplace,
    "importance": _importance,
}

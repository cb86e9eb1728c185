"""The ways to a posterior: each takes a request and gives draws, statistics, attributes."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from dpc.dsl.files import write_whole
from dpc.dsl.graph.graph import Kind
from dpc.inference.mcmc import target as gaussians
from dpc.inference.mcmc.container import smooth_weights
from dpc.inference.mcmc.run import CHUNK, Draws, NutsState, join, key_for
from dpc.inference.mcmc.target import TargetDensity

from ..data.bound import Data
from ..exits import UsageError
from ..gradient.optimise import OptimisePlan, optimise, start
from ..model.keeper import Keeper, WrongCheckpoint, digest
from .posteriors import NumpyroModel, numpyro_text

if TYPE_CHECKING:
    from .posteriors import PosteriorOptions


Values = dict[str, Any]
OVERSAMPLING = 4
"""Proposals for each draw of importance sampling."""


class Request(NamedTuple):
    model: Any
    data: Data
    options: PosteriorOptions

    @property
    def target(self) -> TargetDensity:
        verify_continuous(self.model.posteriors.decentred)
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
        with np.load(path) as arrays:
            for name in arrays.files:
                kind, _, own = name.partition(" ")
                found[kind][own] = arrays[name]
    except (OSError, ValueError, KeyError, EOFError) as error:
        why = "cannot be read, and the checkpoint beside it goes on after it"
        raise WrongCheckpoint(f"{path} {why}: {error}") from None
    return Draws(**found)


METHODS: dict[str, Callable[[Request], PosteriorDraws]] = {
    "nuts": _nuts,
    "svi": _svi,
    "laplace": _laplace,
    "importance": _importance,
}

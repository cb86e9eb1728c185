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
from dpc.inference.mcmc.container import smooth_weights
from dpc.inference.mcmc.gaussian import (
    FlatTarget,
    Gaussian,
    Weighted,
    draw_gaussian,
    draw_student,
    fit_laplace,
    fit_svi,
    flatten,
)
from dpc.inference.mcmc.run import CHUNK, Draws, NutsPlan, NutsState, join, key_for
from dpc.inference.mcmc.target import TargetDensity

from ..data.bound import Data
from ..exits import UsageError
from ..gradient.optimise import OptimisePlan, optimise, start
from ..model.keeper import Keeper, WrongCheckpoint, digest
from .numpyro_model import NumpyroModel, numpyro_text

if TYPE_CHECKING:
    from ..model.model import Model
    from .posteriors import PosteriorOptions


Values = dict[str, Any]
OVERSAMPLING = 4
"""Proposals for each draw of importance sampling."""


class Request(NamedTuple):
    model: Any
    data: Data
    plan: NutsPlan
    draws: int
    steps: int

    @property
    def target(self) -> TargetDensity:
        verify_continuous(self.model.posteriors.decentred)
        return TargetDensity(self.model.to_numpyro(self.data))

    @property
    def keys(self) -> Any:
        return jax.random.split(key_for("fit", self.plan.seed), 3)


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
            raise UsageError(
                f"`{node.name}` is a whole number without bounds: {why}. {bound}, or approximate "
                "it by a continuous draw"
            )
    if not latent and not model.graph.of_kind(Kind.PARAMETER):
        raise UsageError(
            "nothing in this model is continuous and unknown: its marginals and its mode are exact "
            "(`dpc query`, `m.marginals`, `m.mode`)"
        )


def _laplace(request: Request) -> PosteriorDraws:
    flat = flatten(request.target, request.keys[0])
    return _as_drawn(request, flat, fit_laplace(flat), {"method": "laplace"})


def _svi(request: Request) -> PosteriorDraws:
    if request.model.graph.guide is not None:
        return _own_guide(request)
    flat = flatten(request.target, request.keys[0])
    gaussian, losses = fit_svi(flat, request.keys[2], request.steps)
    tail = losses[-max(1, len(losses) // 100) :]
    return _as_drawn(request, flat, gaussian, {"method": "svi", "elbo": -float(np.mean(tail))})


def _as_drawn(
    request: Request, flat: FlatTarget, gaussian: Gaussian, attributes: Values
) -> PosteriorDraws:
    """Draws of the Gaussian as they are; their weights tell how near it is."""
    drawn = draw_gaussian(flat, gaussian, request.keys[1], request.draws)
    about = {**attributes, "pareto_k": smooth_weights(drawn.log_ratios).k}
    return PosteriorDraws(_constrained(request, flat, drawn.points), {}, about)


def _importance(request: Request) -> PosteriorDraws:
    """Proposals from a Student's t at the mode, resampled by their smoothed weights."""
    flat = flatten(request.target, request.keys[0])
    first, second = jax.random.split(request.keys[1])
    drawn: Weighted = draw_student(flat, fit_laplace(flat), first, OVERSAMPLING * request.draws)
    smoothed = smooth_weights(drawn.log_ratios)
    chosen = _systematic(smoothed.log_weights, float(jax.random.uniform(second)), request.draws)
    about = {"pareto_k": smoothed.k, "effective_draws": smoothed.effective}
    values = _constrained(request, flat, drawn.points[chosen])
    return PosteriorDraws(values, {}, {"method": "importance", **about})


def _systematic(log_weights: Any, offset: float, count: int) -> Any:
    """Each point is taken count * weight times, rounded up or down."""
    steps = (np.arange(count) + offset) / count
    edges = np.cumsum(np.exp(log_weights))
    order = np.searchsorted(edges / edges[-1], steps)
    return np.random.default_rng(0).permutation(order)


def _constrained(request: Request, flat: FlatTarget, points: Any) -> Values:
    constrain = TargetDensity(request.model.to_numpyro(request.data)).constrain
    found = jax.jit(jax.vmap(lambda point: constrain(flat.unravel(point))))(points)
    return {name: np.asarray(value)[None] for name, value in found.items()}


def _own_guide(request: Request) -> PosteriorDraws:
    """The guide at the parameters that maximise the file's own bound."""
    model, data, count = request.model, request.data, request.draws
    steps = OptimisePlan(request.steps, seed=request.plan.seed)
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


METHODS: dict[str, Callable[[Request], PosteriorDraws]] = {
    "svi": _svi,
    "laplace": _laplace,
    "importance": _importance,
}


# ---- NUTS in stretches of about half a second, shown and kept as they come


FIRST_STRETCH = 10
SECONDS = 0.5


class NoProgress:
    """Sees the draws of every chain, and says nothing of them."""

    def begin(self, step: int, plan: NutsPlan, draws: int) -> None:
        pass

    def see(self, chain: int, draws: Draws) -> None:
        pass

    def end(self) -> None:
        pass


def draw_by_nuts(model: Model, data: Any, options: PosteriorOptions) -> PosteriorDraws:
    kept = Kept(options, fingerprint(model, data, options.plan))
    drawn = sample(model.posteriors.run(data, options.plan), kept, options)
    values, stats = jax.tree.map(lambda leaf: leaf[:, : options.draws], drawn)
    plan = options.plan
    about = {"method": "nuts", "warmup": plan.warmup, "target_accept": plan.target_accept}
    return PosteriorDraws(values, stats, about)


def fingerprint(model: Model, data: Any, plan: NutsPlan) -> str:
    """What a run depends on, but for its number of draws: program, data and plan."""
    text = numpyro_text(model.posteriors.decentred.graph)
    return digest([text, repr(plan)], sorted(data.items()))


def sample(run: Any, kept: Kept, options: PosteriorOptions) -> Draws:
    """All draws. Whatever stops it, those that were made are kept where `checkpoint` says."""
    end = run.plan.warmup + options.draws
    steps = FIRST_STRETCH
    progress = options.progress or NoProgress()
    state = kept.load(run.blank()) if options.resume else run.start()
    progress.begin(state.step, run.plan, options.draws)
    kept.add(state, None)
    try:
        while state.step < end:
            began = time.monotonic()
            count = stretch(state.step, steps, run.plan.warmup, end)
            state, draws = run.advance(state, count, progress.see)
            steps = next_steps(steps, time.monotonic() - began)
            kept.add(state, draws)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(kept.where()) from None
    finally:
        progress.end()
        kept.write()
    return join(kept.draws)


def stretch(step: int, steps: int, warmup: int, end: int) -> int:
    """So many steps, but not beyond the warm-up or the end."""
    return min(steps, (warmup if step < warmup else end) - step)


def next_steps(steps: int, seconds: float) -> int:
    """More when the last ones were quick, fewer when slow: the draws stay the same."""
    if seconds < SECONDS / 2:
        return min(2 * steps, CHUNK)
    return max(1, steps // 2) if seconds > 2 * SECONDS else steps


class Kept:
    """The draws so far and those in a folder: each file begins where the one before it ends.

    The state is written after the draws that led to it. Draws beyond it are those of a run that was
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
            save_draws(self.file(self.state.step - self.plan.warmup - part.length), part)
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


def save_draws(path: Path, draws: Draws) -> None:
    content = io.BytesIO()
    named: dict[str, Any] = {}
    for kind, own in draws._asdict().items():
        named |= {f"{kind} {name}": array for name, array in own.items()}
    np.savez(content, **named)
    write_whole(path, content.getvalue())


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

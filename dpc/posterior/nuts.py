"""NUTS in stretches of about half a second, shown and kept as they come."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from dpc.dsl.files import write_whole
from dpc.inference.mcmc.run import CHUNK, Draws, NutsPlan, NutsState, join

from ..model.keeper import Keeper, WrongCheckpoint, digest
from .methods import PosteriorDraws
from .numpyro_model import numpyro_text

if TYPE_CHECKING:
    from ..model.model import Model
    from .posteriors import PosteriorOptions

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

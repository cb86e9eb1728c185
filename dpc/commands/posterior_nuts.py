"""NUTS for the command line: in stretches of about half a second, shown and kept as they come."""

from __future__ import annotations

import argparse
import io
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from dpc.commands.keep import Keeper
from dpc.commands.posterior_progress import Progress
from dpc.dsl.embed.checkpoint import WrongCheckpoint, digest
from dpc.dsl.embed.methods import Found, nuts_attributes
from dpc.dsl.embed.numpyro_model import numpyro_text
from dpc.dsl.files import write_whole
from dpc.inference.posterior.run import STRETCH, Draws, Plan, State, join

FIRST_STRETCH = 10
SECONDS = 0.5


def draw_by_nuts(model: Any, data: Any, plan: Plan, args: argparse.Namespace) -> Found:
    kept = Kept(args, plan, fingerprint(model, data, plan))
    try:
        drawn = sample(model.posterior_run(data, plan), kept, args)
    except KeyboardInterrupt:
        kept.tell()
        raise
    values, stats = jax.tree.map(lambda leaf: leaf[:, : args.draws], drawn)
    return Found(values, stats, nuts_attributes(plan))


def fingerprint(model: Any, data: Any, plan: Plan) -> str:
    """What a run depends on, but for its number of draws: program, data and plan."""
    return digest([numpyro_text(model._decentred.graph), repr(plan)], sorted(data.items()))


def sample(run: Any, kept: Kept, args: argparse.Namespace) -> Draws:
    """All draws. Whatever stops it, those that were made are kept where --checkpoint says."""
    end = run.plan.warmup + args.draws
    steps = FIRST_STRETCH
    with Progress(run.plan, args.draws) as progress:
        state = kept.load(run.blank()) if args.resume else run.start()
        progress.begin(state.step)
        kept.add(state, None)
        try:
            while state.step < end:
                began = time.monotonic()
                state, draws = run.advance(state, stretch(state.step, steps, run.plan.warmup, end), progress.see)
                steps = next_steps(steps, time.monotonic() - began)
                kept.add(state, draws)
        finally:
            kept.write()
    return join(kept.draws)


def stretch(step: int, steps: int, warmup: int, end: int) -> int:
    """So many steps, but not beyond the warm-up or the end."""
    return min(steps, (warmup if step < warmup else end) - step)


def next_steps(steps: int, seconds: float) -> int:
    """More when the last ones were quick, fewer when they were slow: it changes nothing about the draws."""
    if seconds < SECONDS / 2:
        return min(2 * steps, STRETCH)
    return max(1, steps // 2) if seconds > 2 * SECONDS else steps


class Kept:
    """The draws so far and, in a folder, those that were written: each file begins where the one before it ends.

    The state is written after the draws that led to it. Draws beyond it are those of a run that was killed in
    between; they are made again, and are the same.
    """

    def __init__(self, args: argparse.Namespace, plan: Plan, run: str):
        self.keeper = Keeper(args, run)
        self.folder = Path(args.checkpoint or "")
        self.plan = plan
        self.draws: list[Draws] = []
        self.waiting: list[Draws] = []
        self.state = State(-1, None)

    def add(self, state: State, draws: Draws | None) -> None:
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

    def load(self, like: State) -> State:
        step, kernel = self.keeper.load(tuple(like))
        state = State(int(step), kernel)
        count = 0
        while count < state.step - self.plan.warmup:
            self.draws.append(load_draws(self.file(count)))
            count += self.draws[-1].length
        return state

    def tell(self) -> None:
        if self.keeper.wanted:
            count = max(0, self.state.step - self.plan.warmup)
            print(f"dpc: {count} draws of every chain are in {self.folder}: --resume continues", file=sys.stderr)


def save_draws(path: Path, draws: Draws) -> None:
    content = io.BytesIO()
    named = {f"{kind} {name}": array for kind, own in draws._asdict().items() for name, array in own.items()}
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
        raise WrongCheckpoint(
            f"{path} cannot be read, and the checkpoint beside it goes on after it: {error}"
        ) from None
    return Draws(**found)

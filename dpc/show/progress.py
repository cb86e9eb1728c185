"""Progress on a terminal: a bar for every chain of a posterior, a line for the loss of a fit."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dpc.inference.mcmc.run import Draws, NutsPlan


def _bars(*columns: Any) -> Progress:
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty())


class ChainProgress:
    def __init__(self) -> None:
        self.bars = _bars(
            TextColumn("chain {task.description}"),
            TextColumn("{task.fields[phase]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        self.plan = NutsPlan()
        self.steps: list[int] = []
        self.divergences: list[int] = []

    def begin(self, step: int, plan: NutsPlan, draws: int) -> None:
        self.plan = plan
        self.steps = [step] * plan.chains
        self.divergences = [0] * plan.chains
        for chain in range(plan.chains):
            total = plan.warmup + draws
            self.bars.add_task(str(chain), total=total, phase="compiling", note="")
        self.bars.start()

    def see(self, chain: int, draws: Draws) -> None:
        """Divergences count once the warm-up is over."""
        is_drawing = self.steps[chain] >= self.plan.warmup
        self.steps[chain] += len(draws.stats["diverging"])
        self.divergences[chain] += int(draws.stats["diverging"].sum()) if is_drawing else 0
        count = self.divergences[chain]
        self.bars.update(
            self.bars.task_ids[chain],
            completed=self.steps[chain],
            phase="draws  " if self.steps[chain] >= self.plan.warmup else "warm-up",
            note=f"{count} diverged" if count else "",
        )

    def end(self) -> None:
        self.bars.stop()


class LossProgress:
    """The loss of the newest state; use it in a `with`, which leaves the last line standing."""

    def __init__(self) -> None:
        self.bars = _bars(TextColumn("{task.description}"))
        self.line = self.bars.add_task("", visible=False)

    def __enter__(self) -> LossProgress:
        self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bars.live.transient = False
        self.bars.stop()

    def see(self, stage: int, name: str, state: Any) -> None:
        text = f"{name}, step {int(state.step)}: loss {float(state.value):.8g}"
        self.bars.update(self.line, description=text, visible=True)

"""A bar for every chain, on a terminal."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from dpc.inference.mcmc.run import Draws, Plan


class Progress:
    def __init__(self) -> None:
        columns = (
            TextColumn("chain {task.description}"),
            TextColumn("{task.fields[phase]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        console = Console(stderr=True)
        self.bars = Bars(*columns, console=console, transient=True, disable=not sys.stderr.isatty())
        self.plan = Plan()
        self.steps: list[int] = []
        self.divergences: list[int] = []

    def begin(self, step: int, plan: Plan, draws: int) -> None:
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

"""A bar for every chain, on a terminal."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from dpc.inference.posterior.run import Draws, Plan


class Progress:
    def __init__(self, plan: Plan, draws: int):
        self.plan = plan
        self.steps = [0] * plan.chains
        self.divergences = [0] * plan.chains
        words = TextColumn("chain {task.description}"), TextColumn("{task.fields[phase]}")
        columns = (*words, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[note]}"))
        console = Console(stderr=True)
        self.bars = Bars(*columns, console=console, transient=True, disable=not sys.stderr.isatty())
        total = plan.warmup + draws
        for chain in range(plan.chains):
            self.bars.add_task(str(chain), total=total, phase="compiling", note="")

    def __enter__(self) -> Progress:
        self.bars.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.bars.stop()

    def begin(self, step: int) -> None:
        self.steps = [step] * self.plan.chains

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

"""A hunt for gradients that are wrong without a word: random programs against plain differences.

    python bench/hunt.py --count 200 --seed 0 [--hessian] [--sharp] [--show]

Every program is written twice (programs.py): as a .dp file, and as NumPy over uniform noise, where
each draw is a quantile. The truth is a difference of means over the same quasi-random noise: it
sees every jump and shares no code with dpc. A program that dpc refuses counts as refused, with the
reason; one whose answer is off by more than five standard errors and the error of the difference
is wrong.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import jax
import numpy as np
from programs import Generator
from scipy import stats

import dpc
from dpc.dsl.diagnostics import DpError
from dpc.exits import UsageError
from dpc.gradient.gradient import Gradient
from dpc.model.numbers import NotANumber

POINTS, FEW_POINTS = 2**19, 2**16
STEP, SECOND_STEP = 0.02, 0.1
SAMPLES = 4000
SIGMAS = 5.0
SLACK, SECOND_SLACK = 0.02, 0.1
"""Errors of the differences themselves, relative to one plus the truth."""
KEPT = 20
"""Programs between two clearings of the caches of JAX, which bound the memory."""
SHOWN = 50
"""Programs between two lines of counts."""
PATIENCE = 60.0
"""Seconds of a processor after which an answer is called slow, and its program is shown."""


class Truth(NamedTuple):
    gradient: dict[str, float]
    hessian: dict[tuple[str, str], float]

    def agrees(self, other: Truth) -> bool:
        """Where two steps differ, the mean itself has a kink or a pole near the parameters."""
        pairs = [(SLACK, value, other.gradient[n]) for n, value in self.gradient.items()]
        pairs += [(SECOND_SLACK, value, other.hessian[n]) for n, value in self.hessian.items()]
        return all(2 * abs(a - b) <= slack * (1 + abs(a)) for slack, a, b in pairs)


def truth_of(program: Generator, hessian: bool, points: int, stretch: float = 1.0) -> Truth:
    dims = max(program.noise, 1)
    sobol = stats.qmc.Sobol(dims, seed=1)
    noise = np.clip(sobol.random(points).T, 1e-9, 1 - 1e-9)

    def mean(**shift: float) -> float:
        moved = {name: value + shift.get(name, 0.0) for name, value in program.params.items()}
        return program.mean(moved, noise)

    step = STEP * stretch
    gradient = {n: (mean(**{n: step}) - mean(**{n: -step})) / (2 * step) for n in program.params}
    second = {}
    for a, b in [(a, b) for a in program.params for b in program.params if a <= b and hessian]:
        h = SECOND_STEP * stretch
        if a == b:
            second[a, b] = (mean(**{a: h}) - 2 * mean() + mean(**{a: -h})) / h**2
        else:
            corners = [s * t * mean(**{a: s * h, b: t * h}) for s in (1, -1) for t in (1, -1)]
            second[a, b] = sum(corners) / (4 * h**2)
    return Truth(gradient, second)


class Verdict(NamedTuple):
    """`outcome` is right, wrong, refused, broken or undecided; `detail` says more."""

    seed: int
    text: str
    outcome: str
    detail: str


def judge(seed: int, hessian: bool, points: int = POINTS, sharp: bool = False) -> Verdict:
    program = Generator(seed, sharp)
    text = program.program()
    start = time.process_time()
    try:
        model = dpc.parse(text)
        found = model.grad(samples=SAMPLES, hessian=hessian)
    except (DpError, UsageError, NotANumber) as error:
        lines = str(error).splitlines()
        said = next((line for line in lines if line.startswith("error")), lines[0])
        return Verdict(seed, text, "refused", said)
    except Exception as error:  # a bug of ours, which the hunt is to find
        return Verdict(seed, text, "broken", f"{type(error).__name__}: {error}")
    seconds = time.process_time() - start
    if seconds > PATIENCE:
        print(f"--- seed {seed}: slow, {seconds:.0f} s", text, sep="\n", flush=True)
    outcome, detail = compared(program, found, hessian, min(points, FEW_POINTS))
    if outcome != "right" and points > FEW_POINTS:
        outcome, detail = compared(program, found, hessian, points)
    return Verdict(seed, text, outcome, detail)


def compared(program: Generator, found: Gradient, hessian: bool, points: int) -> tuple[str, str]:
    """Few points decide what is clearly right; a doubt is settled with many."""
    methods = ", ".join(sorted({choice.method for choice in found.choices}))
    truth = truth_of(program, hessian, points)
    if not truth.agrees(truth_of(program, hessian, points, stretch=0.5)):
        return "undecided", methods
    pairs = [(n, SLACK, truth.gradient[n], found.estimates.gradient[n]) for n in truth.gradient]
    pairs += [
        (f"{a}{b}", SECOND_SLACK, value, found.estimates.hessian[a, b])
        for (a, b), value in truth.hessian.items()
    ]
    for name, slack, value, moments in pairs:
        error = SIGMAS * float(moments.error) + slack * (1 + abs(value))
        if not abs(float(moments.mean) - value) <= error:
            said = f"{float(moments.mean):.4g} ± {float(moments.error):.2g}"
            return "wrong", f"d/d{name}: {said}, truth {value:.4g} [{methods}]"
    return "right", methods


def hunt(count: int, seed: int, hessian: bool, sharp: bool) -> Iterator[Verdict]:
    for number in range(seed, seed + count):
        yield judge(number, hessian, sharp=sharp)
        if number % KEPT == 0:
            jax.clear_caches()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hessian", action="store_true")
    parser.add_argument("--sharp", action="store_true", help="with poles and several thresholds")
    parser.add_argument("--show", action="store_true", help="print the programs that are refused")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", True)
    start, outcomes, reasons = time.perf_counter(), Counter[str](), Counter[str]()
    shown = {"wrong", "broken"} | ({"refused"} if options.show else set())
    for number, verdict in enumerate(
        hunt(options.count, options.seed, options.hessian, options.sharp), 1
    ):
        outcomes[verdict.outcome] += 1
        reasons[f"{verdict.outcome}: {verdict.detail[:90]}"] += verdict.outcome != "wrong"
        if verdict.outcome in shown:
            title = f"--- seed {verdict.seed}: {verdict.outcome}, {verdict.detail}"
            print(title, verdict.text, sep="\n", flush=True)
        if number % SHOWN == 0 or number == options.count:
            print(dict(outcomes), f"in {time.perf_counter() - start:.0f} s", flush=True)
    for reason, times in reasons.most_common(20):
        print(f"{times:6} {reason}")


if __name__ == "__main__":
    main()

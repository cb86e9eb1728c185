"""Time to compile the density and the sampler of a model as its data grows: it must stay where it
is.

Run with `make bench`. Sizes take turns, and each number is the fastest of several fresh starts.
Chains are scans and plates are array axes, so the compiled program has the same length for ten
steps as for a hundred thousand.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

import dpc

STARTS = 3
MODELS = Path(__file__).parent.parent / "models"
CHAIN = (10, 100, 1_000, 10_000, 100_000)
PLATE = (10, 1_000, 100_000, 1_000_000)
CASES: dict[str, tuple[tuple[int, ...], Callable[[int], dict[str, Any]]]] = {
    "tracking": (CHAIN, lambda n: {"seen": np.zeros(n)}),
    "garch": (CHAIN, lambda n: {"r": np.zeros(n)}),
    "logistic": (PLATE, lambda n: {"x": np.zeros((n, 10)), "y": np.zeros(n, bool)}),
}


def compile_seconds(function: Callable[..., Any], *arguments: Any) -> float:
    """The first call less a later one, in CPU time, from a fresh start."""
    jax.clear_caches()
    fresh = jax.jit(lambda *given: function(*given))
    first, later = (_cpu_seconds(fresh, *arguments) for _ in range(2))
    return first - later


def _cpu_seconds(function: Callable[..., Any], *arguments: Any) -> float:
    start = time.process_time()
    jax.block_until_ready(function(*arguments))
    return time.process_time() - start


def row(model: dpc.Model, arrays: dict[str, Any]) -> dict[str, float]:
    """Compile times of the functions of one model at one size."""
    data = model.bind(arrays)
    key = jax.random.key(0)
    values = jax.block_until_ready(jax.jit(model.sample)(key, {}, data))
    gradient = jax.grad(lambda v, fixed, d: model.log_prob({}, {**fixed, **v}, d))
    moving = {
        name: value for name, value in values.items() if value.dtype == float and name not in arrays
    }
    return {
        "log_prob": compile_seconds(model.log_prob, {}, values, data),
        "gradient": compile_seconds(gradient, moving, values, data),
        "sample": compile_seconds(model.sample, key, {}, data),
    }


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    print(
        f"{'milliseconds to compile':<24}{'size':>10}{'log_prob':>10}{'gradient':>10}{'sample':>10}"
    )
    for name, (sizes, arrays_of) in CASES.items():
        model = dpc.load(MODELS / f"{name}.dp")
        starts = [[row(model, arrays_of(size)) for size in sizes] for _ in range(STARTS)]
        rows = [
            {kind: min(r[kind] for r in same) for kind in same[0]}
            for same in zip(*starts, strict=True)
        ]
        for size, found in zip(sizes, rows, strict=True):
            print(
                f"{name:<24}{size:>10,}"
                + "".join(f"{seconds * 1e3:>10.0f}" for seconds in found.values())
            )
        growth = "".join(f"{rows[-1][kind] / rows[0][kind]:>10.2f}" for kind in rows[0])
        print(f"{'  last size / first':<34}{growth}", flush=True)


if __name__ == "__main__":
    main()

"""Log densities of compiled models against the same models written by hand, in NumPyro and in plain
JAX.

Run with `make bench`. All three give the same number and gradient before any of them is timed, and
take turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from numpyro.infer.util import log_density
from twins import Arrays, Case, Density, eight_schools, hmm, logistic, network, radon

import dpc
from dpc.dsl.graph.graph import Kind

ROUNDS, ROUND_SECONDS, FRESH_STARTS = 60, 0.01, 6
PEERS = ("dpc", "numpyro", "raw")

Transform = Callable[[Density], Callable[..., Any]]
Times = dict[str, list[float]]
KINDS: dict[str, Transform] = {"density": lambda f: f, "gradient": jax.grad}


def functions(case: Case, model: dpc.Model) -> dict[str, Density]:
    """The three, as new functions each time, so that nothing of them is compiled."""
    drawn = {node.name for node in model.graph.of_kind(Kind.DRAW)}

    def by_dpc(v: Arrays, d: Arrays) -> jax.Array:
        return model.log_prob(v, {name: x for name, x in {**v, **d}.items() if name in drawn}, d)

    return {
        "dpc": by_dpc,
        "numpyro": lambda v, d: log_density(
            case.numpyro, (), {**d, **(v if case.learned else {})}, v
        )[0],
        "raw": lambda v, d: case.raw(v, d),
    }


def verify_agreement(case: Case, model: dpc.Model) -> None:
    """To ten digits, relative to the largest entry of each array."""
    found = {
        name: jax.jit(jax.value_and_grad(f))(case.values, case.data)
        for name, f in functions(case, model).items()
    }
    for name in PEERS[1:]:
        for ours, other in zip(
            jax.tree.leaves(found["dpc"]), jax.tree.leaves(found[name]), strict=True
        ):
            scale = max(1.0, float(np.abs(other).max()))
            np.testing.assert_allclose(
                ours, other, rtol=0, atol=1e-10 * scale, err_msg=f"{case.name}, {name}"
            )


def steady(case: Case, model: dpc.Model, transform: Transform) -> Times:
    """CPU seconds a call in every round; the three take turns within each."""
    given = jax.device_put((case.values, case.data))
    jitted = {name: jax.jit(transform(f)) for name, f in functions(case, model).items()}
    for function in jitted.values():
        jax.block_until_ready(function(*given))
    calls = 1 + int(ROUND_SECONDS / cpu_seconds(jitted["raw"], given, 10))
    return rounds(
        {name: partial(cpu_seconds, f, given, calls) for name, f in jitted.items()}, ROUNDS
    )


def first_answers(case: Case, model: dpc.Model, transform: Transform) -> Times:
    """CPU seconds to trace, compile and run once, each time from nothing."""

    def first(name: str) -> float:
        jax.clear_caches()
        return cpu_seconds(
            jax.jit(transform(functions(case, model)[name])), (case.values, case.data), 1
        )

    return rounds({name: partial(first, name) for name in PEERS}, FRESH_STARTS)


def rounds(measures: dict[str, Callable[[], float]], count: int) -> Times:
    """Every measure once in each round, in turning order."""
    found: Times = {name: [] for name in measures}
    for turn in range(count):
        for name in (*PEERS[turn % 3 :], *PEERS[: turn % 3]):
            found[name].append(measures[name]())
    return found


def cpu_seconds(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        jax.block_until_ready(function(*arguments))
    return (time.process_time() - start) / calls


def columns(times: Times, unit: float, digits: int) -> str:
    """The medians, and the ratios round by round, so that a slow moment of the machine slows
    both.
    """
    text = "".join(f"{statistics.median(times[name]) / unit:>9.{digits}f}" for name in PEERS)
    for peer in PEERS[1:]:
        ratios = [a / b for a, b in zip(times["dpc"], times[peer], strict=True)]
        text += f"{statistics.median(ratios):>9.2f}"
    return text


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    calls = f"{'microseconds a call':>27}{'dpc / the other':>18}"
    answers = f"{'first answer, ms':>27}{'dpc / the other':>18}"
    print(f"{'':<27}{calls}{answers}")
    print(f"{'':<27}" + 2 * "".join(f"{name:>9}" for name in (*PEERS, *PEERS[1:])))
    for case in (
        eight_schools(),
        logistic(),
        hmm(),
        radon(),
        network(learned=False),
        network(learned=True),
    ):
        start = time.process_time()
        model = case.load()
        assert model.program
        print(
            f"{case.name} (reading and lowering it took {(time.process_time() - start) * 1e3:.0f} "
            "ms)"
        )
        verify_agreement(case, model)
        for kind, transform in KINDS.items() if case.values else [("density", KINDS["density"])]:
            found = steady(case, model, transform), first_answers(case, model, transform)
            print(
                f"  {kind:<25}{columns(found[0], 1e-6, 1)}{columns(found[1], 1e-3, 0)}", flush=True
            )


if __name__ == "__main__":
    main()

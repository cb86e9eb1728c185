"""Gradients of three expectations (`gradient_toys.py`), ours against a surrogate by hand and other
libraries.

Every contestant estimates value and gradient from N samples of the whole program. Before it is
timed, the mean of its estimates must be the exact answer within sampling error. Those on JAX take
turns, and after them those on torch, which would empty the caches of the others. Libraries that are
not installed are said to be missing; one that needs another JAX runs in an environment of its own,
with or without dpc, where `by hand` is the common measure.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from gradient_peers import PEERS, Estimate, Peer
from gradient_toys import TOYS, Toy

SIZES = (16, 128, 1024)
ROUNDS, ROUND_SECONDS = 40, 0.01
ESTIMATES, LIMIT = 200, 5.0
COMMON = "by hand"


def installed() -> tuple[list[Peer], list[str]]:
    """Those that can be imported, and the names of the others."""
    found, missing = [], []
    for name, make in PEERS.items():
        try:
            found.append(make())
        except (ImportError, AttributeError):
            missing.append(name)
    return found, missing


def verify_unbiased(peer: Peer, toy: Toy, n: int) -> None:
    """Value and gradient are right to five standard errors of their mean: a false alarm in a
    million.
    """
    value, gradient = jax.value_and_grad(toy.exact)(toy.params)
    exact = flat(value, gradient)
    estimate = peer.make(toy, n)
    found = np.array([flat(*estimate(seed)) for seed in range(ESTIMATES)])
    error = found.std(0, ddof=1) / ESTIMATES**0.5
    worst = np.max(np.abs(found.mean(0) - exact) / error)
    if worst > LIMIT:
        raise AssertionError(f"{peer.name} is {worst:.1f} standard errors off on {toy.name}")


def flat(value: Any, gradient: dict[str, Any]) -> np.ndarray:
    return np.concatenate(
        [np.ravel(value), *(np.ravel(gradient[name]) for name in sorted(gradient))]
    )


def measure(estimates: dict[str, Estimate]) -> dict[str, list[float]]:
    """CPU seconds an estimate in every round; contestants take turns in turning order, each
    warm.
    """
    calls = {
        name: 1 + int(ROUND_SECONDS / cpu_seconds(estimate, 3))
        for name, estimate in estimates.items()
    }
    found: dict[str, list[float]] = {name: [] for name in estimates}
    names = list(estimates)
    for turn in range(ROUNDS):
        for name in (*names[turn % len(names) :], *names[: turn % len(names)]):
            estimates[name](0)
            found[name].append(cpu_seconds(estimates[name], calls[name]))
    return found


def cpu_seconds(estimate: Estimate, calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        estimate(0)
    return (time.process_time() - start) / calls


def ratio(times: dict[str, list[float]], name: str, other: str) -> float:
    """Of the least times: whatever else runs on the machine only adds to them."""
    return min(times[name]) / min(times[other])


def print_toy(toy: Toy, peers: Sequence[Peer]) -> None:
    print(f"\n{toy.name}\n{'microseconds':>14}" + "".join(f"{peer.name:>13}" for peer in peers))
    right = [peer for peer in peers if is_right(peer, toy)]
    for n in SIZES:
        times: dict[str, list[float]] = {}
        for group in (
            [peer for peer in right if not peer.torch],
            [peer for peer in right if peer.torch],
        ):
            times |= measure({peer.name: peer.make(toy, n) for peer in group}) if group else {}
        print(f"{f'N = {n}':>14}" + "".join(f"{_cell(times, peer, 1e-6):>13}" for peer in peers))
        ours = "dpc" if "dpc" in times else COMMON
        ratios = [
            f"{ratio(times, peer.name, ours):.2f}" if peer.name in times else "" for peer in peers
        ]
        print(f"{f'/ {ours}':>14}" + "".join(f"{cell:>13}" for cell in ratios), flush=True)


def _cell(times: dict[str, list[float]], peer: Peer, unit: float) -> str:
    return f"{min(times[peer.name]) / unit:.0f}" if peer.name in times else "wrong"


def is_right(peer: Peer, toy: Toy) -> bool:
    """Ours must be; a peer that is not is shown as wrong and not timed."""
    try:
        verify_unbiased(peer, toy, SIZES[1])
    except AssertionError as error:
        if peer.name in ("dpc", COMMON):
            raise
        print(f"  {error}")
        return False
    return True


def stay_on_one_core() -> None:
    """Waiting for a second one, where others are at work, would be most of what is measured."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main() -> None:
    stay_on_one_core()
    jax.config.update("jax_enable_x64", True)
    peers, missing = installed()
    print("estimators: " + ", ".join(f"{peer.name} {peer.estimator}" for peer in peers))
    if missing:
        print("not installed, or not for this JAX: " + ", ".join(missing))
    for toy in TOYS:
        print_toy(toy, peers)


if __name__ == "__main__":
    main()

"""A hunt for what a kill loses: fits and posteriors that are killed at random instants.

    python bench/hunt_kills.py --kills 100 --seed 0

Every run is killed a few times (kill -9, at an instant drawn evenly over the time that the whole
run takes), continued each time, and must end with what an unbroken run printed, to the last digit.
Between kills a second process is started on the same folder, which must be refused.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
KILLS_OF_A_RUN = 4
FIT = "param t : real = 3\nx ~ Normal(t, 1)\nminimize (x - 1)^2\n"


def commands(folder: Path) -> dict[str, list[str]]:
    """What is run: an objective by stochastic steps, a posterior by NUTS."""
    model = folder / "fit.dp"
    model.write_text(FIT)
    prior = folder / "prior.dp"
    prior.write_text("mu ~ Normal(0, 5)\ntau ~ HalfNormal(2)\nx ~ Normal(mu, tau)\n")
    return {
        "fit": ["fit", str(model), "--steps", "4000", "--samples", "8", "--json"],
        "posterior": [
            *("posterior", str(prior), "--draws", "600", "--warmup", "300", "--chains", "2"),
            "--json",
        ],
    }


def start(arguments: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dpc", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )


def is_kept(folder: Path) -> bool:
    return (folder / "checkpoint.npz").exists()


def with_checkpoint(arguments: list[str], folder: Path) -> list[str]:
    more = ["--resume"] if is_kept(folder) else []
    return [*arguments, "--checkpoint", str(folder), *more]


def answer(text: str) -> object:
    """What was found; how long it took is no part of it."""
    found = json.loads(text)
    return (
        {k: v for k, v in found.items() if "second" not in k} if isinstance(found, dict) else found
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance, counts = random.Random(options.seed), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name)
        wanted: dict[str, tuple[object, float]] = {}
        for kind, arguments in commands(whole).items():
            began = time.perf_counter()
            out, said = start(arguments).communicate()
            if not out:
                raise SystemExit(f"{kind} printed nothing: {said}")
            wanted[kind] = answer(out), time.perf_counter() - began
        number = 0
        while counts["kills"] < options.kills:
            number += 1
            for kind, arguments in commands(whole).items():
                unbroken, seconds = wanted[kind]
                folder = whole / f"{kind}{number}"
                for _ in range(KILLS_OF_A_RUN):
                    process = start(with_checkpoint(arguments, folder))
                    time.sleep(chance.random() * seconds)
                    if is_kept(folder) and process.poll() is None and chance.random() < 0.25:
                        second = start([*arguments, "--checkpoint", str(folder), "--resume"])
                        second.communicate()
                        refused = second.returncode == 2 or process.poll() is not None
                        counts["second processes refused" if refused else "WRONG: shared"] += 1
                    process.kill()
                    process.communicate()
                    counts["kills"] += 1
                out, said = start(with_checkpoint(arguments, folder)).communicate()
                same = bool(out) and answer(out) == unbroken
                counts[f"{kind}: same" if same else f"WRONG: {kind}"] += 1
                if not same:
                    print(f"--- {kind} {number}: {said[-500:]}\n{out[:500]}", flush=True)
            print(dict(counts), flush=True)


if __name__ == "__main__":
    main()

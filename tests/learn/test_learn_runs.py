"""Fits that are killed and continued, and fits on several devices and in several processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from killing import kill_when

from dpc.cli import main

Capture = pytest.CaptureFixture[str]


MIXTURE = """
dim N
dim K = 2
observed x[N] : real
param w[K]    : simplex
param mu[K]   : real
param s[K]    : real(lower=0) = 1
z[i in N] ~ Categorical(w)
x[i in N] ~ Normal(mu[z[i]], s[z[i]])
"""


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder, rng = tmp_path_factory.mktemp("runs"), np.random.default_rng(2)
    (folder / "mixture.dp").write_text(MIXTURE)
    x = rng.normal(size=500) * rng.choice([1, 3], 500)
    (folder / "mixture.csv").write_text("\n".join(["x", *map(str, x.tolist())]) + "\n")
    return [
        str(folder / "mixture.dp"),
        "--data",
        str(folder / "mixture.csv"),
        "--method",
        "em",
        "--tolerance",
        "1e-14",
    ]


def say(capsys: Capture, *words: Any, code: int = 0) -> str:
    assert main([str(word) for word in words]) == code
    return capsys.readouterr().out


def test_a_killed_fit_continues_bit_for_bit(
    mixture: list[str], tmp_path: Path, capsys: Capture
) -> None:
    """kill -9 when the first checkpoint is there."""
    kept = tmp_path / "kept"
    words = ["fit", *mixture, "--steps", "150", "--json"]
    kill_when((kept / "checkpoint.npz").exists, ["-m", "dpc", *words, "--checkpoint", str(kept)])
    unbroken = json.loads(say(capsys, *words, code=4))
    assert json.loads(say(capsys, *words, "--checkpoint", kept, "--resume", code=4)) == unbroken


@pytest.mark.slow
def test_a_fit_continues_in_its_second_stage(
    mixture: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten steps of EM, then L-BFGS: stopped there after twelve steps, and continued up to
    sixteen.
    """
    monkeypatch.setattr("dpc.learn.fit.EM_STEPS", 10)
    words = "fit", *mixture, "--json", "--steps"
    unbroken = json.loads(say(capsys, *words, "16", code=4))
    kept = "--checkpoint", tmp_path / "kept"
    say(capsys, *words, "12", *kept, code=4)
    with np.load(tmp_path / "kept" / "checkpoint.npz") as arrays:
        assert int(arrays["leaf 0"]) == 1
    assert json.loads(say(capsys, *words, "16", *kept, "--resume", code=4)) == unbroken
    assert main([str(word) for word in (*words, "16", "--seed", "2", *kept, "--resume")]) == 2
    assert "is of another run" in capsys.readouterr().err


# ---- devices

SPREAD = """
import json, sys
import jax, numpy as np
jax.config.update("jax_enable_x64", True)
if len(sys.argv) > 1:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(sys.argv[1], num_processes=2, process_id=int(sys.argv[2]))
import dpc
from dpc.inference.optimise.sharded import all_devices
text = "data x : real\\nparam a : real = 0\\nparam b : real = 0\\ny ~ Bernoulli(logits=a + b * x)\\n"
rng = np.random.default_rng(0)
x = rng.normal(size=41)
rows = {"x": x, "y": rng.random(41) < 1 / (1 + np.exp(-x))}
mesh = all_devices() if jax.device_count() > 1 else None
fit = dpc.parse(text).fit(rows, mesh=mesh, method='lbfgs', errors=False)
print(json.dumps({"devices": jax.device_count(), **fit.to_dict()}))
"""


def spread(devices: int, *arguments: str) -> subprocess.Popen[str]:
    flags = f"--xla_force_host_platform_device_count={devices}"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", SPREAD, *arguments]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def answer_of(process: subprocess.Popen[str]) -> Any:
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def verify_same_fit(found: Any, one: Any, devices: int) -> None:
    assert (found["devices"], one["devices"]) == (devices, 1)
    assert found["params"] == pytest.approx(one["params"], rel=1e-9)
    assert found["log_likelihood"] == pytest.approx(one["log_likelihood"], rel=1e-12)


@pytest.mark.slow
def test_four_devices_fit_what_one_does() -> None:
    """41 cases are cut into four parts of 11, three of weight zero among them."""
    processes = [spread(devices) for devices in (4, 1)]
    found, one = map(answer_of, processes)
    verify_same_fit(found, one, 4)


@pytest.mark.slow
def test_two_processes_fit_what_one_does() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    processes = [*(spread(2, address, str(number)) for number in range(2)), spread(1)]
    *found, one = map(answer_of, processes)
    for each in found:
        verify_same_fit(each, one, 4)

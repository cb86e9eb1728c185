"""Rows over devices: the same fit as on one, in processes of their own, since devices are made when
JAX starts.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from dpc.inference.errors import InferenceError
from dpc.inference.optimise.lbfgs import Lbfgs
from dpc.inference.optimise.method import minimise
from dpc.inference.optimise.sharded import shard_rows

HERE = Path(__file__).parent
ROWS = 101
sys.path.insert(0, str(HERE))
from sharded_fit import data_of, field_losses, loss, start_of, states_of  # noqa: E402


@pytest.fixture(autouse=True)
def _x64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def run(devices: int, *arguments: str) -> subprocess.Popen[str]:
    flags = f"--xla_force_host_platform_device_count={devices}"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, str(HERE / "sharded_fit.py"), str(ROWS), *arguments]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def answer_of(process: subprocess.Popen[str]) -> Any:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def on_one_device() -> np.ndarray:
    x, y = data_of(ROWS)
    found = minimise(Lbfgs(loss, ((x, y), np.ones(ROWS))), start_of(), 100)
    assert found.converged
    return np.asarray(found.raw)


def test_four_devices_fit_what_one_does() -> None:
    """101 rows are cut into four parts of 26, three rows of weight zero among them."""
    found = answer_of(run(4))
    assert found["devices"] == 4
    assert found["rows_of_each"] == [26] * 4
    np.testing.assert_allclose(found["raw"], on_one_device(), rtol=1e-9)
    np.testing.assert_allclose(
        found["field"], jax.jit(field_losses)(states_of(ROWS), np.ones(ROWS)), rtol=1e-12
    )


@pytest.mark.slow
def test_two_processes_fit_what_one_does() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    processes = [run(2, address, str(number)) for number in range(2)]
    answers = [answer_of(process) for process in processes]
    for found in answers:
        assert found["devices"] == 4
        assert found["rows_of_each"] == [26] * 2
        np.testing.assert_allclose(found["raw"], on_one_device(), rtol=1e-9)
    assert answers[0]["raw"] == answers[1]["raw"]
    assert answers[0]["field"] == answers[1]["field"]


def test_what_cannot_be_cut_is_named() -> None:
    with pytest.raises(InferenceError, match="all of one length"):
        shard_rows({"x": np.zeros((3, 2)), "y": np.zeros(4)})
    with pytest.raises(InferenceError, match="the data has 3 rows"):
        shard_rows(np.zeros((3, 2)), np.ones(2))
    with pytest.raises(InferenceError, match="no rows"):
        shard_rows(np.zeros((0, 2)))

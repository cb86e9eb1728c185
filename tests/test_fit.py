"""dpc fit: optima that are known otherwise, runs that continue bit for bit, and kind words for what
cannot be done.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from killing import kill_when
from scipy import optimize, special

import dpc
from dpc.cli import main
from dpc.exits import UsageError
from dpc.gradient.optimise import has_converged, is_over, progress, smoothed
from dpc.inference.optimise.stochastic import CHUNK, LEAST_STEPS
from dpc.learn.objective import ObjectiveFit

LOOSE_JAX = "NumPyro promotes types and ranks"

MODELS = Path(__file__).parent.parent / "models"
GATE = str(MODELS / "gate.dp")
BOWL = """
dim Axis = x | y
param p[Axis] : real = 1
param scale : real(lower=0) = 3
minimize (p[x] - 2)^2 + (p[y] + 1)^2 + (scale - 0.5)^2
"""


@pytest.fixture
def bowl(tmp_path: Path) -> str:
    path = tmp_path / "bowl.dp"
    path.write_text(BOWL)
    return str(path)


def fit(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    assert main(["fit", *words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


# ---- optima


def gate_loss(theta: float) -> float:
    p = float(special.expit(theta))
    return 1 + p * (theta - 0.499) ** 2 + (1 - p) * 0.499**2


def test_a_sampled_objective_reaches_its_exact_minimum(capsys: pytest.CaptureFixture[str]) -> None:
    """The loss at the parameters found, known exactly, is within 0.002 of the least; it starts
    0.036 above it.
    """
    found = fit(capsys, GATE, "--seed", "1", "--rate", "0.005", "--samples", "8")
    least = optimize.minimize_scalar(gate_loss, bounds=(-2, 2)).fun
    assert gate_loss(0.3) - least > 0.03
    assert gate_loss(found["params"]["theta"]) - least < 0.002
    assert found["converged"]
    assert abs(found["value"] - least) < 4.5 * found["standard_error"] + 0.002


def test_a_certain_objective_in_a_constrained_space(
    bowl: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = fit(capsys, bowl, "--rate", "0.1", "--optimizer", "sgd")
    np.testing.assert_allclose(found["params"]["p"], [2, -1], atol=1e-5)
    assert found["params"]["scale"] == pytest.approx(0.5, abs=1e-3)
    assert found["value"] == pytest.approx(0, abs=1e-5)


def test_maximize_goes_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hill.dp"
    path.write_text("param x : real = 0\nmaximize 5 - (x - 1)^2\n")
    found = fit(capsys, str(path), "--rate", "0.05")
    assert found["params"]["x"] == pytest.approx(1, abs=1e-3)
    assert found["value"] == pytest.approx(5, abs=1e-5)


# ---- when to stop


def stopped_at(losses: np.ndarray) -> int | None:
    return next(
        (end for end in range(CHUNK, len(losses) + 1, CHUNK) if has_converged(losses[:end])),
        None,
    )


def test_a_run_stops_when_its_fall_is_lost_in_its_noise() -> None:
    """Noise alone is taken for a fall at one check in twenty, and is checked twenty times here."""
    steps = np.arange(2 * LEAST_STEPS)
    noise = np.random.default_rng(0).normal(size=len(steps))
    assert stopped_at(noise) is not None
    assert stopped_at(noise - 0.01 * steps) is None
    assert stopped_at(noise + 0.01 * steps) is None
    assert stopped_at(np.exp(-steps / 40.0)) == LEAST_STEPS + CHUNK
    assert stopped_at(np.exp(-steps / 800.0)) is None
    assert stopped_at(np.zeros(LEAST_STEPS - 1)) is None


def test_progress_is_the_difference_of_the_last_two_quarters() -> None:
    found = progress(np.array([9.0, 9, 9, 9, 5, 7, 1, 3]))
    assert found.fall == 4
    assert found.error == pytest.approx(np.sqrt(2 / 2 + 2 / 2))


def test_smoothing_is_the_mean_of_a_window() -> None:
    losses = np.random.default_rng(0).normal(size=3 * CHUNK)
    expected = [losses[max(0, k + 1 - CHUNK) : k + 1].mean() for k in range(len(losses))]
    np.testing.assert_allclose(smoothed(losses), expected)


def test_too_few_steps_are_told(bowl: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", bowl, "--steps", "60"]) == 4
    printed = capsys.readouterr()
    assert "p[x]" in printed.out
    assert "p[y]" in printed.out
    assert "stopped after 60 steps" in printed.err


def test_a_loss_that_is_not_finite_is_told(bowl: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", bowl, "--rate", "1e9", "--optimizer", "sgd"]) == 4
    assert "was not finite at step" in capsys.readouterr().err


# ---- runs that are stopped


def test_a_killed_run_continues_bit_for_bit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kill -9 in the middle; what comes out after --resume is what an unbroken run gives."""
    coin, kept = tmp_path / "coin.dp", tmp_path / "kept"
    coin.write_text(
        "param t : real = 0\nb ~ Bernoulli(logistic(t))  with grad=rloo(samples=5000)\nminimize "
        "(b - 0.3)^2\n"
    )
    words = ["fit", str(coin), "--seed", "3", "--steps", "500"]
    kill_when((kept / "checkpoint.npz").exists, ["-m", "dpc", *words, "--checkpoint", str(kept)])
    with np.load(kept / "checkpoint.npz") as arrays:
        assert 0 < arrays["leaf 0"] < 500
    resumed, unbroken = tmp_path / "resumed.json", tmp_path / "unbroken.json"
    assert main([*words, "--checkpoint", str(kept), "--resume", "-o", str(resumed)]) == 4
    assert main([*words, "-o", str(unbroken)]) == 4
    assert resumed.read_text() == unbroken.read_text()


def test_a_finished_run_goes_on_with_more_steps(
    bowl: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ("--checkpoint", str(tmp_path / "kept"))
    fit(capsys, bowl, *kept, "--steps", "70", code=4)
    further = fit(capsys, bowl, *kept, "--resume", "--steps", "130", code=4)
    assert further == fit(capsys, bowl, "--steps", "130", code=4)


def test_a_checkpoint_belongs_to_its_run(
    bowl: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ("--checkpoint", str(tmp_path / "kept"))
    assert refusal(capsys, "fit", bowl, *kept, "--resume").startswith(
        "dpc: there is no checkpoint in"
    )
    fit(capsys, bowl, *kept, "--steps", "50", code=4)
    assert "is there already: --resume continues it" in refusal(capsys, "fit", bowl, *kept)
    assert "is of another run" in refusal(capsys, "fit", bowl, *kept, "--resume", "--rate", "0.5")
    assert "is of another run" in refusal(
        capsys, "fit", bowl, *kept, "--resume", "--set", "scale=2"
    )
    (tmp_path / "kept" / "checkpoint.npz").write_bytes(b"nothing")
    assert "is no checkpoint of dpc" in refusal(capsys, "fit", bowl, *kept, "--resume")


# ---- what is written, and what is refused


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def test_the_curve_and_the_result(
    bowl: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    curve, out = tmp_path / "curve.svg", tmp_path / "fit.json"
    found = fit(capsys, bowl, "--steps", "60", "--plot", str(curve), "-o", str(out), code=4)
    written = json.loads(out.read_text())
    assert len(written["losses"]) == 60
    assert {name: written[name] for name in found} == found
    assert written["losses"][0] == 1 + 4 + 2.5**2
    assert "<title>mean of 50</title>" in curve.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--steps", "0"], "--steps takes a number from 1 up"),
        (["--rate", "0"], "--rate takes a positive number"),
        (["--samples", "0"], "--samples takes a whole number from 1 up"),
        (["--resume"], "--resume needs the --checkpoint"),
        (["--plot", "out.gif"], "--plot writes .svg or .png, not out.gif"),
    ],
)
def test_usage(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refusal(capsys, "fit", GATE, *words)


def test_a_file_without_an_objective(capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, "fit", str(MODELS / "cancer.dp"))
    assert "has no objective (add `minimize` or `maximize`), and there are no --data to fit" in said


def test_a_run_goes_on_while_noise_could_hide_a_fall() -> None:
    """The noise of a quarter of 1,000 steps is 0.06 here, and the loss falls by 0.05 in it."""
    steps = np.arange(3000)
    noise = np.random.default_rng(0).normal(size=len(steps))
    falling = noise - 1e-4 * steps
    assert has_converged(falling[:1100])
    assert not any(is_over(falling[:end]) for end in range(CHUNK, len(steps) + 1, CHUNK))
    assert is_over(np.exp(-steps / 40.0))


def test_the_value_is_that_of_the_parameters() -> None:
    """E[(z - 1)^2] = (t - 1)^2 + 1 for a normal z: far from the mean of the losses on the way."""
    model = dpc.parse("param t : real = 9\nz ~ Normal(t, 1)\nminimize (z - 1)^2")
    found = model.fit(steps=100, rate=0.05)
    assert isinstance(found, ObjectiveFit)
    truth = (found.params["t"] - 1) ** 2 + 1
    assert abs(found.value - truth) < 5 * found.error


def test_parameters_without_values_are_named() -> None:
    model = dpc.parse("param t : real\nx ~ Normal(t, 1)")
    for ask in (lambda: model.loss({}, {"x": [1.0]}), lambda: model.log_prob({}, {"x": 1.0})):
        with pytest.raises(UsageError, match="no value for the parameter `t`"):
            ask()

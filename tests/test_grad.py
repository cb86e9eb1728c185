"""dpc grad: gradients that are known otherwise, estimators side by side, and kind words for what
cannot be done.
"""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from scipy import special

from dpc.cli import main

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "each program runs once, and compiling takes most of the time"

MODELS = Path(__file__).parent.parent / "models"
GATE = str(MODELS / "gate.dp")
CHOICES = """
dim Item = 3
dim Colour = red | green
param w[Item, Colour] : real = [[0.1, 0.2], [0.3, -0.4], [1, 0]]
z[i in Item] ~ Categorical(softargmax(w[i]))
minimize sum[i in Item] (if z[i] == red then 1 else 3)
"""
COIN = """
param t : real = 0.4
b ~ Bernoulli(logistic(t))
minimize (b - 0.45)^2
"""


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def written(text: str) -> str:
        path = tmp_path / "model.dp"
        path.write_text(text)
        return str(path)

    return written


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["grad", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["grad", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def gate_loss(theta: Any) -> Any:
    p = special.expit(theta)
    return 1 + p * (theta - 0.499) ** 2 + (1 - p) * 0.499**2


def derivatives(f: Any, x: float, h: float = 1e-3) -> tuple[float, float]:
    """The first two, by central differences of order h^4."""
    lower, low, here, high, higher = (f(x + k * h) for k in (-2, -1, 0, 1, 2))
    first = (8 * (high - low) - (higher - lower)) / (12 * h)
    return first, (16 * (high + low) - (higher + lower) - 30 * here) / (12 * h * h)


# ---- gradients


def test_estimates_agree_with_the_exact_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """Each is within 4.5 standard errors, which chance breaks once in a hundred thousand."""
    found = ask(capsys, GATE, "--samples", "400", "--hessian")
    errors = found["standard_errors"]
    first, second = derivatives(gate_loss, 0.3)
    assert abs(found["value"] - gate_loss(0.3)) < 4.5 * errors["value"] < 0.1
    assert abs(found["gradient"]["theta"] - first) < 4.5 * errors["gradient"]["theta"] < 0.1
    assert (
        abs(found["hessian"]["theta"]["theta"] - second)
        < 4.5 * errors["hessian"]["theta"]["theta"]
        < 0.1
    )
    assert found["estimates"] == 400
    assert not found["exact"]
    assert [(e["draw"], e["estimator"]) for e in found["estimators"]] == [
        ("b", "rloo(samples=16)"),
        ("z", "pathwise"),
    ]


def test_finite_draws_are_summed(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, write(CHOICES))
    p = special.softmax([[0.1, 0.2], [0.3, -0.4], [1, 0]], -1)
    cost = np.array([1.0, 3.0])
    expected = p * (cost - (p * cost).sum(-1, keepdims=True))
    np.testing.assert_allclose(found["gradient"]["w"], expected, atol=1e-12)
    assert found["value"] == pytest.approx((p * cost).sum())
    assert found["exact"]
    assert "standard_errors" not in found


def test_labels_name_the_entries(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grad", write(CHOICES)]) == 0
    printed = capsys.readouterr().out
    assert "d/d w[0, red]" in printed
    assert "d/d w[2, green]" in printed
    assert "exact: every draw is summed" in printed


def test_what_is_certain_is_derived_exactly(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, str(MODELS / "root.dp"), "--hessian", "--set", "tol=0.02")
    near = {
        tol: ask(capsys, str(MODELS / "root.dp"), "--set", f"tol={tol}") for tol in (0.0199, 0.0201)
    }
    slope = (near[0.0201]["gradient"]["tol"] - near[0.0199]["gradient"]["tol"]) / 0.0002
    assert found["value"] == pytest.approx(0.00104854, rel=1e-5)
    assert found["hessian"]["tol"]["tol"] == pytest.approx(slope, rel=1e-4)
    assert found["exact"]


def test_estimator_is_an_annotation(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The variance of a score with one sample is sum_b p (f score)^2 less the squared gradient."""
    p = special.expit(0.4)
    weighed = np.array([(1 - p) * 0.55**2, -p * 0.45**2])
    mass = np.array([p, 1 - p])
    variance = mass @ weighed**2 - (mass @ weighed) ** 2
    fourth = mass @ (weighed - mass @ weighed) ** 4
    path = write(COIN)
    found = ask(capsys, path, "--estimator", "b=sfe", "--samples", "2000")
    assert found == ask(capsys, path, "--set", "b.grad=sfe", "--samples", "2000")
    spread = 5 * np.sqrt((fourth - variance**2) / 2000)
    assert abs(found["standard_errors"]["gradient"]["t"] ** 2 * 2000 - variance) < spread
    assert found["estimators"][0]["estimator"] == "sfe"


EDGE = "param r : real(lower=0) = 2\nz ~ Exponential(r)\nminimize z^2\n"
STEP = "param m : real = 0.3\nz ~ Normal(m, 1)\nminimize (if z > 0.1 then 1 else 0)\n"


# ---- comparisons


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str]:
    """Some methods of both draws of gate, as JSON and as a picture."""
    folder = tmp_path_factory.mktemp("compared")
    out, picture = folder / "out.json", folder / "out.svg"
    words = ["--compare", "rloo,pathwise,gumbel_softmax(samples=16)", "--samples", "512"]
    with jax.enable_x64(True), out.open("w") as stream, redirect_stdout(stream):
        assert main(["grad", GATE, *words, "--plot", str(picture), "--json"]) == 0
    return json.loads(out.read_text()), picture.read_text()


def test_bias_is_against_the_exact_gradient(compared: tuple[Any, str]) -> None:
    """With 512 estimates the length of a gap of one entry is above 4.5 times what is expected once
    in 100,000.
    """
    found, _ = compared
    assert found["reference"]["gradient"]["theta"] == pytest.approx(
        derivatives(gate_loss, 0.3)[0], abs=1e-8
    )
    assert found["reference"]["standard_errors"]["theta"] == 0
    for row in found["compared"]:
        assert row["bias"] == pytest.approx(
            abs(row["gradient"]["theta"] - found["reference"]["gradient"]["theta"])
        )
        assert row["bias_by_chance"] == pytest.approx((row["variance"] / 512) ** 0.5)
        assert row["declared_bias"] or row["bias"] < 4.5 * row["bias_by_chance"]


def test_methods_for_each_draw(compared: tuple[Any, str]) -> None:
    """Methods take over the samples of the draw; those that are not for its law are refused with
    the reason.
    """
    found, _ = compared
    assert [(row["draw"], row["method"]) for row in found["compared"]] == [
        ("b", "rloo(samples=16)"),
        ("b", "gumbel_softmax(samples=16)"),
        ("z", "rloo"),
        ("z", "pathwise"),
    ]
    assert [row["method"] for row in found["compared"] if row["declared_bias"]] == [
        "gumbel_softmax(samples=16)"
    ]
    assert {(row["draw"], row["method"]) for row in found["refused"]} == {
        ("b", "pathwise(samples=16)"),
        ("z", "gumbel_softmax(samples=16)"),
    }
    assert all(row["reason"] for row in found["refused"])


def test_the_plot_has_a_row_for_each(compared: tuple[Any, str]) -> None:
    found, picture = compared
    for row in found["compared"]:
        assert f">{row['draw']}: {row['method']}<" in picture


def test_many_runs_where_there_is_no_grid(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """d E[z^2] / d rate = -4 / rate^3 for an Exponential."""
    found = ask(capsys, write(EDGE), "--compare", "pathwise,rloo", "--samples", "256")
    reference = found["reference"]
    assert reference["about"].startswith("differences of 16384 runs of the program")
    error = reference["standard_errors"]["r"]
    assert abs(reference["gradient"]["r"] + 4 / 2**3) < 4.5 * error < 0.2
    row = next(row for row in found["compared"] if row["method"] == "rloo")
    assert row["bias_by_chance"] == pytest.approx((row["variance"] / 256 + error**2) ** 0.5)


def test_a_table_for_people(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grad", write(COIN), "--compare", "enumerate,pathwise", "--samples", "4"]) == 0
    printed = capsys.readouterr()
    head, row, *rest = printed.out.splitlines()
    assert head.split()[:3] == ["draw", "method", "|bias|"]
    assert row.split()[:2] == ["b", "enumerate"]
    assert rest[-1] == "4 estimates each; bias is against differences of a sum over 2 points"
    assert (
        "not for `b`: pathwise, a draw of `Bernoulli` is not a differentiable function"
        in printed.err
    )


# ---- what is refused


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--samples", "1"], "--samples takes a number from 2 up"),
        (["--estimator", "b"], "--estimator takes DRAW=METHOD, not b"),
        (["--compare", "rlo"], "there is no method `rlo` to compare; did you mean `rloo`?"),
        (["--compare", "all", "--hessian"], "--compare is about gradients"),
        (["--plot", "out.svg"], "--plot draws a comparison"),
        (["--compare", "all", "--plot", "out.gif"], "--plot writes .svg or .png, not out.gif"),
    ],
)
def test_usage(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refusal(capsys, GATE, *words)


def test_files_that_have_no_gradient(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert "has no objective: add `minimize` or `maximize`" in refusal(
        capsys, str(MODELS / "cancer.dp")
    )
    assert "has no `param` to differentiate by" in refusal(
        capsys, write("z ~ Normal(0, 1)\nminimize z\n")
    )
    assert "nothing in the objective is random" in refusal(
        capsys, str(MODELS / "root.dp"), "--compare", "all"
    )
    assert "has no unbiased second derivatives" in refusal(
        capsys, write(COIN), "--set", "b.grad=gumbel_softmax", "--hessian"
    )


def test_a_method_that_is_not_for_its_draw_is_an_error_of_the_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["grad", GATE, "--estimator", "b=pathwise"]) == 1
    assert "not a differentiable function of its parameters" in capsys.readouterr().err


def test_a_step_blocks_the_path(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grad", write(STEP), "--estimator", "z=pathwise"]) == 1
    assert "would leave out what happens at a jump" in capsys.readouterr().err

"""dpc plan on models with an objective: the estimator of each draw, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpc.cli import main

MODELS = Path(__file__).parent.parent / "models"

CHOICE = """
param a : real = 0.3
b ~ Bernoulli(logits=a)
x ~ Normal(a, 1)
y ~ Normal(b + x, 1)
minimize (y - 1)^2 + (if x^3 + x > 1 then 1 else 0)
"""


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["plan", *arguments]) == 0
    return capsys.readouterr().out


def test_every_draw_has_an_estimator_and_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "choice.dp"
    path.write_text(CHOICE)
    rows = json.loads(planned(capsys, str(path), "--json"))["estimators"]
    assert [(row["draw"], row["method"]) for row in rows] == [
        ("b", "enumerate"),
        ("x", "rloo"),
        ("y", "pathwise"),
    ]
    assert "comparison" in rows[1]["reason"]
    shown = planned(capsys, str(path), "--set", "b.grad=disarm(samples=4)")
    assert "disarm(samples=4)" in shown
    assert "as the model says" in shown


def test_an_objective_without_draws_is_exact(capsys: pytest.CaptureFixture[str]) -> None:
    assert "exact" in planned(capsys, str(MODELS / "root.dp"))


def test_what_is_refused_is_said_at_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "jump.dp"
    path.write_text(CHOICE)
    assert main(["plan", str(path), "--set", "x.grad=pathwise"]) == 1
    assert "E0706" in capsys.readouterr().err

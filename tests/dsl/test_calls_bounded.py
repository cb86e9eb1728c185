"""Functions that call each other again and again are refused before anyone writes the calls out."""

from __future__ import annotations

import math

import pytest

import dpc
from dpc.dsl.limits import MAX_CALLS

ENDS = (
    "y := f{n}(1)",
    "param t : real = 1\nminimize f{n}(t)",
    "param t : real = 1\nz ~ Normal(t, 1)\nminimize f{n}(z)",
    "z ~ Bernoulli(0.5)\ny := f{n}(if z then 1 else 0)",
)
STEPS = ("f{k}(f{k}(x))", "f{k}(x) * f{k}(x + 1)", "if f{k}(x) > 0 then f{k}(-x) else x")
SHARED = ("f{k}(x) + f{k}(x)", "f{k}(x) * f{k}(x)", "sqrt(1 + f{k}(x)^2) + f{k}(x)")


def program(depth: int, step: str, end: str) -> str:
    lines = ["fn f0(x: real) -> real = sin(x)"]
    lines += [f"fn f{k + 1}(x: real) -> real = {step.replace('{k}', str(k))}" for k in range(depth)]
    return "\n".join([*lines, end.replace("{n}", str(depth))]) + "\n"


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("depth", [16, 60])
def test_doublings_are_refused(step: str, end: str, depth: int) -> None:
    with pytest.raises(dpc.DpError, match="E0007") as error:
        dpc.parse(program(depth, step, end))
    assert "with those that its calls make" in str(error.value)
    assert len(error.value.diagnostics) == 1


@pytest.mark.parametrize("step", SHARED)
@pytest.mark.parametrize("end", ENDS)
def test_calls_with_the_same_arguments_are_one(step: str, end: str) -> None:
    """2^40 of them in a second, and of 2^3 the value that they have when they are written out."""
    dpc.parse(program(40 if step in SHARED[:2] else 16, step, end))
    model = dpc.parse(program(3, step, "y := f{n}(1)"))
    value = math.sin(1)
    for _ in range(3):
        value = eval(
            step.replace("f{k}(x)", "x").replace("^", "**"), {"sqrt": math.sqrt, "x": value}
        )
    assert float(model.run()["y"]) == pytest.approx(value)


def test_doublings_are_answered_by_all_methods() -> None:
    model = dpc.parse(program(16, SHARED[0], ENDS[2]))
    slope = model.grad(samples=2000).to_dict()
    # The mean of 2^16 sin(z) is 2^16 exp(-1/2) sin(t).
    truth = 2**16 * math.exp(-0.5) * math.cos(1)
    error = slope["standard_errors"]["gradient"]["t"]
    assert slope["gradient"]["t"] == pytest.approx(truth, abs=4 * error)
    coin = "z ~ Bernoulli(0.5)\ny ~ Bernoulli(logistic(f{n}(if z then 1 else 0) / 65536))"
    asked = dpc.parse(program(16, SHARED[0], coin)).query(ask="y").to_frame()
    found = float(asked[asked["state"] == "true"]["probability"].iloc[0])
    expected = (0.5 + 1 / (1 + math.exp(-math.sin(1)))) / 2
    assert found == pytest.approx(expected)


def test_a_long_chain_is_none() -> None:
    model = dpc.parse(program(MAX_CALLS // 20, "f{k}(x) + 1", "y := f{n}(0)"))
    assert model.run()["y"] == MAX_CALLS // 20

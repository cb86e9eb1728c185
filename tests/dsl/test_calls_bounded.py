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


def chained(count: int, end: str) -> str:
    lines = ["param t : real = 0.3", "z ~ Normal(t, 1)", "a0 = z"]
    lines += [f"a{k} = a{k - 1} * 0.9 + {k}" for k in range(1, count)]
    return "\n".join([*lines, end.replace("{n}", str(count - 1))]) + "\n"


def nested(count: int, end: str) -> str:
    lines = ["param t : real = 0.3", "z ~ Normal(t, 1)", "fn f0(x: real) -> real = x"]
    lines += [f"fn f{k}(x: real) -> real = f{k - 1}(x * 0.9) + {k}" for k in range(1, count)]
    return "\n".join([*lines, end.replace("{n}", str(count - 1))]) + "\n"


@pytest.mark.parametrize("hessian", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        chained(300, "minimize (if a{n} > t then 1 else 0)"),
        nested(100, "minimize (if f{n}(z) > t then 1 else 0)"),
    ],
)
def test_a_comparison_of_what_is_too_long_to_write_out_is_refused(text: str, hessian: bool) -> None:
    with pytest.raises(dpc.DpError, match="E0706"):
        dpc.parse(text).grad(hessian=hessian)


def test_a_short_chain_is_written_out() -> None:
    """a2 = 0.81 z + 2.9, with z ~ N(t, 1), compared with t + 3: a normal density at the cut."""
    model = dpc.parse(chained(3, "minimize (if a{n} > t + 3 then 1 else 0)"))
    found = model.grad(samples=10).to_dict()["gradient"]["t"]
    cut = (0.3 + 3 - 2.9) / 0.81
    density = math.exp(-((cut - 0.3) ** 2) / 2) / math.sqrt(2 * math.pi)
    assert found == pytest.approx(density * (1 - 1 / 0.81), rel=1e-5)


def test_calls_that_are_too_deep_are_refused() -> None:
    with pytest.raises(dpc.DpError, match="101 deep") as error:
        dpc.parse(nested(400, "y := f{n}(1)"))
    assert [d.code for d in error.value.diagnostics] == ["E0007"]

"""Functions that call each other again and again are refused before anyone writes the calls out."""

from __future__ import annotations

import pytest

import dpc
from dpc.dsl.limits import MAX_CALLS

ENDS = (
    "y := f{n}(1)",
    "param t : real = 1\nminimize f{n}(t)",
    "param t : real = 1\nz ~ Normal(t, 1)\nminimize f{n}(z)",
    "z ~ Bernoulli(0.5)\ny := f{n}(if z then 1 else 0)",
)
STEPS = ("f{k}(x) + f{k}(x)", "f{k}(x) * f{k}(x + 1)", "if f{k}(x) > 0 then f{k}(-x) else x")


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


def test_a_long_chain_is_none() -> None:
    model = dpc.parse(program(MAX_CALLS // 20, "f{k}(x) + 1", "y := f{n}(0)"))
    assert model.run()["y"] == MAX_CALLS // 20

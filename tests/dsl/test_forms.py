"""Every form of expression, compiled in one program over all places at once, against the naive
twin.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from interpret import Interpreter

import dpc

HEAD = """
dim N
dim K = 3
dim B = no | yes
data a[N] : real
data b[N, K] : real
data link[N] : K
data flag[N] : bool
data mark[N] : B
data n : int
fn pick(x[K]: real, k: K) -> real = x[k]
fn powers(x: real) -> real[K] = [x, x^2, -x]
"""
FORMS = """
q := argmax[i in N[-2..]] a[i]
q := argmax[i in N[1..-1]] a[i]
q := argmin[i in N where flag[i]] a[i]
q[i in N] := argmax[k in K] b[i, k]
q := all[i in N] flag[i]
q := any[i in N[1..]] flag[i]
q[k in K] := sum[i in N where link[i] == k] a[i]
q := sum[i in N where flag[i]] 1
q := mean[i in N where flag[i]] a[i]
q := logsumexp[i in N where flag[i]] a[i]
q := [i in N[1..], k in K] b[i-1, k]
q[i in N] := a[-1] + a[0] + b[-1, link[i]]
q[i in N] := if flag[i] then b[i] else 2 * b[i]
q[i in N] := table mark[i], flag[i] { no, true => a[i]; yes, _ => 2; _, _ => 3 }
q[i in N] := table mark[i] { no => [1, 2, 3]; yes => [4, 5, 6] }
q[i in N] := (table mark[i] { no => [1, 2, 3]; yes => b[i] })[link[i]]
q[i in N] := pick(b[i], link[i])
q[i in N] := powers(a[i])[link[i]]
q[i in N] := loop s = a[i] while s < 3 max 10 do s + 1
q := loop s = [1.0, 2, 3] while sum(s) < 100 max 5 do 2 * s
q := n / 2 + 2^n - n^2
q[i in N] := i * a[i] + size(N)
q := [[1, 2], [3, -4]]
q := [a[0], -1, sum(a), n]
q[i in N] := one_hot(link[i])
q := sum[i in N] sum[k in K[1..]] b[i, k-1]
q[i in N, j in N] := a[i] - a[j]
q := sum[i in N, j in N where i != j] a[i] * a[j]
q[i in N] := sum[j in N] (if j < i then a[j] else 0)
q[i in N] := flag[i] and mark[i] == yes
q[i in N] := (if flag[i] then link[i] else link[0]) == 1
q := a[argmax(a)]
q := if n > 2 and not (n == 3) then 1 else if n < 0 or n >= 10 then 2 else 3
q := sum[i in N] flag[i]
""".strip().splitlines()


def arrays() -> dict[str, Any]:
    chance = np.random.default_rng(1)
    return {
        "N": 6,
        "a": chance.normal(size=6),
        "b": chance.normal(size=(6, 3)),
        "link": chance.integers(0, 3, 6),
        "flag": np.array([True, False, True, True, False, True]),
        "mark": chance.integers(0, 2, 6),
        "n": 3,
    }


def test_every_form_agrees_with_its_twin() -> None:
    model = dpc.parse(HEAD + "\n".join(f"q{k}{form[1:]}" for k, form in enumerate(FORMS)) + "\n")
    data = arrays()
    found, twin = model.evaluate({}, data), Interpreter(model.graph, data)
    for k, form in enumerate(FORMS):
        np.testing.assert_allclose(found[f"q{k}"], twin.value(f"q{k}"), rtol=1e-10, err_msg=form)


# ---- constants of the program


def test_large_tables_have_names_at_the_top() -> None:
    numbers = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, -32.0]
    program = dpc.parse(
        f"dim A = 9\ndim S = 4\ndata i : A\ndata j : S\nw := {numbers}[i]\nx := [1, 2, 3, 4][j]\n"
    ).program
    top = program.partition("def ")[0]
    assert "W_TABLE = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, -32.0]" in top
    assert "jnp.array(W_TABLE, float)" in program
    assert "jnp.array([1, 2, 3, 4])" in program


def test_the_same_table_has_one_name_and_other_tables_have_others() -> None:
    rows = "; ".join(f"{k} => {0.1 * (k + 1):.1f}, {0.9 - 0.1 * k:.1f}" for k in range(5))
    text = (
        "dim A = 5\ndim B = on | off\na ~ Categorical(ones(A) / 5)\nb : B ~ table a => on, "
        f"off {{ {rows} }}\n"
    )
    program = dpc.parse(text + "B_TABLE ~ Normal(0, 1)\n").program
    assert program.count("B_TABLE = [") == 1
    assert program.count("jnp.array(B_TABLE, float)") == 2  # in the density and in the sampler
    assert 'B_TABLE_ = values["B_TABLE"]' in program


def test_a_table_has_the_precision_of_the_caller() -> None:
    numbers = [0.1 * k for k in range(12)]
    model = dpc.parse(f"dim A = 12\ndata i : A\nw := {numbers}[i]\n")
    space: dict[str, Any] = {"__name__": "program"}
    with jax.enable_x64(False):
        exec(model.program, space)
        assert space["evaluate"]({}, {}, {"i": np.asarray(1)})["w"].dtype == np.float32
    found = space["evaluate"]({}, {}, {"i": np.asarray(3)})["w"]
    assert found.dtype == np.float64
    assert found == 0.1 * 3


def test_lines_of_the_program_are_short() -> None:
    numbers = [round(0.001 * k, 3) for k in range(200)]
    program = dpc.parse(f"dim A = 200\ndata i : A\nw := {numbers}[i]\n").program
    assert max(map(len, program.splitlines())) <= 120
    assert len(program.splitlines()) < 60

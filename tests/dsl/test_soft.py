"""Soft programs: the limits recover the hard program, values are expectations, derivatives are
right.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

import dpc
from dpc.dsl.pipeline import check_source
from dpc.dsl.source import Source

LOOSE_JAX = "NumPyro promotes types and ranks"


def values(
    body: str, kind: str = "logistic", scale: float = 0.1, extra: str = "", **data: Any
) -> Any:
    """The node `y` of a program with data a, b : real and v[N] : real, softened."""
    text = (
        "dim N = 4\ndata a : real = 0.3\ndata b : real = 0.1\ndata v[N] : real = [0.5, 2, -1, "
        "1.2]\n"
    )
    text += f"y := {body} with soft({kind}, scale={scale}{extra})\n"
    model = dpc.parse(text)
    return model.evaluate({}, model.bind(data or None) if data else model.bind())["y"]


HARD = {
    "if a > b then 2 else 3": 2.0,
    "if a < b then 2 else if a > 0.2 then 5 else 7": 5.0,
    "if a > b and not (a < 0) then 1 else 0": 1.0,
    "if a < b or b > 0 then 1 else 0": 1.0,
    "if any[i in N] v[i] > 1.5 then 1 else 0": 1.0,
    "if all[i in N] v[i] > 0 then 1 else 0": 0.0,
    "step(a) + sign(b - a)": 0.0,
    "sum[i in N] (loop s = v[i] while s < 1 max 9 do s + 0.5)": 5.7,
    "v[argmax(v)]": 2.0,
    "v[argmin[i in N] v[i]]": -1.0,
    "get(v, argmax(v))": 2.0,
    "sum(set(v, argmin(v), 5))": 8.7,
    "loop s = a while s < 1 max 9 do s + 0.4": 1.1,
    "lookup([[0.0], [1.0]], [3.0, 4.0], [0.9])": 4.0,
    "[[1, 2], [3, 4]][argmax([b, a]), 0] * a": 0.9,
    "sum(insert(v, argmin(v), 5))": 7.7,
    "if a == a and a != b then 4 else 1": 4.0,
    "branch_variance(if a > b then 2 else if a > 0.2 then 5 else 7)": 0.0,
    "branch_variance(v[argmax(v)])": 0.0,
}


@pytest.mark.parametrize("kind", ["logistic", "gaussian", "sparse"])
@pytest.mark.parametrize("body", HARD)
def test_a_small_scale_recovers_the_hard_program(body: str, kind: str) -> None:
    np.testing.assert_allclose(values(body, kind, 1e-3), HARD[body], atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "noise"),
    [("logistic", stats.logistic(scale=0.2)), ("gaussian", stats.norm(scale=0.2))],
    ids=["logistic", "gaussian"],
)
def test_a_soft_comparison_is_the_mean_of_the_hard_one_under_noise(kind: str, noise: Any) -> None:
    expected, _ = integrate.quad(
        lambda z: noise.pdf(z) * (0.3 + z > 0.1), -8, 8, points=[-0.2], limit=200
    )
    np.testing.assert_allclose(values("if a > b then 1 else 0", kind, 0.2), expected, atol=1e-8)


def test_equality_is_one_at_equality_and_falls_off() -> None:
    for kind in ("logistic", "gaussian", "sparse"):
        assert values("if a == a then 1 else 0", kind) == pytest.approx(1.0)
        assert values("if a == b then 1 else 0", kind, 0.5) < 1.0


@pytest.mark.parametrize(
    ("logic", "both", "either"),
    [("product", lambda p, q: p * q, lambda p, q: p + q - p * q), ("extremum", min, max),
     ("lukasiewicz", lambda p, q: max(p + q - 1, 0), lambda p, q: min(p + q, 1))],
)  # fmt: skip
def test_logic_by_t_norm(logic: str, both: Any, either: Any) -> None:
    p, q = 1 / (1 + np.exp(-3.0)), 1 / (1 + np.exp(-1.0))
    found = values("if a > 0 and b > 0 then 1 else 0", extra=f", logic={logic}")
    np.testing.assert_allclose(found, both(p, q), rtol=1e-12)
    found = values("if a > 0 or b > 0 then 1 else 0", extra=f", logic={logic}")
    np.testing.assert_allclose(found, either(p, q), rtol=1e-12)


def test_a_soft_loop_is_a_mixture_over_its_stopping_times() -> None:
    def go_on(state: float) -> float:
        return 1 / (1 + np.exp(-(1 - state) / 0.1))

    states = 0.3 + 0.4 * np.arange(4)
    reach = np.concatenate([[1.0], np.cumprod([go_on(s) for s in states[:-1]])])
    stop = np.array([*(1 - go_on(s) for s in states[:-1]), 1.0])
    assert np.sum(reach * stop) == pytest.approx(1.0)
    found = values("loop s = a while s < 1 max 3 do s + 0.4")
    np.testing.assert_allclose(found, np.sum(reach * stop * states), rtol=1e-12)


@pytest.mark.parametrize(
    "body",
    ["if a > b then a^2 else b", "v[argmax(v)] * a", "loop s = a while s < 1 max 5 do s * 1.5"],
)
def test_derivatives_are_those_of_differences(body: str) -> None:
    model = dpc.parse(
        f"dim N = 4\nparam a : real = 0.3\nparam b : real = 0.1\nparam v[N] : real = [0.5, 2, -1, 1.2]\n"
        f"y = {body} with soft(logistic, scale=0.3)\nminimize y + 0 * (a + b + sum(v))\n"
    )
    params = model.init()
    slope = model.gradient(params)
    step = jax.tree.map(
        lambda x: 1e-6 * jnp.cos(jnp.arange(x.size, dtype=float)).reshape(x.shape), params
    )
    up, down = (
        model.value(jax.tree.map(lambda x, d, s=sign: x + s * d, params, step)) for sign in (1, -1)
    )
    along = sum(jnp.sum(slope[name] * 2 * step[name]) for name in params)
    np.testing.assert_allclose(along, up - down, rtol=1e-6, atol=1e-13)


# ---- the variance over branches


def spread_of(weights: Any, branches: Any) -> Any:
    """sum w (v - mean)^2, the definition (CF16, CF20)."""
    w, v = np.asarray(weights), np.asarray(branches, float)
    mean = np.tensordot(w, v, axes=1)
    return np.tensordot(w, (v - mean) ** 2, axes=1)


def test_the_variance_over_the_branches_of_a_chain() -> None:
    p, q = 1 / (1 + np.exp(-2.0)), 1 / (1 + np.exp(-1.0))
    weights = [p, (1 - p) * q, (1 - p) * (1 - q)]
    found = values("branch_variance(if a > b then 2 * a else if a > 0.2 then 5 else -7)")
    np.testing.assert_allclose(found, spread_of(weights, [0.6, 5, -7]), rtol=1e-12)
    found = values("branch_variance(if a > b then [1.0, 2.0] else [0, a])")
    np.testing.assert_allclose(found, spread_of([p, 1 - p], [[1, 2], [0, 0.3]]), rtol=1e-12)


@pytest.mark.parametrize("kind", ["logistic", "sparse"])
def test_the_variance_over_a_selection(kind: str) -> None:
    v = np.array([0.5, 2, -1, 1.2])
    weights = special.softmax(v) if kind == "logistic" else [0, 0.9, 0, 0.1]
    found = values("branch_variance(v[argmax(v)])", kind, 1.0)
    np.testing.assert_allclose(found, spread_of(weights, v), rtol=1e-12)
    inside = values("branch_variance(if a > b then v[argmax(v)] else 3)", kind, 1.0)
    p = 1 / (1 + np.exp(-0.2)) if kind == "logistic" else 0.6
    np.testing.assert_allclose(
        inside, spread_of([*(p * np.array(weights)), 1 - p], [*v, 3]), rtol=1e-12
    )


def test_the_variance_in_a_plate_has_a_variance_for_every_place() -> None:
    model = dpc.parse(
        "dim N = 3\ndata v[N] : real = [0.5, 2, -1]\n"
        "y[i in N] := branch_variance(if v[i] > 0 then v[i] else if v[0] > 1 then 9 else 4) with soft(logistic)\n"
    )
    v = np.array([0.5, 2, -1])
    p, q = special.expit(v), special.expit(-0.5)
    expected = [
        spread_of([w, (1 - w) * q, (1 - w) * (1 - q)], [x, 9, 4]) for w, x in zip(p, v, strict=True)
    ]
    np.testing.assert_allclose(model.evaluate({}, model.bind())["y"], expected, rtol=1e-12)


def test_a_soft_index_may_stand_before_others() -> None:
    p = special.expit(2.0)
    found = values("[[1, 2], [3, 4]][argmax([a, b]), 1]")
    np.testing.assert_allclose(found, p * 2 + (1 - p) * 4, rtol=1e-12)


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("y = floor(x) with soft(logistic)", "`floor` has no soft meaning"),
        ("y = sum(sort([x, 1])) with soft(logistic)", "`sort` has no soft meaning"),
        ("b = x > 0\ny = if b then 1 else 0 with soft(logistic)", "`b` is computed elsewhere"),
        ("fn f(x: real) -> real = sign(x)\ny = f(x) with soft(logistic)", "inside `f`"),
    ],
)
def test_what_stays_hard_in_a_soft_statement_is_said(statement: str, word: str) -> None:
    checked = check_source(Source("m.dp", f"param x : real\n{statement}\nminimize y\n"))
    assert any(d.code == "W0701" and word in d.message for d in checked.diagnostics)


def test_equality_with_a_whole_number_is_soft_like_any_other() -> None:
    text = "param x : real = 0.3\ny = if x == {} then 1 else 0 with soft(logistic)\nminimize y\n"
    values = [
        float(dpc.parse(text.format(zero)).value({"x": 0.3}, {}, {})) for zero in ("0", "0.0")
    ]
    assert 0 < values[0] < 1
    assert values[0] == values[1]


# ---- truth values as numbers


def p(*places: float) -> Any:
    """P(a > place) under logistic noise of scale 0.1, at a = 0.3."""
    found = special.expit((0.3 - np.array(places)) / 0.1)
    return found if len(places) > 1 else found[0]


TRUTHS: dict[str, Any] = {
    "(a > 0.2) * 3": 3 * p(0.2),
    "-(a > 0.2) + n": 3 - p(0.2),
    "n * (a > 0.2)^2 / 2": 1.5 * p(0.2) ** 2,
    "sum[i in N] (a > 0.1 * i)": sum(p(0, 0.1, 0.2, 0.3)),
    "mean[i in N] n * (a > 0.1 * i)": 3 * np.mean(p(0, 0.1, 0.2, 0.3)),
    "sum([a > 0.2, a > 0.4])": sum(p(0.2, 0.4)),
    "exp(a > 0.2)": np.exp(p(0.2)),
    "max(a > 0.2, a > 0.4) * n": 3 * p(0.2),
    "n * [1, 4][argmax([a, 0.2])]": 3 * (4 - 3 * p(0.2)),
    "n * sign(a - 0.2)": 3 * (2 * p(0.2) - 1),
    "n * (if a > 0.2 then 1 else 2)": 3 * (2 - p(0.2)),
    "(a > 0.2) == (a > 0.4)": p(0.2) * p(0.4) + (1 - p(0.2)) * (1 - p(0.4)),
    "(a > 0.2) != (a > 0.4)": p(0.2) + p(0.4) - 2 * p(0.2) * p(0.4),
    "if (a > 0.2) > (a > 0.4) then n else 0": 3 * p(0.2) * (1 - p(0.4)),
    "(a > 0.2) <= (a > 0.4)": 1 - p(0.2) * (1 - p(0.4)),
    "(a > 0.2) == 1": p(0.2),
    "v[if a > 0.2 then low else high]": 2 - 1.5 * p(0.2),
    "sum[i in N where a > 0.1 * i] i": [0, 1, 2, 3] @ p(0, 0.1, 0.2, 0.3),
    "sum[i in N where i < 2] (a > 0.1 * i)": sum(p(0, 0.1)),
    "prod[i in N where a > 0.1 * i] 2": np.prod(1 + p(0, 0.1, 0.2, 0.3)),
    "any[i in N where a > 0.1 * i] (i > 1)": 1 - np.prod(1 - p(0.2, 0.3)),
    "all[i in N where a > 0.1 * i] (i > 1)": np.prod(1 - p(0, 0.1)),
    "if n > 3 then n else 0": 0,
}


@pytest.mark.parametrize("body", TRUTHS)
def test_a_soft_truth_value_is_a_number_between_0_and_1(body: str) -> None:
    """Truths are probabilities of independent events: the law of total expectation by hand."""
    text = "dim N = 4\ndata n : int = 3\nparam a : real = 0.3\n"
    text += "dim L = low | high\ndata v[L] : real = [0.5, 2]\n"
    model = dpc.parse(f"{text}y := {body} with soft(logistic, scale=0.1)\nz := y * n\n")
    found = model.evaluate(model.init(), model.bind())
    np.testing.assert_allclose(found["y"], TRUTHS[body], rtol=1e-6)
    np.testing.assert_allclose(found["z"], 3 * TRUTHS[body], rtol=1e-6)


def test_a_named_soft_truth_is_read_by_other_soft_statements() -> None:
    text = "param a : real = 0.3\nb := a > 0.2 with soft(logistic, scale=0.1)\n"
    text += "y := if b and a > 0.4 then 3 else 0 with soft(logistic, scale=0.1)\nminimize 3 * b\n"
    model = dpc.parse(text)
    assert model.evaluate(model.init(), model.bind())["y"] == pytest.approx(3 * p(0.2) * p(0.4))
    slope = 30 * p(0.2) * (1 - p(0.2))
    assert model.gradient(model.init())["a"] == pytest.approx(slope)


@pytest.mark.parametrize(
    ("line", "code", "help"),
    [
        ("y := if b then 1 else 0", "E0206", "a soft statement made it a number between 0 and 1"),
        ("y := max[i in N where a > i] i with soft(logistic)", "E0704", "with smooth(...)"),
        ("y := f(a > 0) with soft(logistic)", "E0201", "write its body here"),
        ("y := if a > 0 then i else j with soft(logistic)", "W0701", "smooth the whole statement"),
        ("y := k * 2 with soft(logistic)", "W0701", "in the place of `k`"),
    ],
)
def test_what_stays_hard_is_said(line: str, code: str, help: str) -> None:
    text = "dim N = 4\nparam a : real = 0.3\nb := a > 0.2 with soft(logistic)\nk := (a > 0) * 2\n"
    text += "data i : N = 1\ndata j : N = 2\nfn f(c: bool) -> real = if c then 1 else 0\n"
    found = check_source(Source("x.dp", f"{text}{line}\nminimize a * f(true) * b * k * i * j\n"))
    (said,) = [d for d in found.diagnostics if d.code in (code, "E0704") and d.code != "W0501"]
    assert said.code == code
    assert help in said.help

"""Global smoothing is the mean of the hard statement under noise, with the derivatives of that mean
(CF17, CV10).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

import dpc
from dpc.dsl.graph.build import build_graph
from dpc.dsl.lower.emit import emit_module
from dpc.dsl.source import Source
from dpc.model.check import check_model

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

SCALE = 0.5
NOISE = {
    "gaussian": stats.norm(scale=SCALE),
    "logistic": stats.logistic(scale=SCALE),
    "gumbel": stats.gumbel_r(loc=-np.euler_gamma * SCALE, scale=SCALE),
}
kinds = pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[pytest.mark.slow] if kind != "gaussian" else []) for kind in NOISE],
)


HEADER = """dim N = 3
data a : real = -1
data b : real = 1
data which[N] : N = [2, 0, 0]
param x : real = 0.4
param w : real = 0.3
param v[N] : real = [0.4, 1, -2]
fn gate(u: real) -> real = if u > -1 and u < 1 then 1 else 0
"""


def model_of(*statements: str) -> dpc.Model:
    used = "minimize 0 * (x + w + sum(v) + a + b + gate(x) + v[which[0]])\n"
    return dpc.parse(HEADER + "\n".join(statements) + "\n" + used)


def run(model: dpc.Model, name: str) -> Callable[[dict[str, Any]], jax.Array]:
    data = model.bind()
    return jax.jit(lambda params: model.evaluate(params, data)[name])


def values_of(model: dpc.Model) -> dict[str, jax.Array]:
    return jax.jit(lambda params: model.evaluate(params, model.bind()))(model.init())


# ---- one input: integrals against SciPy's


BODIES: dict[str, tuple[Callable[[float], float], list[float]]] = {
    "if x > a and x < b then 1 else 0": (lambda u: float(-1 < u < 1), [-1, 1]),
    "gate(x)": (lambda u: float(-1 < u < 1), [-1, 1]),
    "if x > 0.2 and x < 0.2001 then 1000 else 0": (
        lambda u: 1000.0 * (0.2 < u < 0.2001),
        [0.2, 0.2001],
    ),
    "step(x) + floor(3 * x)": (
        lambda u: (u >= 0) + np.floor(3 * u),
        [k / 3 for k in range(-30, 31)],
    ),
    "relu(x) * exp(-x^2)": (lambda u: max(u, 0) * np.exp(-(u**2)), [0]),
    "abs(x - 0.3) + max(x, w)": (lambda u: abs(u - 0.3) + max(u, 0.3), [0.3]),
    "loop s = x while s < 1 max 3 do s + 1": (
        lambda u: u + np.clip(np.ceil(1 - u), 0, 3),
        [1.0, 0.0, -1.0],
    ),
    "[5.0, 1.0, 2.0][argmax([x, 0.3, 1 - x])]": (
        lambda u: [5.0, 1.0, 2.0][int(np.argmax([u, 0.3, 1 - u]))],
        [0.5],
    ),
}


def mean_by_quadrature(f: Callable[[float], float], cuts: list[float], law: Any, x: float) -> float:
    """Between the places where f jumps or bends, and some more, by SciPy's rule with 40 nodes."""
    places = sorted({*np.linspace(x - 20, x + 20, 41), *cuts})
    function = np.vectorize(f, otypes=[float])
    pieces = pairwise(places)
    return sum(
        integrate.fixed_quad(lambda u: function(u) * law.pdf(u - x), *piece, n=40)[0]
        for piece in pieces
    )


@kinds
def test_an_integral_over_one_input_is_that_of_quadrature_and_so_is_its_derivative(
    kind: str,
) -> None:
    many = ", panels=150"
    statements = [
        f"y{k} := {body} with smooth({kind}, scale=0.5, over=x{many if 'floor' in body else ''})"
        for k, body in enumerate(BODIES)
    ]
    model = model_of(*statements)
    params, data, h = model.init(), model.bind(), 1e-3
    at_x = jax.jit(
        lambda x: jax.jvp(lambda u: model.evaluate({**params, "x": u}, data), (x,), (1.0,))
    )
    values, slopes = at_x(params["x"])
    for k, (body, (f, cuts)) in enumerate(BODIES.items()):
        around = {
            j: mean_by_quadrature(f, cuts, NOISE[kind], 0.4 + j * h) for j in (-2, -1, 0, 1, 2)
        }
        expected = (8 * (around[1] - around[-1]) - (around[2] - around[-2])) / (12 * h)
        np.testing.assert_allclose(values[f"y{k}"], around[0], rtol=1e-7, atol=1e-8, err_msg=body)
        np.testing.assert_allclose(slopes[f"y{k}"], expected, rtol=1e-6, atol=1e-6, err_msg=body)


def test_a_step_under_normal_noise_is_its_distribution_function_with_all_derivatives() -> None:
    model = model_of("y := step(x) with smooth(gaussian, scale=0.5)")
    at = run(model, "y")
    params = {name: jnp.asarray(value) for name, value in model.init().items()}
    slope = jax.grad(lambda x: at({**params, "x": x}))
    first, second = jax.jit(jax.value_and_grad(slope))(params["x"])
    z = 0.4 / SCALE
    np.testing.assert_allclose(at(params), special.ndtr(z), rtol=1e-12)
    np.testing.assert_allclose(first, stats.norm.pdf(z) / SCALE, rtol=1e-10)
    np.testing.assert_allclose(second, -z * stats.norm.pdf(z) / SCALE**2, rtol=1e-9)


def test_what_is_not_noisy_keeps_its_own_derivative() -> None:
    model = model_of("y := if x > a then w^2 else 0 with smooth(gaussian, scale=0.5, over=x)")
    slopes = jax.grad(run(model, "y"))(model.init())
    np.testing.assert_allclose(slopes["w"], 0.6 * special.ndtr(1.4 / SCALE), rtol=1e-10)
    np.testing.assert_allclose(slopes["x"], 0.09 * stats.norm.pdf(1.4 / SCALE) / SCALE, rtol=1e-9)


@kinds
def test_a_small_scale_recovers_the_hard_statement(kind: str) -> None:
    statements = [
        f"y{k} := {body} with smooth({kind}, scale=0.000001, over=x)"
        for k, body in enumerate(BODIES)
    ]
    model = model_of(*statements, f"m := max(v) with smooth({kind}, scale=0.000001, samples=20)")
    found = values_of(model)
    for k, (f, _) in enumerate(BODIES.values()):
        np.testing.assert_allclose(found[f"y{k}"], f(0.4), atol=1e-5)
    np.testing.assert_allclose(found["m"], 1.0, atol=1e-5)


# ---- two inputs, and plates


def test_the_larger_of_two_under_gumbel_noise_is_softmax() -> None:
    """CV20, with noise of mean 0: E max(x + s z) = s logsumexp(x / s), whose gradient is
    softargmax.
    """
    model = model_of("y := max(x, w) with smooth(gumbel, scale=0.5)")
    at, scores = run(model, "y"), np.array([0.4, 0.3]) / SCALE
    np.testing.assert_allclose(at(model.init()), SCALE * special.logsumexp(scores), rtol=1e-9)
    slopes = jax.jit(jax.grad(at))(model.init())
    np.testing.assert_allclose([slopes["x"], slopes["w"]], special.softmax(scores), rtol=1e-7)


def test_a_comparison_of_two_noisy_numbers_has_the_noise_of_their_difference() -> None:
    """CF03: P(x + s z1 > w + s z2) = Phi((x - w) / (s sqrt 2)), and logistic under Gumbel noise
    (CV18).
    """
    model = model_of(
        "y := x > w with smooth(gaussian, scale=0.5)",
        "g := if x > w then 1 else 0 with smooth(gumbel, scale=0.5)",
    )
    found = values_of(model)
    np.testing.assert_allclose(found["y"], special.ndtr(0.1 / (SCALE * np.sqrt(2))), rtol=1e-7)
    np.testing.assert_allclose(found["g"], special.expit(0.1 / SCALE), rtol=1e-7)


@pytest.mark.slow
def test_every_place_of_a_plate_is_a_mean_of_its_own() -> None:
    model = model_of(
        "y[i in N] := v[i] > a with smooth(gaussian, scale=0.5, over=v)",
        (
            "g[i in N] := if v[which[i]] > a then v[which[i]] else 0 with smooth(gaussian, scale=0.5, "
            "over=v, panels=8)"
        ),
        (
            "t[i in N, j in N] := if x > v[j] * i then 1 else 0 with smooth(gaussian, scale=0.5, "
            "over=[x, v])"
        ),
        "r[i in N] := [x, step(x), 2 * x] with smooth(gaussian, scale=0.5)",
    )
    v = np.array([0.4, 1, -2])
    found = values_of(model)
    z = (v + 1) / SCALE
    np.testing.assert_allclose(found["y"], special.ndtr(z), rtol=1e-10)
    whole = v * special.ndtr(z) + SCALE * stats.norm.pdf(z)
    np.testing.assert_allclose(found["g"], whole[[2, 0, 0]], rtol=1e-8)
    i = np.arange(3)[:, None]
    np.testing.assert_allclose(
        found["t"], special.ndtr((0.4 - i * v) / (SCALE * np.sqrt(1 + i**2))), atol=1e-7
    )
    np.testing.assert_allclose(found["r"], [[0.4, special.ndtr(0.8), 0.8]] * 3, rtol=1e-9)
    slopes = jax.jacobian(run(model, "y"))(model.init())["v"]
    np.testing.assert_allclose(slopes, np.diag(stats.norm.pdf(z) / SCALE), atol=1e-10)


def test_a_recurrence_is_smoothed_step_by_step() -> None:
    """s_t = E floor(s_{t-1} + z) + 0.7, against the sum over all whole numbers."""
    model = dpc.parse(
        "dim T = 4\nparam x : real = 0.4\ns[0] := x\n"
        "s[t in T[1..]] := floor(s[t-1]) + 0.7 with smooth(gaussian, scale=0.5)\n"
    )
    s, whole = [0.4], np.arange(-20, 21)
    for _ in range(3):
        s.append(
            whole
            @ (special.ndtr((whole + 1 - s[-1]) / SCALE) - special.ndtr((whole - s[-1]) / SCALE))
            + 0.7
        )
    np.testing.assert_allclose(model.evaluate(model.init(), model.bind())["s"], s, rtol=1e-9)


def test_factors_and_objectives_can_be_smoothed() -> None:
    model = dpc.parse(
        "param x : real = 0.4\nz ~ Normal(0, 1)\n"
        "factor near : if z > 0 then 1 else 0 with smooth(gaussian, scale=0.5)\n"
        "minimize step(x) with smooth(gaussian, scale=0.5)\n"
    )
    params = model.init()
    found = model.log_prob(params, {"z": jnp.asarray(0.2)})
    np.testing.assert_allclose(found, stats.norm.logpdf(0.2) + special.ndtr(0.4), rtol=1e-10)
    np.testing.assert_allclose(model.gradient(params)["x"], stats.norm.pdf(0.8) / SCALE, rtol=1e-9)


# ---- many inputs: samples


def test_samples_have_the_mean_and_the_gradient_of_the_integral() -> None:
    """CV20, CV22, CV12, within 5 times a bound on the standard error: at most a false alarm in 1.7
    million for each.
    """
    n = 20_000
    model = model_of(
        f"m := max(v) with smooth(gumbel, scale=0.5, samples={n})",
        f"k := [1.0, 2.0, 5.0][argmax(v)] with smooth(gumbel, scale=0.5, samples={n}, seed=1)",
        f"y[i in N] := v[i] > 0 with smooth(gaussian, scale=0.5, samples={n}, seed=2)",
    )
    v = np.array([0.4, 1, -2])
    p = special.softmax(v / SCALE)
    found = values_of(model)
    slopes = jax.jacobian(lambda params: model.evaluate(params, model.bind()))(model.init())
    error = 5 / np.sqrt(n)
    assert abs(found["m"] - SCALE * special.logsumexp(v / SCALE)) < error * SCALE * np.pi / np.sqrt(
        6
    )
    assert abs(found["k"] - p @ [1, 2, 5]) < error * 2
    np.testing.assert_array_less(abs(found["y"] - special.ndtr(v / SCALE)), error / 2)
    bound = 3 / SCALE
    np.testing.assert_array_less(abs(slopes["m"]["v"] - p), error * bound)
    np.testing.assert_array_less(
        abs(slopes["k"]["v"] - (np.diag(p) - np.outer(p, p)) @ [1, 2, 5] / SCALE), error * 4 * bound
    )
    np.testing.assert_array_less(
        abs(slopes["y"]["v"] - np.diag(stats.norm.pdf(v / SCALE) / SCALE)), error * bound
    )


def test_samples_are_the_same_every_time_and_others_with_another_seed() -> None:
    model = model_of(
        *(
            f"y{k} := max(v) with smooth(gaussian, samples=10, seed={s})"
            for k, s in enumerate((3, 3, 4))
        )
    )
    found = values_of(model)
    assert found["y0"] == found["y1"] != found["y2"]


# ---- the printed program


def test_the_printed_program_computes_the_same() -> None:
    text = (
        "dim N = 3\nparam x : real = 0.4\nparam v[N] : real = [0.4, 1, -2]\n"
        "y := if x > -1 and x < 1 then 1 else 0 with smooth(logistic, scale=0.5)\n"
        "m := max(v) + x with smooth(gumbel, scale=0.5, samples=50)\n"
    )
    typed = check_model(Source("test.dp", text)).typed
    assert typed
    space: dict[str, Any] = {"__name__": "printed"}
    exec(compile(emit_module(build_graph(typed), ""), "<printed>", "exec"), space)
    model = dpc.parse(text)
    own = jax.jit(lambda params: model.evaluate(params, model.bind()))(model.init())
    other = jax.jit(lambda params: space["evaluate"](params, {}, {}))(model.init())
    for name, value in own.items():
        np.testing.assert_allclose(other[name], value, rtol=1e-14)


@pytest.mark.parametrize("jumps", [1, 3, 10])
def test_every_jump_of_a_rounded_input_is_found(jumps: int) -> None:
    """E floor(k (x + z)) = sum of P(k (x + z) >= j) over j > 0, less P(k (x + z) < j) over j <= 0."""
    model = dpc.parse(f"param x : real\ny = floor({jumps} * x) with smooth(gaussian)\nminimize y\n")
    places = np.arange(-12 * jumps, 12 * jumps)
    above, below = places[places > 0] / jumps, places[places <= 0] / jumps
    mean = stats.norm.sf(above - 0.1).sum() - stats.norm.cdf(below - 0.1).sum()

    def value(x: Any) -> Any:
        return model.value({"x": x}, {}, {})

    assert np.isclose(float(value(0.1)), mean, atol=1e-7)
    assert np.isclose(float(jax.grad(value)(0.1)), stats.norm.pdf(places / jumps - 0.1).sum())


@pytest.mark.parametrize("width", [0.3, 0.01, 1e-4])
def test_a_narrow_window_is_not_overlooked(width: float) -> None:
    text = f"param x : real\ny = if abs(x - 0.2) < {width} then 1 else 0 with smooth(gaussian)\n"
    model = dpc.parse(text + "minimize y\n")
    mean = stats.norm.cdf(0.2 + width - 0.1) - stats.norm.cdf(0.2 - width - 0.1)
    assert np.isclose(float(model.value({"x": 0.1}, {}, {})), mean, rtol=1e-9)


def test_two_crossings_close_together_are_both_found() -> None:
    """P(|x| > 0.01) by the normal distribution; sin(20 x) > 0.5 on intervals of a third."""
    model = model_of(
        "y := if x^2 > 0.0001 then 1 else 0 with smooth(gaussian, scale=2, over=x)",
        "s := if sin(20 * x) > 0.5 then 1 else 0 with smooth(gaussian, scale=2, over=x)",
    )
    law = stats.norm(0.4, 2)
    found = values_of(model)
    np.testing.assert_allclose(found["y"], 1 - law.cdf(0.01) + law.cdf(-0.01), rtol=1e-9)
    first = (np.pi / 6 + 2 * np.pi * np.arange(-60, 60)) / 20
    expected = np.sum(law.cdf(first + np.pi / 30) - law.cdf(first))
    np.testing.assert_allclose(found["s"], expected, rtol=1e-4)
    slope = jax.grad(run(model, "y"))(model.init())["x"]
    np.testing.assert_allclose(slope, law.pdf(0.01) - law.pdf(-0.01), rtol=1e-6)


def tent(u: Any) -> Any:
    return 5000 * np.maximum(1 - 5000 * np.abs(u - 0.37), 0)


def logistic(u: Any) -> Any:
    return special.expit(10000 * (u - 0.37))


NARROW: dict[str, Callable[[Any], Any]] = {
    "relu(1 - 5000 * abs(x - 0.37)) * 5000": tent,
    "max(1 - 5000 * abs(x - 0.37), 0) * 5000": tent,
    "-min(5000 * abs(x - 0.37) - 1, 0) * 5000": tent,
    "clip(1 - 5000 * abs(x - 0.37), 0, 0.5) * 5000": lambda u: np.minimum(tent(u), 2500),
    "soft_threshold(max(2 - 5000 * abs(x - 0.37), 0), 1) * 5000": tent,
    "if x > 0 then 5000 * leaky_relu(max(1 - 5000 * abs(x - 0.37), 0)) else 0": tent,
    "5000 * exp(-((x - 0.37) * 10000)^2)": (
        lambda u: 5000 * np.exp(-np.square((u - 0.37) * 10000))
    ),
    "5000 * exp(-10000 * abs(x - 0.37))": lambda u: 5000 * np.exp(-10000 * np.abs(u - 0.37)),
    "5000 / (1 + ((x - 0.37) * 10000)^2)": lambda u: 5000 / (1 + ((u - 0.37) * 10000) ** 2),
    "20000 * logistic(10000 * (x - 0.37)) * logistic(10000 * (0.37 - x))": (
        lambda u: 20000 * logistic(u) * (1 - logistic(u))
    ),
}
"""Bumps of a width of some 1e-4, so that their means are about 0.4."""


def mean_of_bump(f: Callable[[Any], Any], x: float) -> tuple[float, float]:
    """The mean under normal noise and its derivative, between places that crowd around 0.37."""
    steps = np.concatenate([[0], np.linspace(1e-5, 5e-4, 50), np.geomspace(6e-4, 12, 400)])
    places = np.sort(np.concatenate([0.37 - steps, 0.37 + steps[1:]]))

    def integral(weight: Callable[[Any], Any]) -> float:
        pieces = pairwise(places)
        rule = integrate.fixed_quad
        mass = stats.norm(x).pdf
        return sum(rule(lambda u: f(u) * mass(u) * weight(u), *p, n=16)[0] for p in pieces)

    return integral(np.ones_like), integral(lambda u: u - x)


def test_narrow_kinks_and_bumps_are_not_overlooked() -> None:
    model = model_of(
        *(f"y{k} := {f} with smooth(gaussian, scale=1, over=x)" for k, f in enumerate(NARROW))
    )
    params, data = model.init(), model.bind()
    found = jax.jit(
        lambda x: jax.jvp(lambda u: model.evaluate({**params, "x": u}, data), (x,), (1.0,))
    )(params["x"])
    for k, (text, f) in enumerate(NARROW.items()):
        own = tuple(float(each[f"y{k}"]) for each in found)
        assert own == pytest.approx(mean_of_bump(f, 0.4), rel=1e-8), text


def test_the_gradient_of_a_smoothed_maximum_is_the_mean_of_its_argmax() -> None:
    """0.5 * logsumexp(v / 0.5), and its derivatives; shares of one-hot vectors have sd 0.5 at most.

    Scores would have an sd ten times as large. False alarms: 8 numbers at five sd, one in 200,000.
    """
    samples = 4000
    start = jnp.array([0.3, -0.5, 1.0, 0.2])
    text = (
        "dim K = 4\nparam v[K] : real\n"
        f"minimize max(v) with smooth(gumbel, scale=0.5, samples={samples})\n"
    )
    model = dpc.parse(text)

    def value(v: jax.Array) -> jax.Array:
        return model.value({"v": v})

    def exact(v: jax.Array) -> jax.Array:
        return 0.5 * jax.nn.logsumexp(v / 0.5)

    slack = 5 * 0.5 / samples**0.5
    np.testing.assert_allclose(jax.grad(value)(start), jax.grad(exact)(start), atol=slack)
    bends = jax.hessian(value)(start), jax.hessian(exact)(start)
    np.testing.assert_allclose(*map(jnp.diag, bends), atol=10 * slack)


GROWING: dict[str, tuple[str, float]] = {
    "exp(8 * x)": ("gaussian", np.exp(8 * 0.4 + 32)),
    "exp(6 * x)": ("gaussian", np.exp(6 * 0.4 + 18)),
    "exp(0.9 * x)": ("logistic", np.exp(0.36) * np.pi * 0.9 / np.sin(0.9 * np.pi)),
    "exp(0.49 * x^2)": ("gaussian", np.exp(0.49 * 0.4**2 / 0.02) / np.sqrt(0.02)),
    "if sin(200 * x) > 0.9 then 1 else 0": ("gaussian", np.arccos(0.9) / np.pi),
    "1 / (x^2 + 0.000001)": (
        "gaussian",
        # Re w(0.4 + 0.001 i) of Faddeeva's function, which is that mean.
        1000 * np.sqrt(np.pi / 2) * special.wofz((-0.4 + 0.001j) / np.sqrt(2)).real,
    ),
    "exp(0.6 * x^2)": ("gaussian", np.inf),
    "exp(1.1 * x)": ("logistic", np.inf),
}
"""What has its mean far out, in what is narrow, or has none, with scale 1 at 0.4."""
CERTAIN = 3


def test_the_error_that_is_said_holds() -> None:
    statements = [
        f"y{k} := {body} with smooth({noise}, scale=1)\n"
        for k, (body, (noise, _)) in enumerate(GROWING.items())
    ]
    found = dpc.parse("param x : real = 0.4\n" + "".join(statements)).run()
    said, warned = found.to_dict()["smoothing errors"], "".join(found.warnings)
    for k, (body, (_, truth)) in enumerate(GROWING.items()):
        name = f"y{k}"
        if np.isfinite(truth):
            # 1e-9 more: a rounded integrand has no more digits.
            assert abs(found[name] - truth) <= said[name] + 1e-9 * truth, body
        if k < CERTAIN:
            assert found[name] == pytest.approx(truth, rel=1e-9), body
        assert (f"`{name}`" in warned) == (k >= CERTAIN), body


@pytest.mark.parametrize("panels", [4, 16])
def test_what_error_is_left_is_said(panels: int) -> None:
    """Against sums of normal masses: it holds, and is off by no more than the other rule may be."""
    setting = f"smooth(gaussian, scale=1, panels={panels})"
    text = (
        f"param x : real = 0.1\ny := floor(300 * x) with {setting}\nz := step(x) with {setting}\n"
    )
    found = dpc.parse(text).run()
    jumps = np.arange(-4000, 4000) / 300
    exact = np.sum(stats.norm.sf(jumps - 0.1)) - 4001
    error = abs(found["y"] - exact)
    said = found.to_dict()["smoothing errors"]
    assert error < said["y"] < 100 * error
    assert said["z"] < (1e-5 if panels == 4 else 1e-12)
    assert "`y` is off by about" in "".join(found.warnings) or error < 1e-2 * abs(exact)


def test_samples_and_gradients_have_their_error_said() -> None:
    text = (
        "dim K = 4\nparam v[K] : real = [1, 2, 3, 4]\n"
        "minimize max(v) with smooth(gumbel, scale=0.5, samples=400)\n"
    )
    found = dpc.parse(text).grad()
    exact = 0.5 * special.logsumexp(np.arange(1, 5) / 0.5)
    assert abs(found.value - exact) < 10 * found.smoothing["minimize"] < 1
    assert set(found.smoothing) == {"minimize", "d/d v"}
    assert "by another rule, change minimize by" in str(found)

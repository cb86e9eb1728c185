"""How smooth functions from outside are: of each of these it is known."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from scipy import stats

import dpc
from dpc.exits import UsageError
from dpc.gradient.externs import smoothness_of_externs

LOOSE_JAX = "functions of users promote types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"
SIGMAS = 5.0
TEXT = "extern fn f(x: real) -> real\nparam t : real = {}\nx ~ Normal(t, {})\nminimize f(x)\n"
VECTOR = """
dim N = 4
extern fn f(x[N]: real) -> real
param t : real = 0.3
x[i in N] ~ Normal(t, 1)
minimize f(x)
"""
WEIGHTS = np.random.default_rng(0).normal(size=(4, 4))
WIDE = np.random.default_rng(1).normal(size=(4, 64))

JUMPS: list[Callable[[Any], Any]] = [
    lambda x: jnp.where(x > 105, 1.0, 0.0),
    lambda x: jnp.where(x > 4.5, 1.0, 0.0),
    lambda x: jnp.where(x > 3e7, 1.0, 0.0),
    lambda x: jnp.where((x > 0) & (x < 0.01), 1.0, 0.0),
    lambda x: x.astype(int) * 1.0,
    lambda x: ((x.astype(int) >> 1) & 1) * 1.0,
    lambda x: lax.switch(x.astype(int), [lambda: 0.0, lambda: 1.0]),
    lambda x: lax.cond(x > 2, lambda x: x, lambda x: 2 * x, x),
    lambda x: lax.while_loop(lambda s: s < 10, lambda s: s * 2, x),
    lambda x: jnp.arctan2(x, -1.0),
    lambda x: jnp.angle(-1 + 1j * x),
    lambda x: jnp.imag(jnp.sqrt(-1 + 1j * x)),
    lambda x: x % 1.0,
    lambda x: jnp.arctan(1 / x),
    lambda x: jnp.sqrt(x * x) / x,
    lambda x: x + lax.stop_gradient(x**2),
    lambda x: x**-2,
    lambda x: jnp.nextafter(x, 9.0),
    jnp.tan,
    jnp.log,
    lambda x: jnp.argmax(jnp.array([x, 0.3])) * 1.0,
    lambda x: lax.fori_loop(0, 3, lambda i, s: s + jnp.floor(s), x),
    lambda x: x + jax.nn.relu(x - 50) * (jnp.floor(x / 4) - x / 4),
    lambda x: jnp.exp(-((x - 40) ** 2) / 2) * (jnp.sin(x) > 0),
    lambda x: jnp.exp(-((x - 40) ** 2) / 2) * jnp.floor(jnp.clip(x, -100, 100)),
    lambda x: jnp.exp(-((x - 40) ** 2) / 2) / jnp.sin(x),
    lambda x: (x - 41) / jnp.sqrt((x - 41) ** 2),
]
KINKS: list[Callable[[Any], Any]] = [
    jnp.abs,
    jnp.sqrt,
    lambda x: jnp.sqrt(x * x),
    lambda x: jnp.maximum(x, 0.3),
    lambda x: jnp.clip(x, -1, 1),
    lambda x: jnp.sort(jnp.array([x, 0.3]))[0],
    lambda x: jnp.interp(x, jnp.array([0.0, 1, 3]), jnp.array([0.0, 5, 1])),
    lambda x: lax.cond(x > 0, lambda x: x, lambda x: 2 * x, x),
    lambda x: lax.fori_loop(0, 3, lambda i, s: jnp.abs(s - 1), x),
    jax.nn.relu,
    jax.nn.leaky_relu,
    lambda x: jnp.abs(jnp.sin(x)),
    lambda x: jnp.sqrt(jnp.sin(x) ** 2),
    lambda x: jnp.arccos(jnp.cos(x)),
    lambda x: jax.nn.relu(x - 500) + jnp.abs(x + 20),
    lambda x: jnp.sqrt((x - 40) ** 2),
    lambda x: jnp.exp(x) + jax.nn.leaky_relu(x - 800),
]
SMOOTH: list[Callable[[Any], Any]] = [
    jnp.sin,
    jax.nn.softplus,
    jax.nn.elu,
    jax.nn.gelu,
    jax.nn.log_sigmoid,
    lambda x: jnp.where(jnp.abs(x) < 1, 0.5 * x * x, jnp.abs(x) - 0.5),
    lambda x: jax.nn.logsumexp(jnp.array([x, 0.3])),
    lambda x: jax.nn.softmax(jnp.array([x, 0.3]))[0],
    lambda x: 1 / (1 + x**2),
    lambda x: jnp.sqrt(x * x + 1),
    lambda x: x / (2 + jnp.sin(x)),
    lambda x: jnp.log(1.5 + jnp.sin(x) * jnp.cos(3 * x)),
]
NETWORKS: list[tuple[str, Callable[[Any], Any]]] = [
    ("kink", lambda x: jnp.sum(jax.nn.relu(jax.nn.relu(x @ WEIGHTS) @ WEIGHTS))),
    ("kink", lambda x: jnp.sum(jax.nn.leaky_relu(jax.nn.leaky_relu(x @ WIDE) @ WIDE.T))),
    ("smooth", lambda x: jnp.sum(jax.nn.elu(x @ WIDE))),
    ("smooth", lambda x: jnp.sum(jax.nn.silu(x @ WEIGHTS) @ WEIGHTS)),
    ("smooth", lambda x: jax.nn.log_softmax(x @ WEIGHTS)[0]),
    ("smooth", lambda x: jax.nn.standardize(x @ WEIGHTS)[0]),
    ("smooth", lambda x: lax.scan(lambda c, y: (jnp.tanh(c + y), None), 0.0, x)[0]),
    ("smooth", lambda x: jnp.linalg.solve(9 * jnp.eye(4) + jnp.outer(x, x), x)[0]),
    ("jump", lambda x: jnp.argmax(x @ WEIGHTS) * 1.0),
    ("jump", lambda x: jnp.where(jnp.sum(jnp.tanh(x @ WEIGHTS)) > 0.3, 1.0, 0.0)),
]


def smoothness(text: str, function: Any) -> str:
    model = dpc.parse(text, f=lambda x: jnp.sum(x))
    return smoothness_of_externs(model.graph.functions, {"f": function}, {})["f"]


@pytest.mark.parametrize(
    ("kind", "functions"), [("jump", JUMPS), ("kink", KINKS), ("smooth", SMOOTH)]
)
def test_smoothness(kind: str, functions: list[Any]) -> None:
    found = [smoothness(TEXT.format(0, 1), function) for function in functions]
    assert found == [kind] * len(functions)


def test_smoothness_of_networks() -> None:
    assert [smoothness(VECTOR, function) for _, function in NETWORKS] == [k for k, _ in NETWORKS]


def test_a_jump_far_from_zero_weighs_the_score() -> None:
    """d P(x > 105) / d t is the density of x there."""
    model = dpc.parse(TEXT.format(100, 10), f=lambda x: jnp.where(x > 105, 1.0, 0.0))
    moments = model.grad(samples=4000).estimates.gradient["t"]
    truth = stats.norm.pdf(105, 100, 10)
    assert abs(float(moments.mean) - truth) < SIGMAS * float(moments.error)


def test_jumps_that_begin_far_from_zero_weigh_the_score() -> None:
    """d E f(x) / d t is a difference of means over a fine grid of levels, with common levels."""
    noise = 5 * stats.norm.ppf((np.arange(1_000_000) + 0.5) / 1_000_000)

    def mean(t: float) -> float:
        w = t + noise
        return float(np.mean(w + np.maximum(w - 50, 0) * (np.floor(w / 4) - w / 4)))

    truth = (mean(60.1) - mean(59.9)) / 0.2

    def tiers(w: Any) -> Any:
        return w + jax.nn.relu(w - 50) * (jnp.floor(w / 4) - w / 4)

    model = dpc.parse(TEXT.format(60, 5), f=tiers)
    assert [choice.method for choice in model.estimator_choices()] == ["rloo"]
    moments = model.grad(samples=4000).estimates.gradient["t"]
    assert abs(float(moments.mean) - truth) < SIGMAS * float(moments.error)
    assert truth == pytest.approx(0.5112, abs=0.002)


def test_a_kink_has_no_second_derivative() -> None:
    model = dpc.parse(TEXT.format(0.3, 1), f=lambda x: jnp.sqrt(x * x))
    assert [choice.method for choice in model.estimator_choices()] == ["pathwise"]
    with pytest.raises((UsageError, dpc.DpError)):
        model.grad(hessian=True, samples=10)


@pytest.mark.parametrize(
    "function", [KINKS[6], lambda x: lax.cond(x > 0, jnp.square, lambda x: -(x**2), x)]
)
def test_it_is_probed_while_something_else_is_traced(function: Any) -> None:
    model = dpc.parse(TEXT.format(0.3, 1), f=function)
    key = jax.random.key(0)
    found = jax.jit(jax.grad(lambda p: model.surrogate(key, p)))({"t": jnp.asarray(0.3)})
    assert np.isfinite(found["t"])

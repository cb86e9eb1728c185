"""Surrogates as functions: forward mode, vectors, plates, numbers of samples, float32, jit, vmap,
JAX's own noise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from cases import CHAIN, COINS, DIE, Case
from laws import LAWS
from tape import expected
from verification import derivatives, moments, verify

from dpc.estimators import Cost, Draw, Step, surrogate
from dpc.estimators.methods.arm import Arm, DisArm
from dpc.estimators.methods.enumeration import Enumeration
from dpc.estimators.methods.measure import MeasureValued
from dpc.estimators.methods.method import Method
from dpc.estimators.methods.pathwise import Pathwise
from dpc.estimators.methods.relaxed import Rebar
from dpc.estimators.methods.score import LeaveOneOutScore, ScoreFunction
from dpc.estimators.methods.table import METHODS

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

# ---- plates

ODDS = np.array([0.4, -0.7])


def _plate_cost(b: jax.Array, theta: jax.Array) -> jax.Array:
    return (b - 0.3 * theta) ** 2


def _plate_steps(theta: jax.Array, methods: list[Method]) -> list[Step]:
    return [
        Draw("b", (), lambda v: dist.Bernoulli(logits=theta), methods[0], plates=1),
        Cost("loss", ("b",), lambda v: _plate_cost(v["b"], theta), plates=1, follows={"b": {0: 0}}),
    ]


def _alone_steps(theta: jax.Array, methods: list[Method]) -> list[Step]:
    return [
        step
        for n in range(2)
        for step in (
            Draw(f"b{n}", (), lambda v, n=n: dist.Bernoulli(logits=theta[n]), methods[0]),
            Cost(f"c{n}", (f"b{n}",), lambda v, n=n: _plate_cost(v[f"b{n}"], theta[n])),
        )
    ]


def _plate_truth(theta: jax.Array) -> jax.Array:
    p = 1 / (1 + jnp.exp(-theta))
    return jnp.sum(p * _plate_cost(1.0, theta) + (1 - p) * _plate_cost(0.0, theta))


def _plate_breaks(*_: Any) -> np.ndarray:
    p = 1 / (1 + np.exp(-ODDS))
    return np.concatenate([p, 1 - p])


PLATE, ALONE = (
    Case(
        name, ODDS, steps, _plate_truth, (dist.Bernoulli(logits=ODDS),), _plate_breaks, fineness=14
    )
    for name, steps in (("plate", _plate_steps), ("alone", _alone_steps))
)


@pytest.mark.parametrize(
    "method", [ScoreFunction(), Arm(), DisArm(), MeasureValued(), Rebar()], ids=lambda m: m.name
)
def test_a_plate_is_its_elements(method: Method) -> None:
    """Where all that is below goes element by element, a plate has the mean and the variance of
    separate draws.
    """
    verify(PLATE, [method])
    for mine, true in zip(moments(PLATE, [method]), moments(ALONE, [method]), strict=True):
        np.testing.assert_allclose(mine, true, rtol=1e-9, atol=1e-12)


def _rows_cost(b: jax.Array, theta: jax.Array) -> jax.Array:
    return (b[:, 0] + 2 * b[:, 1] * theta[0]) ** 2 * theta + b[:, 0] * b[:, 1]


def _rows_steps(theta: jax.Array, methods: list[Method]) -> list[Step]:
    odds = jnp.stack([theta, -2 * theta], 1)
    return [
        Draw("b", (), lambda v: dist.Bernoulli(logits=odds), methods[0], plates=2),
        Cost("loss", ("b",), lambda v: _rows_cost(v["b"], theta), plates=1, follows={"b": {0: 0}}),
    ]


def _rows_truth(theta: jax.Array) -> jax.Array:
    p, q = 1 / (1 + jnp.exp(-theta)), 1 / (1 + jnp.exp(2 * theta))
    total = jnp.zeros(())
    for first, second in itertools.product((0.0, 1.0), repeat=2):
        mass = jnp.where(first > 0, p, 1 - p) * jnp.where(second > 0, q, 1 - q)
        total += jnp.sum(mass * _rows_cost(jnp.tile(jnp.array([first, second]), (2, 1)), theta))
    return total


@pytest.mark.parametrize(
    "method", [Arm(), DisArm(), MeasureValued(), Enumeration()], ids=lambda method: method.name
)
def test_rows_on_their_own_columns_together(method: Method) -> None:
    """Two rows of two coins: below them rows stay apart, and the coins of a row do not."""
    odds = np.array([0.4, -0.4, 0.8, -0.8])
    p = 1 / (1 + np.exp(-odds))
    verify(Case("rows", np.array([0.4, 0.4]), _rows_steps, _rows_truth, (), lambda *_: p), [method])


# ---- vectors and forward mode


def test_costs_that_are_vectors() -> None:
    pay = jnp.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]])
    theta = jnp.asarray(DIE.theta)

    def value(theta: jax.Array, key: jax.Array) -> jax.Array:
        steps = [
            Draw("k", (), lambda v: dist.Categorical(logits=theta), LeaveOneOutScore()),
            Cost("pay", ("k",), lambda v: pay[v["k"]] * theta[0]),
        ]
        return surrogate(steps, key, 2).value

    def jacobians(value: Callable[..., jax.Array]) -> Callable[..., tuple[jax.Array, ...]]:
        return lambda theta, key: (
            jax.jacrev(value)(theta, key),
            jax.jacfwd(jax.jacfwd(value))(theta, key),
        )

    def truth(theta: jax.Array, key: None = None) -> jax.Array:
        return jnp.exp(theta) @ pay / jnp.sum(jnp.exp(theta)) * theta[0]

    found = expected(value, jacobians, theta, DIE.breaks, {}, DIE.fineness)
    for mine, true in zip(found, jax.jit(jacobians(truth))(theta, None), strict=True):
        np.testing.assert_allclose(mine, true, rtol=1e-10, atol=1e-10)


def test_forward_mode_is_reverse_mode() -> None:
    """For one and the same noise."""
    theta, direction = jnp.asarray(CHAIN.theta), jnp.array([0.3, -1.0, 0.7])
    methods = [MeasureValued(), LeaveOneOutScore()]

    @jax.jit
    def both(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        def value(theta: jax.Array) -> jax.Array:
            return surrogate(CHAIN.steps(theta, methods), key, 2).value

        return jax.jvp(value, (theta,), (direction,))[1], jax.grad(value)(theta) @ direction

    np.testing.assert_allclose(*both(jax.random.key(0)), rtol=1e-12)


def test_numbers_of_samples_of_their_own() -> None:
    """Two samples of b, in one particle."""

    def steps(theta: jax.Array, methods: list[Method]) -> list[Step]:
        first, side, second, loss = CHAIN.steps(theta, methods)
        return [first._replace(samples=2), side, second, loss]  # type: ignore[union-attr]

    case = Case("counted", CHAIN.theta, steps, CHAIN.truth, CHAIN.laws, CHAIN.breaks)
    verify(case, [LeaveOneOutScore(), Enumeration()])


# ---- JAX's own noise


def _binomial_steps(theta: jax.Array, methods: list[Method]) -> list[Step]:
    return [
        Draw("x", (), lambda v: dist.Binomial(3, logits=theta[0]), methods[0]),
        Cost("loss", ("x",), lambda v: (v["x"] - theta[0]) ** 2),
    ]


def _binomial_truth(theta: jax.Array) -> jax.Array:
    p = 1 / (1 + jnp.exp(-theta[0]))
    return 3 * p * (1 - p) + (3 * p - theta[0]) ** 2


BINOMIAL = Case(
    "binomial", np.array([0.4]), _binomial_steps, _binomial_truth, (dist.Binomial(3, logits=0.1),)
)
NOISY = [
    (name, case)
    for case in (DIE, COINS, BINOMIAL, *LAWS)
    for name, row in METHODS.items()
    if row.order == 2 and not row.refusal(case.laws[0])
]
QUICK = [
    ("mvd", "binomial"),
    ("relax", "die"),
]


@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(
            name,
            case,
            marks=[] if (name, case.name) in QUICK else pytest.mark.slow,
            id=f"{name}-{case.name}",
        )
        for name, case in NOISY
    ],
)
def test_in_single_precision_with_real_noise(name: str, case: Case) -> None:
    """Value and gradient over 4,000 keys, jitted and mapped, in float32: z < 5, a false alarm in a
    million numbers.

    Values that hardly vary are compared to 1e-4, the precision of float32.
    """
    true = jax.jit(derivatives(lambda theta, key: case.truth(theta)))(
        jnp.asarray(case.theta), None
    )[:2]
    with jax.enable_x64(False):
        method: Method = METHODS[name]()

        def estimate(theta: jax.Array, key: jax.Array) -> Any:
            return jax.value_and_grad(lambda t: surrogate(case.steps(t, [method]), key, 2).value)(
                theta
            )

        keys = jax.random.split(jax.random.key(7), 4_000)
        found = jax.jit(jax.vmap(estimate, (None, 0)))(jnp.asarray(case.theta, jnp.float32), keys)
    for mine, truth in zip(found, true, strict=True):
        assert mine.dtype == jnp.float32
        sample = np.asarray(mine, np.float64)
        error = np.std(sample, 0) / np.sqrt(len(sample))
        assert np.all(np.abs(np.mean(sample, 0) - truth) < 5 * error + 1e-4)


def test_a_path_through_a_vector() -> None:
    """Laws with events: x = mean + L z, and half |x|^2 has the gradient x."""

    @jax.jit
    def slope(mean: jax.Array) -> jax.Array:
        def value(mean: jax.Array) -> jax.Array:
            steps = [
                Draw(
                    "x",
                    (),
                    lambda v: dist.MultivariateNormal(mean, jnp.eye(2)),
                    METHODS["antithetic"](),
                ),
                Cost("loss", ("x",), lambda v: jnp.sum(v["x"] ** 2) / 2),
            ]
            return surrogate(steps, jax.random.key(0)).value

        return jax.grad(value)(mean)

    mean = jnp.array([0.3, -1.0])
    np.testing.assert_allclose(slope(mean), mean, rtol=1e-12)


def test_wrapped_laws_are_their_elements() -> None:
    """A vector of coins as one event is enumerated jointly."""

    def value(theta: jax.Array, method: Method) -> jax.Array:
        law = dist.Bernoulli(logits=theta).expand([3]).to_event(1)
        steps = [
            Draw("b", (), lambda v: law, method),
            Cost("loss", ("b",), lambda v: jnp.prod(v["b"] + 0.5) * theta),
        ]
        return surrogate(steps, jax.random.key(0), 1).value

    def truth(theta: jax.Array) -> jax.Array:
        return (1 / (1 + jnp.exp(-theta)) + 0.5) ** 3 * theta

    found = jax.jit(jax.value_and_grad(lambda theta: value(theta, Enumeration())))(0.4)
    np.testing.assert_allclose(found, jax.value_and_grad(truth)(0.4), rtol=1e-12)


def test_a_sure_coin_can_still_be_moved() -> None:
    """At p = 0 the slope of enumeration and of measures is f(1) - f(0)."""

    @jax.jit
    def slopes(p: jax.Array) -> list[jax.Array]:
        def value(p: jax.Array, method: Method) -> jax.Array:
            steps = [
                Draw("b", (), lambda v: dist.Bernoulli(probs=p), method),
                Cost("loss", ("b",), lambda v: 5.0 * v["b"] + 1.0),
            ]
            return surrogate(steps, jax.random.key(0)).value

        return [jax.grad(value)(p, method) for method in (Enumeration(), MeasureValued())]

    np.testing.assert_allclose(slopes(jnp.asarray(0.0)), [5.0, 5.0])


def test_refusals_say_why() -> None:
    assert "ends move" in ScoreFunction.refusal(dist.Uniform(0.0, 1.0))
    assert "no differentiable function" in Pathwise.refusal(dist.Bernoulli(probs=0.5))
    assert "Bernoulli" in Arm.refusal(dist.Normal(0.0, 1.0))
    assert "there is one for" in MeasureValued.refusal(dist.Beta(1.0, 1.0))
    assert not MeasureValued.refusal(dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    assert "not finite" in Enumeration.refusal(dist.Poisson(1.0))

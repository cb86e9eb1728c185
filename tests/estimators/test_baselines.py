"""Baselines: none changes the expectation of value, gradient or Hessian; variances against closed
forms.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from cases import CHAIN, DIE, Case, coin
from verification import moments, verify

from dpc.estimators import Cost, Draw, Step, surrogate
from dpc.estimators.methods.arm import DisArm
from dpc.estimators.methods.enumeration import Enumeration
from dpc.estimators.methods.measure import MeasureValued
from dpc.estimators.methods.method import (
    Baseline,
    Constant,
    EstimatorError,
    LeaveOneOut,
    Method,
    Moving,
    Optimal,
)
from dpc.estimators.methods.pathwise import Pathwise
from dpc.estimators.methods.score import LeaveOneOutScore, ScoreFunction
from dpc.estimators.surrogate import initial_state

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"


@pytest.mark.parametrize(
    ("baseline", "particles"),
    [(Constant(0.8), 1), (Moving(), 1), (LeaveOneOut(), 3), (Optimal(), 2), (Optimal(), 3)],
    ids=lambda x: type(x).__name__ if isinstance(x, Baseline) else str(x),
)
def test_no_baseline_moves_the_mean(baseline: Baseline, particles: int) -> None:
    verify(DIE if particles < 3 else coin(0.3), [ScoreFunction(baseline)], particles)


@pytest.mark.parametrize(
    "methods",
    [
        [ScoreFunction(Optimal()), LeaveOneOutScore()],
        [LeaveOneOutScore(), MeasureValued()],
        [Enumeration(), LeaveOneOutScore()],
        [DisArm(), ScoreFunction(Constant(1.5))],
    ],
    ids=lambda methods: "-".join(method.name for method in methods),
)
def test_baselines_above_and_below_others(methods: list[Method]) -> None:
    needs = [method.baseline.needs for method in methods if method.baseline]
    verify(CHAIN, methods, max(needs))


def test_a_moving_baseline_is_updated_after_its_use() -> None:
    method = ScoreFunction(Moving(decay=0.75))
    steps = DIE.steps(jnp.asarray(DIE.theta), [method])
    before = initial_state(steps)
    after = surrogate(steps, jax.random.key(0), 1, before)
    np.testing.assert_allclose(before["k"], 0.0)
    np.testing.assert_allclose(after.state["k"], 0.25 * after.value)

    @jax.jit
    def slopes(state: dict[str, jax.Array]) -> tuple[jax.Array, jax.Array]:
        given = ScoreFunction(Constant(state["k"]))
        key, theta = jax.random.key(1), jnp.asarray(DIE.theta)
        moving = jax.grad(lambda t: surrogate(DIE.steps(t, [method]), key, 1, state).value)(theta)
        return moving, jax.grad(lambda t: surrogate(DIE.steps(t, [given]), key).value)(theta)

    for state in (before, after.state):
        np.testing.assert_allclose(*slopes(state))


def test_others_are_needed() -> None:
    with pytest.raises(EstimatorError, match="at least 2"):
        surrogate(DIE.steps(jnp.asarray(DIE.theta), [LeaveOneOutScore()]), jax.random.key(0))


# ---- variances


def _square_steps(theta: jax.Array, methods: Sequence[Method]) -> list[Step]:
    return [
        Draw("x", (), lambda v: dist.Normal(theta[0], theta[1]), methods[0]),
        Cost("loss", ("x",), lambda v: v["x"] ** 2),
    ]


SQUARE = Case("square", np.array([1.0, 1.0]), _square_steps, lambda t: t[0] ** 2 + t[1] ** 2, ())


@pytest.mark.parametrize(
    ("method", "particles", "variances"),
    [
        (ScoreFunction(), 1, [30, 136]),
        (ScoreFunction(Constant(2.0)), 1, [18, 96]),
        (LeaveOneOutScore(), 2, [14, 56]),
        (Pathwise(), 1, [4, 12]),
    ],
    ids=["score", "mean", "rloo", "pathwise"],
)
def test_variances_of_a_square(method: Method, particles: int, variances: list[float]) -> None:
    """x^2 of N(1, 1), to its mean and to its standard deviation."""
    mean, variance = moments(SQUARE, [method], particles)
    np.testing.assert_allclose(mean, [2, 2], rtol=1e-9)
    np.testing.assert_allclose(variance, variances, rtol=1e-9)


def _toy_steps(theta: jax.Array, methods: Sequence[Method]) -> list[Step]:
    rewards = jnp.array([2.0, -1.0, 0.5])
    return [
        Draw("k", (), lambda v: dist.Categorical(logits=theta), methods[0]),
        Cost("reward", ("k",), lambda v: rewards[v["k"]]),
    ]


@pytest.mark.parametrize(("particles", "rloo", "plain"), [(2, 0.682, 0.492), (3, 0.338, 0.328)])
def test_leaving_one_out_is_not_always_better(particles: int, rloo: float, plain: float) -> None:
    toy = Case("toy", DIE.theta, _toy_steps, DIE.truth, (), DIE.breaks)
    for method, variance in ((LeaveOneOutScore(), rloo), (ScoreFunction(), plain)):
        np.testing.assert_allclose(
            np.sum(moments(toy, [method], particles)[1]), variance, atol=5e-4
        )


def test_only_costs_below_weigh_a_score() -> None:
    """Ten fair dice of five faces, each paying its face: 44 in all, and 3356 if every score were
    weighed by the sum.

    One die: E[f^2] |score|^2 - |gradient|^2 = 6 * 4/5 - 10/25; all at once: (20^2 + 20) * 4/5 -
    10/25.
    """
    faces = jnp.arange(5.0)

    def steps(theta: jax.Array, together: bool) -> list[Step]:
        follows = {} if together else {"k": {0: 0}}
        return [
            Draw("k", (), lambda v: dist.Categorical(logits=theta), ScoreFunction(), plates=1),
            Cost("sum", ("k",), lambda v: faces[v["k"]], plates=1, follows=follows),
        ]

    keys = jax.random.split(jax.random.key(3), 4_000)
    for together, variance, error in ((False, 44.0, 0.6), (True, 3356.0, 40.0)):
        slope = jax.grad(lambda t, key, together=together: surrogate(steps(t, together), key).value)
        slopes = jax.jit(jax.vmap(slope, (None, 0)))(jnp.zeros((10, 5)), keys)
        squares = jnp.sum((slopes - (faces - 2) / 5) ** 2, (1, 2))
        known_to = jnp.std(squares) / jnp.sqrt(len(keys))
        assert known_to < error
        assert abs(jnp.mean(squares) - variance) < 5 * known_to  # one false alarm in two million

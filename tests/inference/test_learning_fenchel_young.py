"""Fenchel-Young losses of one choice against closed forms, finite differences and other solvers."""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from dpc.inference.errors import InferenceError
from dpc.inference.losses.fenchel_young import (
    GINI,
    SHANNON,
    Regulariser,
    entmax,
    fenchel_young,
    perturbed_loss,
    tsallis,
)

# ---- Fenchel-Young losses of one choice


REGULARISERS = {r.name: r for r in (SHANNON, GINI, tsallis(1.5), tsallis(1.2), tsallis(1.8))}
STATES = 4
vectors = st.lists(st.floats(-5, 5), min_size=STATES, max_size=STATES).map(np.array)
each_regulariser = pytest.mark.parametrize("name", REGULARISERS)


@cache
def everything_of(name: str) -> Any:
    """The loss, its gradient, the prediction and its Jacobian, compiled once for each
    regulariser.
    """
    regulariser: Regulariser = REGULARISERS[name]

    def at(theta: Any, target: Any) -> Any:
        loss, slope = jax.value_and_grad(partial(fenchel_young, regulariser))(theta, target)
        return (
            loss,
            slope,
            regulariser.predict(theta),
            jax.hessian(partial(fenchel_young, regulariser))(theta, target),
        )

    return jax.jit(at)


@each_regulariser
@settings(max_examples=40, deadline=None)
@for_all(vectors, st.lists(st.floats(0.01, 1), min_size=STATES, max_size=STATES))
def test_losses_are_zero_at_the_prediction_and_positive_elsewhere(
    name: str, theta: np.ndarray, raw: list[float]
) -> None:
    target = np.array(raw) / np.sum(raw)
    loss, slope, predicted, _ = map(np.asarray, everything_of(name)(theta, target))
    np.testing.assert_allclose(predicted.sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(slope, predicted - target, atol=1e-12)
    distance = np.square(predicted - target).sum()
    assert (
        loss >= distance / 8 - 1e-12
    )  # every omega is strongly convex in the 1-norm or better, by at least 1/4
    at_rest = np.asarray(everything_of(name)(theta, predicted)[0])
    np.testing.assert_allclose(at_rest, 0, atol=1e-11)


@each_regulariser
@settings(max_examples=20, deadline=None)
@for_all(vectors)
def test_predictions_maximise_what_they_should(name: str, theta: np.ndarray) -> None:
    """No point of a grid on the simplex has a larger <theta, p> - omega(p)."""
    steps = np.array([p for p in product(range(9), repeat=STATES) if sum(p) == 8]) / 8
    omega = REGULARISERS[name].omega
    predicted = np.asarray(everything_of(name)(theta, steps[0])[2])
    best = theta @ predicted - float(omega(jnp.asarray(predicted)))
    assert best >= (steps @ theta - np.asarray(omega(jnp.asarray(steps)))).max() - 1e-12


@each_regulariser
def test_jacobians_of_predictions_are_differences(name: str) -> None:
    theta, step = np.array([0.3, -0.2, 0.9, -3.0]), 1e-6
    everything = everything_of(name)
    found = np.asarray(everything(theta, np.eye(STATES)[0])[3])
    rows = [
        everything(theta + d, d)[2] - everything(theta - d, d)[2] for d in step * np.eye(STATES)
    ]
    np.testing.assert_allclose(found, np.array(rows) / (2 * step), atol=1e-8)


def test_shannon_is_logistic_and_gini_is_the_projection() -> None:
    theta = np.array([0.3, -0.2, 0.9, -3.0])
    loss, *_ = everything_of("Shannon")(theta, np.eye(STATES)[1])
    np.testing.assert_allclose(float(loss), -np.asarray(jax.nn.log_softmax(theta))[1], rtol=1e-12)
    predicted = everything_of("Gini")(theta, np.eye(STATES)[1])[2]
    np.testing.assert_allclose(np.asarray(predicted), project(theta), atol=1e-9)
    assert np.asarray(predicted)[3] == 0


@each_regulariser
def test_what_is_impossible_is_as_good_as_absent(name: str) -> None:
    target = np.array([0.2, 0.5, 0.3, 0.0])
    absent, unlikely = (
        everything_of(name)(np.array([0.3, -0.2, 0.9, low]), target) for low in (-np.inf, -1e4)
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-12), absent, unlikely)


def project(theta: np.ndarray) -> np.ndarray:
    """Onto the simplex, by a quadratic program."""
    setting: dict[str, Any] = {
        "jac": lambda p: 2 * (p - theta),
        "bounds": [(0, None)] * theta.size,
        "constraints": {"type": "eq", "fun": lambda p: p.sum() - 1},
        "options": {"ftol": 1e-16, "maxiter": 500},
    }
    start = np.full(theta.size, 1 / theta.size)
    return scipy.optimize.minimize(lambda p: np.square(p - theta).sum(), start, **setting).x


def test_sorting_and_bisection_agree() -> None:
    theta = jnp.asarray(np.random.default_rng(0).normal(size=(5, 7)) * 3)
    for alpha in (1.5, 2.0):
        exact, near = (jax.jit(partial(entmax, alpha=a))(theta) for a in (alpha, alpha - 1e-9))
        np.testing.assert_allclose(np.asarray(exact), np.asarray(near), atol=1e-7)


def test_alpha_has_a_range() -> None:
    with pytest.raises(InferenceError, match="above 1 and at most 2, not 1"):
        entmax(jnp.zeros(3), 1.0)


def test_the_perturbed_loss_has_the_gradient_of_its_solutions() -> None:
    """Two choices with Gaussian noise: P(first) is a normal probability. 4 standard errors, false
    alarms 6e-5.
    """
    theta, target, samples = jnp.array([0.4, -0.3]), jnp.array([0.0, 1.0]), 4000

    @jax.jit
    def both(key: Any) -> Any:
        return jax.value_and_grad(lambda t: perturbed_loss(one_hot, t, target, key, samples))(theta)

    value, slope = map(np.asarray, both(jax.random.key(0)))
    first = scipy.stats.norm.cdf(0.7 / np.sqrt(2))
    error = np.sqrt(first * (1 - first) / samples)
    assert abs(slope[0] - first) < 4 * error
    np.testing.assert_allclose(slope.sum(), 0, atol=1e-12)
    expected = (
        0.4 * first - 0.3 * (1 - first) + np.sqrt(2) * scipy.stats.norm.pdf(0.7 / np.sqrt(2)) + 0.3
    )
    assert abs(value - expected) < 4 * 1.5 / np.sqrt(samples)


def one_hot(theta: Any) -> Any:
    return jax.nn.one_hot(jnp.argmax(theta), theta.size)

"""Loops against plain Python: the hard one stops where Python stops, the soft one is a mean over
stopping times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpc.dsl.library.bodies.loops import bounded_loop, soft_loop, soft_loop_path
from dpc.dsl.library.bodies.soft import soft_greater_logistic, soft_greater_sparse

quickly = settings(deadline=None, max_examples=40)


def newton(x: Any) -> Callable[[Any], Any]:
    return lambda s: 0.5 * (s + x / s)


def error(s: Any, x: Any) -> Any:
    return 0.5 * (s**2 - x) ** 2


def plain_loop(x: float, tol: float, limit: int) -> float:
    s = 1.0
    for _ in range(limit):
        if error(s, x) <= tol:
            break
        s = newton(x)(s)
    return s


def mean_over_stops(x: float, tol: float, scale: float, limit: int) -> tuple[float, list[float]]:
    """sum_i P(stop at i) s_i, where the last stop is certain (CF26, erratum 22)."""
    s, reached, mean, weights = 1.0, 1.0, 0.0, []
    for i in range(limit + 1):
        going = 0.0 if i == limit else 1 / (1 + np.exp(-(error(s, x) - tol) / scale))
        weights.append(reached * (1 - going))
        mean += weights[-1] * s
        s, reached = newton(x)(s), reached * going
    return mean, weights


@jax.jit
def hard_root(x: jax.Array, tol: jax.Array) -> jax.Array:
    return bounded_loop(newton(x), lambda s: error(s, x) > tol, 1.0, 5)


@jax.jit
def soft_root(x: jax.Array, tol: jax.Array, scale: jax.Array) -> tuple[jax.Array, jax.Array]:
    def keep_going(s: jax.Array) -> jax.Array:
        return soft_greater_logistic(error(s, x), tol, scale)

    _, weights = soft_loop_path(newton(x), keep_going, 1.0, 5)
    return soft_loop(newton(x), keep_going, 1.0, 5), weights


@given(x=st.floats(0.5, 9), tol=st.floats(1e-9, 2))
@quickly
def test_the_hard_loop_is_that_of_python(x: float, tol: float) -> None:
    np.testing.assert_allclose(hard_root(x, tol), plain_loop(x, tol, 5), rtol=1e-14)


@given(x=st.floats(0.5, 9), tol=st.floats(0, 2), scale=st.floats(0.05, 3))
@quickly
def test_the_soft_loop_is_the_mean_over_its_stops(x: float, tol: float, scale: float) -> None:
    value, weights = soft_root(x, tol, scale)
    mean, expected = mean_over_stops(x, tol, scale, 5)
    np.testing.assert_allclose(weights, expected, atol=1e-12)
    np.testing.assert_allclose(np.sum(weights), 1, rtol=1e-13)
    np.testing.assert_allclose(value, mean, rtol=1e-12)


def test_a_small_scale_recovers_the_hard_loop() -> None:
    for tol in (0.3, 0.01, 1e-4):
        np.testing.assert_allclose(
            soft_root(2.0, tol, 1e-7)[0], plain_loop(2.0, tol, 5), rtol=1e-12
        )


def test_the_weights_are_the_markov_chain_of_the_stops() -> None:
    """CF28: from state j the chain stays with P(stop) and else moves to j + 1; start in 0, run to
    the end.
    """
    _, weights = soft_root(2.0, 0.1, 0.2)
    s, stops = 1.0, []
    for _ in range(5):
        stops.append(1 / (1 + np.exp((error(s, 2.0) - 0.1) / 0.2)))
        s = newton(2.0)(s)
    chain = np.zeros((12, 12))
    for j, stop in enumerate([*stops, 1.0]):
        chain[j, 6 + j] = stop
        chain[6 + j, 6 + j] = 1
        if j < 5:
            chain[j, j + 1] = 1 - stop
    np.testing.assert_allclose(weights, np.linalg.matrix_power(chain, 12)[0, 6:], atol=1e-14)


def test_the_soft_loop_moves_with_its_tolerance() -> None:
    slope = jax.jit(jax.grad(lambda x, tol: soft_root(x, tol, 0.1)[0], argnums=(0, 1)))(2.0, 0.1)
    step = 1e-6
    in_x = (
        mean_over_stops(2 + step, 0.1, 0.1, 5)[0] - mean_over_stops(2 - step, 0.1, 0.1, 5)[0]
    ) / (2 * step)
    in_tol = (
        mean_over_stops(2, 0.1 + step, 0.1, 5)[0] - mean_over_stops(2, 0.1 - step, 0.1, 5)[0]
    ) / (2 * step)
    np.testing.assert_allclose(slope, [in_x, in_tol], rtol=1e-7)
    assert abs(in_tol) > 1e-3


def test_the_hard_loop_has_the_slope_of_the_steps_taken() -> None:
    slope = jax.jit(jax.grad(hard_root))(2.0, 0.01)
    step = 1e-6
    numeric = (plain_loop(2 + step, 0.01, 5) - plain_loop(2 - step, 0.01, 5)) / (2 * step)
    np.testing.assert_allclose(slope, numeric, rtol=1e-8)


def test_a_loop_that_has_stopped_for_certain_stays_finite() -> None:
    """Steps beyond the stop would overflow: s doubles its exponent each time."""

    def run(tol: jax.Array) -> jax.Array:
        return soft_loop(lambda s: s * s, lambda s: soft_greater_sparse(tol, s, 1.0), 3.0, 40)

    value, slope = jax.jit(jax.value_and_grad(run))(jnp.float64(5.0))
    assert (value, slope) == (9.0, 0.0)


def test_loops_of_no_steps_give_their_start() -> None:
    assert bounded_loop(lambda s: s + 1, lambda s: s < 9, 2.0, 0) == 2
    assert soft_loop(lambda s: s + 1, lambda s: 0.5 + 0 * s, 2.0, 0) == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loops_keep_the_precision_of_their_state(dtype: type) -> None:
    x = jnp.asarray(2.0, dtype)
    assert hard_root(x, jnp.asarray(0.01, dtype)).dtype == dtype
    assert soft_root(x, jnp.asarray(0.01, dtype), jnp.asarray(0.1, dtype))[0].dtype == dtype


def test_a_state_may_be_an_array_and_a_loop_may_stand_in_a_batch() -> None:
    start = jnp.array([[1.0, 2.0], [4.0, 8.0]])
    halve = jax.vmap(lambda s: bounded_loop(lambda v: v / 2, lambda v: jnp.sum(v) > 2.0, s, 10))
    np.testing.assert_array_equal(halve(start), [[0.5, 1.0], [0.5, 1.0]])
    soft = jax.vmap(
        lambda s: soft_loop(lambda v: v / 2, lambda v: jnp.where(jnp.sum(v) > 2.0, 1.0, 0.0), s, 10)
    )
    np.testing.assert_array_equal(soft(start), [[0.5, 1.0], [0.5, 1.0]])


def test_a_whole_start_becomes_what_its_step_makes_of_it() -> None:
    with jax.numpy_dtype_promotion("standard"):
        assert bounded_loop(lambda s: s / 2, lambda s: s > 1, 6, 9) == 0.75

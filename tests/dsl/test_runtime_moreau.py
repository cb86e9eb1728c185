"""Proximal points and envelopes against a search for the minimum, and the laws that tie them
together (SM02).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize as so
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpc.dsl.library.bodies import arrays as linear
from dpc.dsl.library.bodies import elementary, moreau

Array = np.ndarray
POINTS = [-2.3, -0.4, 0.0, 0.2, 0.7, 1.9]
VECTORS = [np.array([0.3, -1.2, 0.9]), np.array([2.0, 1.9, -0.1]), np.array([0.1, 0.05, -0.02])]
WEIGHTS = [0.3, 1.5]


def compiled(function: Callable[..., jax.Array]) -> Callable[..., Array]:
    run = jax.jit(function)
    return lambda *given: np.asarray(run(*(jnp.asarray(v, float) for v in given)))


# ---- numbers: the minimum by a search on a line


NUMBERS: dict[
    str,
    tuple[Callable[..., Any], Callable[..., Any], Callable[[Array], Array], tuple[float, float]],
] = {
    "abs": (elementary.soft_threshold, elementary.huber, np.abs, (-9, 9)),
    "relu": (moreau.prox_relu, moreau.moreau_relu, lambda u: np.maximum(u, 0), (-9, 9)),
    "barrier": (moreau.prox_barrier, moreau.moreau_barrier, lambda u: -np.log(u), (1e-9, 9)),
    "interval": (
        lambda x, t: jnp.clip(x, -0.5, 0.5),
        lambda x, t: moreau.moreau_interval(x, -0.5, 0.5),
        lambda u: 0 * u,
        (-0.5, 0.5),
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_the_minimum_on_a_line(name: str) -> None:
    prox, envelope, f, bounds = NUMBERS[name]
    prox, envelope = compiled(prox), compiled(envelope)
    for x in POINTS:
        for t in WEIGHTS:
            found = so.minimize_scalar(
                lambda u, x=x, t=t: t * f(u) + (x - u) ** 2 / 2,
                bounds=bounds,
                method="bounded",
                options={"xatol": 1e-11},
            )
            np.testing.assert_allclose(prox(x, t), found.x, atol=1e-5)
            np.testing.assert_allclose(envelope(x, t), found.fun, atol=1e-9)


def test_the_minimum_of_what_counts_numbers_that_are_not_zero() -> None:
    """min over u of (t^2 / 2) [u is not 0] + (x - u)^2 / 2: u is 0 or x."""
    prox, envelope = compiled(moreau.hard_threshold), compiled(moreau.truncated_square)
    for x in POINTS:
        for t in WEIGHTS:
            costs = {x: t**2 / 2, 0.0: x**2 / 2}
            np.testing.assert_allclose(envelope(x, t), min(costs.values()), atol=1e-15)
            assert prox(x, t) == min(costs, key=costs.__getitem__)


# ---- vectors: the minimum by sequential quadratic programming, f as a bound on a last variable


def least(x: Array, t: float, constraint: Callable[[Array], Array]) -> tuple[Array, float]:
    found = so.minimize(
        lambda v: t * v[-1] + np.sum((x - v[:-1]) ** 2) / 2,
        np.append(x, 3.0),
        constraints={"type": "ineq", "fun": constraint},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x[:-1], found.fun


VECTOR_CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[[Array], Array]]] = {
    "max": (moreau.prox_max, moreau.moreau_max, lambda v: v[-1] - v[:-1]),
    "norm_inf": (
        moreau.prox_norm_inf,
        moreau.moreau_norm_inf,
        lambda v: np.concatenate([v[-1] - v[:-1], v[-1] + v[:-1]]),
    ),
    "norm": (
        linear.group_soft_threshold,
        moreau.moreau_norm,
        lambda v: np.array([v[-1] - np.sqrt(v[:-1] @ v[:-1] + 1e-16)]),
    ),
}


@pytest.mark.parametrize("name", VECTOR_CASES)
def test_the_minimum_over_vectors(name: str) -> None:
    prox, envelope = map(compiled, VECTOR_CASES[name][:2])
    for x in VECTORS:
        for t in WEIGHTS:
            point, value = least(x, t, VECTOR_CASES[name][2])
            np.testing.assert_allclose(envelope(x, t), value, atol=1e-6)
            np.testing.assert_allclose(prox(x, t), point, atol=1e-3)


SETS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[[Array, float], bool]]] = {
    "ball": (moreau.project_ball, moreau.moreau_ball, lambda y, r: np.linalg.norm(y) <= r + 1e-12),
    "l1_ball": (
        moreau.project_l1_ball,
        lambda x, r: jnp.sum(jnp.square(x - moreau.project_l1_ball(x, r))) / 2,
        lambda y, r: abs(y).sum() <= r + 1e-12,
    ),
}


@pytest.mark.parametrize("name", SETS)
@given(x=arrays(float, 3, elements=st.floats(-3, 3)), y=arrays(float, 3, elements=st.floats(-1, 1)))
@settings(deadline=None, max_examples=40)
def test_a_projection_is_in_the_set_and_makes_no_acute_angle_with_it(
    name: str, x: Array, y: Array
) -> None:
    """p is the nearest point to x just when (x - p)(y - p) <= 0 for all y of the set."""
    prox, envelope, is_inside = RUN[name]
    p = prox(x, 0.8)
    assert is_inside(p, 0.8)
    y = 0.8 * y / max(1, abs(y).sum())
    assert (x - p) @ (y - p) <= 1e-9
    np.testing.assert_allclose(envelope(x, 0.8), np.sum((x - p) ** 2) / 2, atol=1e-12)


RUN = {
    name: (compiled(prox), compiled(envelope), inside)
    for name, (prox, envelope, inside) in SETS.items()
}


# ---- laws


@pytest.mark.parametrize("name", ["relu", "barrier", "interval"])
def test_the_derivative_of_an_envelope_is_x_less_the_proximal_point(name: str) -> None:
    prox, envelope, *_ = NUMBERS[name]
    slopes = jax.jit(jax.vmap(jax.grad(envelope), (0, None)))(jnp.array(POINTS), 0.6)
    np.testing.assert_allclose(slopes, np.array(POINTS) - prox(jnp.array(POINTS), 0.6), atol=1e-12)


@pytest.mark.parametrize("name", VECTOR_CASES)
def test_the_gradient_of_an_envelope_is_x_less_the_proximal_point(name: str) -> None:
    prox, envelope, _ = VECTOR_CASES[name]
    points = jnp.asarray(np.array(VECTORS))
    slopes, found = jax.jit(jax.vmap(lambda x: (jax.grad(envelope)(x, 0.6), prox(x, 0.6))))(points)
    np.testing.assert_allclose(slopes, points - found, atol=1e-12)


def test_a_small_weight_recovers_the_function() -> None:
    """|f - env / t| <= t L^2 / 2 for a function of slope at most L."""
    x, t = VECTORS[0], 1e-6
    hard = {"max": x.max(), "norm_inf": abs(x).max(), "norm": np.linalg.norm(x)}
    for name, (_, envelope, _) in VECTOR_CASES.items():
        np.testing.assert_allclose(envelope(jnp.asarray(x), t) / t, hard[name], atol=1e-6)
    for name in ("abs", "relu"):
        _, envelope, f, _ = NUMBERS[name]
        np.testing.assert_allclose(
            envelope(jnp.array(POINTS), t) / t, f(np.array(POINTS)), atol=1e-6
        )

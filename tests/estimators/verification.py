"""The expectation of a surrogate and of its derivatives, against the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from cases import Case
from tape import expected

from dpc.estimators import surrogate
from dpc.estimators.methods.method import Method


def verify(case: Case, methods: Sequence[Method], particles: int = 1) -> None:
    """Value, gradient and Hessian of the surrogate have the expectations of the truth."""
    theta = jnp.asarray(case.theta)

    def value(theta: jax.Array, key: jax.Array) -> jax.Array:
        return surrogate(case.steps(theta, methods), key, particles).value

    found = expected(value, derivatives, theta, case.breaks, case.rules, case.fineness)
    for name, mine, true in zip(
        ("value", "gradient", "Hessian"), found, _true_derivatives(case), strict=True
    ):
        np.testing.assert_allclose(mine, true, rtol=1e-10, atol=1e-10, err_msg=name)


def derivatives(
    value: Callable[[jax.Array, Any], jax.Array],
) -> Callable[[jax.Array, Any], tuple[jax.Array, ...]]:
    """Value, gradient and Hessian."""

    def gradient(theta: jax.Array, key: Any) -> Any:
        found, slope = jax.value_and_grad(value)(theta, key)
        return slope, (found, slope)

    def all_three(theta: jax.Array, key: Any) -> tuple[jax.Array, ...]:
        hessian, (found, slope) = jax.jacfwd(gradient, has_aux=True)(theta, key)
        return found, slope, hessian

    return all_three


@cache
def _true_derivatives(case: Case) -> tuple[jax.Array, ...]:
    return jax.jit(derivatives(lambda theta, key: case.truth(theta)))(jnp.asarray(case.theta), None)


def moments(
    case: Case, methods: Sequence[Method], particles: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the variance of the gradient, entry by entry."""

    def value(theta: jax.Array, key: jax.Array) -> jax.Array:
        return surrogate(case.steps(theta, methods), key, particles).value

    mean, square = expected(
        value, _squares, jnp.asarray(case.theta), case.breaks, case.rules, case.fineness
    )
    return mean, square - mean**2


def _squares(
    value: Callable[[jax.Array, Any], jax.Array],
) -> Callable[[jax.Array, Any], tuple[jax.Array, ...]]:
    gradient = jax.grad(value)

    def both(theta: jax.Array, key: Any) -> tuple[jax.Array, ...]:
        found = gradient(theta, key)
        return found, found**2

    return both

"""Every estimator of the table, on small programs: the exact expectation of value, gradient and Hessian is the true one.

The expectation is over all noise, by quadrature (tape.py); the truth is a sum over outcomes (cases.py).
"""

from __future__ import annotations

from functools import cache
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CHAIN, COINS, DIE, GATE, PROBABILITY, Case, coin
from laws import LAWS
from tape import expected

from dpc.estimators import surrogate
from dpc.estimators.methods.enumeration import Enumeration
from dpc.estimators.methods.method import Method
from dpc.estimators.methods.pathwise import Pathwise
from dpc.estimators.methods.rebar import Relax
from dpc.estimators.methods.table import METHODS

ONE_DRAW = [coin(0.3), coin(0.0), PROBABILITY, DIE, COINS]
NAMES = [name for name, row in METHODS.items() if row.method.order == 2]


@pytest.fixture(autouse=True)
def _double() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def verify(case: Case, methods: Sequence[Method], particles: int = 1) -> None:
    """Value, gradient and Hessian of the surrogate have the expectations of the truth."""
    theta = jnp.asarray(case.theta)

    def value(theta: jax.Array, key: jax.Array) -> jax.Array:
        return surrogate(case.steps(theta, methods), key, particles).value

    found = expected(value, derivatives, theta, case.breaks, case.rules, case.fineness)
    for name, mine, true in zip(("value", "gradient", "Hessian"), found, true_derivatives(case.name), strict=True):
        np.testing.assert_allclose(mine, true, rtol=1e-10, atol=1e-10, err_msg=name)


def derivatives(value: Callable[[jax.Array, Any], jax.Array]) -> Callable[[jax.Array, Any], tuple[jax.Array, ...]]:
    """Value, gradient and Hessian."""

    def gradient(theta: jax.Array, key: Any) -> Any:
        found, slope = jax.value_and_grad(value)(theta, key)
        return slope, (found, slope)

    def all_three(theta: jax.Array, key: Any) -> tuple[jax.Array, ...]:
        hessian, (found, slope) = jax.jacfwd(gradient, has_aux=True)(theta, key)
        return found, slope, hessian

    return all_three


@cache
def true_derivatives(name: str) -> tuple[jax.Array, ...]:
    case = next(case for case in [*ONE_DRAW, CHAIN, GATE, *LAWS] if case.name == name)
    return jax.jit(derivatives(lambda theta, key: case.truth(theta)))(jnp.asarray(case.theta), None)


def made(name: str) -> Method:
    method: Method = METHODS[name].method()
    return method


def particles_of(*methods: Method) -> int:
    return max([1, *(method.baseline.needs for method in methods if method.baseline)])


def accepted(name: str, case: Case, draw: int = 0) -> None:
    if METHODS[name].method.refusal(case.laws[draw]):
        pytest.skip("not for this law")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", ONE_DRAW, ids=lambda case: case.name)
def test_one_draw(case: Case, name: str) -> None:
    accepted(name, case)
    verify(case, [made(name)], particles_of(made(name)))


@pytest.mark.parametrize("name", NAMES)
def test_a_draw_above_another(name: str) -> None:
    accepted(name, CHAIN)
    method = made(name)
    below = Enumeration() if method.relaxed or METHODS[name].method.refusal(CHAIN.laws[1]) else method
    verify(CHAIN, [method, below], particles_of(method))


@pytest.mark.parametrize("name", NAMES)
def test_a_draw_below_a_path(name: str) -> None:
    accepted(name, GATE, 1)
    if name != "rloo":
        verify(GATE, [Pathwise(), made(name)])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", LAWS, ids=lambda case: case.name)
def test_other_laws(case: Case, name: str) -> None:
    accepted(name, case)
    verify(case, [made(name)], particles_of(made(name)))


def test_a_bent_relaxation() -> None:
    bent = {"temperature": jnp.asarray(0.6), "weights": jnp.array([0.5, -0.3]), "places": jnp.array([-0.5, 1.0])}
    verify(coin(0.3), [Relax(bent, scale=0.7)])

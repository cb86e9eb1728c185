"""Every estimator of the table, on small programs: the expectation of value, gradient and Hessian
is the true one.

The expectation is over all noise, by quadrature (tape.py); the truth is a sum over outcomes
(cases.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import pytest
from cases import CHAIN, COINS, DIE, GATE, PROBABILITY, Case, coin
from laws import LAWS
from verification import verify

from dpc.estimators.methods.enumeration import Enumeration
from dpc.estimators.methods.method import Method
from dpc.estimators.methods.pathwise import Pathwise
from dpc.estimators.methods.relaxed import Relax
from dpc.estimators.methods.table import METHODS

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

ONE_DRAW = [coin(0.0), PROBABILITY, DIE, COINS]


def rows(slow: Sequence[str]) -> list[Any]:
    """The unbiased estimators; those that share nearly all with another run with the slow tests."""
    names = [name for name, row in METHODS.items() if row.order == 2]
    return [pytest.param(name, marks=pytest.mark.slow) if name in slow else name for name in names]


def made(name: str) -> Method:
    """The method with its defaults, but for one that would be another with them."""
    if name == "relax":
        bent = {
            "temperature": jnp.asarray(0.5),
            "weights": jnp.array([0.2, -0.1]),
            "places": jnp.array([-0.5, 1.0]),
        }
        return Relax(bent, scale=0.7)
    method: Method = METHODS[name]()
    return method


def particles_of(*methods: Method) -> int:
    return max([1, *(method.baseline.needs for method in methods if method.baseline)])


def accepted(name: str, case: Case, draw: int = 0) -> None:
    if METHODS[name].refusal(case.laws[draw]):
        pytest.skip("not for this law")


@pytest.mark.parametrize("name", rows(slow=["relax"]))
@pytest.mark.parametrize("case", ONE_DRAW, ids=lambda case: case.name)
def test_one_draw(case: Case, name: str) -> None:
    accepted(name, case)
    verify(case, [made(name)], particles_of(made(name)))


@pytest.mark.parametrize("name", rows(slow=["relax", "arm"]))
def test_a_draw_above_another(name: str) -> None:
    accepted(name, CHAIN)
    method = made(name)
    below = Enumeration() if method.relaxed or METHODS[name].refusal(CHAIN.laws[1]) else method
    verify(CHAIN, [method, below], particles_of(method))


@pytest.mark.parametrize("name", rows(slow=["relax", "rloo", "arm"]))
def test_a_draw_below_a_path(name: str) -> None:
    """The score of a discrete child flows through the path of its parent."""
    accepted(name, GATE, 1)
    verify(GATE, [Pathwise(), made(name)], particles_of(made(name)))


@pytest.mark.parametrize("name", rows(slow=["rloo", "sfe", "pathwise"]))
@pytest.mark.parametrize("case", LAWS, ids=lambda case: case.name)
def test_other_laws(case: Case, name: str) -> None:
    accepted(name, case)
    if (case.name, name) == ("gamma", "pathwise"):
        pytest.skip("its path is that of JAX's sampler, which the tape replaces")
    verify(case, [made(name)], particles_of(made(name)))

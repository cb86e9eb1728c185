"""Chances of 0 and 1 and rates of 0: exact ways have the derivative, scores say that they see none."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import dpc
from dpc.exits import UsageError

COIN = """param p : real(lower=0, upper=1) = 0.5
b ~ Bernoulli(p) with grad={}
minimize (if b then 3 else 1)
"""
COUNT = "param r : real(lower=0) = 1\nk ~ Poisson(r) with grad={}\nminimize k^2 + 3 * k\n"


@pytest.mark.parametrize("p", [0.0, 1.0])
@pytest.mark.parametrize("method", ["enumerate", "mvd", "sfe", "rloo"])
def test_a_coin_at_its_ends(method: str, p: float) -> None:
    """E = 1 + 2 p."""
    model = dpc.parse(COIN.format(method))
    gradient = jax.jit(lambda p: model.value_and_grad(jax.random.key(0), {"p": p})[1]["p"])
    if method in ("enumerate", "mvd"):
        np.testing.assert_allclose(gradient(p), 2.0)
        return
    with pytest.raises(UsageError, match=r"end of its range, where grad=.* of `b` sees nothing"):
        model.grad({"p": p})
    assert np.isnan(gradient(p))
    assert np.isfinite(gradient(0.5))


def test_a_rate_of_zero() -> None:
    """E k (k - 1) + 4 k = r^2 + 4 r."""
    by_measures = dpc.parse(COUNT.format("mvd"))
    np.testing.assert_allclose(
        by_measures.value_and_grad(jax.random.key(0), {"r": 0.0})[1]["r"], 4.0
    )
    with pytest.raises(UsageError, match="never drawn"):
        dpc.parse(COUNT.format("rloo")).value_and_grad(jax.random.key(0), {"r": 0.0})

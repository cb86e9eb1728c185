"""Normal draws that are integrated out, against normal densities of what was seen."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

import dpc

FACTORS = """
dim N
dim D
dim K = 2
observed x[N, D] : real
param W[D, K] : real
param mu[D]   : real
param psi[D]  : real(lower=0)
z[n in N, k in K] ~ Normal(0, 1)
centre[n in N, d in D] = mu[d] + dot(W[d], z[n])
x[n in N, d in D] ~ Normal(centre[n, d], psi[d])
"""

FACTORS_BY_CASE = """
dim D
dim K = 2
param W[D, K] : real
param mu[D]   : real
param psi[D]  : real(lower=0)
z[k in K] ~ Normal(0, 1)
observed x[D] : real
x[d in D] ~ Normal(mu[d] + dot(W[d], z), psi[d])
"""

WALK = """
dim T
observed y[T] : real
param step  : real(lower=0)
param noise : real(lower=0)
level[0] ~ Normal(0, 2)
level[t in T[1..]] ~ Normal(0.9 * level[t-1], step)
y[t in T] ~ Normal(level[t], noise)
"""


@pytest.mark.parametrize("text", [FACTORS, FACTORS_BY_CASE], ids=["plate", "cases"])
def test_factor_analysis_is_a_normal_with_covariance_of_low_rank(text: str) -> None:
    rng = np.random.default_rng(9)
    x, w, mu, psi = (
        rng.normal(size=(5, 3)),
        rng.normal(size=(3, 2)),
        rng.normal(size=3),
        rng.random(3) + 0.5,
    )
    likelihood = dpc.parse(text).likelihood({"x": x})
    found = jax.jit(likelihood.log_likelihood)({"W": w, "mu": mu, "psi": psi})
    expected = stats.multivariate_normal(mu, w @ w.T + np.diag(psi**2)).logpdf(x).sum()
    assert float(found) == pytest.approx(expected, abs=1e-10)


def test_a_linear_state_space_model_is_integrated_exactly() -> None:
    y = np.random.default_rng(10).normal(size=4)
    likelihood = dpc.parse(WALK).likelihood({"y": y})
    found = float(likelihood.log_likelihood({"step": 0.7, "noise": 0.4}))
    covariance = np.zeros((4, 4))
    covariance[0, 0] = 4
    for t in range(1, 4):
        covariance[t, :t] = covariance[:t, t] = 0.9 * covariance[t - 1, :t]
        covariance[t, t] = 0.81 * covariance[t - 1, t - 1] + 0.49
    expected = stats.multivariate_normal(np.zeros(4), covariance + 0.16 * np.eye(4)).logpdf(y)
    assert found == pytest.approx(expected, abs=1e-10)


def test_a_nonlinear_draw_of_a_row_is_estimated() -> None:
    text = (
        "dim N\nobserved n[N] : int\nparam a : real\nu[i in N] ~ Normal(0, 1)\nn[i in N] ~ "
        "Poisson(exp(a + u[i]))"
    )
    roles = dpc.parse(text).likelihood({"n": [1, 2]}).roles
    assert [node.name for node in roles.estimated] == ["u"]
    assert not roles.integrated


def test_a_normal_draw_of_a_case_is_integrated_whatever_the_lengths() -> None:
    text = """
    dim T
    observed y[T] : real
    param s : real(lower=0)
    level ~ Normal(0, s)
    y[t in T] ~ Normal(level, 1)
    """
    likelihood = dpc.parse(text).likelihood([{"y": [0.3, -0.2]}, {"y": [1.0, 0.5, 0.1]}])
    laws = [stats.multivariate_normal(np.zeros(n), np.eye(n) + 4.0) for n in (2, 3)]
    expected = laws[0].logpdf([0.3, -0.2]) + laws[1].logpdf([1.0, 0.5, 0.1])
    assert float(likelihood.log_likelihood({"s": 2.0})) == pytest.approx(expected, abs=1e-10)

"""Data without a density: which entry of which case is told, and what is missing as a whole is
summed over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpc

LOOSE_JAX = "NumPyro promotes types and ranks"

COUNTS = "param rate : real(lower=0)\nobserved n : int\nn ~ Poisson(rate)"
LINE = """
dim N
dim F = 2
data x[N, F] : real
param w[F] : real
observed y[N] : real
y[i in N] ~ Normal(dot(w, x[i]), 1)
"""
WAITING = """
dim T
dim K = 2
param p[K] : simplex
param r[K] : real(lower=0) = [1, 2]
observed y[T] : real(lower=0)
z[t in T] ~ Categorical(p)
y[t in T] ~ Gamma(2, r[z[t]])
"""
OUTSIDE = [{"y": [1.0, 2.0, 3.0]}, {"y": [1.0, 2.0, 0.0, 1.0]}, {"y": [1.0, 2.0]}]


@pytest.mark.parametrize(
    ("text", "data", "said"),
    [
        (COUNTS, {"n": [3, 2, -1, 4]}, "`n` = -1 in case 3 has log density -inf under Poisson."),
        (
            LINE,
            {"x": [[1, 2], [2, np.inf], [3, 4]], "y": [1, 2, 3]},
            "`y[1]` = 2 has log density -inf under Normal; `x[1, 1]` is inf.",
        ),
        (WAITING, OUTSIDE, "`y[2]` = 0 in case 2 has log density -inf under Gamma."),
    ],
    ids=["a case", "an input", "cases of many lengths, all states of a hidden draw"],
)
def test_the_entry_without_a_density_is_named(text: str, data: Any, said: str) -> None:
    fit = dpc.parse(text).fit(data)
    assert not fit.converged
    assert fit.steps == 0
    assert fit.reason == (
        f"the log density is -inf at the start: {said} Mend the data, or start from other "
        "parameters"
    )


def test_a_draw_that_some_cases_lack_is_missing_there() -> None:
    text = "param p : real(lower=0, upper=1)\nz ~ Bernoulli(p)\ny ~ Normal(if z then 1 else -1, 1)"
    likelihood = dpc.parse(text).likelihood([{"y": 0.3, "z": True}, {"y": -0.5}])
    found = likelihood.log_likelihood({"p": np.asarray(0.7)})
    hidden = 0.7 * stats.norm.pdf(-0.5, 1) + 0.3 * stats.norm.pdf(-0.5, -1)
    assert float(found) == pytest.approx(
        np.log(0.7) + stats.norm.logpdf(0.3, 1) + np.log(hidden), abs=1e-12
    )


def test_counts_that_vary_less_than_poisson_have_no_best_concentration() -> None:
    """The likelihood rises for ever, towards that of a Poisson."""
    counts = np.random.default_rng(0).binomial(20, 0.5, 60)
    text = "dim N\nparam m : real(lower=0) = 1\nparam c : real(lower=0) = 1\n"
    fit = dpc.parse(text + "y[i in N] ~ NegativeBinomial(m, c)\n").fit({"y": counts})
    assert not fit.converged
    assert "`c` may grow without end: `y` is then Poisson" in fit.reason
    np.testing.assert_allclose(fit.params["m"], counts.mean(), rtol=1e-6)


@pytest.mark.parametrize("law", ["Uniform(a, b)", "Pareto(a, b)"])
def test_a_maximum_at_an_end_of_the_data_is_said(law: str) -> None:
    data = 0.2 + np.random.default_rng(0).uniform(size=50)
    text = "dim N\nparam a : real(lower=0) = 0.1\nparam b : real(lower=0) = 2\n"
    fit = dpc.parse(f"{text}y[i in N] ~ {law}\n").fit({"y": data})
    assert not fit.converged
    assert "the maximum is where it meets the data" in fit.reason

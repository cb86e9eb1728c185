"""Missing entries of observed draws: the density is that of the other rows, or the sum over what
may have been.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

import dpc
from dpc.inference.mcmc.target import TargetDensity

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "each program runs once, and compiling takes most of the time"

Values = dict[str, Any]
REGRESSION = """
dim N
data x[N] : real
observed y[N] : real
observed hit[N] : bool
b ~ Normal(0, 1)
s ~ HalfNormal(1)
y[i in N] ~ Normal(b * x[i], s)
hit[i in N] ~ Bernoulli(logistic(b + x[i]))
"""
GROUPS = """
dim Kind = low | mid | high
dim N
observed kind[N] : Kind
observed y[N] : real
share ~ Dirichlet(ones(Kind))
mu[k in Kind] ~ Normal(0, 1)
kind[i in N] ~ Categorical(share)
y[i in N] ~ Normal(mu[kind[i]], 1)
"""
SERIES = """
dim T
observed y[T] : real
a ~ Normal(0, 1)
y[0] ~ Normal(0, 1)
y[t in T[1..]] ~ Normal(a * y[t-1], 0.5)
"""
PAIRS = """
dim N
dim D = 2
observed y[N, D] : real
s ~ HalfNormal(1)
y[i in N] ~ MultivariateNormal(mean=zeros(D), chol=s * cholesky([[1.0, 0.5], [0.5, 1.0]]))
"""
MIXTURE = """
dim N
dim K = 2
observed y[N] : real
mu[k in K] ~ Normal(0, 2)   with ordered
z[i in N] ~ Categorical([0.3, 0.7])
y[i in N] ~ Normal(mu[z[i]], 1)
"""


def log_density(text: str, data: Values, point: Values) -> float:
    """At a point of unconstrained space; entries of `data` may be missing."""
    model, bound = dpc.parse(text).with_missing(data)
    target = TargetDensity(model.to_numpyro(bound))
    assert {name: np.shape(value) for name, value in point.items()} == target.shapes
    return -float(target.potential({name: np.asarray(value) for name, value in point.items()}))


def test_a_leaf_that_is_missing_is_left_out() -> None:
    """The first row lacks nothing, the second y, the third hit: by scipy, term by term."""
    from scipy.stats import norm

    x, b, s = np.array([1.0, 2.0, 3.0]), 0.3, np.exp(0.2)
    data = {"x": x, "y": [0.5, None, 2.0], "hit": [True, False, None]}
    hits = 1 / (1 + np.exp(-(b + x)))
    prior = norm.logpdf(b) + norm.logpdf(s) + np.log(2) + 0.2
    seen = (
        norm.logpdf(0.5, b, s) + norm.logpdf(2.0, 3 * b, s) + np.log(hits[0]) + np.log(1 - hits[1])
    )
    np.testing.assert_allclose(
        log_density(REGRESSION, data, {"b": b, "s": 0.2}), prior + seen, rtol=1e-9
    )


def test_a_finite_value_that_others_depend_on_is_summed_over() -> None:
    point = {"mu": [-1.0, 0.4, 1.3], "share": [0.2, -0.3]}
    ways = [{"kind": ["low", kind, "mid"], "y": [0.5, 1.0, 2.0]} for kind in ("low", "mid", "high")]
    expected = np.logaddexp.reduce([log_density(GROUPS, data, point) for data in ways])
    gap = {"kind": ["low", None, "mid"], "y": [0.5, 1.0, 2.0]}
    np.testing.assert_allclose(log_density(GROUPS, gap, point), expected, rtol=1e-9)


def test_a_hidden_state_whose_observation_is_missing_has_its_prior() -> None:
    point = {"mu": [-1.0, 0.4]}
    gap = log_density(MIXTURE, {"y": [0.5, None, 2.0]}, point)
    np.testing.assert_allclose(gap, log_density(MIXTURE, {"y": [0.5, 2.0]}, point), rtol=1e-9)


def test_a_number_that_others_depend_on_is_drawn() -> None:
    gap, full = {"y": [0.5, np.nan, 2.0]}, {"y": [0.5, 0.7, 2.0]}
    joint = log_density(SERIES, gap, {"a": 0.3, "y.missing": [0.7]})
    np.testing.assert_allclose(joint, log_density(SERIES, full, {"a": 0.3}), rtol=1e-9)


def test_rows_that_are_drawn_together_are_left_out_whole_and_filled_in_part() -> None:
    rows = [[1.0, 2.0], [0.3, -0.5]]
    whole = log_density(PAIRS, {"y": [rows[0], [None, None], rows[1]]}, {"s": 0.1})
    np.testing.assert_allclose(whole, log_density(PAIRS, {"y": rows}, {"s": 0.1}), rtol=1e-9)
    part = log_density(PAIRS, {"y": [rows[0], [None, -0.5]]}, {"s": 0.1, "y.missing": [0.3]})
    np.testing.assert_allclose(part, log_density(PAIRS, {"y": rows}, {"s": 0.1}), rtol=1e-9)


def test_the_posterior_of_what_is_missing_is_that_of_quadrature() -> None:
    """y[1] given its neighbours, a integrated out; the mean within 4.5 errors: false alarm 1 in
    150,000.
    """
    import arviz as az

    data = {"y": [0.5, None, 2.0, 1.0]}
    model = dpc.parse(SERIES)
    found = model.posterior(data, draws=1000, warmup=500, chains=2)

    def weight(y: float) -> float:
        """exp(-2 sum (y' - a y)^2) and the prior of a: a Gaussian integral."""
        before, after = np.array([0.5, y, 2.0]), np.array([y, 2.0, 1.0])
        precision, linear = 1 + 4 * before @ before, 4 * before @ after
        return float(np.exp(0.5 * linear**2 / precision - 2 * after @ after) / np.sqrt(precision))

    total, mean = (quad(lambda y, p=p: y**p * weight(y), -10, 10)[0] for p in (0, 1))
    drawn = found.posterior["y.missing"]
    assert list(drawn.coords["y.gap"].values) == ["1"]
    error = drawn.values.std() / np.sqrt(float(az.ess(drawn.values[..., 0])))
    assert abs(drawn.values.mean() - mean / total) < 4.5 * error
    assert found.posterior.attrs["notes"] == "1 missing entry of `y` is drawn, too"


def test_groups_show_the_gaps() -> None:
    data = {"x": [1.0, 2.0, 3.0], "y": [0.5, None, 2.0], "hit": [True, None, False]}
    found = dpc.parse(REGRESSION).posterior(data, "laplace", draws=20, prior=False)
    np.testing.assert_array_equal(found.observed_data["y"], [0.5, np.nan, 2.0])
    np.testing.assert_array_equal(found.observed_data["hit"], [1.0, np.nan, 0.0])
    assert set(found.constant_data.data_vars) == {"x"}
    assert np.all(found.log_likelihood["y"].values[..., 1] == 0)
    assert np.all(np.isfinite(found.posterior_predictive["y"]))


REFUSED = {
    "whole": ("dim T\nobserved y[T] : int(lower=0)\na ~ HalfNormal(1)\ny[0] ~ Poisson(2)\n"
              "y[t in T[1..]] ~ Poisson(a + y[t-1])\n", "whole numbers without bounds cannot be summed over"),
    "ends": ("dim T\nobserved y[T] : real\na ~ HalfNormal(1)\ny[0] ~ Uniform(0, a)\n"
             "y[t in T[1..]] ~ Uniform(0, a + y[t-1])\n", "which values are possible is not fixed"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_goes_too_far_is_told(name: str) -> None:
    text, told = REFUSED[name]
    with pytest.raises(dpc.DataError, match=told):
        dpc.parse(text).posterior({"y": [1, None, 2]})


def test_a_draw_that_was_never_seen_is_unknown() -> None:
    point = {"a": 0.3, "y": [0.1, 0.2]}
    assert np.isfinite(log_density(SERIES, {"y": [None, None]}, point))

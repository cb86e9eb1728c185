"""Fits that start from unscaled data, and what no fit may call converged."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import logsumexp

import dpc
from dpc.exits import UsageError
from dpc.learn.clusters import assign
from dpc.learn.result import Fit, NotApplicable

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "each program runs once, and compiling takes most of the time"

MIXTURE = """
dim K = 2
param w[K]  : simplex
param mu[K] : real
param s[K]  : real(lower=0)
z ~ Categorical(w)
x ~ Normal(mu[z], s[z])
"""


@pytest.fixture(scope="module")
def waiting() -> np.ndarray:
    """As the times between eruptions of Old Faithful."""
    rng = np.random.default_rng(0)
    is_short = rng.random(200) < 0.36
    return np.where(is_short, rng.normal(54.6, 5.9, 200), rng.normal(80, 5.9, 200))


def mixture_by_scipy(x: np.ndarray) -> float:
    """The log-likelihood at its maximum, in units of the data."""
    y = (x - x.mean()) / x.std()

    def loss(raw: np.ndarray) -> float:
        shares = raw[:2] - logsumexp(raw[:2])
        each = shares + stats.norm(raw[2:4], np.exp(raw[4:])).logpdf(y[:, None])
        return -float(logsumexp(each, axis=1).sum())

    low, high = np.quantile(y, [0.2, 0.8])
    start = np.array([0, 0, low, high, -0.7, -0.7])
    found = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-9})
    return -found.fun - len(x) * np.log(x.std())


@pytest.mark.parametrize(("shift", "scale"), [(0, 1), (1e4, 1e-3), (-3e5, 1e4)])
def test_a_mixture_on_data_of_any_scale(waiting: np.ndarray, shift: float, scale: float) -> None:
    x = shift + scale * waiting
    fit = dpc.parse(MIXTURE).fit({"x": x})
    assert isinstance(fit, Fit)
    assert fit.converged
    assert np.isclose(fit.value, mixture_by_scipy(x), rtol=1e-7, atol=1e-4)
    assert np.allclose((np.asarray(fit.params["mu"]) - shift) / scale, [54.6, 80], atol=2)
    assert "the best of 8 starts" in fit.notes


def test_three_clusters_in_two_dimensions_have_no_dead_component() -> None:
    text = MIXTURE.replace("K = 2", "K = 3\ndim D = 2").replace("[K]  : real(", "[K, D] : real(")
    text = text.replace("mu[K]", "mu[K, D]").replace("x ~", "x[d in D] ~")
    text = text.replace("mu[z], s[z]", "mu[z, d], s[z, d]")
    rng = np.random.default_rng(1)
    centres = np.array([[100, 100], [105, 105], [110, 100.0]])
    x = centres[rng.integers(0, 3, 150)] + rng.normal(size=(150, 2))
    fit = dpc.parse(text).fit([{"x": row} for row in x], errors=False)
    assert isinstance(fit, Fit)
    assert fit.converged
    assert np.allclose(fit.params["mu"], centres, atol=0.6)
    assert min(fit.params["w"]) > 0.2


def test_a_start_on_a_saddle_is_left(waiting: np.ndarray) -> None:
    start = {"mu": [60.0, 60.0], "s": [10.0, 10.0], "w": [0.5, 0.5]}
    fit = dpc.parse(MIXTURE).fit({"x": waiting}, start=start, errors=False)
    assert isinstance(fit, Fit)
    assert fit.converged
    assert np.isclose(fit.value, mixture_by_scipy(waiting), atol=1e-4)


def test_a_component_on_one_point_is_no_maximum() -> None:
    x = np.array([1.0, 1.0, 1.0, 5.0, 5.2, 5.9, 6.1])
    start = {"mu": [1.0, 5.5], "s": [0.01, 0.5], "w": [0.5, 0.5]}
    fit = dpc.parse(MIXTURE).fit({"x": x}, start=start)
    assert isinstance(fit, Fit)
    assert not fit.converged
    assert "grows without bound" in fit.reason


FACTORS = """
dim N
dim D = 4
param w[D] : real = 0
param s[D] : real(lower=0) = 1
h[i in N] ~ Normal(0, 1)
observed x[N, D] : real
x[i in N, d in D] ~ Normal(w[d] * h[i], s[d])
"""


def test_a_factor_analysis_leaves_zero() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(100, 1)) * [1, 2, -1, 0.5] + rng.normal(size=(100, 4))
    fit = dpc.parse(FACTORS).fit({"x": x})

    def loss(raw: np.ndarray) -> float:
        covariance = np.outer(raw[:4], raw[:4]) + np.diag(np.exp(2 * raw[4:]))
        return -stats.multivariate_normal(cov=covariance).logpdf(x).sum()

    start = np.array([1, 2, -1, 0.5, 0, 0, 0, 0])
    assert isinstance(fit, Fit)
    assert fit.converged
    assert np.isclose(fit.value, -optimize.minimize(loss, start).fun, rtol=1e-8)


INTERCEPTS = """
dim N
dim G
data g[N] : G
param mu  : real
param tau : real(lower=0)
param s   : real(lower=0)
u[k in G] ~ Normal(0, tau)
observed y[N] : real
y[i in N] ~ Normal(mu + u[g[i]], s)
"""


@pytest.mark.parametrize(("shift", "scale"), [(0, 1), (1e4, 1e-3)])
def test_random_intercepts_are_integrated_out(shift: float, scale: float) -> None:
    rng = np.random.default_rng(3)
    g = np.repeat(np.arange(8), 5)
    unit = 2 * rng.normal(size=8)[g] + rng.normal(size=40)
    fit = dpc.parse(INTERCEPTS).fit({"g": g, "y": shift + scale * unit})
    together = g[:, None] == g

    def loss(raw: np.ndarray) -> float:
        covariance = np.exp(2 * raw[1]) * together + np.exp(2 * raw[2]) * np.eye(40)
        return -stats.multivariate_normal(np.full(40, raw[0]), covariance).logpdf(unit)

    best = optimize.minimize(loss, np.array([0, 0.5, 0]), options={"gtol": 1e-7})
    assert isinstance(fit, Fit)
    assert fit.converged
    assert np.isclose(fit.value, -best.fun - 40 * np.log(scale), rtol=1e-8)
    assert np.isclose(fit.params["tau"] / scale, np.exp(best.x[1]), rtol=1e-4)


def test_effects_that_cannot_be_integrated_out_are_refused() -> None:
    text = INTERCEPTS.replace("Normal(0, tau)", "Gamma(tau, 1)")
    with pytest.raises(UsageError, match="`u` is hidden, its law has the unknown `tau`"):
        dpc.parse(text).fit({"g": [0, 0, 1], "y": [1.0, 2.0, 3.0]})


def test_a_law_of_one_datum_is_no_maximum() -> None:
    text = """dim G = a | b
param mu[G] : real
param s[G] : real(lower=0)
data g : G
x ~ Normal(mu[g], s[g])"""
    fit = dpc.parse(text).fit({"g": [0, 0, 1], "x": [1.0, 2.0, 7.0]})
    assert isinstance(fit, Fit)
    assert not fit.converged
    assert "the density of `x` grows without bound" in fit.reason


BOLTZMANN = """
dim H = 2
dim V = 4
param w[H, V] : real = 0
param b[V]    : real = 0
latent h[H] : bool
latent v[V] : bool
factor f : sum[j in H, i in V] w[j, i] * h[j] * v[i] + sum[i in V] b[i] * v[i]
factor ridge : -0.02 * sum[j in H, i in V] w[j, i]^2 - 0.02 * sum[i in V] b[i]^2
"""


def test_a_boltzmann_machine_leaves_equal_weights() -> None:
    """Two pairs of alike variables need a hidden one each; by enumeration, from pushes around."""
    rng = np.random.default_rng(4)
    pairs = np.repeat(rng.random((60, 2)) < 0.5, 2, axis=1)
    v = pairs ^ (rng.random((60, 4)) < 0.05)
    fit = dpc.parse(BOLTZMANN).fit([{"v": row} for row in v], errors=False)
    states = np.array(list(np.ndindex(2, 2, 2, 2)))
    seen = v @ [8, 4, 2, 1]

    def loss(raw: np.ndarray) -> float:
        w, b = raw[:8].reshape(2, 4), raw[8:]
        scores = np.logaddexp(0, states @ w.T).sum(axis=1) + states @ b
        ridge = 0.02 * np.sum(raw**2)
        return float(60 * logsumexp(scores) - scores[seen].sum() + ridge)

    assert isinstance(fit, Fit)
    assert fit.converged
    found = np.concatenate([np.ravel(fit.params["w"]), fit.params["b"]])
    assert np.isclose(fit.value + fit.log_prior, -loss(found))
    pushed = [optimize.minimize(loss, found + rng.normal(0, 0.05, 12)).fun for _ in range(4)]
    assert min(pushed) > loss(found) - 1e-4
    tied = optimize.minimize(lambda raw: loss(np.concatenate([raw[:4], raw])), rng.normal(size=8))
    assert loss(found) < tied.fun - 1


def test_counts_on_a_covariate_in_any_unit() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=50)
    y = rng.poisson(np.exp(1 + 0.5 * x))
    text = """dim N
data x[N] : real
param a : real
param b : real
observed y[N] : int
y[i in N] ~ Poisson(exp(a + b * x[i]))"""
    fit = fitted(text, x=1e4 * x, y=y)

    def loss(raw: np.ndarray) -> float:
        return -stats.poisson(np.exp(raw[0] + raw[1] * x)).logpmf(y).sum()

    best = optimize.minimize(loss, np.array([1, 0.5]), options={"gtol": 1e-8})
    assert np.isclose(fit.value, -best.fun, rtol=1e-9)
    assert np.isclose(fit.params["b"] * 1e4, best.x[1], rtol=1e-5)


# ---- bounds


def test_intercepts_that_do_not_differ_have_no_spread() -> None:
    y = np.tile([1.0, 2.0, 3.0, 4.0], 5)
    fit = fitted(INTERCEPTS, g=np.repeat(np.arange(5), 4), y=y)
    assert fit.params["tau"] < 1e-4
    assert "`tau` is at the bound 0 of its range" in fit.notes
    assert np.isclose(fit.value, stats.norm(y.mean(), y.std()).logpdf(y).sum())


def fitted(text: str, **data: object) -> Fit:
    fit = dpc.parse(text).fit(data)
    assert isinstance(fit, Fit)
    assert fit.converged
    return fit


def test_a_mean_below_its_bound_is_at_the_bound() -> None:
    fit = fitted("param m : real(lower=0)\nx ~ Normal(m, 1)", x=[-1.0, -2.0])
    assert fit.params["m"] == 0
    assert np.isclose(fit.value, stats.norm.logpdf([-1, -2]).sum())
    assert "`m` is at the bound 0 of its range" in fit.notes


def test_a_rate_of_zeros_is_zero() -> None:
    fit = fitted("param r : real(lower=0)\nx ~ Poisson(r)", x=[0, 0, 0])
    assert fit.params["r"] == 0
    assert fit.value == 0


def test_means_in_reverse_order_are_pooled() -> None:
    text = "dim G = a | b | c\nparam mu[G] : ordered\ndata g : G\nx ~ Normal(mu[g], 1)"
    g, x = np.array([0, 0, 1, 1, 1, 2]), np.array([5, 6, 1, 2, 3, 9.0])
    fit = fitted(text, g=g, x=x)
    expected = optimize.isotonic_regression([5.5, 2, 9], weights=[2, 3, 1]).x
    assert np.allclose(fit.params["mu"], expected)


# ---- restarts


def test_restarts_are_asked_for(waiting: np.ndarray) -> None:
    model = dpc.parse(MIXTURE)
    fit = model.fit({"x": waiting}, restarts=3, errors=False)
    assert isinstance(fit, Fit)
    assert "the best of 3 starts" in fit.notes
    with pytest.raises(UsageError, match="`restarts=` takes a number from 1 up"):
        model.fit({"x": waiting}, restarts=0)
    with pytest.raises(NotApplicable, match="`restarts` is for methods"):
        dpc.parse("b ~ Bernoulli(0.4)").fit({"b": [True]}, restarts=2)


def test_clusters_by_hand() -> None:
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(0, 0.1, (20, 2)), rng.normal(9, 0.1, (20, 2))])
    hidden = np.full(40, -1)
    assert np.array_equal(assign(rows, hidden, 2, rng), np.repeat([0, 1], 20))
    known = hidden.copy()
    known[0] = 1
    assert np.array_equal(assign(rows, known, 2, rng), np.repeat([1, 0], 20))

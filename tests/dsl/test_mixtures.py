"""Mixtures, counts with more zeros and censored draws, against SciPy and quadrature."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from scipy import integrate, stats

import dpc

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "each program runs once"

Array = np.ndarray[Any, Any]
WEIGHTS, CENTRES, SHIFTS = np.array([0.2, 0.3, 0.5]), np.array([-1.0, 0.4, 2.0]), np.arange(4.0)
CENSORED = np.array([-1.0, 0.5, 2.5, 4.0])
ZEROS = np.array([0.0, 1.0, 0.0, 3.0])
FILE = """
dim K = 3
dim N = 4
data w[K] : simplex
data c[N] : real
param mu[K] : real
x[i in N] ~ Mixture(w, [k in K] Normal(mu[k] + c[i], 1))
count ~ Mixture([0.3, 0.7], [Poisson(2), Poisson(8)])
z ~ ZeroInflated(0.2, NegativeBinomial(3, 2))
h ~ Mixture(w, [k in K] Truncated(Normal(mu[k], 1), lower=0))
u ~ Mixture(w, [k in K] MultivariateNormal([i in K] mu[k], eye(K)))
hurdle ~ ZeroInflated(0.4, Truncated(Poisson(1.5), lower=1))
observed v[N] : real
v[i in N] ~ Censored(Normal(c[i], 2), lower=-1, upper=c[i] + 1)
observed g[N] : real
g[i in N] ~ ZeroInflated(logistic(mu[1]), Gamma(2, 1))
"""

ASKED = """
dim K = 3
data w[K] : simplex
param mu[K] : real
below := cdf(Mixture(w, [k in K] Exponential(exp(mu[k]))), 0.7)
centre := mean(Mixture(w, [k in K] Exponential(exp(mu[k]))))
spread := variance(Mixture(w, [k in K] Exponential(exp(mu[k]))))
"""


@pytest.fixture(scope="module")
def model() -> dpc.Model:
    return dpc.parse(FILE)


DATA = {"w": WEIGHTS, "c": SHIFTS, "v": CENSORED, "g": ZEROS}


def densities() -> dict[str, tuple[Any, float]]:
    """A value of each draw, and its log density by SciPy."""
    x = np.array([0.1, -4.0, 3.0, 9.0])
    parts = stats.norm(CENTRES + SHIFTS[:, None], 1).pdf(x[:, None])
    d = stats.norm(SHIFTS, 2)
    inside = np.where(CENSORED == SHIFTS + 1, d.logsf(CENSORED), d.logpdf(CENSORED))
    censored = np.where(CENSORED == -1, d.logcdf(CENSORED), inside)
    p = 1 / (1 + np.exp(-CENTRES[1]))
    positive = np.log1p(-p) + stats.gamma(2).logpdf(np.maximum(ZEROS, 0.1))
    cut = [stats.truncnorm(-m, np.inf, m, 1).pdf(0.7) for m in CENTRES]
    u = np.array([0.5, -1.0, 1.0])
    many = [stats.multivariate_normal(np.full(3, m), np.eye(3)).pdf(u) for m in CENTRES]
    above = stats.poisson(1.5)
    return {
        "x": (x, np.log(parts @ WEIGHTS).sum()),
        "count": (4, np.log(0.3 * stats.poisson(2).pmf(4) + 0.7 * stats.poisson(8).pmf(4))),
        "z": (0, np.log(0.2 + 0.8 * stats.nbinom(2, 2 / 5).pmf(0))),
        "h": (0.7, np.log(WEIGHTS @ cut)),
        "u": (u, np.log(WEIGHTS @ many)),
        "hurdle": (2, np.log(0.6 * above.pmf(2) / above.sf(0))),
        "v": (CENSORED, censored.sum()),
        "g": (ZEROS, np.where(ZEROS == 0, np.log(p), positive).sum()),
    }


def test_densities(model: dpc.Model) -> None:
    values = {name: value for name, (value, _) in densities().items() if name not in ("v", "g")}
    found = model.log_prob({"mu": CENTRES}, values, DATA)
    assert found == pytest.approx(sum(log for _, log in densities().values()), rel=1e-10)


def test_questions() -> None:
    found = dpc.parse(ASKED).evaluate({"mu": CENTRES}, {"w": WEIGHTS})
    rates = np.exp(CENTRES)
    mean = WEIGHTS @ (1 / rates)
    below = WEIGHTS @ stats.expon(scale=1 / rates).cdf(0.7)
    assert found["below"] == pytest.approx(below, rel=1e-9)
    assert found["centre"] == pytest.approx(mean, rel=1e-9)
    assert found["spread"] == pytest.approx(WEIGHTS @ (2 / rates**2) - mean**2, rel=1e-9)


def test_draws(model: dpc.Model) -> None:
    """Means of 20,000 draws within 5 standard errors: a false alarm in a million."""
    n = 20_000
    found = model.sample(jax.random.key(1), {"mu": CENTRES}, DATA, n=n)
    above = stats.poisson(1.5)
    cut = [stats.truncnorm(-m, np.inf, m, 1).mean() for m in CENTRES]
    means = {
        "x": WEIGHTS @ CENTRES + SHIFTS,
        "count": 0.3 * 2 + 0.7 * 8,
        "z": 0.8 * 3,
        "h": WEIGHTS @ cut,
        "u": np.full(3, WEIGHTS @ CENTRES),
        "hurdle": 0.6 * above.mean() / above.sf(0),
    }
    for name, mean in means.items():
        draws = np.asarray(found[name], float)
        assert (abs(draws.mean(0) - mean) < 5 * draws.std(0) / np.sqrt(n)).all(), name


def test_a_part_without_weight_has_a_derivative() -> None:
    """d log(w1 p1 + w2 p2) / dw at w = 0, also where the part's density is 0."""
    text = "param w : real(lower=0, upper=1) = 0.5\nparam m : real = 1\nobserved y : real\n"
    text += "y ~ Mixture([w, 1 - w], [Normal(m, 1), Normal(3, 1)])\n"
    model = dpc.parse(text)

    def log_density(w: Any) -> Any:
        return model.log_prob({"w": w, "m": 1.0}, {}, {"y": 2.5})

    p, q = stats.norm(1, 1).pdf(2.5), stats.norm(3, 1).pdf(2.5)
    assert jax.grad(log_density)(0.0) == pytest.approx((p - q) / q, rel=1e-9)
    assert jax.grad(log_density)(1.0) == pytest.approx((p - q) / p, rel=1e-9)


def test_a_censored_regression_has_its_likelihood() -> None:
    """Tobit: the maximum of the likelihood, which SciPy finds from the same formulas."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    y = np.minimum(1 + 0.8 * x + rng.normal(size=200), 1.5)
    text = (
        "dim N\ndata x[N] : real\nobserved y[N] : real\nparam a : real = 0\nparam b : real = 0\n"
        "param s : real(lower=0) = 1\n"
        "y[i in N] ~ Censored(Normal(a + b * x[i], s), upper=1.5)\n"
    )
    fit = dpc.parse(text).fit({"x": x, "y": y})

    def loss(at: Array) -> float:
        d = stats.norm(at[0] + at[1] * x, np.exp(at[2]))
        return -float(np.where(y == 1.5, d.logsf(1.5), d.logpdf(y)).sum())

    from scipy.optimize import minimize

    best = minimize(loss, [0.0, 0.0, 0.0], tol=1e-10)
    found = [fit.params["a"], fit.params["b"], np.log(fit.params["s"])]
    np.testing.assert_allclose(found, best.x, atol=1e-4)


def test_a_posterior_over_the_parts_of_a_mixture() -> None:
    """The posterior mean of a centre by quadrature."""
    y = np.array([-0.5, 0.2, 2.9, 3.4, 0.1])
    text = (
        "observed y[N] : real\ndim N\nm ~ Normal(0, 2)\n"
        "y[i in N] ~ Mixture([0.6, 0.4], [Normal(m, 1), Normal(3, 1)])\n"
    )
    found = dpc.parse(text).posterior({"y": y}, seed=2, chains=2, draws=1500)

    def density(m: float) -> float:
        parts = 0.6 * stats.norm(m, 1).pdf(y) + 0.4 * stats.norm(3, 1).pdf(y)
        return float(stats.norm(0, 2).pdf(m) * parts.prod())

    total = integrate.quad(density, -10, 10)[0]
    mean = integrate.quad(lambda m: m * density(m), -10, 10)[0] / total
    draws = np.asarray(found.posterior["m"]).ravel()
    # Some 600 effective draws at least: 5 standard errors are a false alarm in a million.
    assert abs(draws.mean() - mean) < 5 * draws.std() / np.sqrt(600)
    assert np.asarray(found.log_likelihood["y"]).shape == (2, 1500, 5)


def test_gradients_of_a_draw_of_a_mixture() -> None:
    """E[x^2] = w (m^2 + 1) + (1 - w) (9 + 1), by scores: there is no path through the weights."""
    text = "param w : real(lower=0, upper=1) = 0.3\nparam m : real = 0.5\n"
    text += "x ~ Mixture([w, 1 - w], [Normal(m, 1), Normal(3, 1)])\nminimize x^2\n"
    found = dpc.parse(text).grad(samples=20_000).estimates.gradient
    # Within 5 standard errors: a false alarm in a million.
    assert abs(found["w"].mean - (1.25 - 10)) < 5 * found["w"].error
    assert abs(found["m"].mean - 2 * 0.3 * 0.5) < 5 * found["m"].error


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("Mixture([0.3, 0.8], [Normal(0, 1), Normal(1, 1)])", "E0404"),
        ("Mixture([0.3, 0.7], [Normal(0, 1), Cauchy(1, 1)])", "E0417"),
        ("Mixture([0.3, 0.3, 0.4], [Normal(0, 1), Normal(1, 1)])", "E0201"),
        ("Mixture(0.3, Normal(0, 1), Normal(1, 1))", "E0402"),
        ("Mixture([0.3, 0.7], [Normal(0, 1), 2])", "E0401"),
        ("Mixture([0.3, 0.7], [Normal(0, 1), Normal(0, -1)])", "E0403"),
        ("Mixture([1.0], [Mixture([1.0], [Normal(0, 1)])])", "E0417"),
        ("Mixture([1.0], [Censored(Normal(0, 1), lower=0)])", "E0417"),
        ("Mixture([1.0], [ZeroInflated(0.1, Mixture([1.0], [Poisson(2)]))])", "E0417"),
        ("ZeroInflated(0.3, ZeroInflated(0.2, Poisson(1)))", "E0417"),
        ("ZeroInflated(0.3, Censored(Gamma(1, 1), upper=2))", "E0417"),
        ("ZeroInflated(0.3, Normal(0, 1))", "E0417"),
        ("ZeroInflated(1.3, Poisson(1))", "E0403"),
        ("ZeroInflated(Poisson(1), 0.3)", "E0401"),
        ("Censored(Normal(0, 1), lower=0)", "E0417"),
        ("ZeroInflated(0.3, Gamma(1, 1))", "E0417"),
        ("Censored(VonMises(0, 1), lower=0)", "E0415"),
    ],
)
def test_what_cannot_be_made_is_said(written: str, code: str) -> None:
    with pytest.raises(dpc.DpError) as error:
        dpc.parse(f"x ~ {written}\n")
    assert code in [d.code for d in error.value.diagnostics]

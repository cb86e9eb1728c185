"""Distributions made of others, against SciPy and quadrature."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from scipy import integrate, stats

import dpc
from dpc.dsl.pipeline import check_source
from dpc.dsl.source import Source
from dpc.exits import UsageError

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "each program runs once"

DENSITY = stats.norm().pdf


@pytest.mark.parametrize(
    ("written", "truth"),
    [
        ("Truncated(Normal(0.5, 1), lower=a)", stats.truncnorm(-0.2, np.inf, 0.5, 1)),
        ("Truncated(Normal(0.5, 1), lower=a, upper=2 * a + 1)", stats.truncnorm(-0.2, 1.1, 0.5, 1)),
        ("Truncated(Exponential(2), upper=a)", stats.truncexpon(0.6, scale=0.5)),
    ],
)
def test_densities_between_ends_that_are_computed(written: str, truth: Any) -> None:
    model = dpc.parse(f"param a : real = 0.3\nx ~ {written}\n")
    for x in (0.31, 0.2, 1.2, -0.5):
        found = float(model.log_prob({"a": 0.3}, {"x": x})) if truth.pdf(x) > 0 else -np.inf
        assert found == pytest.approx(truth.logpdf(x), rel=1e-6)


def test_counts_above_an_end() -> None:
    model = dpc.parse("k ~ Truncated(Poisson(3), lower=2, upper=5)\n")
    masses = stats.poisson(3).pmf(np.arange(2, 6))
    found = [float(model.log_prob({}, {"k": k})) for k in range(2, 6)]
    np.testing.assert_allclose(np.exp(found), masses / masses.sum(), rtol=1e-6)


def test_bounds_of_a_draw_may_be_computed() -> None:
    """b is uniform below 1 - a, which the marginal of a does not see."""
    text = "a ~ Uniform(0, 1)\nb : real(lower=0, upper=1 - a) ~ Uniform(0, 1)\n"
    model = dpc.parse(text)
    assert float(model.log_prob({}, {"a": 0.75, "b": 0.2})) == pytest.approx(np.log(4))
    draws = model.sample(jax.random.key(0), n=2000)
    assert (np.asarray(draws["a"]) + np.asarray(draws["b"]) <= 1).all()
    with pytest.raises(dpc.DpError, match="bounds are constants but where it is drawn"):
        dpc.parse("param a : real\nparam b : real(lower=a)\n")


def test_draws_follow_their_ends() -> None:
    """The mean of a standard normal above a is phi(a) / (1 - Phi(a)); so is its slope known."""
    model = dpc.parse("param a : real = 0.4\nx ~ Truncated(Normal(0, 1), lower=a)\nminimize x\n")
    found = model.grad(samples=20_000).estimates

    def mean(a: float) -> float:
        return float(DENSITY(a) / stats.norm.sf(a))

    slope = (mean(0.401) - mean(0.399)) / 0.002
    assert abs(found.value.mean - mean(0.4)) < 5 * found.value.error
    assert abs(found.gradient["a"].mean - slope) < 5 * found.gradient["a"].error


def test_a_threshold_within_ends_that_move_is_split() -> None:
    """P(x > b) for x above a."""
    text = "param a : real = 0.2\nparam b : real = 0.7\nx ~ Truncated(Normal(0, 1), lower=a)\n"
    found = dpc.parse(text + "minimize (if x > b then 1 else 0)\n").grad().to_dict()["gradient"]
    above, least = stats.norm.sf(0.7), stats.norm.sf(0.2)
    assert found["a"] == pytest.approx(above / least**2 * DENSITY(0.2), rel=1e-5)
    assert found["b"] == pytest.approx(-DENSITY(0.7) / least, rel=1e-5)


def test_scores_do_not_see_an_end_that_moves() -> None:
    text = "param a : real = 0.2\nx ~ Truncated(Normal(0, 1), lower=a)  with grad=sfe\nminimize x\n"
    with pytest.raises((dpc.DpError, UsageError), match=r"ends|edge"):
        dpc.parse(text).grad()


def test_a_posterior_with_an_end_that_is_drawn() -> None:
    """p(m | y) by quadrature, for y above m: an end that moves with what is sampled."""
    text = (
        "m ~ Normal(0, 1)\nobserved y : real\ny ~ Truncated(Normal(0, 1), lower=m)\n"
        "z ~ Truncated(Normal(m, 1), lower=m)\n"
    )
    with jax.numpy_dtype_promotion("standard"):
        found = dpc.parse(text).posterior({"y": 0.5}, seed=1, chains=2, draws=1500)
    density = lambda m: DENSITY(m) / stats.norm.sf(m)  # noqa: E731
    total = integrate.quad(density, -12, 0.5)[0]
    mean = integrate.quad(lambda m: m * density(m), -12, 0.5)[0] / total
    draws = np.asarray(found.posterior["m"]).ravel()
    # Some 600 effective draws at least: 5 standard errors are a false alarm in a million.
    assert abs(draws.mean() - mean) < 5 * draws.std() / np.sqrt(600)
    assert (np.asarray(found.posterior["z"]) >= np.asarray(found.posterior["m"])).all()


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("Truncated(VonMises(0, 1), lower=0)", "E0415"),
        ("Truncated(Normal(0, 1))", "E0402"),
        ("Truncated(Normal(0, 1), above=0)", "E0402"),
        ("Truncated(0.5, lower=0)", "E0401"),
        ("Truncated(Beta(1, 1), lower=2)", "E0415"),
        ("Truncated(Truncated(Normal(0, 1), lower=0), upper=1)", "E0415"),
        ("Truncated(Normal(0, -1), lower=0)", "E0403"),
    ],
)
def test_what_cannot_be_cut_is_said(written: str, code: str) -> None:
    with pytest.raises(dpc.DpError) as error:
        dpc.parse(f"x ~ {written}\n")
    assert [d.code for d in error.value.diagnostics] == [code]


def test_an_end_between_two_counts_leaves_out_the_one_below() -> None:
    model = dpc.parse("k ~ Truncated(Poisson(2.0), lower=0.5)\n")
    found = [float(model.log_prob({}, {"k": k})) for k in (1, 2, 3)]
    law = stats.poisson(2)
    np.testing.assert_allclose(np.exp(found), law.pmf([1, 2, 3]) / law.sf(0), rtol=1e-6)


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("Truncated(Normal(0, 1), lower=a, upper=a - 1)", "E0403"),
        ("Truncated(Normal(0, 1), lower=a, upper=c)", "W0401"),
        ("Truncated(Uniform(0, 1), lower=a)", "W0401"),
        ("Truncated(Exponential(1), upper=a)", "W0401"),
    ],
)
def test_ends_that_may_leave_nothing_are_told(written: str, code: str) -> None:
    text = f"param a : real\nparam c : real\nx ~ {written}\ny := a + c\n"
    assert [d.code for d in check_source(Source("x.dp", text)).diagnostics] == [code]


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("quantile(Poisson(2), 0.5)", "E0416"),
        ("quantile(Normal(0, 1), 1.5)", "E0219"),
        ("quantile(Normal(0, 1), a)", "W0401"),
    ],
)
def test_quantiles_are_asked_at_probabilities(question: str, code: str) -> None:
    text = f"param a : real\ny := {question} + a\n"
    assert [d.code for d in check_source(Source("x.dp", text)).diagnostics] == [code]

"""What expressions ask of distributions, against SciPy; derivatives against differences."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
import scipy.stats as st

import dpc
from dpc.dsl.library.distributions import DISTRIBUTIONS
from dpc.dsl.library.questions import QUESTIONS

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

KNOWN: dict[str, tuple[Any, tuple[float, ...]]] = {
    "Normal(0.5, 2)": (st.norm(0.5, 2), (-3.0, 0.5, 70.0)),
    "StudentT(4, 1, 2)": (st.t(4, 1, 2), (-30.0, 1.0, 400.0)),
    "Cauchy(1, 2)": (st.cauchy(1, 2), (-5.0, 3.0)),
    "Laplace(1, 2)": (st.laplace(1, 2), (-50.0, 0.5, 300.0)),
    "Logistic(1, 2)": (st.logistic(1, 2), (-50.0, 0.5, 300.0)),
    "Gumbel(1, 2)": (st.gumbel_r(1, 2), (-3.0, 1.0, 300.0)),
    "Uniform(1, 3)": (st.uniform(1, 2), (0.5, 1.5, 3.5)),
    "Beta(2, 3)": (st.beta(2, 3), (-1.0, 0.2, 0.9, 2.0)),
    "HalfNormal(2)": (st.halfnorm(scale=2), (-1.0, 1.0, 30.0)),
    "LogNormal(0.5, 1)": (st.lognorm(1, scale=np.exp(0.5)), (-1.0, 2.0, 500.0)),
    "Exponential(2)": (st.expon(scale=0.5), (-1.0, 0.3, 400.0)),
    "Gamma(2, 3)": (st.gamma(2, scale=1 / 3), (-1.0, 0.5, 40.0)),
    "InverseGamma(3, 2)": (st.invgamma(3, scale=2), (-1.0, 0.7, 50.0)),
    "Weibull(2, 3)": (st.weibull_min(2, scale=3), (-1.0, 2.0, 40.0)),
    "Pareto(1, 3)": (st.pareto(3, scale=1), (0.5, 2.0, 1000.0)),
    "Poisson(2.5)": (st.poisson(2.5), (-1.0, 0.0, 2.0, 3.5, 30.0)),
    "NegativeBinomial(n=4, p=0.3)": (st.nbinom(4, 0.3), (-1.0, 0.0, 4.0)),
}
WORDS = {
    "cdf": "cdf",
    "log_cdf": "logcdf",
    "survival": "sf",
    "log_survival": "logsf",
}


def values_of(lines: list[str], head: str = "") -> list[float]:
    text = "".join(f"q{k} := {line}\n" for k, line in enumerate(lines))
    found = dpc.parse(head + text).run()
    return [float(found[f"q{k}"]) for k in range(len(lines))]


@pytest.mark.parametrize("written", KNOWN)
def test_distribution_functions_and_quantiles(written: str) -> None:
    truth, places = KNOWN[written]
    rows = [r for r in DISTRIBUTIONS if r.name == written.partition("(")[0]]
    pairs = [(word, own, x) for word, own in WORDS.items() for x in places]
    if written.startswith("NegativeBinomial"):  # 1 - cdf has no digits left far out
        pairs = [(word, own, x) for word, own, x in pairs if x < 10]
    found = values_of([f"{word}({written}, {x})" for word, _, x in pairs])
    expected = [getattr(truth, own)(x) for _, own, x in pairs]
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-20)
    if rows[0].quantile or (rows[0].tails and not rows[0].discrete):
        levels = (0.01, 0.4, 0.97)
        found = values_of([f"quantile({written}, {level})" for level in levels])
        np.testing.assert_allclose(found, truth.ppf(levels), rtol=1e-7)


@pytest.mark.parametrize("written", KNOWN)
def test_densities_and_moments(written: str) -> None:
    truth, places = KNOWN[written]
    is_count = hasattr(truth.dist, "pmf")
    log_density = truth.logpmf if is_count else truth.logpdf
    places = (-1, 0, 1, 5) if is_count else places
    rows = [r for r in DISTRIBUTIONS if r.name == written.partition("(")[0]]
    found = values_of([f"log_density({written}, {x})" for x in places])
    np.testing.assert_allclose(found, log_density(places), rtol=1e-9)
    if rows[0].moments:
        found = values_of([f"mean({written})", f"variance({written})"])
        np.testing.assert_allclose(found, [truth.mean(), truth.var()], rtol=1e-6)
    if rows[0].entropy:
        np.testing.assert_allclose(values_of([f"entropy({written})"]), truth.entropy(), rtol=1e-6)


def test_divergences_by_sums_and_quadrature() -> None:
    pairs = [
        ("Normal(0.3, 1.2)", "Normal(1, 2)", st.norm(0.3, 1.2), st.norm(1, 2)),
        ("Gamma(2, 3)", "Gamma(3, 1)", st.gamma(2, scale=1 / 3), st.gamma(3)),
        ("Beta(2, 3)", "Beta(1, 2)", st.beta(2, 3), st.beta(1, 2)),
    ]
    found = values_of([f"kl({q}, {p})" for q, p, *_ in pairs])
    expected = [q.expect(lambda x, q=q, p=p: q.logpdf(x) - p.logpdf(x)) for *_, q, p in pairs]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    table = values_of(["kl(Categorical([0.2, 0.8]), Categorical([0.5, 0.5]))"])
    np.testing.assert_allclose(table, 0.2 * np.log(0.4) + 0.8 * np.log(1.6), rtol=1e-9)


def test_entropies_of_every_row_that_has_one() -> None:
    """Of rows without one NumPyro has none: nothing is left out."""
    import numpyro.distributions as dist
    from test_facts import made

    for row in DISTRIBUTIONS:
        own = made(row)
        try:
            entropy = float(own.entropy())
        except NotImplementedError:
            assert not row.entropy, row.text
            continue
        assert row.entropy, row.text
        x = own.sample(jax.random.key(0), (4000,))
        log_density = np.asarray(own.log_prob(x))
        # 5 standard errors: a false alarm in 10^6, for each row.
        slack = 5 * log_density.std() / np.sqrt(4000) + 1e-9
        assert abs(entropy + log_density.mean()) < slack, row.text
        assert isinstance(own, dist.Distribution)


def test_a_censored_regression_has_the_density_of_both_parts() -> None:
    """Times to failure, some of which go on: log f for the dead, log S for the living."""
    model = dpc.parse(
        "dim N\ndata time[N] : real(lower=0)\ndata dead[N] : bool\n"
        "shape ~ Gamma(2, 1)\nscale ~ Gamma(2, 1)\n"
        "factor seen[i in N where dead[i]] : log_density(Weibull(shape, scale), time[i])\n"
        "factor late[i in N where not dead[i]] : log_survival(Weibull(shape, scale), time[i])\n"
    )
    time, dead = np.array([0.5, 1.2, 2.0, 3.1]), np.array([True, True, False, True])
    data = model.bind({"time": time, "dead": dead})
    shape, scale = 1.4, 2.2
    law, prior = st.weibull_min(shape, scale=scale), st.gamma(2)
    expected = prior.logpdf(shape) + prior.logpdf(scale)
    expected += law.logpdf(time[dead]).sum() + law.logsf(time[~dead]).sum()
    found = model.log_prob({}, {"shape": shape, "scale": scale}, data)
    np.testing.assert_allclose(float(found), expected, rtol=1e-9)


OBJECTIVES = {
    "cdf(Normal(x, 1), t)": 0.4,
    "log_survival(Weibull(2, exp(t)), abs(x) + 0.1)": 0.4,
    "quantile(Gamma(exp(t), 1), 0.3) * x": 0.4,
    "log_density(Uniform(t, t + 1), 0.5) * 0 + survival(Exponential(exp(t)), x^2)": 0.4,
    "mean(Gamma(exp(t), 2)) * variance(Normal(0, exp(x)))": 0.4,
    "kl(Normal(t, 1), Normal(x, 2))": 0.4,
    "entropy(Gamma(exp(t), 1)) + x": 0.4,
}


@pytest.mark.parametrize("written", OBJECTIVES)
def test_gradients_are_those_of_differences(written: str) -> None:
    at = OBJECTIVES[written]
    model = dpc.parse(f"param t : real = {at}\ndata x : real\ny := {written}\nminimize y\n")

    def mean(t: Any) -> Any:
        return sum(model.value({"t": t}, {"x": x}, {}) for x in (0.3, 1.1))

    step = 1e-5
    slope = (float(mean(at + step)) - float(mean(at - step))) / (2 * step)
    np.testing.assert_allclose(float(jax.grad(mean)(at)), slope, rtol=1e-5)


@pytest.mark.parametrize(
    ("line", "code", "word"),
    [
        ("y := survival(VonMises(0, 1), 0.5)", "E0416", "not known"),
        ("y := cdf(MultivariateNormal(zeros(K), eye(K)), zeros(K))", "E0416", "single"),
        ("y := entropy(Poisson(2))", "E0416", "entropy"),
        ("y := kl(Normal(0, 1), Laplace(0, 1))", "E0416", "kl"),
        ("y := cdf(Normal(0, 1))", "E0202", "cdf(D, value)"),
        ("y := cdf(0.5, Normal(0, 1))", "E0401", "this is not a distribution"),
        ("y := log_density(Normal(0, -1), 0.5)", "E0403", "sd"),
        ("y := log_density(Normal(0, 1), [0.5, 1])", "E0201", "the value"),
        ("y := mean(Cauchy(0, 1))", "E0416", "mean"),
    ],
)
def test_what_cannot_be_answered_is_said(line: str, code: str, word: str) -> None:
    with pytest.raises(dpc.DpError) as error:
        dpc.parse("dim K = 2\n" + line + "\n")
    (found,) = error.value.diagnostics
    assert found.code == code
    assert word in f"{found.message} {found.help}"


@pytest.mark.parametrize(
    "line",
    [
        "minimize log_density(Uniform(t, 1), x)",  # the density jumps where x passes t
        "minimize log_cdf(Exponential(1), x - t)",
    ],
)
def test_what_jumps_at_the_end_of_a_support_is_refused(line: str) -> None:
    with pytest.raises(dpc.DpError, match="E0706"):
        dpc.parse(f"param t : real = 0.2\nx ~ Normal(t, 1)\n{line}\n").grad()


def test_every_question_is_explained() -> None:
    from dpc.commands.explain import explain

    for name, row in QUESTIONS.items():
        assert row.doc in explain(name)

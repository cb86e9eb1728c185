"""Draws with a declared range: densities, samples, gradients and posteriors of what is left.

Truths are densities of SciPy divided by the mass of the range, sums and quadrature. Samples are
compared by Kolmogorov's test at a level of 1e-4 with fixed seeds, sampled numbers within five
standard errors: a false alarm comes once in three hundred changes of the seeds.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import helpers
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats
from test_facts import made

import dpc
from dpc.cli import main
from dpc.dsl.diagnostics import DpError
from dpc.dsl.library.bodies.source import resolve
from dpc.dsl.library.distributions import DISTRIBUTIONS
from dpc.dsl.library.rows import Distribution
from dpc.model.numbers import NotANumber

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

LAWS: dict[str, Any] = {
    "Normal(0.2, 0.9)": stats.norm(0.2, 0.9),
    "Cauchy(0.5, 2)": stats.cauchy(0.5, 2),
    "Laplace(0.3, 0.8)": stats.laplace(0.3, 0.8),
    "AsymmetricLaplace(0.3, 0.8, 1)": stats.laplace(0.3, 0.8),
    "Logistic(0.2, 0.5)": stats.logistic(0.2, 0.5),
    "Gumbel(0.1, 0.9)": stats.gumbel_r(0.1, 0.9),
    "Levy(0, 1)": stats.levy(0, 1),
    "Uniform(0.3, 3)": stats.uniform(0.3, 2.7),
    "LogUniform(0.5, 5)": stats.loguniform(0.5, 5),
    "TruncatedNormal(0, 1, lower=0.3)": stats.truncnorm(0.3, np.inf),
    "HalfNormal(0.6)": stats.halfnorm(0, 0.6),
    "HalfCauchy(0.6)": stats.halfcauchy(0, 0.6),
    "LogNormal(0.1, 0.5)": stats.lognorm(0.5, 0, np.exp(0.1)),
    "Exponential(0.7)": stats.expon(0, 1 / 0.7),
    "Weibull(1.4, 0.9)": stats.weibull_min(1.4, 0, 0.9),
    "Rayleigh(0.9)": stats.rayleigh(0, 0.9),
    "Gompertz(0.4, 0.9)": stats.gompertz(0.4, 0, 1 / 0.9),
    "Pareto(0.5, 3)": stats.pareto(3, 0, 0.5),
}
FAR: dict[str, Any] = {
    "Normal(-18, 1)": stats.norm(-18, 1),
    "Logistic(-60, 1)": stats.logistic(-60, 1),
    "AsymmetricLaplace(-60, 1, 1)": stats.laplace(-60, 1),
    "Laplace(-60, 1)": stats.laplace(-60, 1),
    "Gumbel(-60, 1)": stats.gumbel_r(-60, 1),
    "HalfNormal(0.05)": stats.halfnorm(0, 0.05),
    "LogNormal(-18, 1)": stats.lognorm(1, 0, np.exp(-18)),
    "Exponential(90)": stats.expon(0, 1 / 90),
    "Weibull(2, 0.1)": stats.weibull_min(2, 0, 0.1),
    "Pareto(0.001, 9)": stats.pareto(9, 0, 0.001),
}
"""Next to nothing of them lies above 1: the distribution function is 1 there to all digits."""

RANGES = ((1.0, np.inf), (-np.inf, 1.6), (0.8, 1.6))


def typed(low: float, high: float, word: str = "real") -> str:
    ends = {"lower": low, "upper": high}
    return f"{word}({', '.join(f'{k}={v}' for k, v in ends.items() if np.isfinite(v))})"


def mass(law: Any, low: float, high: float) -> float:
    """From the side that has more digits."""
    if law.cdf(low) > 0.5:
        return float(law.sf(low) - law.sf(high))
    return float(law.cdf(high) - law.cdf(low))


def log_density(text: str) -> Callable[[float], float]:
    """That of the draw `x` of a program."""
    model = dpc.parse(text)
    traced = jax.jit(lambda x: model.log_prob({}, {"x": x}))  # outside a range, others raise
    return lambda x: float(traced(jnp.asarray(x)))


# ---- densities


@pytest.mark.parametrize("law", LAWS)
def test_the_density_is_divided_by_the_mass_of_the_range(law: str) -> None:
    for low, high in RANGES:
        found = log_density(f"x : {typed(low, high)} ~ {law}\n")
        for x in (1.05, 1.2, 1.55):
            wanted = LAWS[law].logpdf(x) - np.log(mass(LAWS[law], low, high))
            assert found(x) == pytest.approx(wanted, rel=1e-9, abs=1e-9)
        assert found(0.7 if np.isfinite(low) else 1.7) == -np.inf


@pytest.mark.parametrize("law", FAR)
def test_digits_are_kept_far_out(law: str) -> None:
    text = f"x : real(lower=1) ~ {law}\n"
    wanted = FAR[law].logpdf(1.001) - np.log(FAR[law].sf(1))
    assert log_density(text)(1.001) == pytest.approx(wanted, rel=1e-8)
    draws = np.asarray(dpc.parse(text).sample(jax.random.key(0), n=2000)["x"])
    found = stats.kstest(draws, lambda x: 1 - FAR[law].sf(x) / FAR[law].sf(1))
    assert found.pvalue > 1e-4


KEY = jax.random.key(0)
QUESTIONS: tuple[Callable[[dpc.Model], Any], ...] = (
    lambda model: model.draws(3),
    lambda model: model.run(),
    lambda model: model.grad(samples=10),
    lambda model: model.sample(KEY, {"p": 0.5}),
    lambda model: model.value_and_grad(KEY, {"p": 0.5}, samples=10),
)


@pytest.mark.parametrize(
    ("ends", "law"), [("lower=1", "Uniform(0, p)"), ("upper=-100", "Gumbel(p, 1)")]
)
def test_where_no_digits_are_left_it_is_said(ends: str, law: str) -> None:
    """Mass beyond the support, or with a logarithm of -1e43."""
    text = f"param p : real(lower=0) = 0.5\nx : real({ends}) ~ {law}\nminimize x\n"
    model = dpc.parse(text)
    for ask in QUESTIONS:
        with pytest.raises(NotANumber, match=r"`x` .* no mass that numbers can hold"):
            ask(model)


def test_a_density_without_digits_is_said() -> None:
    model = dpc.parse("x : real(upper=-100) ~ Gumbel(0, 1)\n")
    with pytest.raises(NotANumber, match="`x` is cut to a range"):
        model.log_prob({}, {"x": -101.0})


def test_the_shell_says_it_and_fails(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "far.dp"
    path.write_text("x : real(upper=-100) ~ Gumbel(0, 1)\n")
    assert main(["sample", str(path)]) == 1
    assert "no mass that numbers can hold" in capsys.readouterr().err


def test_single_precision() -> None:
    """The least excess of an exponential tail; what single precision cannot hold is said."""
    found = dpc.parse("x : real(lower=800) ~ Exponential(1)\n")
    thin = dpc.parse("x : real(lower=10000, upper=10000.1) ~ Exponential(1)\n")
    jax.config.update("jax_enable_x64", False)
    draws = np.asarray(found.sample(jax.random.key(0), n=2000)["x"])
    assert draws.dtype == np.float32
    assert stats.kstest(draws - 800, stats.expon.cdf).pvalue > 1e-4
    with pytest.raises(NotANumber, match="single precision"):
        thin.sample(jax.random.key(0))


WITH_TAILS = [row for row in DISTRIBUTIONS if row.tails and not row.discrete]


@pytest.mark.parametrize("row", WITH_TAILS, ids=lambda row: row.name)
def test_tails_agree_with_the_distribution_function(row: Distribution) -> None:
    base = made(row)

    def there_and_back(level: Any) -> Any:
        log_cdf, log_survival, quantile = resolve(row.tails)(base)
        x = quantile(jnp.log(level), jnp.log1p(-level))
        peer = base.cdf(x) if row.cdf or row.quantile else level
        return jnp.exp(log_cdf(x)), 1 - jnp.exp(log_survival(x)), peer

    levels = np.array([0.6, 0.9])
    for found in jax.jit(there_and_back)(levels):
        np.testing.assert_allclose(found, levels, rtol=1e-9)


COUNTS = {
    "Poisson(2.3)": stats.poisson(2.3),
    "Poisson(0.01)": stats.poisson(0.01),
    "Poisson(log_rate=3)": stats.poisson(np.exp(3)),
    "DiscreteUniform(-2, 12)": stats.randint(-2, 13),
}


@pytest.mark.parametrize("law", COUNTS)
@pytest.mark.parametrize(("low", "high"), [(1, np.inf), (-np.inf, 6), (2, 9)])
def test_whole_numbers(law: str, low: float, high: float) -> None:
    own = COUNTS[law]
    values = np.arange(max(low, -3), min(high, 80) + 1)
    weights = own.pmf(values) / own.pmf(values).sum()
    text = f"x : {typed(low, high, 'int')} ~ {law}\n"
    log_mass = log_density(text)
    found = [log_mass(int(x)) for x in values[:8]]
    np.testing.assert_allclose(np.exp(found), weights[:8], rtol=1e-8)
    draws = np.asarray(dpc.parse(text).sample(jax.random.key(1), n=4000)["x"])
    counts = np.array([(draws == x).sum() for x in values])
    assert counts.sum() == 4000
    errors = np.sqrt(4000 * weights * (1 - weights)) + 1
    assert np.all(np.abs(counts - 4000 * weights) < 5 * errors)


# ---- where nothing changes, and where it cannot be


@pytest.mark.parametrize(
    "text",
    [
        "x : real(lower=0) ~ HalfNormal(1)",
        "x : real(lower=0) ~ Gamma(2, 1)",
        "x : real(lower=0, upper=1) ~ Beta(2, 1)",
        "x : real(lower=-1) ~ Uniform(-1, 1)",
        "x : int(lower=0, upper=10) ~ Binomial(10, 0.3)",
        "x : int(lower=0) ~ Poisson(2)",
        "dim K = 2\nx : simplex[K] ~ Dirichlet([1, 1])",
    ],
)
def test_a_range_that_holds_the_support_changes_nothing(text: str) -> None:
    (law,) = helpers.graph(text + "\n")["x"].laws
    assert not law.is_truncated


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x : real(lower=1) ~ VonMises(0, 1)", "can be cut: AsymmetricLaplace, Beta, Cauchy"),
        ("x : int(lower=1) ~ Binomial(10, 0.3)", "can be cut: DiscreteUniform, Poisson"),
        ("x : real(lower=2) ~ Beta(1, 1)", "no draw of Beta lies there"),
        ("dim K = 2\nx : ordered[K] ~ ZeroSumNormal(K, 1)", "but ZeroSumNormal is not"),
    ],
)
def test_what_cannot_be_cut_is_refused(text: str, said: str) -> None:
    with pytest.raises(DpError) as refused:
        dpc.parse(text + "\n")
    assert "E0415" in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize("setting", ["noncentered", "grad=mvd"])
def test_what_holds_of_the_whole_alone_is_refused(setting: str) -> None:
    text = f"x : real(lower=1) ~ Normal(0, 1) with {setting}\nminimize x\n"
    with pytest.raises(DpError, match="`Normal` cut to a declared range"):
        dpc.parse(text)


def test_a_guide_keeps_to_the_range_of_the_model() -> None:
    text = "param m : real\nobserved y : real\nx : real(lower=1) ~ Normal(0, 1)\ny ~ Normal(x, 1)\n"
    text += "guide { x ~ Normal(m, 1) }\nmaximize elbo()\n"
    assert "E0604" in helpers.codes(text)


def test_a_range_is_that_of_its_own_statement() -> None:
    first = "dim T = 4\nz[0] : real(lower=0) ~ Normal(0, 1)\n"
    free = first + "z[t in T[1..]] ~ Normal(0, z[t-1])\n"
    kept = first + "z[t in T[1..]] : real(lower=0) ~ Normal(0, z[t-1])\n"
    assert helpers.codes(free) == ["W0401"]
    assert helpers.codes(kept) == []
    draws = dpc.parse(kept).sample(jax.random.key(0), n=500)["z"]
    assert np.asarray(draws).min() >= 0


# ---- gradients of means


def normal_mean(f: Callable[[Any], Any], m: float, s: float, high: float, cut: float = 1.0) -> Any:
    law = stats.norm(m, s)
    top = min(high, m + 12 * s)
    found = integrate.quad(lambda x: f(x) * law.pdf(x), cut, top, epsabs=1e-12)[0]
    return found / mass(law, 1.0, high)


def slope(f: Callable[[float], float], at: float, step: float = 1e-4) -> float:
    return (f(at + step) - f(at - step)) / (2 * step)


@pytest.mark.parametrize("setting", ["", " with grad=sfe"])
@pytest.mark.parametrize("high", [3.0, np.inf])
def test_gradients_of_a_mean(setting: str, high: float) -> None:
    text = "param m : real = 0.4\nparam s : real(lower=0) = 0.8\n"
    text += f"x : {typed(1.0, high)} ~ Normal(m, s){setting}\nminimize x^2\n"
    found = dpc.parse(text).grad(samples=10_000)
    by_mean = slope(lambda m: normal_mean(np.square, m, 0.8, high), 0.4)
    by_scale = slope(lambda s: normal_mean(np.square, 0.4, s, high), 0.8)
    for name, truth in (("m", by_mean), ("s", by_scale)):
        one = found.estimates.gradient[name]
        assert abs(one.mean - truth) < 5 * one.error


def test_a_cut_draw_is_split_at_a_threshold() -> None:
    text = "param m : real = 0.4\nparam t : real = 1.5\nx : real(lower=1) ~ Normal(m, 0.8)\n"
    text += "minimize if x > t then x else 0\n"
    found = dpc.parse(text).grad(samples=10_000)
    by_mean = slope(lambda m: normal_mean(lambda x: x, m, 0.8, np.inf, cut=1.5), 0.4)
    by_cut = slope(lambda t: normal_mean(lambda x: x, 0.4, 0.8, np.inf, cut=t), 1.5)
    for name, truth in (("m", by_mean), ("t", by_cut)):
        one = found.estimates.gradient[name]
        assert abs(one.mean - truth) < 5 * one.error


def test_the_bound_of_a_cut_guide() -> None:
    text = "param m : real = 1\nobserved y : real\nx : real(lower=1) ~ Normal(0, 1)\n"
    text += "y ~ Normal(x, 1)\nguide { x : real(lower=1) ~ Normal(m, 0.9) }\nmaximize elbo()\n"

    def bound(m: float) -> float:
        q, p = stats.norm(m, 0.9), stats.norm(0, 1)

        def term(x: float) -> float:
            log_q, log_p = q.logpdf(x) - q.logsf(1), p.logpdf(x) - p.logsf(1)
            return float(np.exp(log_q) * (log_p + stats.norm.logpdf(0.3, x) - log_q))

        return float(integrate.quad(term, 1, 12)[0])

    found = dpc.parse(text).grad(data={"y": 0.3}, samples=10_000).estimates
    assert abs(found.value.mean - bound(1)) < 5 * found.value.error
    assert abs(found.gradient["m"].mean - slope(bound, 1)) < 5 * found.gradient["m"].error


# ---- data


def test_a_fit_sees_the_cut_likelihood() -> None:
    y = np.abs(np.random.default_rng(0).normal(0.5, 1, 200))
    text = "dim N\nobserved y[N] : real(lower=0)\nparam mu : real = 0\ny[i in N] ~ Normal(mu, 1)\n"
    mu = float(dpc.parse(text).fit({"y": y}).params["mu"])
    # The score is sum(y - mu) - N h(-mu), with the hazard h of the standard normal.
    hazard = stats.norm.pdf(mu) / stats.norm.cdf(mu)
    assert np.mean(y) - mu == pytest.approx(hazard, abs=1e-5)


def test_counts_that_are_never_zero() -> None:
    """The best rate r has mean r / (1 - exp(-r))."""
    y = np.array([1, 1, 2, 3, 1, 2])
    text = "dim N\nobserved y[N] : int(lower=1)\nparam r : real(lower=0) = 1\n"
    rate = float(dpc.parse(text + "y[i in N] ~ Poisson(r)\n").fit({"y": y}).params["r"])
    assert rate / (1 - np.exp(-rate)) == pytest.approx(y.mean(), abs=1e-5)


def test_questions_weigh_by_the_cut_density() -> None:
    text = "z ~ Bernoulli(0.3)\nobserved y : real(lower=0)\ny ~ Normal(if z then 1 else -1, 1)\n"
    found = dpc.parse(text).query("z", data={"y": 0.5})
    prior, mean = np.array([0.7, 0.3]), np.array([-1, 1])
    weights = prior * stats.norm.pdf(0.5, mean) / stats.norm.sf(0, mean)
    chance = found.to_dict()["marginals"]["z"]["true"]
    assert chance == pytest.approx(weights[1] / weights.sum(), rel=1e-9)


def test_whole_numbers_between_two_ends_are_summed() -> None:
    text = "z : int(lower=1, upper=3) ~ Poisson(2)\nobserved y : real\ny ~ Normal(z, 1)\n"
    found = dpc.parse(text).query("z", data={"y": 1.5})
    weights = stats.poisson(2).pmf([1, 2, 3]) * stats.norm.pdf(1.5, [1, 2, 3])
    chances = [*found.to_dict()["marginals"]["z"].values()]
    np.testing.assert_allclose(chances, weights / weights.sum(), rtol=1e-9)


def moments(log_density: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """The mean and the standard deviation."""
    powers = [
        integrate.quad(lambda x, k=k: x**k * np.exp(log_density(x)), low, high)[0] for k in range(3)
    ]
    mean = powers[1] / powers[0]
    return mean, float(np.sqrt(powers[2] / powers[0] - mean**2))


def test_a_posterior_keeps_to_the_range() -> None:
    text = "observed y : real\nx : real(lower=1) ~ Normal(0, 1)\ny ~ Normal(x, 1)\n"
    found = dpc.parse(text).posterior({"y": 0.3}, draws=1000, chains=2, seed=1)
    draws = np.asarray(found.posterior["x"])
    mean, sd = moments(lambda x: stats.norm.logpdf(x) + stats.norm.logpdf(0.3, x), 1, 12)
    # At least every tenth of these 2,000 draws counts as an independent one.
    assert abs(draws.mean() - mean) < 5 * sd / np.sqrt(200)
    assert draws.min() >= 1
    assert np.asarray(found.prior["x"]).min() >= 1


def test_a_posterior_of_cut_data() -> None:
    y = np.array([0.2, 0.5, 0.1, 1.3, 0.4])
    text = "dim N\nobserved y[N] : real(lower=0)\nmu ~ Normal(0, 3)\ny[i in N] ~ Normal(mu, 1)\n"
    found = dpc.parse(text).posterior({"y": y}, draws=1000, chains=2, seed=1)

    def posterior(mu: float) -> float:
        own = stats.norm.logpdf(y, mu) - stats.norm.logsf(0, mu)
        return float(stats.norm.logpdf(mu, 0, 3) + own.sum())

    mean, sd = moments(posterior, -25, 10)
    assert abs(np.asarray(found.posterior["mu"]).mean() - mean) < 5 * sd / np.sqrt(200)
    assert np.asarray(found.posterior_predictive["y"]).min() >= 0


def test_a_printed_program_runs_alone(tmp_path: Path) -> None:
    text = "x : real(lower=1) ~ Normal(0, 1)\nk[i in D] : int(lower=1) ~ Poisson(x)\n"
    path = tmp_path / "program.py"
    path.write_text(dpc.parse("dim D = 3\n" + text).program)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "dpc" not in [line for line in path.read_text().splitlines() if "import" in line]
    assert "log_prob: -" in done.stdout


@pytest.mark.parametrize(
    ("mean", "sd", "low", "high"),
    [(-50, 1, 0, np.inf), (0, 0.1, 6, 7), (0, 0.1, -7, -6), (300, 1, -np.inf, 0), (0, 1, -1, 2)],
)
def test_a_normal_is_cut_as_far_out_as_one_likes(
    mean: float, sd: float, low: float, high: float
) -> None:
    """SciPy's truncnorm, which works with logarithms."""
    bounds = [f"lower={low}"] if np.isfinite(low) else []
    bounds += [f"upper={high}"] if np.isfinite(high) else []
    model = dpc.parse(f"x : real({', '.join(bounds)}) ~ Normal({mean}, {sd})\n")
    truth = stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd)
    draws = np.asarray(model.sample(jax.random.key(0), n=2000)["x"])
    assert np.all((draws >= low) & (draws <= high))
    # A right sampler fails once in ten thousand seeds.
    assert stats.kstest(draws, truth.cdf).pvalue > 1e-4
    for x in draws[:5]:
        found = model.log_prob({}, {"x": jax.numpy.asarray(x)})
        np.testing.assert_allclose(found, truth.logpdf(x), rtol=1e-6)

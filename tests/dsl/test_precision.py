"""Single precision, which is JAX's own: log densities keep their digits, by every row, for small,
usual and extreme arguments and values. SciPy has them in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st

from dpc.dsl.library.constructor import constructor, evaluate
from dpc.dsl.library.distributions import DISTRIBUTIONS

from .test_facts import words_of

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

RELATIVE, ABSOLUTE = 1e-4, 1e-3
"""An answer loses digits where it is further off than both of these."""
TINY = 1e-37
"""Below, JAX takes numbers of 32 bits for zero."""
LEVELS = (1e-5, 0.01, 0.3, 0.5, 0.8, 0.999, 0.99999)


class Density(NamedTuple):
    """`peer` makes a distribution of SciPy of the arguments; `grid` are values of them."""

    peer: Callable[..., Any]
    grid: tuple[tuple[Any, ...], ...]
    values: tuple[Any, ...] = ()
    """Beside the quantiles."""


class Written:
    """A log density and a quantile, where SciPy has no distribution."""

    def __init__(self, logpdf: Callable[..., Any], ppf: Callable[..., Any]):
        self.logpdf, self.ppf = logpdf, ppf


def asymmetric(m: float, s: float, q: float) -> Written:
    """log density log(q (1 - q) / s) - u (q - [u < 0]) / s at u = x - m."""

    def logpdf(x: Any) -> Any:
        u = x - m
        return np.log(q * (1 - q) / s) - u * (q - (u < 0)) / s

    def ppf(level: Any) -> Any:
        below = m + s / (1 - q) * np.log(level / q)
        return np.where(level < q, below, m - s / q * np.log((1 - level) / (1 - q)))

    return Written(logpdf, ppf)


def kumaraswamy(a: float, b: float) -> Written:
    def logpdf(x: Any) -> Any:
        rest = np.log(-np.expm1(a * np.log(x)))
        return np.log(a * b) + (a - 1) * np.log(x) + (b - 1) * rest

    return Written(logpdf, lambda q: (-np.expm1(np.log1p(-q) / b)) ** (1 / a))


def relaxed_bernoulli(logits: float, t: float) -> Written:
    """(logits + logistic noise) / t is the logit of a draw."""

    def logpdf(x: Any) -> Any:
        z = t * (np.log(x) - np.log1p(-x)) - logits
        return np.log(t) - np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z))) - np.log(x * (1 - x))

    return Written(logpdf, lambda q: sp.expit((logits + sp.logit(q)) / t))


def gompertz(shape: float, rate: float) -> Written:
    def logpdf(x: Any) -> Any:
        return np.log(shape) + np.log(rate) + rate * x - shape * np.expm1(rate * x)

    return Written(logpdf, lambda q: np.log1p(-np.log1p(-q) / shape) / rate)


def truncated_cauchy(m: float, s: float, low: float = -np.inf, high: float = np.inf) -> Written:
    law = st.cauchy(m, s)
    below, above = law.cdf(low), law.sf(high)
    log_mass = np.log(law.sf(low) - above) if low > m else np.log(law.cdf(high) - below)

    def ppf(q: Any) -> Any:
        if low > m:
            return law.isf(law.sf(low) - q * np.exp(log_mass))
        return law.ppf(below + q * np.exp(log_mass))

    return Written(lambda x: law.logpdf(x) - log_mass, ppf)


def truncated_normal(m: float, s: float, low: float = -np.inf, high: float = np.inf) -> Any:
    return st.truncnorm((low - m) / s, (high - m) / s, m, s)


class Counts:
    """A log mass of whole numbers, written apart."""

    def __init__(self, logpmf: Callable[..., Any], values: Any):
        self.logpmf, self.values = logpmf, values

    def ppf(self, levels: Any) -> Any:
        return np.resize(self.values, np.shape(levels))


def zero_inflated(gate: float, base: Any) -> Counts:
    def logpmf(x: Any) -> Any:
        with np.errstate(divide="ignore"):
            rest = np.log1p(-gate) + base.logpmf(x)
            return np.where(x == 0, np.logaddexp(np.log(gate), rest), rest)

    return Counts(logpmf, np.append(0.0, base.ppf(LEVELS[1:])))


def binomial_by_logits(n: float, logits: float) -> Counts:
    def logpmf(x: Any) -> Any:
        choose = sp.gammaln(n + 1) - sp.gammaln(x + 1) - sp.gammaln(n - x + 1)
        return choose - x * np.logaddexp(0, -logits) - (n - x) * np.logaddexp(0, logits)

    usual = st.binom(n, sp.expit(logits)).ppf(LEVELS)
    return Counts(logpmf, usual)


def poisson_by_log(log_rate: float) -> Counts:
    def logpmf(x: Any) -> Any:
        return x * log_rate - np.exp(log_rate) - sp.gammaln(x + 1)

    return Counts(logpmf, st.poisson(np.exp(log_rate)).ppf(LEVELS))


def negative_binomial(mean: float, c: float) -> Counts:
    """C(x + c - 1, x) (mean / (mean + c))^x (c / (mean + c))^c, where 1 / c may be tiny."""

    def logpmf(x: Any) -> Any:
        ways = -np.log(x + c) - sp.betaln(c, x + 1)
        return ways - c * np.log1p(mean / c) - x * np.log1p(c / mean)

    return Counts(logpmf, st.nbinom(c, c / (c + mean)).ppf(LEVELS))


def ordered_levels(predictor: float, cuts: Any) -> Counts:
    """P(x > k) = logistic(predictor - cut k)."""

    def logpmf(x: Any) -> Any:
        ends = np.array([-np.inf, *cuts, np.inf]) - predictor
        low, high = ends[np.asarray(x, int)], ends[np.asarray(x, int) + 1]
        left = sp.log_expit(high) + np.log(-np.expm1(sp.log_expit(low) - sp.log_expit(high)))
        right = sp.log_expit(-low) + np.log(-np.expm1(sp.log_expit(-high) - sp.log_expit(-low)))
        return np.where(low > 0, right, left)

    return Counts(logpmf, np.arange(len(cuts) + 1.0))


class Single:
    """One value of a vector or a matrix."""

    def __init__(self, logpdf: Callable[..., Any], *values: Any):
        self.logpdf, self.values = logpdf, values


SCALES = ((0.0, 1.0), (1e6, 1.0), (-3.0, 1e-4), (0.0, 1e6))
POSITIVE = ((0.01, 1.0), (1.3, 0.7), (1e3, 2.0), (1e5, 1e5), (1e7, 1e7), (3.0, 1e-6))
PAIRS = ((0.01, 0.02), (1.3, 0.4), (2.0, 1e7), (1e3, 3e3), (1e5, 10.0), (5e6, 5e6), (1e7, 2e6))
MEANS = ((1e-3, 1.0), (4.0, 0.01), (4.0, 10.0), (4.0, 1e7), (1e6, 3.0), (1e6, 1e6), (1e7, 1e9))

DENSITIES = {
    "Normal(mean, sd)": Density(st.norm, SCALES),
    "StudentT(df, location, scale)": Density(
        st.t, ((0.1, 0.0, 1.0), (3.0, 1e4, 2.0), (1e3, 0.0, 1.0), (1e7, 0.0, 1.0), (1e9, 1.0, 2.0))
    ),
    "Cauchy(location, scale)": Density(st.cauchy, SCALES),
    "Laplace(location, scale)": Density(st.laplace, SCALES),
    "AsymmetricLaplace(location, scale, asymmetry)": Density(
        lambda m, s, k: st.laplace_asymmetric(k, m, s),
        ((0.0, 1.0, 0.5), (3.0, 1e-3, 20.0), (0.0, 1.0, 1e3)),
    ),
    "AsymmetricLaplace(location, scale, quantile)": Density(
        asymmetric, ((0.0, 1.0, 0.5), (3.0, 1e-3, 0.99), (0.0, 1.0, 1e-5))
    ),
    "Logistic(location, scale)": Density(st.logistic, SCALES, (1e3, -1e3)),
    "Gumbel(location, scale)": Density(st.gumbel_r, SCALES),
    "Levy(location, scale)": Density(st.levy, SCALES),
    "VonMises(location, concentration)": Density(
        lambda m, k: st.vonmises(k, m),
        ((0.0, 0.01), (0.3, 4.0), (0.5, 1e3), (0.5, 1e7), (3.0, 1e5)),
    ),
    "Uniform(lower, upper)": Density(
        lambda a, b: st.uniform(a, b - a), ((0.0, 1.0), (1e6, 1e6 + 1), (-1e-6, 1e-6))
    ),
    "LogUniform(lower, upper)": Density(
        st.loguniform, ((1.0, 2.0), (1e-20, 1e20), (1e3, 1001.0), (1.0, 1.0 + 2**-12))
    ),
    "TruncatedNormal(location, scale, lower)": Density(
        truncated_normal, ((0.0, 1.0, 1.0), (0.0, 1.0, 6.0), (0.0, 1.0, 30.0), (1.0, 2.0, -9.0))
    ),
    "TruncatedNormal(location, scale, upper)": Density(
        lambda m, s, b: truncated_normal(m, s, high=b),
        ((0.0, 1.0, 1.0), (0.0, 1.0, -6.0), (0.0, 1.0, -30.0), (1.0, 2.0, 20.0)),
    ),
    "TruncatedNormal(location, scale, lower, upper)": Density(
        truncated_normal,
        ((0.0, 1.0, -1.0, 2.0), (0.0, 1.0, 6.0, 7.0), (0.0, 1.0, -31.0, -30.0)),
    ),
    "TruncatedCauchy(location, scale, lower)": Density(
        truncated_cauchy, ((0.0, 1.0, 1.0), (0.0, 1.0, 1e4), (0.0, 1.0, -1e4))
    ),
    "TruncatedCauchy(location, scale, upper)": Density(
        lambda m, s, b: truncated_cauchy(m, s, high=b),
        ((0.0, 1.0, 1.0), (0.0, 1.0, 1e4), (0.0, 1.0, -1e4)),
    ),
    "TruncatedCauchy(location, scale, lower, upper)": Density(
        truncated_cauchy, ((0.0, 1.0, -1.0, 2.0), (0.0, 1.0, 1e4, 2e4))
    ),
    "Beta(a, b)": Density(st.beta, PAIRS),
    "Beta(mean, concentration)": Density(
        lambda m, c: st.beta(m * c, (1 - m) * c),
        ((0.3, 0.05), (0.5, 4.0), (0.5, 1e7), (0.9, 1e5), (0.001, 1e7)),
    ),
    "Kumaraswamy(a, b)": Density(
        kumaraswamy, ((0.1, 0.2), (1.3, 0.4), (2.0, 1e6), (1e4, 3.0), (300.0, 300.0))
    ),
    "RelaxedBernoulli(p, temperature)": Density(
        lambda p, t: relaxed_bernoulli(np.log(p) - np.log1p(-p), t),
        ((0.3, 1.0), (1e-5, 0.5), (0.999, 0.5), (0.5, 5.0)),
    ),
    "RelaxedBernoulli(logits, temperature)": Density(
        relaxed_bernoulli, ((0.3, 1.0), (-10.0, 1.0), (5.0, 0.5)), (0.25, 0.75)
    ),
    "HalfNormal(scale)": Density(lambda s: st.halfnorm(0, s), ((1.0,), (1e-6,), (1e6,))),
    "HalfCauchy(scale)": Density(lambda s: st.halfcauchy(0, s), ((1.0,), (1e-6,), (1e6,))),
    "HalfStudentT(df, scale)": Density(
        lambda v, s: Written(
            lambda x: st.t(v, 0, s).logpdf(x) + np.log(2), lambda q: st.t(v, 0, s).isf((1 - q) / 2)
        ),
        ((0.1, 1.0), (4.0, 1e-3), (1e7, 1.0)),
    ),
    "LogNormal(location, scale)": Density(
        lambda m, s: st.lognorm(s, 0, np.exp(m)),
        ((0.0, 1.0), (3.0, 0.01), (-20.0, 0.1), (10.0, 3.0)),
    ),
    "Exponential(rate)": Density(lambda r: st.expon(0, 1 / r), ((1.0,), (1e-6,), (1e6,))),
    "Gamma(shape, rate)": Density(lambda a, r: st.gamma(a, 0, 1 / r), POSITIVE),
    "Gamma(shape, scale)": Density(lambda a, s: st.gamma(a, 0, s), POSITIVE),
    "Gamma(mean, sd)": Density(
        lambda m, s: st.gamma((m / s) ** 2, 0, s * s / m),
        ((1.0, 3.0), (1.0, 1.0), (1.0, 1e-2), (1.0, 1e-4), (1e6, 10.0), (2.0, 2e-5)),
    ),
    "InverseGamma(shape, scale)": Density(lambda a, s: st.invgamma(a, 0, s), POSITIVE[1:]),
    "ChiSquared(df)": Density(st.chi2, ((0.02,), (3.0,), (1e4,), (1e7,))),
    "InverseChiSquared(df)": Density(
        lambda v: st.invgamma(v / 2, 0, 0.5), ((1.0,), (3.0,), (1e4,), (1e7,))
    ),
    "ScaledInverseChiSquared(df, scale)": Density(
        lambda v, s: st.invgamma(v / 2, 0, v * s * s / 2),
        ((1.0, 1.0), (3.0, 1e-3), (1e4, 2.0), (1e7, 0.3)),
    ),
    "Weibull(shape, scale)": Density(
        lambda k, s: st.weibull_min(k, 0, s), ((0.3, 2.0), (2.0, 1e5), (1e3, 2.0), (1e5, 2.0))
    ),
    "Rayleigh(scale)": Density(lambda s: st.rayleigh(0, s), ((1.0,), (1e-5,), (1e6,))),
    "Gompertz(shape, rate)": Density(gompertz, ((0.5, 1.0), (1e-6, 2.0), (1e6, 1e-3))),
    "Pareto(lower, shape)": Density(
        lambda m, a: st.pareto(a, 0, m), ((1.0, 0.1), (1e5, 3.0), (3.0, 1e4), (1.5, 1e6))
    ),
    "Bernoulli(p)": Density(st.bernoulli, ((0.3,), (1e-7,), (1 - 2**-20,))),
    "Bernoulli(logits)": Density(
        lambda z: binomial_by_logits(1, z), ((0.3,), (-100.0,), (100.0,)), (0, 1)
    ),
    "OrderedLogistic(predictor, cutpoints)": Density(
        ordered_levels,
        (
            (0.3, (-1.0, 0.5, 2.0)),
            (100.0, (-1.0, 0.5, 2.0)),
            (-100.0, (-1.0, 0.5, 2.0)),
            (30.0, (0.0, 1e-3, 60.0)),
        ),
    ),
    "Binomial(n, p)": Density(
        st.binom, ((10, 0.3), (10**6, 1e-6), (10**6, 0.5), (10**7, 0.999), (10**5, 1e-3))
    ),
    "Binomial(n, logits)": Density(
        binomial_by_logits, ((10, 0.3), (10, 100.0), (10, -100.0), (10**6, -14.0), (10**7, 1.0)), (3,)
    ),
    "BetaBinomial(n, a, b)": Density(
        st.betabinom,
        ((10, 0.1, 0.2), (10, 1e7, 3e7), (10**6, 2.0, 3.0), (10**5, 1e6, 1e3), (10**6, 1e8, 1e8)),
    ),
    "BetaBinomial(n, p, concentration)": Density(
        lambda n, p, c: st.betabinom(n, p * c, (1 - p) * c),
        ((10, 0.5, 1.0), (10, 0.25, 1e7), (10**5, 0.5, 1e6), (10**6, 0.999, 100.0)),
    ),
    "Poisson(rate)": Density(st.poisson, ((1e-6,), (3.0,), (1e3,), (1e6,), (1e7,))),
    "Poisson(log_rate)": Density(poisson_by_log, ((-100.0,), (1.0,), (7.0,), (13.0,)), (2,)),
    "Geometric(p)": Density(lambda p: st.geom(p, -1), ((0.3,), (1e-6,), (0.999,)), (0, 5)),
    "Geometric(logits)": Density(
        lambda z: Counts(
            lambda x: -np.logaddexp(0, -z) - x * np.logaddexp(0, z), np.array([0.0, 1.0, 3.0, 1e4])
        ),
        ((0.3,), (-100.0,), (-14.0,), (100.0,)),
    ),
    "NegativeBinomial(mean, concentration)": Density(negative_binomial, MEANS),
    "NegativeBinomial(log_mean, concentration)": Density(
        lambda z, c: negative_binomial(np.exp(z), c), ((-100.0, 1.0), (1.0, 1e7), (13.0, 3.0)), (2,)
    ),
    "NegativeBinomial(shape, rate)": Density(
        lambda a, r: negative_binomial(a / r, a), ((2.0, 0.5), (4e7, 1e7), (1e6, 1.0), (0.01, 3.0))
    ),
    "NegativeBinomial(n, p)": Density(
        st.nbinom, ((2.0, 0.5), (1e6, 0.5), (1e6, 1 - 2**-20), (3.0, 1e-6), (1e7, 0.9))
    ),
    "ZeroInflatedPoisson(p_zero, rate)": Density(
        lambda g, r: zero_inflated(g, st.poisson(r)),
        ((0.3, 2.0), (1e-6, 1e6), (0.999, 10.0), (0.0, 3.0)),
    ),
    "ZeroInflatedNegativeBinomial(p_zero, rate, concentration)": Density(
        lambda g, m, c: zero_inflated(g, st.nbinom(c, c / (c + m))),
        ((0.3, 2.0, 5.0), (0.1, 4.0, 1e7), (0.5, 1e6, 1e6)),
    ),
    "ZeroInflatedBinomial(p_zero, n, p)": Density(
        lambda g, n, p: zero_inflated(g, st.binom(n, p)),
        ((0.3, 10, 0.5), (0.1, 10**6, 1e-6), (0.5, 10**6, 0.5)),
    ),
    "DiscreteUniform(lower, upper)": Density(
        lambda a, b: st.randint(a, b + 1), ((0, 5), (-(10**6), 10**6), (3, 3))
    ),
}  # fmt: skip


def label(text: str) -> str:
    names = [
        param.name for param in next(r for r in DISTRIBUTIONS if r.text == text).signature.params
    ]
    return f"{text.partition('(')[0]}({', '.join(names)})"


ROWS = {label(row.text): row for row in DISTRIBUTIONS if row.added is None}


def single(number: Any) -> Any:
    return number if isinstance(number, int) else np.asarray(number, np.float32)


def checked(key: str) -> Iterator[tuple[Any, Any, float, float]]:
    """The arguments, the value, our log density and that of SciPy."""
    row, density = ROWS[key], DENSITIES[key]
    names = [param.name for param in row.signature.params]
    for given in density.grid:
        narrow = [single(number) for number in given]
        wide = [n if isinstance(n, int) else np.asarray(n, float) for n in narrow]
        peer = density.peer(*wide)
        with np.errstate(all="ignore"):
            values = np.concatenate([peer.ppf(np.array(LEVELS)), density.values])
        size = np.abs(values)
        values = np.unique(values[(size == 0) | ((size > TINY) & (size < 1 / TINY))])
        values = np.asarray(values, np.float32)
        log_density = peer.logpmf if hasattr(peer, "logpmf") else peer.logpdf
        with np.errstate(all="ignore"):
            truth = np.asarray(log_density(np.asarray(values, float)))
        law = evaluate(constructor(row.text), words_of(row) | dict(zip(names, narrow, strict=True)))
        is_there = np.isfinite(truth) & np.asarray(law.support(values))
        values, truth = values[is_there], truth[is_there]
        found = law.log_prob(values.astype(np.int32) if row.discrete else values)
        yield from (
            (given, v, f, t) for v, f, t in zip(values, np.asarray(found), truth, strict=True)
        )


def is_lost(found: float, truth: float) -> bool:
    off = abs(found - truth)
    return not (off < ABSOLUTE or off < RELATIVE * abs(truth))


@pytest.mark.parametrize("key", DENSITIES)
def test_single_precision_keeps_the_digits_of_log_densities(key: str) -> None:
    with jax.enable_x64(False):
        lost = [found for found in checked(key) if is_lost(*found[2:])]
    assert not lost, "\n".join(map(str, lost))

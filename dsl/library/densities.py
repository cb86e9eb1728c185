"""Log densities in NumPy, by the names of NumPyro's constructors: for questions that are asked
once, where nothing is worth compiling.

Each takes the arguments of the constructor and gives a function of the value; outside of the
support it is minus infinity. What is not here is None, and the caller takes the compiled way.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import (
    betaln,
    gammaln,
    ive,
    log_ndtr,
    xlog1py,
    xlogy,
)

from .constructor import constructor, constructor_name, evaluate
from .distributions import distributions_by_name, row_of

Array = Any
Density = Callable[[Array], Array]
LOG_2PI = float(np.log(2 * np.pi))


def log_density(row: str, arguments: Mapping[str, Array], value: Array) -> Array | None:
    """The log density of the distribution with this signature, elementwise; None if not known."""
    known = {**FUNCTIONS, **CONSTRUCTORS}
    facts = row_of(row)
    if facts.log_density is None and constructor_name(facts) not in CONSTRUCTORS:
        return None
    with np.errstate(all="ignore"):
        if facts.log_density:
            found = facts.log_density(np.asarray(value, float), **arguments)
        else:
            found = evaluate(constructor(row), {**known, **arguments})(np.asarray(value, float))
        return np.where(np.isnan(found) & ~np.isnan(np.asarray(value, float)), -np.inf, found)


def _inside(inside: Array, found: Array) -> Array:
    return np.where(inside, found, -np.inf)


def _is_count(x: Array) -> Array:
    return (x >= 0) & (x == np.floor(x))


# ---- on the real line


def normal(loc: Array = 0.0, scale: Array = 1.0) -> Density:
    return lambda x: -(((x - loc) / scale) ** 2) / 2 - np.log(scale) - LOG_2PI / 2


def student_t(df: Array, loc: Array = 0.0, scale: Array = 1.0) -> Density:
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) - np.log(np.pi * df) / 2 - np.log(scale)
    return lambda x: constant - (df + 1) / 2 * np.log1p(((x - loc) / scale) ** 2 / df)


def cauchy(loc: Array = 0.0, scale: Array = 1.0) -> Density:
    return lambda x: -np.log(np.pi * scale) - np.log1p(((x - loc) / scale) ** 2)


def laplace(loc: Array = 0.0, scale: Array = 1.0) -> Density:
    return lambda x: -np.abs(x - loc) / scale - np.log(2 * scale)


def logistic(loc: Array = 0.0, scale: Array = 1.0) -> Density:
    def density(x: Array) -> Array:
        z = np.abs((x - loc) / scale)
        return -z - 2 * np.log1p(np.exp(-z)) - np.log(scale)

    return density


def gumbel(loc: Array = 0.0, scale: Array = 1.0) -> Density:
    return lambda x: -(x - loc) / scale - np.exp(-(x - loc) / scale) - np.log(scale)


def von_mises(loc: Array, concentration: Array) -> Density:
    """The normaliser is 2 pi I0(k), with I0 scaled by exp(-k) so that it does not overflow."""
    constant = LOG_2PI + np.log(ive(0, concentration)) + concentration
    return lambda x: _inside(np.abs(x) <= np.pi, concentration * np.cos(x - loc) - constant)


# ---- on an interval or half of the line


def uniform(low: Array = 0.0, high: Array = 1.0) -> Density:
    return lambda x: _inside((x >= low) & (x <= high), -np.log(np.asarray(high - low)))


def log_uniform(low: Array, high: Array) -> Density:
    return lambda x: _inside((x >= low) & (x <= high), -np.log(x) - np.log(np.log(high / low)))


def truncated_normal(
    loc: Array = 0.0, scale: Array = 1.0, low: Array = -np.inf, high: Array = np.inf
) -> Density:
    """log P(low < x < high), from the tail in which it has most digits."""
    a, b = np.broadcast_arrays((low - loc) / scale, (high - loc) / scale)
    a, b = np.where(a > 0, -b, a), np.where(a > 0, -a, b)
    mass = log_ndtr(b) + np.log1p(-np.exp(log_ndtr(a) - log_ndtr(b)))
    own = normal(loc, scale)
    return lambda x: _inside((x >= low) & (x <= high), own(x) - mass)


def beta(concentration1: Array, concentration0: Array) -> Density:
    a, b = concentration1, concentration0
    return lambda x: _inside(
        (x >= 0) & (x <= 1), xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b)
    )


def half_normal(scale: Array = 1.0) -> Density:
    own = normal(0.0, scale)
    return lambda x: _inside(x >= 0, own(x) + np.log(2))


def half_cauchy(scale: Array = 1.0) -> Density:
    own = cauchy(0.0, scale)
    return lambda x: _inside(x >= 0, own(x) + np.log(2))


def log_normal(loc: Array = 0.0, scale: Array = 1.0) -> Density:
    own = normal(loc, scale)
    return lambda x: _inside(x > 0, own(np.log(x)) - np.log(x))


def exponential(rate: Array = 1.0) -> Density:
    return lambda x: _inside(x >= 0, np.log(rate) - rate * x)


def gamma(concentration: Array, rate: Array = 1.0, centre: Array = None) -> Density:
    constant = xlogy(concentration, rate) - gammaln(concentration)
    return lambda x: _inside(x >= 0, constant + xlogy(concentration - 1, x) - rate * x)


def inverse_gamma(concentration: Array, rate: Array = 1.0) -> Density:
    constant = xlogy(concentration, rate) - gammaln(concentration)
    return lambda x: _inside(x > 0, constant - (concentration + 1) * np.log(x) - rate / x)


def weibull(concentration: Array, scale: Array) -> Density:
    def density(x: Array) -> Array:
        z = x / scale
        log_slope = np.log(concentration / scale) + xlogy(concentration - 1, z)
        return _inside(x >= 0, log_slope - z**concentration)

    return density


def pareto(scale: Array, alpha: Array) -> Density:
    return lambda x: _inside(
        x >= scale, np.log(alpha) + alpha * np.log(scale) - (alpha + 1) * np.log(x)
    )


# ---- whole numbers


def poisson(rate: Array, log_rate: Array = None) -> Density:
    """By its logarithm, a rate that is too small for a number keeps all digits."""

    def density(x: Array) -> Array:
        powers = xlogy(x, rate) if log_rate is None else x * log_rate
        return _inside(_is_count(x), powers - rate - gammaln(x + 1))

    return density


def binomial(total_count: Array, probs: Array = None, logits: Array = None) -> Density:
    """By logits, p and 1 - p are known to all their digits."""

    def density(x: Array) -> Array:
        n = total_count
        choose = gammaln(n + 1.0) - gammaln(x + 1) - gammaln(n - x + 1)
        if logits is None:
            mass = xlogy(x, probs) + xlog1py(n - x, -np.asarray(probs))
        else:
            mass = -x * np.logaddexp(0, -logits) - (n - x) * np.logaddexp(0, logits)
        return _inside(_is_count(x) & (x <= n), choose + mass)

    return density


def geometric(probs: Array = None, logits: Array = None) -> Density:
    if logits is None:
        return lambda x: _inside(_is_count(x), np.log(probs) + xlog1py(x, -np.asarray(probs)))
    return lambda x: _inside(_is_count(x), -np.logaddexp(0, -logits) - x * np.logaddexp(0, logits))


def gamma_poisson(concentration: Array, rate: Array = 1.0) -> Density:
    a = concentration

    def density(x: Array) -> Array:
        choose = gammaln(x + a) - gammaln(a) - gammaln(x + 1)
        mass = a * np.log(rate / (1 + rate)) - x * np.log1p(rate)
        return _inside(_is_count(x), choose + mass)

    return density


def negative_binomial(mean: Array, concentration: Array, log_mean: Array = None) -> Density:
    return gamma_poisson(concentration, concentration / mean)


def beta_binomial(concentration1: Array, concentration0: Array, total_count: Array = 1) -> Density:
    a, b, n = concentration1, concentration0, total_count

    def density(x: Array) -> Array:
        choose = gammaln(n + 1.0) - gammaln(x + 1) - gammaln(n - x + 1)
        return _inside(_is_count(x) & (x <= n), choose + betaln(x + a, n - x + b) - betaln(a, b))

    return density


def discrete_uniform(low: Array = 0, high: Array = 1) -> Density:
    return lambda x: _inside(
        (x >= low) & (x <= high) & (x == np.floor(x)), -np.log(high - low + 1.0)
    )


CONSTRUCTORS: dict[str, Callable[..., Density]] = {
    "Normal": normal,
    "StudentT": student_t,
    "Cauchy": cauchy,
    "Laplace": laplace,
    "Logistic": logistic,
    "Gumbel": gumbel,
    "VonMises": von_mises,
    "Uniform": uniform,
    "LogUniform": log_uniform,
    "TruncatedNormal": truncated_normal,
    "Beta": beta,
    "HalfNormal": half_normal,
    "HalfCauchy": half_cauchy,
    "LogNormal": log_normal,
    "Exponential": exponential,
    "Gamma": gamma,
    "InverseGamma": inverse_gamma,
    "Chi2": lambda df: gamma(df / 2, 0.5),
    "Weibull": weibull,
    "Pareto": pareto,
    "Poisson": poisson,
    "Binomial": binomial,
    "Geometric": geometric,
    "GammaPoisson": gamma_poisson,
    "NegativeBinomial2": negative_binomial,
    "BetaBinomial": beta_binomial,
    "DiscreteUniform": discrete_uniform,
}

FUNCTIONS: dict[str, Callable[..., Any]] = {"exp": np.exp, "sqrt": np.sqrt, "log": np.log}


def rows_with_density() -> list[str]:
    """The signatures whose density is known here."""
    rows = [row for own in distributions_by_name().values() for row in own]
    return [row.text for row in rows if row.numpyro.partition("(")[0] in CONSTRUCTORS]

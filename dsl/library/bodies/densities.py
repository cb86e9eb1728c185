"""NumPyro's distributions with log densities that keep their digits in single precision.

They have NumPyro's names, and all else of NumPyro's.
"""

# NumPyro has no types, so neither have its classes and decorators here.
# mypy: disable-error-code="misc,untyped-decorator,no-untyped-call,no-any-return"

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

from .deviances import (
    beta_binomial_log_mass,
    beta_log_density,
    binomial_log_mass,
    gamma_log_density,
    log_gamma_ratio,
    log_ratio,
    negative_binomial_log_mass,
    poisson_log_mass,
)
from .elementary import as_real, log1mexp, log_sigmoid, logaddexp
from .tails import cauchy_tails, gaussian_tails
from .truncated import Truncated

# ---- on the real line


class StudentT(dist.StudentT):
    same_as = dist.StudentT

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        z = (value - self.loc) / self.scale
        constant = log_gamma_ratio(self.df / 2, 0.5) - jnp.log(2 * jnp.pi) / 2
        w = z / jnp.sqrt(self.df)
        is_far = jnp.abs(w) > 1e10  # its square may be too large for a number
        near = jnp.log1p(jnp.square(jnp.where(is_far, 1.0, w)))
        far = 2 * jnp.log(jnp.where(is_far, jnp.abs(w), 1.0))
        power = (self.df + 1) / 2 * jnp.where(is_far, far, near)
        return constant - jnp.log(self.scale) - power

    @property
    def mean(self) -> jax.Array:
        """Not a number up to one degree of freedom: it is not defined."""
        return jnp.broadcast_to(jnp.where(self.df > 1, self.loc, jnp.nan), self.batch_shape)


class MultivariateStudentT(dist.MultivariateStudentT):
    same_as = dist.MultivariateStudentT

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        rank, half = self.scale_tril.shape[-1], self.df / 2
        parts = dist.MultivariateNormal(self.loc, scale_tril=self.scale_tril)
        size = rank / 2 * jnp.log(2 * jnp.pi)
        # Twice what a Gaussian lacks, less its constant: the square of the distance.
        peak = -size - jnp.sum(jnp.log(jnp.diagonal(self.scale_tril, axis1=-2, axis2=-1)), -1)
        square = 2 * (peak - parts.log_prob(value))
        power = (self.df + rank) / 2 * jnp.log1p(square / self.df)
        return peak + log_gamma_ratio(half, rank / 2) - power

    @property
    def mean(self) -> jax.Array:
        """Not a number up to one degree of freedom: it is not defined."""
        return jnp.where(jnp.expand_dims(self.df, -1) > 1, super().mean, jnp.nan)


class VonMises(dist.VonMises):
    """1 - cos(x) = 2 sin(x / 2)^2."""

    same_as = dist.VonMises

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        sine = jnp.sin((value - self.loc) / 2)
        size = jnp.log(2 * jnp.pi) + jnp.log(jax.scipy.special.i0e(self.concentration))
        return -2 * self.concentration * sine * sine - size


class TruncatedGaussian(Truncated):
    """With its mean and its variance."""

    def slopes(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Each end in units of the base, and its density."""
        none: tuple[Any, Any] = (0.0, 0.0)
        found: list[tuple[Any, Any]] = []
        for end in (self.low, self.high):
            if end is None:
                found.append(none)
                continue
            z = (end - self.base.loc) / self.base.scale
            log_density = self.base.log_prob(end) + jnp.log(self.base.scale)
            found.append((z, jnp.exp(log_density - self.log_mass())))
        return found[0], found[1]

    @property
    def mean(self) -> jax.Array:
        (_, low), (_, high) = self.slopes()
        return self.base.loc + self.base.scale * (low - high)

    @property
    def variance(self) -> jax.Array:
        (a, low), (b, high) = self.slopes()
        return self.base.scale**2 * (1 + a * low - b * high - (low - high) ** 2)


def TruncatedNormal(loc: Any = 0.0, scale: Any = 1.0, low: Any = None, high: Any = None) -> Any:
    given = jnp.broadcast_arrays(loc, scale, *(end for end in (low, high) if end is not None))
    base = dist.Normal(given[0], given[1])
    return TruncatedGaussian(base, low, high, gaussian_tails)


def TruncatedCauchy(loc: Any = 0.0, scale: Any = 1.0, low: Any = None, high: Any = None) -> Any:
    given = jnp.broadcast_arrays(loc, scale, *(end for end in (low, high) if end is not None))
    return Truncated(dist.Cauchy(given[0], given[1]), low, high, cauchy_tails)


# ---- on an interval or half of the line


class Beta(dist.Beta):
    same_as = dist.Beta

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        return beta_log_density(value, self.concentration1, self.concentration0)


class BetaProportion(dist.BetaProportion):
    same_as = dist.BetaProportion

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        return beta_log_density(value, self.concentration1, self.concentration0)


class Gamma(dist.Gamma):
    """`centre` is its mean, where that is known to more digits than as a ratio."""

    same_as = dist.Gamma
    pytree_data_fields = ("centre",)

    def __init__(
        self,
        concentration: Any,
        rate: Any = 1.0,
        centre: Any = None,
        *,
        validate_args: bool | None = None,
    ):
        self.centre = centre
        super().__init__(concentration, rate, validate_args=validate_args)

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        shape, scaled = self.concentration, self.rate * value
        gap = shape - scaled
        if self.centre is not None:
            gap = shape * ((self.centre - value) / self.centre)
            scaled = shape * (value / self.centre)
        return gamma_log_density(value, shape, scaled, gap)


class Chi2(dist.Chi2):
    same_as = dist.Chi2

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        half = value / 2
        return gamma_log_density(value, self.df / 2, half, (self.df - value) / 2)


class InverseGamma(dist.InverseGamma):
    same_as = dist.InverseGamma

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        scaled = self.rate / value
        return gamma_log_density(value, self.concentration, scaled, self.concentration - scaled)

    @property
    def mean(self) -> jax.Array:
        """rate / (shape - 1), infinite up to a shape of 1."""
        above = self.concentration - 1
        return jnp.where(above > 0, self.rate / jnp.where(above > 0, above, 1.0), jnp.inf)

    @property
    def variance(self) -> jax.Array:
        """mean^2 / (shape - 2), infinite up to a shape of 2."""
        above = self.concentration - 2
        has = above > 0
        centre = self.rate / jnp.where(has, self.concentration - 1, 1.0)
        return jnp.where(has, centre**2 / jnp.where(has, above, 1.0), jnp.inf)


class Weibull(dist.Weibull):
    same_as = dist.Weibull

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        log_y = self.concentration * log_ratio(value, self.scale)
        return jnp.log(self.concentration) + log_y - jnp.log(value) - jnp.exp(log_y)


class Pareto(dist.Pareto):
    same_as = dist.Pareto

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        return jnp.log(self.alpha / value) - self.alpha * log_ratio(value, self.scale)


# ---- labels and whole numbers


class OrderedLogistic(dist.OrderedLogistic):
    """logistic(u) - logistic(l) = logistic(u) logistic(-l) (1 - exp(l - u))."""

    same_as = dist.OrderedLogistic

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        value, count = jnp.asarray(value), self.cutpoints.shape[-1]
        places = jnp.arange(count)

        def cut(place: Any) -> Any:
            return jnp.sum(jnp.where(places == place[..., None], self.cutpoints, 0.0), -1)

        has_low, has_high = value > 0, value < count
        low, high = cut(value - 1), cut(value)
        apart = jnp.where(has_low & has_high, high - low, 1.0)
        below = jnp.where(has_high, log_sigmoid(high - self.predictor), 0.0)
        above = jnp.where(has_low, log_sigmoid(self.predictor - low), 0.0)
        return below + above + jnp.where(has_low & has_high, log1mexp(apart), 0.0)


class Poisson(dist.Poisson):
    """`log_rate` says what the rate is where it is too small for a number."""

    same_as = dist.Poisson
    pytree_data_fields = ("log_rate",)

    def __init__(self, rate: Any, log_rate: Any = None, *, validate_args: bool | None = None):
        self.log_rate = log_rate
        super().__init__(rate, validate_args=validate_args)

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        return poisson_log_mass(value, self.rate, self.log_rate)


class BinomialOfProbs(dist.BinomialProbs):
    same_as = dist.BinomialProbs

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        return binomial_log_mass(value, self.total_count, self.probs, 1 - self.probs)


class BinomialOfLogits(dist.BinomialLogits):
    same_as = dist.BinomialLogits

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        yes, no = jax.nn.sigmoid(self.logits), jax.nn.sigmoid(-self.logits)
        return binomial_log_mass(value, self.total_count, yes, no, self.logits)


def Binomial(total_count: Any = 1, probs: Any = None, logits: Any = None) -> Any:
    if logits is None:
        return BinomialOfProbs(probs, total_count)
    return BinomialOfLogits(logits, total_count)


class GeometricOfLogits(dist.GeometricLogits):
    same_as = dist.GeometricLogits

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        return log_sigmoid(self.logits) + value * log_sigmoid(-self.logits)


def Geometric(probs: Any = None, logits: Any = None) -> Any:
    return dist.Geometric(probs=probs) if logits is None else GeometricOfLogits(logits)


class GammaPoisson(dist.GammaPoisson):
    same_as = dist.GammaPoisson

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        yes, no = 1 / (1 + 1 / self.rate), 1 / (1 + self.rate)
        shape = self.concentration
        gap = shape * no - jnp.maximum(value, 0) * yes
        return negative_binomial_log_mass(value, shape, yes, no, gap)


class NegativeBinomial2(dist.NegativeBinomial2):
    """`log_mean` says what the mean is where it is too small for a number."""

    same_as = dist.NegativeBinomial2
    pytree_data_fields = ("centre", "log_mean")

    def __init__(
        self,
        mean: Any,
        concentration: Any,
        log_mean: Any = None,
        *,
        validate_args: bool | None = None,
    ):
        self.centre, self.log_mean = mean, log_mean
        super().__init__(mean, concentration, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return jnp.broadcast_to(self.centre, self.batch_shape)

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        mean, shape = self.centre, self.concentration
        yes, no = 1 / (1 + mean / shape), 1 / (1 + shape / mean)
        gap = yes * (mean - jnp.maximum(as_real(value), 0.0))
        log_no = None if self.log_mean is None else self.log_mean - jnp.log(shape + mean)
        return negative_binomial_log_mass(value, shape, yes, no, gap, log_no)


class BetaBinomial(dist.BetaBinomial):
    same_as = dist.BetaBinomial

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        given = (self.total_count, self.concentration1, self.concentration0)
        return beta_binomial_log_mass(value, *given)


class ZeroInflatedCounts(dist.discrete.ZeroInflatedProbs):
    """log(gate + (1 - gate) P(0)), by logarithms where P(0) is too small for a number."""

    same_as = dist.discrete.ZeroInflatedProbs

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> jax.Array:
        own = self.base_dist.log_prob(value)
        is_small = own < -60
        usual = jnp.log(self.gate + (1 - self.gate) * jnp.exp(jnp.where(is_small, 0.0, own)))
        has_both = is_small & (self.gate > 0) & (self.gate < 1)
        gate = jnp.where(has_both, self.gate, 0.5)
        added = logaddexp(jnp.log(gate), jnp.log1p(-gate) + own)
        is_zero = value == 0
        rest = jnp.log1p(-jnp.where(is_zero, 0.0, self.gate)) + own
        extreme = jnp.where(has_both, added, jnp.where(self.gate > 0, 0.0, own))
        return jnp.where(is_zero, jnp.where(is_small, extreme, usual), rest)


def ZeroInflatedDistribution(base: Any, gate: Any) -> Any:
    return ZeroInflatedCounts(base, gate)


def ZeroInflatedPoisson(gate: Any, rate: Any) -> Any:
    return ZeroInflatedCounts(Poisson(rate), gate)


def ZeroInflatedNegativeBinomial2(mean: Any, concentration: Any, gate: Any) -> Any:
    return ZeroInflatedCounts(NegativeBinomial2(mean, concentration), gate)

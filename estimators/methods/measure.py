"""Measure-valued derivatives: d E_p[f] / d theta = c (E_p+[f] - E_p-[f]), d p = c (p+ - p-).

One element at a time is changed into a draw of p+ or of p-, along local axes all at once, of the
same noise. What was drawn on the way is boxed in the gradient, whose derivatives are those of c
E_p+[f] and c E_p-[f].
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import digamma, xlog1py
from numpyro import distributions as numpyro_dist
from numpyro.distributions import Distribution

from ..box import lean, magic_box
from . import distributions
from .method import Method, Points


class Side(NamedTuple):
    """One of the two measures, of `size` c or -c; without a value, the distribution itself."""

    parameter: Array
    size: Array
    value: Array | None = None
    log_prob: Array | None = None


Split = tuple[Array, list[Side]]


@dataclass(frozen=True)
class MeasureValued(Method):
    name: ClassVar[str] = "mvd"
    single: ClassVar[bool] = False

    def points(self, key: Array, dist: Distribution, local: tuple[int, ...]) -> Points:
        draw, sides = SPLITS[distributions.kind_of(dist)](key, dist)
        draw = jax.lax.stop_gradient(draw)
        own = distributions.element_log_prob(dist, draw)
        total = distributions.everywhere(distributions.together(own, local), own.ndim, local)
        first = jnp.ones_like(distributions.together(own, local))
        values, weights = [draw[None]], []
        for parameter, size, value, log_prob in sides:
            parameter = jnp.asarray(parameter, total.dtype)
            if value is None or log_prob is None:
                first += distributions.together(lean(parameter, size * magic_box(total)), local)
            else:
                gradient = size * magic_box(total - own + log_prob)
                values.append(distributions.replaced(draw, value, local))
                weights.append(distributions.apart(lean(parameter, gradient), local))
        return Points(jnp.concatenate(values), weights=jnp.concatenate([first[None], *weights]))

    @classmethod
    def refusal(cls, dist: Distribution) -> str:
        counts = "Bernoulli, Categorical, Binomial, Geometric, Poisson"
        names = f"{counts}, Normal, Exponential and Gamma"
        if distributions.kind_of(dist) in SPLITS:
            return ""
        return f"no pair of measures is known for it; there is one for {names}"


def _filled(argument: Array, shape: tuple[int, ...]) -> Array:
    """An argument of every element; one that is written as a whole number is real all the same."""
    argument = jnp.asarray(argument)
    real = jnp.issubdtype(argument.dtype, jnp.floating)
    dtype = argument.dtype if real else jnp.result_type(float)
    return jnp.broadcast_to(argument.astype(dtype), shape)


def _bernoulli(key: Array, dist: Distribution) -> Split:
    """d p / d yes = [x = 1] - [x = 0]."""
    draw, yes = distributions.sample(dist, key), distributions.yes_probability(dist)
    sure, one = jnp.zeros_like(yes), jnp.ones_like(yes)
    up = Side(yes, one, jnp.ones_like(draw), sure)
    return draw, [up, Side(yes, -one, jnp.zeros_like(draw), sure)]


def _categorical(key: Array, dist: Distribution) -> Split:
    """d p / d p_k = [x = k]: the gradients of all p_k add up to none."""
    draw, table = distributions.sample(dist, key), distributions.class_probabilities(dist)
    sure = jnp.zeros(draw.shape, table.dtype)
    one, classes = jnp.ones_like(sure), range(table.shape[-1])
    return draw, [Side(table[..., k], one, jnp.full_like(draw, k), sure) for k in classes]


def _binomial(key: Array, dist: Distribution) -> Split:
    """d Binomial(n, p) / d p = n (1 + Binomial(n - 1, p)) - n Binomial(n - 1, p)."""
    base, shape = distributions.peeled(dist), distributions.element_shape(dist)
    probs = _filled(base.probs, shape)
    count = jnp.broadcast_to(base.total_count, shape)
    fewer = numpyro_dist.BinomialProbs(probs, jnp.maximum(count - 1, 0))
    last, others = jax.random.split(key)
    rest = distributions.sample(fewer, others)
    more = jnp.asarray(jax.random.uniform(last, shape, probs.dtype) < probs, rest.dtype)
    log_prob, size = fewer.log_prob(rest), jnp.asarray(count, probs.dtype)
    up, down = Side(probs, size, rest + 1, log_prob), Side(probs, -size, rest, log_prob)
    return rest + jnp.where(count > 0, more, 0), [up, down]


def _geometric(key: Array, dist: Distribution) -> Split:
    """d Geometric(p) / d p = (Geometric(p) - (1 + the sum of two such)) / p."""
    probs = _filled(distributions.peeled(dist).probs, distributions.element_shape(dist))
    first, second = jax.random.split(key)
    draw = distributions.sample(dist, first)
    longer = draw + distributions.sample(dist, second) + 1
    log_prob = jnp.log(longer) + 2 * jnp.log(probs) + xlog1py(longer - 1, -probs)
    return draw, [Side(probs, 1 / probs), Side(probs, -1 / probs, longer, log_prob)]


def _poisson(key: Array, dist: Distribution) -> Split:
    """d Poisson(rate) / d rate = (1 + Poisson(rate)) - Poisson(rate)."""
    rate = _filled(distributions.peeled(dist).rate, distributions.element_shape(dist))
    draw = distributions.sample(dist, key)
    one = jnp.ones_like(rate)
    return draw, [
        Side(rate, -one),
        Side(rate, one, draw + 1, distributions.element_log_prob(dist, draw)),
    ]


def _exponential(key: Array, dist: Distribution) -> Split:
    """d Exponential(rate) / d rate = (Exponential(rate) - Gamma(2, rate)) / rate."""
    rate = _filled(distributions.peeled(dist).rate, distributions.element_shape(dist))
    draw, longer = _and_one_more(key, dist, rate)
    log_prob = numpyro_dist.Gamma(2.0, rate).log_prob(longer)
    return draw, [Side(rate, 1 / rate), Side(rate, -1 / rate, longer, log_prob)]


def _gamma(key: Array, dist: Distribution) -> Split:
    """d Gamma(a, rate) / d rate = (Gamma(a, rate) - Gamma(a + 1, rate)) a / rate; to a, a score."""
    base, shape = distributions.peeled(dist), distributions.element_shape(dist)
    a, rate = _filled(base.concentration, shape), _filled(base.rate, shape)
    draw, longer = _and_one_more(key, dist, rate)
    score = jnp.log(rate) - digamma(a) + jnp.log(draw)
    log_prob = numpyro_dist.Gamma(a + 1, rate).log_prob(longer)
    return draw, [Side(a, score), Side(rate, a / rate), Side(rate, -a / rate, longer, log_prob)]


def _and_one_more(key: Array, dist: Distribution, rate: Array) -> tuple[Array, Array]:
    """A draw, and its sum with an Exponential of the same rate."""
    first, second = jax.random.split(key)
    draw = distributions.sample(dist, first)
    more = jax.random.exponential(second, rate.shape, rate.dtype) / rate
    return draw, jax.lax.stop_gradient(draw + more)


def _normal(key: Array, dist: Distribution) -> Split:
    """d N / d mean = (mean + sd R - (mean - sd R)) / (sd sqrt(2 pi)), d N / d sd = (mean + sd M -
    N) / sd: R Rayleigh, M Maxwell of both signs. Three normal numbers a, b, c make all: the first
    is the draw, R = |(b, c)| and M = sign(a) |(a, b, c)|, whose first coordinate a is.
    """
    base, shape = distributions.peeled(dist), distributions.element_shape(dist)
    mean, sd = _filled(base.loc, shape), _filled(base.scale, shape)
    a, b, c = jax.random.normal(key, (3, *shape), jnp.result_type(mean, sd))
    fixed = jax.lax.stop_gradient
    draw = fixed(mean + sd * a)
    high = fixed(mean + sd * jnp.sqrt(b * b + c * c))
    low = fixed(mean + mean - high)
    wide = fixed(mean + sd * jnp.sign(a) * jnp.sqrt(a * a + b * b + c * c))
    size, m = 1 / (sd * jnp.sqrt(2 * jnp.pi)), (wide - mean) / sd
    log_maxwell = 2 * jnp.log(jnp.abs(m)) - m * m / 2 - jnp.log(sd)  # but for a constant
    return draw, [
        Side(mean, size, high, _log_rayleigh((high - mean) / sd, sd)),
        Side(mean, -size, low, _log_rayleigh((mean - low) / sd, sd)),
        Side(sd, 1 / sd, wide, log_maxwell),
        Side(sd, -1 / sd),
    ]


def _log_rayleigh(r: Array, sd: Array) -> Array:
    return jnp.log(r) - r * r / 2 - jnp.log(sd)


SPLITS: dict[type, Callable[[Array, Distribution], Split]] = {
    numpyro_dist.BernoulliProbs: _bernoulli,
    numpyro_dist.BernoulliLogits: _bernoulli,
    numpyro_dist.CategoricalProbs: _categorical,
    numpyro_dist.CategoricalLogits: _categorical,
    numpyro_dist.BinomialProbs: _binomial,
    numpyro_dist.BinomialLogits: _binomial,
    numpyro_dist.GeometricProbs: _geometric,
    numpyro_dist.GeometricLogits: _geometric,
    numpyro_dist.Poisson: _poisson,
    numpyro_dist.Exponential: _exponential,
    numpyro_dist.Gamma: _gamma,
    numpyro_dist.Normal: _normal,
}

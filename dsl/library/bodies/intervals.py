"""A draw between cuts: the line is cut where something below the draw jumps.

`levels` are the distribution function at the cuts, in any order; `side` counts the cuts below.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax import lax

from .elementary import log1mexp


def threshold(difference: jax.Array, slope: jax.Array) -> jax.Array:
    """The x with slope * x = difference; without a slope all x lie on one side."""
    is_flat = slope == 0
    cut = difference / jnp.where(is_flat, 1.0, slope)
    return jnp.where(is_flat, jnp.where(difference > 0, jnp.inf, -jnp.inf), cut)


def beyond(is_inside: jax.Array, is_below: jax.Array, inside: jax.Array) -> jax.Array:
    """An inverse; outside of where it has a value, the end that x lies beyond."""
    return jnp.where(is_inside, inside, jnp.where(is_below, -jnp.inf, jnp.inf))


def inverse_exp(y: jax.Array) -> jax.Array:
    """The x with exp(x) = y, and the end that x lies beyond where there is none."""
    is_inside = y > 0
    return beyond(is_inside, ~is_inside, jnp.log(jnp.where(is_inside, y, 1.0)))


def inverse_expm1(y: jax.Array) -> jax.Array:
    is_inside = y > -1
    return beyond(is_inside, ~is_inside, jnp.log1p(jnp.where(is_inside, y, 0.0)))


def inverse_sqrt(y: jax.Array) -> jax.Array:
    return jnp.where(y > 0, jnp.square(y), -jnp.inf)


def inverse_softplus(y: jax.Array) -> jax.Array:
    """log(exp(y) - 1) = y + log(1 - exp(-y)), which does not overflow."""
    is_inside = y > 0
    place = jnp.where(is_inside, y, 1.0)
    return beyond(is_inside, ~is_inside, place + log1mexp(place))


def inverse_logistic(p: jax.Array) -> jax.Array:
    is_inside = (p > 0) & (p < 1)
    inside = jax.scipy.special.logit(jnp.where(is_inside, p, 0.5))
    return beyond(is_inside, p <= 0, inside)


def inverse_Phi(p: jax.Array) -> jax.Array:
    is_inside = (p > 0) & (p < 1)
    inside = jax.scipy.special.ndtri(jnp.where(is_inside, p, 0.5))
    return beyond(is_inside, p <= 0, inside)


def inverse_tanh(y: jax.Array) -> jax.Array:
    is_inside = (y > -1) & (y < 1)
    inside = jnp.arctanh(jnp.where(is_inside, y, 0.0))
    return beyond(is_inside, y <= -1, inside)


def inverse_erf(y: jax.Array) -> jax.Array:
    is_inside = (y > -1) & (y < 1)
    inside = jax.scipy.special.erfinv(jnp.where(is_inside, y, 0.0))
    return beyond(is_inside, y <= -1, inside)


def inverse_erfc(y: jax.Array) -> jax.Array:
    """By the quantile of the normal, exact near 0; the function falls from 2 to 0."""
    is_inside = (y > 0) & (y < 2)
    inside = -jax.scipy.special.ndtri(jnp.where(is_inside, y, 1.0) / 2) / 2**0.5
    return beyond(is_inside, y >= 2, inside)


def inverse_atan(y: jax.Array) -> jax.Array:
    is_inside = jnp.abs(y) < jnp.pi / 2
    return beyond(is_inside, y < 0, jnp.tan(jnp.where(is_inside, y, 0.0)))


def inverse_asin(y: jax.Array) -> jax.Array:
    is_inside = jnp.abs(y) < jnp.pi / 2
    return beyond(is_inside, y < 0, jnp.sin(jnp.where(is_inside, y, 0.0)))


def inverse_acos(y: jax.Array) -> jax.Array:
    """The function falls from pi to 0."""
    is_inside = (y > 0) & (y < jnp.pi)
    return beyond(is_inside, y >= jnp.pi, jnp.cos(jnp.where(is_inside, y, 1.0)))


def inverse_positive_power(y: jax.Array, exponent: jax.Array) -> jax.Array:
    """The x above 0 with x^exponent = y. A falling power is above what is not above 0 for all x,
    and the power 0 is 1.
    """
    has_root = (y > 0) & (exponent != 0)
    logarithm = jnp.log(jnp.where(has_root, y, 1.0)) / jnp.where(has_root, exponent, 1.0)
    is_below = jnp.where(exponent == 0, y < 1, exponent > 0)
    return beyond(has_root, is_below, jnp.exp(logarithm))


def somewhere(low: Any, high: Any) -> Any:
    """Some place between two ends, which may be infinite, however they move."""
    has_low, has_high = jnp.isfinite(low), jnp.isfinite(high)
    least, most = jnp.where(has_low, low, -1.0), jnp.where(has_high, high, 1.0)
    above = jnp.where(has_high, (least + most) / 2, least + 1)
    return lax.stop_gradient(jnp.where(has_low, above, most - 1))


def cdf_at(distribution: dist.Distribution, value: jax.Array, tails: Any = None) -> jax.Array:
    """The distribution function: 0 below the support, 1 above it, where formulas have no value."""
    low = getattr(distribution.support, "lower_bound", -jnp.inf)
    high = getattr(distribution.support, "upper_bound", jnp.inf)
    is_inside = (value > low) & (value < high)
    place = jnp.where(is_inside, value, somewhere(low, high))
    inside = distribution.cdf(place) if tails is None else jnp.exp(tails(distribution)[0](place))
    return jnp.where(is_inside, inside, jnp.where(value <= low, 0.0, 1.0))


def density_at(distribution: dist.Distribution, value: jax.Array) -> jax.Array:
    """The log density at any value: minus infinity outside of the support."""
    support = distribution.support
    value = jnp.asarray(value)
    is_inside = support(value)
    low, high = (getattr(support, f"{end}_bound", None) for end in ("lower", "upper"))
    if distribution.event_dim:
        other = support.feasible_like(value)
    else:
        other = somewhere(-jnp.inf if low is None else low, jnp.inf if high is None else high)
    apart = jnp.reshape(is_inside, (*jnp.shape(is_inside), *(1,) * distribution.event_dim))
    inside = jnp.where(apart, value, other)
    return jnp.where(is_inside, distribution.log_prob(inside), -jnp.inf)


def quantile_at(distribution: dist.Distribution, level: jax.Array, tails: Any) -> jax.Array:
    """The quantile by the formulas of the row, where NumPyro has none."""
    _, _, quantile = tails(distribution)
    found: jax.Array = quantile(jnp.log(level), jnp.log1p(-level))
    return found


def interval_masses(levels: jax.Array) -> jax.Array:
    """The probability of each side."""
    ends = jnp.concatenate([jnp.zeros(1), jnp.sort(levels), jnp.ones(1)])
    return jnp.diff(ends)


def sampled_masses(levels: jax.Array) -> jax.Array:
    """No number where two cuts meet: the side between is never drawn, and its slope is lost."""
    gaps = jnp.diff(jnp.sort(levels))
    inside = jnp.sort(levels)[1:]
    meets = jnp.any((gaps == 0) & (inside > 0) & (inside < 1))
    return interval_masses(levels) * jnp.where(meets, jnp.nan, 1.0)


def interval_level(levels: jax.Array, side: jax.Array, noise: jax.Array) -> jax.Array:
    """A level between the two ends of a side, away from 0 and 1, where quantiles are infinite.

    There it gives no derivatives: those of a quantile overflow.
    """
    ends = jnp.concatenate([jnp.zeros(1), jnp.sort(levels), jnp.ones(1)])
    low, mass = ends[side], ends[side + 1] - ends[side]
    least = jnp.finfo(ends.dtype).epsneg  # type: ignore[no-untyped-call]
    level = low + noise * mass
    is_inside = (level > least) & (level < 1 - least)
    return jnp.where(is_inside, level, lax.stop_gradient(jnp.clip(level, least, 1 - least)))


def is_true_above(is_above: jax.Array, slope: jax.Array) -> jax.Array:
    """Whether slope * x is above, where x is; with a slope below 0 it is the other way round."""
    return is_above ^ (slope < 0)


def is_above(levels: jax.Array, side: jax.Array, cut: int | jax.Array) -> jax.Array:
    """Whether this side lies above a cut; of equal levels the first counts as lower."""
    own = levels[cut]
    before = (levels < own) | ((levels == own) & (jnp.arange(levels.size) < cut))
    return jnp.sum(before) < side


def inverse_power(y: jax.Array, exponent: jax.Array) -> jax.Array:
    """The root of y; of a negative number that of an odd power, else the end that lies below."""
    is_above = y > 0
    size = jnp.where(y == 0, 1.0, jnp.abs(y)) ** (1 / exponent)
    below = jnp.where(exponent % 2 == 1, -size, -jnp.inf)
    return jnp.where(is_above, size, jnp.where(y == 0, 0.0, below))

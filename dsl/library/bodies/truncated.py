"""A distribution within a declared range: what lies outside is cut off, the rest renormalised.

Far above the median 1 - cdf has no digits left, so a row of the library names its `tails`: cdf and
quantile, and from above P(x > value) and its inverse, which are asked above the median alone.
"""

# NumPyro has no types, so neither have its classes and decorators here.
# mypy: disable-error-code="misc,untyped-decorator,no-untyped-call,no-any-return"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax import lax

from .elementary import as_real


class Truncated(dist.Distribution):
    """P(x) / P(low <= x <= high) in between; not a number where that has no digits left."""

    pytree_data_fields = ("base", "low", "high")
    pytree_aux_fields = ("tails",)
    step = 0
    """How far apart the values are: those below `low` end there."""

    def __init__(
        self,
        base: Any,
        low: Any = None,
        high: Any = None,
        tails: Any = None,
        *,
        validate_args: bool | None = None,
    ):
        self.base, self.low, self.high, self.tails = base, low, high, tails
        super().__init__(base.batch_shape, validate_args=validate_args)

    @property
    def limits(self) -> tuple[Any, Any]:
        """The ends of the support: those of the range, or of the base where they lie within."""
        own = self.base.support
        low, high = getattr(own, "lower_bound", None), getattr(own, "upper_bound", None)
        if self.low is not None:
            low = self.low if low is None else jnp.maximum(low, self.low)
        if self.high is not None:
            high = self.high if high is None else jnp.minimum(high, self.high)
        return low, high

    @dist.constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        low, high = self.limits
        if low is None:
            return dist.constraints.less_than_eq(high)
        if high is None:
            return dist.constraints.greater_than_eq(low)
        return dist.constraints.interval(low, high)

    def levels(self, value: Any) -> tuple[Any, Any]:
        """P(x < value) and P(x > value)."""
        own = self.base.support
        low = getattr(own, "lower_bound", -jnp.inf)
        high = getattr(own, "upper_bound", jnp.inf)
        cdf, icdf, survival, _ = tails_of(self)
        is_inside = (value > low) & (value < high)
        inside = jnp.where(is_inside, value, lax.stop_gradient(icdf(0.5)))
        below = jnp.where(is_inside, cdf(inside), jnp.where(value <= low, 0.0, 1.0))
        # The formulas from above are asked above the median, where they hold.
        is_far = is_inside & (below > 0.5)
        above = survival(jnp.where(is_far, inside, lax.stop_gradient(icdf(0.6))))
        return below, jnp.where(is_far, above, 1 - below)

    def ends(self) -> tuple[Any, Any, Any]:
        """The least and the greatest level, and whether they are counted from above."""
        below, above = (0.0, 1.0) if self.low is None else self.levels(self.low - self.step)
        upto, beyond = (1.0, 0.0) if self.high is None else self.levels(self.high)
        is_far = jnp.asarray(below) > 0.5
        return jnp.where(is_far, beyond, below), jnp.where(is_far, above, upto), is_far

    def mass(self) -> jax.Array:
        least, most, _ = self.ends()
        found = most - least
        digits = 1000 * jnp.finfo(jnp.result_type(found)).eps
        is_known = found > digits * (1.0 if self.tails is None else most)
        return jnp.where(is_known, found, jnp.nan)

    def log_prob(self, value: Any) -> jax.Array:
        is_inside = self.support(value)
        inside = jnp.where(is_inside, value, lax.stop_gradient(self.icdf(0.5)))
        return jnp.where(is_inside, self.base.log_prob(inside) - jnp.log(self.mass()), -jnp.inf)

    def cdf(self, value: Any) -> jax.Array:
        least, most, is_far = self.ends()
        below, above = self.levels(value)
        return jnp.where(is_far, most - above, below - least) / self.mass()

    def icdf(self, q: Any) -> jax.Array:
        least, most, is_far = self.ends()
        share = q * self.mass()
        limits = jnp.finfo(jnp.result_type(share))
        level = jnp.where(is_far, most - share, least + share)
        level = jnp.clip(level, limits.tiny, 1 - limits.epsneg)
        found = self.at_level(level, is_far)
        # Rounding may carry it over an end; the derivative is that of the quantile.
        return found + lax.stop_gradient(jnp.clip(found, *self.limits) - found)

    def at_level(self, level: Any, is_far: Any) -> jax.Array:
        _, icdf, _, inverse = tails_of(self)
        near, far = icdf(jnp.where(is_far, 0.5, level)), inverse(jnp.where(is_far, level, 0.4))
        return jnp.where(is_far, far, near)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        shape = (*sample_shape, *self.batch_shape)
        least = jnp.finfo(jnp.result_type(float)).tiny
        return self.icdf(jax.random.uniform(key, shape, minval=least))


@jax.custom_jvp
def ndtri_exp(level: jax.Array) -> jax.Array:
    """The x with log(Phi(x)) = level, by Newton's steps on the logarithm, which is concave."""
    far = -jnp.sqrt(jnp.maximum(-2 * level, 1.0))
    near = jax.scipy.special.ndtri(jnp.exp(jnp.maximum(level, -10.0)))

    def step(_: int, x: jax.Array) -> jax.Array:
        return x - (jax.scipy.special.log_ndtr(x) - level) / hazard(x)

    return jnp.where(level > -10, near, lax.fori_loop(0, 8, step, far))


@ndtri_exp.defjvp
def ndtri_exp_jvp(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    found = ndtri_exp(*primals)
    return found, tangents[0] / hazard(found)


def hazard(x: jax.Array) -> jax.Array:
    """phi(x) / Phi(x), the derivative of log(Phi(x))."""
    return jnp.exp(-jnp.square(x) / 2 - 0.9189385332046727 - jax.scipy.special.log_ndtr(x))


class TruncatedGaussian(Truncated):
    """By logarithms of Phi, on the side where they have digits: as far out as one likes."""

    far = 1e4
    """Standard deviations beyond which a normal draw never lies: an end that is not there."""

    def sides(self) -> tuple[Any, Any, Any]:
        """log(Phi) of the lower and the upper end, mirrored where both are above the mean."""
        loc, scale = self.base.loc, self.base.scale
        low = -self.far if self.low is None else (self.low - loc) / scale
        high = self.far if self.high is None else (self.high - loc) / scale
        is_above = jnp.asarray(low) > 0
        log_cdf = jax.scipy.special.log_ndtr
        first = log_cdf(as_real(jnp.where(is_above, -high, low)))
        return first, log_cdf(as_real(jnp.where(is_above, -low, high))), is_above

    def log_mass(self) -> jax.Array:
        first, second, _ = self.sides()
        return second + jnp.log(-jnp.expm1(first - second))

    def mass(self) -> jax.Array:
        return jnp.exp(self.log_mass())

    def log_prob(self, value: Any) -> jax.Array:
        is_inside = self.support(value)
        inside = jnp.where(is_inside, value, lax.stop_gradient(self.icdf(0.5)))
        return jnp.where(is_inside, self.base.log_prob(inside) - self.log_mass(), -jnp.inf)

    def cdf(self, value: Any) -> jax.Array:
        first, second, is_above = self.sides()
        z = (value - self.base.loc) / self.base.scale
        own = jax.scipy.special.log_ndtr(jnp.where(is_above, -z, z))
        share = jnp.exp(own - second) - jnp.exp(first - second)
        share = jnp.clip(share / -jnp.expm1(first - second), 0.0, 1.0)
        return jnp.where(is_above, 1 - share, share)

    def icdf(self, q: Any) -> jax.Array:
        first, second, is_above = self.sides()
        least = jnp.finfo(jnp.result_type(first)).tiny
        share = jnp.clip(jnp.where(is_above, 1 - q, q), least, 1.0)
        # log((1 - q) Phi(low) + q Phi(high))
        level = second + jnp.log(share + (1 - share) * jnp.exp(first - second))
        z = ndtri_exp(level)
        found = self.base.loc + self.base.scale * jnp.where(is_above, -z, z)
        return found + lax.stop_gradient(jnp.clip(found, *self.limits) - found)


class TruncatedCount(Truncated):
    """The same for whole numbers, whose quantile is found by halving."""

    step = 1

    @dist.constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        low, high = self.limits
        if high is None:
            return dist.constraints.integer_greater_than(low)
        return dist.constraints.integer_interval(low, high)

    @property
    def has_rsample(self) -> bool:
        return False

    def levels(self, value: Any) -> tuple[Any, Any]:
        """P(x <= value) and P(x > value)."""
        least = self.base.support.lower_bound
        cdf, _, survival, _ = tails_of(self)
        inside = jnp.maximum(value, least) * 1.0
        below = jnp.where(value < least, 0.0, cdf(inside))
        return below, jnp.where(value < least, 1.0, survival(inside))

    def at_level(self, level: Any, is_far: Any) -> jax.Array:
        """The first number at which the level is reached."""
        start = jnp.broadcast_to(jnp.asarray(self.limits[0] - 1, int), jnp.shape(level))

        def halve(count: Any, found: Any) -> Any:
            step = 2 ** (23 - count)
            below, above = self.levels(found + step)
            is_before = jnp.where(is_far, above > level, below < level)
            return jnp.where(is_before, found + step, found)

        return 1 + lax.stop_gradient(lax.fori_loop(0, 24, halve, start))


def tails_of(truncated: Any) -> tuple[Any, ...]:
    """cdf and quantile of the base, and both from above; the latter by 1 - p if not known."""
    base = truncated.base
    if truncated.tails is not None:
        return truncated.tails(base)
    return base.cdf, base.icdf, lambda x: 1 - base.cdf(x), lambda q: base.icdf(1 - q)


def symmetric_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    """The same on both sides of the location."""
    loc = base.loc
    return base.cdf, base.icdf, lambda x: base.cdf(2 * loc - x), lambda q: 2 * loc - base.icdf(q)


def mirrored_tails(
    base: Any, survival: Callable[..., Any], inverse: Callable[..., Any]
) -> tuple[Callable[..., Any], ...]:
    """Both sides by the formulas from above, where NumPyro's lose digits below."""
    loc = base.loc

    def cdf(x: jax.Array) -> jax.Array:
        below, above = survival(2 * loc - jnp.minimum(x, loc)), survival(jnp.maximum(x, loc))
        return jnp.where(x < loc, below, 1 - above)

    def icdf(q: jax.Array) -> jax.Array:
        below, above = 2 * loc - inverse(jnp.minimum(q, 0.5)), inverse(1 - jnp.maximum(q, 0.5))
        return jnp.where(q < 0.5, below, above)

    return cdf, icdf, survival, inverse


def laplace_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    loc, scale = base.loc, base.scale
    return mirrored_tails(
        base,
        lambda x: jnp.exp(-(x - loc) / scale) / 2,
        lambda q: loc - scale * jnp.log(2 * q),
    )


def cauchy_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    loc, scale = base.loc, base.scale
    return mirrored_tails(
        base,
        lambda x: jnp.arctan2(scale, x - loc) / jnp.pi,
        lambda q: loc + scale / jnp.tan(jnp.pi * q),
    )


def gumbel_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    """P(x > v) = 1 - exp(-exp(-z)) with z = (v - loc) / scale."""
    loc, scale = base.loc, base.scale
    return (
        base.cdf,
        base.icdf,
        lambda x: -jnp.expm1(-jnp.exp(-(x - loc) / scale)),
        lambda q: loc - scale * jnp.log(-jnp.log1p(-q)),
    )


def half_normal_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    return (
        base.cdf,
        base.icdf,
        lambda x: 2 * jax.scipy.special.ndtr(-x / base.scale),
        lambda q: -base.scale * jax.scipy.special.ndtri(q / 2),
    )


def half_cauchy_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    return (
        base.cdf,
        base.icdf,
        lambda x: 2 / jnp.pi * jnp.arctan2(base.scale, x),
        lambda q: base.scale / jnp.tan(jnp.pi * q / 2),
    )


def log_normal_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    return (
        base.cdf,
        base.icdf,
        lambda x: jax.scipy.special.ndtr((base.loc - jnp.log(x)) / base.scale),
        lambda q: jnp.exp(base.loc - base.scale * jax.scipy.special.ndtri(q)),
    )


def exponential_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    return (
        base.cdf,
        base.icdf,
        lambda x: jnp.exp(-base.rate * x),
        lambda q: -jnp.log(q) / base.rate,
    )


def weibull_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    shape, scale = base.concentration, base.scale
    return (
        base.cdf,
        lambda q: scale * (-jnp.log1p(-q)) ** (1 / shape),
        lambda x: jnp.exp(-((x / scale) ** shape)),
        lambda q: scale * (-jnp.log(q)) ** (1 / shape),
    )


def gompertz_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    shape, rate = base.concentration, base.rate
    return (
        base.cdf,
        base.icdf,
        lambda x: jnp.exp(-shape * jnp.expm1(rate * x)),
        lambda q: jnp.log1p(-jnp.log(q) / shape) / rate,
    )


def pareto_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    return (
        base.cdf,
        base.icdf,
        lambda x: (base.scale / x) ** base.alpha,
        lambda q: base.scale * q ** (-1 / base.alpha),
    )


def poisson_tails(base: Any) -> tuple[Callable[..., Any] | None, ...]:
    """P(x > k) is the incomplete gamma function; there is no formula of the quantile."""
    return (
        base.cdf,
        None,
        lambda k: jax.scipy.special.gammainc(jnp.floor(k) + 1, base.rate),
        None,
    )

"""A distribution within a declared range: what lies outside is cut off, the rest renormalised.

All is by logarithms, from the side on which the range lies: above the median 1 - cdf has no digits
left. A row of the library names its `tails`: log P(X < x), log P(X > x), and the quantile as a
function of both.
"""

# NumPyro has no types, so neither have its classes and decorators here.
# mypy: disable-error-code="misc,untyped-decorator,no-untyped-call,no-any-return"

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax import lax

from .elementary import log1mexp
from .intervals import somewhere
from .tails import plain_tails


class Truncated(dist.Distribution):
    """P(x) / P(low <= x <= high) in between; not a number where that has no digits left."""

    pytree_data_fields = ("base", "low", "high")
    pytree_aux_fields = ("tails",)
    moving_ends = True
    """A score leaves out what happens there."""
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
        self.base, self.low, self.high = base, low, high
        self.tails = plain_tails if tails is None else tails
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

    def somewhere(self) -> Any:
        """A place within the range."""
        low, high = self.limits
        return somewhere(-jnp.inf if low is None else low, jnp.inf if high is None else high)

    def levels(self, value: Any) -> tuple[Any, Any]:
        """log P(x < value) and log P(x > value)."""
        own = self.base.support
        low = getattr(own, "lower_bound", -jnp.inf)
        high = getattr(own, "upper_bound", jnp.inf)
        log_cdf, log_survival, _ = self.tails(self.base)
        is_inside = (value > low) & (value < high)
        inside = jnp.where(is_inside, value, somewhere(low, high))
        below = jnp.where(is_inside, log_cdf(inside), jnp.where(value <= low, -jnp.inf, 0.0))
        above = jnp.where(is_inside, log_survival(inside), jnp.where(value <= low, 0.0, -jnp.inf))
        is_empty = low >= high
        return jnp.where(is_empty, jnp.nan, below), jnp.where(is_empty, jnp.nan, above)

    def ends(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """The levels of both ends."""
        first = (-jnp.inf, 0.0) if self.low is None else self.levels(self.low - self.step)
        last = (0.0, -jnp.inf) if self.high is None else self.levels(self.high)
        return first, last

    def log_mass(self) -> jax.Array:
        """From the side on which the range lies; not a number where digits are lost."""
        (below, above), (upto, beyond) = self.ends()
        is_far = above < below
        most, least = jnp.where(is_far, above, upto), jnp.where(is_far, beyond, below)
        gap = most - least
        eps = jnp.finfo(jnp.result_type(gap)).eps
        size = jnp.maximum(-most, 1.0)
        # A part in a thousand of the mass; of the logarithm what differences keep at best.
        is_known = (gap > 1000 * eps * size) & (size < eps ** (-2 / 3))
        safe = jnp.where(is_known, gap, 1.0)
        return jnp.where(is_known, most + log1mexp(safe), jnp.nan)

    def log_prob(self, value: Any) -> jax.Array:
        is_inside = self.support(value)
        inside = jnp.where(is_inside, value, self.somewhere())
        return jnp.where(is_inside, self.base.log_prob(inside) - self.log_mass(), -jnp.inf)

    def cdf(self, value: Any) -> jax.Array:
        (below, above), (_, beyond) = self.ends()
        log_mass = self.log_mass()
        upto, after = self.levels(value)
        share = jnp.exp(upto - log_mass) - jnp.exp(below - log_mass)
        rest = jnp.exp(after - log_mass) - jnp.exp(beyond - log_mass)
        return jnp.clip(jnp.where(above < below, 1 - rest, share), 0.0, 1.0)

    def place(self, q: Any) -> tuple[Any, Any]:
        """log P(X < x) and log P(X > x) of the base at this quantile x."""
        (below, _), (_, beyond) = self.ends()
        log_mass = self.log_mass()
        limits = jnp.finfo(jnp.result_type(log_mass))
        share = jnp.clip(q, limits.tiny, 1 - limits.epsneg)
        return (
            jnp.logaddexp(below, jnp.log(share) + log_mass),
            jnp.logaddexp(beyond, jnp.log1p(-share) + log_mass),
        )

    def icdf(self, q: Any) -> jax.Array:
        found = self.tails(self.base)[2](*self.place(q))
        # Rounding may carry it over an end; the derivative is that of the quantile.
        return found + lax.stop_gradient(jnp.clip(found, *self.limits) - found)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        shape = (*sample_shape, *self.batch_shape)
        least = jnp.finfo(jnp.result_type(float)).tiny
        return self.icdf(jax.random.uniform(key, shape, minval=least))


class TruncatedCount(Truncated):
    """The same for whole numbers, whose quantile is found by halving."""

    step = 1

    def __init__(self, base: Any, low: Any = None, high: Any = None, *args: Any, **more: Any):
        """An end between two numbers leaves out the one beyond it."""
        least, most = (None if end is None else jnp.asarray(end) * 1.0 for end in (low, high))
        low = None if least is None else jnp.ceil(least).astype(int)
        high = None if most is None else jnp.floor(most).astype(int)
        super().__init__(base, low, high, *args, **more)

    @dist.constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        low, high = self.limits
        if high is None:
            return dist.constraints.integer_greater_than(low)
        return dist.constraints.integer_interval(low, high)

    @property
    def has_rsample(self) -> bool:
        return False

    def somewhere(self) -> Any:
        return self.limits[0]

    def levels(self, value: Any) -> tuple[Any, Any]:
        """log P(x <= value) and log P(x > value)."""
        least = self.base.support.lower_bound
        log_cdf, log_survival, _ = self.tails(self.base)
        is_below = value < least
        inside = jnp.maximum(value, least) * 1.0
        below = jnp.where(is_below, -jnp.inf, log_cdf(inside))
        return below, jnp.where(is_below, 0.0, log_survival(inside))

    def icdf(self, q: Any) -> jax.Array:
        """The first number at which the level is reached."""
        below, above = self.place(q)
        is_far = above < below
        start = jnp.broadcast_to(jnp.asarray(self.limits[0] - 1, int), jnp.shape(below))

        def halve(count: Any, found: Any) -> Any:
            step = 2 ** (23 - count)
            upto, beyond = self.levels(found + step)
            is_before = jnp.where(is_far, beyond > above, upto < below)
            return jnp.where(is_before, found + step, found)

        return 1 + lax.stop_gradient(lax.fori_loop(0, 24, halve, start))


def tail_at(
    distribution: Any, value: jax.Array, upper: bool, log: bool, tails: Any = None
) -> jax.Array:
    """P(X <= value) or P(X > value), or its logarithm, with all digits where `tails` are known."""
    kind = TruncatedCount if distribution.support.is_discrete else Truncated
    place = jnp.floor(value) if kind is TruncatedCount else value
    level = kind(distribution, tails=tails).levels(place)[upper]
    return level if log else jnp.exp(level)

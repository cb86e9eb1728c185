"""Distributions made of others: mixtures, counts with more zeros, what is seen up to a limit."""

# NumPyro has no types, so neither have its classes and decorators here.
# mypy: disable-error-code="misc,untyped-decorator,no-untyped-call,no-any-return"

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

from .densities import ZeroInflatedCounts
from .intervals import density_at
from .truncated import Truncated, tail_at


class Mixture(dist.Distribution):
    """sum_k w_k p_k(x); the parts lie along the last axis of the batch."""

    pytree_data_fields = ("weights", "base")
    pytree_aux_fields = ("tails",)

    def __init__(
        self, weights: Any, base: Any, tails: Any = None, *, validate_args: bool | None = None
    ):
        shape = jnp.broadcast_shapes(jnp.shape(weights), base.batch_shape)
        self.weights, self.base, self.tails = jnp.asarray(weights), base.expand(shape), tails
        super().__init__(shape[:-1], base.event_shape, validate_args=validate_args)

    @dist.constraints.dependent_property
    def support(self) -> Any:
        """From the least end of a part to the greatest."""
        own, parts = self.base.support, jnp.shape(self.weights)
        furthest = {"lower_bound": jnp.min, "upper_bound": jnp.max}
        ends = {end: getattr(own, end) for end in furthest if hasattr(own, end)}
        if self.event_shape or not any(map(jnp.shape, ends.values())):
            return own
        arrays = {end: jnp.broadcast_to(jnp.asarray(x), parts) for end, x in ends.items()}
        return type(own)(*(furthest[end](x, -1) for end, x in arrays.items()))

    def log_prob(self, value: Any) -> jax.Array:
        """A part without weight counts for nothing, but has a derivative in its weight."""
        found = density_at(self.base, jnp.expand_dims(value, -1 - self.event_dim))
        most = jnp.max(jnp.where(self.weights > 0, found, -jnp.inf), -1, keepdims=True)
        most = jax.lax.stop_gradient(jnp.where(jnp.isfinite(most), most, 0.0))
        mass = jnp.sum(self.weights * jnp.exp(jnp.minimum(found - most, 80.0)), -1)
        safe = jnp.where(mass > 0, mass, 1.0)
        return jnp.where(mass > 0, jnp.log(safe), -jnp.inf) + most[..., 0]

    def cdf(self, value: Any) -> jax.Array:
        parts = tail_at(self.base, jnp.expand_dims(value, -1), False, False, self.tails)
        return jnp.sum(self.weights * parts, -1)

    @property
    def mean(self) -> jax.Array:
        return self._over_parts(self.base.mean)

    @property
    def variance(self) -> jax.Array:
        """Within the parts, and between them."""
        apart = self.base.mean - jnp.expand_dims(self.mean, -1 - self.event_dim)
        return self._over_parts(self.base.variance + apart**2)

    def _over_parts(self, values: Any) -> jax.Array:
        axes = (*self.weights.shape, *(1,) * self.event_dim)
        return jnp.sum(jnp.reshape(self.weights, axes) * values, -1 - self.event_dim)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        of_part, of_draw = jax.random.split(key)
        shape = (*sample_shape, *self.batch_shape)
        part = jax.random.categorical(of_part, jnp.log(self.weights), shape=shape)
        draws = self.base.sample(of_draw, sample_shape)
        index = jnp.reshape(part, (*shape, 1, *(1,) * self.event_dim))
        axis = -1 - self.event_dim
        return jnp.squeeze(jnp.take_along_axis(draws, index, axis), axis)


class ZeroInflated(dist.Distribution):
    """0 with the probability `zeros`, else a draw of the base; of a density only 0 has a mass."""

    pytree_data_fields = ("zeros", "base")

    def __init__(self, zeros: Any, base: Any, *, validate_args: bool | None = None):
        shape = jnp.broadcast_shapes(jnp.shape(zeros), base.batch_shape)
        self.zeros, self.base = jnp.asarray(zeros), base.expand(shape)
        super().__init__(shape, validate_args=validate_args)

    @dist.constraints.dependent_property
    def support(self) -> Any:
        if self.base.support.is_discrete:
            return dist.constraints.nonnegative_integer
        return dist.constraints.nonnegative

    def log_prob(self, value: Any) -> jax.Array:
        if self.base.support.is_discrete:
            return ZeroInflatedCounts(self.base, self.zeros).log_prob(value)
        own = jnp.log1p(-self.zeros) + density_at(self.base, value)
        return jnp.where(value == 0, jnp.log(self.zeros), own)

    @property
    def mean(self) -> jax.Array:
        return (1 - self.zeros) * self.base.mean

    @property
    def variance(self) -> jax.Array:
        square = self.base.variance + self.base.mean**2
        return (1 - self.zeros) * square - self.mean**2

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        of_zero, of_draw = jax.random.split(key)
        is_zero = jax.random.bernoulli(of_zero, self.zeros, (*sample_shape, *self.batch_shape))
        draws = self.base.sample(of_draw, sample_shape)
        return jnp.where(is_zero, jnp.zeros_like(draws), draws)


class Censored(dist.Distribution):
    """A draw of which only is seen that it lies beyond an end, if it does: the end has that mass.

    `cut` is the same distribution without what lies beyond.
    """

    pytree_data_fields = ("cut",)

    def __init__(self, cut: Truncated, *, validate_args: bool | None = None):
        self.cut = cut
        super().__init__(cut.batch_shape, validate_args=validate_args)

    @dist.constraints.dependent_property
    def support(self) -> Any:
        return self.cut.support

    def log_prob(self, value: Any) -> jax.Array:
        low, high, step = self.cut.low, self.cut.high, self.cut.step
        found = density_at(self.cut.base, value)
        if low is not None:
            found = jnp.where(value == low, self.cut.levels(low)[0], found)
            found = jnp.where(value < low, -jnp.inf, found)
        if high is not None:
            found = jnp.where(value == high, self.cut.levels(high - step)[1], found)
            found = jnp.where(value > high, -jnp.inf, found)
        return found

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        return jnp.clip(self.cut.base.sample(key, sample_shape), self.cut.low, self.cut.high)

"""Antithetic pairs of Bernoullis, b = [u > 1 - p] and b' = [u < p] of a uniform u per element.

ARM: d E[f(b)] / d logit_i = E[(f(b) - f(b')) (u_i - 1/2)]. DisARM: the same with E[u_i - 1/2 | b_i,
b'_i] = (b_i - b'_i) p (1 - p) / (2 min(p, 1 - p)) in the place of u_i - 1/2. Each point is boxed
with its own distribution, given which u_i is lo + (hi - lo) v with the interval's ends functions of
p.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from numpyro.distributions import Distribution

from ..box import lean, magic_box
from . import distributions
from .distributions import BERNOULLI
from .method import Method, Points

Axes = tuple[int, ...]


class _Pairs(Method):
    """Two points, whose weights are 1/2 and have the gradients of the method."""

    single: ClassVar[bool] = False

    def points(self, key: Array, dist: Distribution, local: Axes) -> Points:
        yes = distributions.yes_probability(dist)
        fixed = jax.lax.stop_gradient(yes)
        uniform = jax.random.uniform(key, yes.shape, yes.dtype)
        pair = jnp.asarray(jnp.stack([uniform > 1 - fixed, uniform < fixed]), jnp.result_type(int))
        weights = [
            1 / 2 + distributions.together(lean(distributions.log_odds(dist), gradient), local)
            for gradient in (
                self.gradient(dist, uniform, pair[0], pair[1], local),
                self.gradient(dist, 1 - uniform, pair[1], pair[0], local),
            )
        ]
        return Points(pair, weights=jnp.stack(weights))

    @abstractmethod
    def gradient(
        self, dist: Distribution, uniform: Array, own: Array, other: Array, local: Axes
    ) -> Array:
        """The gradient of a point's weight to each logit; the point is own = [uniform > 1 - p]."""

    @classmethod
    def refusal(cls, dist: Distribution) -> str:
        return distributions.refuse_unless(dist, BERNOULLI, "Bernoulli")


@dataclass(frozen=True)
class Arm(_Pairs):
    name: ClassVar[str] = "arm"

    def gradient(
        self, dist: Distribution, uniform: Array, own: Array, other: Array, local: Axes
    ) -> Array:
        yes = distributions.yes_probability(dist)
        low, high = jnp.where(own > 0, 1 - yes, 0), jnp.where(own > 0, 1, 1 - yes)
        moving = low + (high - low) * jax.lax.stop_gradient((uniform - low) / (high - low))
        log_prob = distributions.element_log_prob(dist, own)
        box = magic_box(distributions.together(log_prob, local))
        return (moving - 1 / 2) * distributions.everywhere(box, log_prob.ndim, local)


@dataclass(frozen=True)
class DisArm(_Pairs):
    name: ClassVar[str] = "disarm"

    def gradient(
        self, dist: Distribution, uniform: Array, own: Array, other: Array, local: Axes
    ) -> Array:
        """A pair has probability min(p, 1 - p); that times the gradient is +- p (1 - p) / 2."""
        yes = distributions.yes_probability(dist)
        mass = jax.lax.stop_gradient(jnp.minimum(yes, 1 - yes))
        sign = jnp.asarray(own - other, yes.dtype)
        own_slope = sign * yes * (1 - yes) / (2 * jnp.where(mass > 0, mass, 1))
        log_prob = distributions.element_log_prob(dist, own)
        others = (
            distributions.everywhere(distributions.together(log_prob, local), log_prob.ndim, local)
            - log_prob
        )
        return own_slope * magic_box(others)

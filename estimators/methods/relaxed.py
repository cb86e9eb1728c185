"""Relaxations, and estimators that have a relaxed control variate.

x = softargmax((logits + Gumbel noise) / temperature) in the place of a one-hot index (CV25), and
sigmoid((logit + logistic noise) / temperature) in the place of a truth value, are biased: f is
averaged over other points. REBAR and RELAX, box(log p(b)) (f(b) - scale c(z')) + scale c(z), are
not: z are logits with noise, b = [z > 0] or argmax z is the draw, z' is z given b, and c(z) =
f(relaxed(z)). E[c(z)] and E[box(log p(b)) c(z')] are the same function of the parameters, so the
estimate is right to every order. z' is drawn given b, and z is the same number with the
derivative of logits + noise.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpyro.distributions import Distribution

from . import distributions
from .distributions import BERNOULLI, CATEGORICAL
from .method import Method, Points

FINITE = (*BERNOULLI, *CATEGORICAL)
Tunables = TypeVar("Tunables")


class _Relaxed(Method):
    """Values are real where the draw is a truth value, on the simplex where it is an index."""

    relaxed: ClassVar[bool] = True

    @classmethod
    def refusal(cls, dist: Distribution) -> str:
        return distributions.refuse_unless(dist, FINITE, "Bernoulli and Categorical")


@dataclass(frozen=True)
class GumbelSoftmax(_Relaxed):
    name: ClassVar[str] = "gumbel_softmax"
    order: ClassVar[int] = 0
    bias: ClassVar[str] = (
        "value and derivatives are those of E[f(relaxed x)], which tend to the true ones with the "
        "temperature"
    )
    temperature: float | Array = 0.5

    def points(self, key: Array, dist: Distribution, local: tuple[int, ...]) -> Points:
        return Points(softened(noisy(key, dist), dist, self.temperature)[None])


@dataclass(frozen=True)
class StraightThrough(_Relaxed):
    """The value of the hard draw, the derivatives of the relaxed one."""

    name: ClassVar[str] = "straight_through"
    order: ClassVar[int] = 0
    bias: ClassVar[str] = (
        "the value is right; derivatives are E[f'(hard x) d(relaxed x)], right for a linear f at "
        "most in the limit"
    )
    temperature: float | Array = 0.5

    def points(self, key: Array, dist: Distribution, local: tuple[int, ...]) -> Points:
        noise = noisy(key, dist)
        soft = softened(noise, dist, self.temperature)
        if isinstance(distributions.peeled(dist), BERNOULLI):
            hard = jnp.asarray(noise > 0, noise.dtype)
        else:
            hard = jax.nn.one_hot(jnp.argmax(noise, -1), noise.shape[-1], dtype=noise.dtype)
        return Points((hard + (soft - jax.lax.stop_gradient(soft)))[None])


def noisy(key: Array, dist: Distribution) -> Array:
    """Logits with noise, whose sign or whose greatest entry is a draw of the distribution."""
    if isinstance(distributions.peeled(dist), BERNOULLI):
        odds = distributions.log_odds(dist)
        return odds + jax.random.logistic(key, odds.shape, odds.dtype)
    logits = distributions.class_log_probabilities(dist)
    return logits + jax.random.gumbel(key, logits.shape, logits.dtype)


def softened(noise: Array, dist: Distribution, temperature: float | Array) -> Array:
    heat = jnp.asarray(temperature, noise.dtype)
    if isinstance(distributions.peeled(dist), BERNOULLI):
        return jax.nn.sigmoid(noise / heat)
    return jax.nn.softmax(noise / heat, -1)


class _Controlled(_Relaxed):
    """Three points: b, relaxed(z) and relaxed(z')."""

    single: ClassVar[bool] = False
    scale: float | Array

    @abstractmethod
    def soften(self, noise: Array, dist: Distribution) -> Array:
        """Relaxed values of noise of the distribution."""

    def points(self, key: Array, dist: Distribution, local: tuple[int, ...]) -> Points:
        first, second = jax.random.split(key)
        draw = distributions.sample(dist, first)
        given, free, hard = _noises(second, dist, draw)
        box = distributions.log_prob(dist, draw)
        scale = jnp.asarray(self.scale, box.dtype)
        weights = jnp.stack([jnp.ones_like(scale), scale, -scale])
        shape = (3, *(dist.batch_shape[axis] for axis in local))
        return Points(
            jnp.stack([hard, self.soften(free, dist), self.soften(given, dist)]),
            weights=jnp.broadcast_to(jnp.expand_dims(weights, range(1, len(shape))), shape),
            log_prob=jnp.stack([box, jnp.zeros_like(box), box]),
        )


@dataclass(frozen=True)
class Rebar(_Controlled):
    """Temperature and scale are fixed, or tuned by `variance_gradient`."""

    name: ClassVar[str] = "rebar"
    temperature: float | Array = 0.5
    scale: float | Array = 1.0

    def soften(self, noise: Array, dist: Distribution) -> Array:
        return softened(noise, dist, self.temperature)


def bend_parameters(width: int) -> dict[str, Array]:
    """What `bend` begins with: nothing is bent, and its gradients to all the weights differ."""
    places = jnp.linspace(-2.0, 2.0, width)
    return {"temperature": jnp.asarray(0.5), "weights": jnp.zeros(width), "places": places}


def bend(parameters: Any, noise: Array) -> Array:
    """z / temperature + sum_h weight_h tanh(z - place_h), for each z alone."""
    names = "temperature", "weights", "places"
    heat, weights, places = (jnp.asarray(parameters[name], noise.dtype) for name in names)
    bumps = jnp.tanh(noise[..., None] - jnp.expand_dims(places, range(noise.ndim)))
    return noise / heat + bumps @ weights


@dataclass(frozen=True)
class Relax(_Controlled):
    """The noise goes through a function of one's own before it is squashed."""

    name: ClassVar[str] = "relax"
    parameters: Any = field(default_factory=lambda: bend_parameters(4))
    function: Callable[[Any, Array], Array] = bend
    scale: float | Array = 1.0

    def soften(self, noise: Array, dist: Distribution) -> Array:
        return softened(self.function(self.parameters, noise), dist, 1.0)


def _noises(key: Array, dist: Distribution, draw: Array) -> tuple[Array, Array, Array]:
    """Logits with noise given the draw, the same by the logits alone, the draw as numbers."""
    if isinstance(distributions.peeled(dist), BERNOULLI):
        logits = distributions.log_odds(dist)
        hard = jnp.asarray(draw, logits.dtype)
        # the logit with logistic noise, given its sign s: s softplus(noise + softplus(s logit))
        sign = 2 * hard - 1
        noise = jax.random.logistic(key, logits.shape, logits.dtype)
        given = sign * jax.nn.softplus(noise + jax.nn.softplus(sign * logits))
    else:
        logits = distributions.class_log_probabilities(dist)
        logits = jnp.maximum(logits, float(np.log(np.finfo(logits.dtype).tiny)) / 2)
        hard = jax.nn.one_hot(draw, logits.shape[-1], dtype=logits.dtype)
        # logits with Gumbel noise, given the greatest: -log(e_b + e_k / p_k), -log(e_b) for k = b
        exponentials = jax.random.exponential(key, logits.shape, logits.dtype)
        greatest = jnp.sum(exponentials * hard, -1, keepdims=True)
        others = jnp.where(hard > 0, 0.0, exponentials * jnp.exp(-logits))
        given = -jnp.log(greatest + others)
    return given, logits + jax.lax.stop_gradient(given - logits), hard


def variance_gradient(gradient_of: Callable[[Tunables], Any], tunables: Tunables) -> Tunables:
    """An estimate of d E|g|^2 / d tunables from one estimate g at fixed draws."""

    def squared_length(tunables: Tunables) -> Array:
        leaves = jax.tree.leaves(gradient_of(tunables))
        return jnp.asarray(sum(jnp.sum(jnp.square(leaf)) for leaf in leaves))

    found: Tunables = jax.grad(squared_length)(tunables)
    return found

"""Relaxations: x = softargmax((logits + Gumbel noise) / temperature) in the place of a one-hot
index (CV25), and sigmoid((logit + logistic noise) / temperature) in the place of a truth value.
Biased: f is averaged over other points.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from numpyro.distributions import Distribution

from .laws import BERNOULLI, CATEGORICAL, class_log_probabilities, log_odds, peeled, refuse_unless
from .method import Method, Points

FINITE = (*BERNOULLI, *CATEGORICAL)


@dataclass(frozen=True)
class GumbelSoftmax(Method):
    name: ClassVar[str] = "gumbel_softmax"
    order: ClassVar[int] = 0
    bias: ClassVar[str] = (
        "value and derivatives are those of E[f(relaxed x)], which tend to the true ones with the "
        "temperature"
    )
    relaxed: ClassVar[bool] = True
    temperature: float | jax.Array = 0.5

    def points(self, key: jax.Array, law: Distribution, local: tuple[int, ...]) -> Points:
        return Points(softened(noisy(key, law), law, self.temperature)[None])

    @classmethod
    def refusal(cls, law: Distribution) -> str:
        return refuse_unless(law, FINITE, "Bernoulli and Categorical")


@dataclass(frozen=True)
class StraightThrough(Method):
    """The value of the hard draw, the derivatives of the relaxed one."""

    name: ClassVar[str] = "straight_through"
    order: ClassVar[int] = 0
    bias: ClassVar[str] = (
        "the value is right; derivatives are E[f'(hard x) d(relaxed x)], right for a linear f at "
        "most in the limit"
    )
    relaxed: ClassVar[bool] = True
    temperature: float | jax.Array = 0.5

    def points(self, key: jax.Array, law: Distribution, local: tuple[int, ...]) -> Points:
        noise = noisy(key, law)
        soft = softened(noise, law, self.temperature)
        return Points((hardened(noise, law) + (soft - jax.lax.stop_gradient(soft)))[None])

    @classmethod
    def refusal(cls, law: Distribution) -> str:
        return refuse_unless(law, FINITE, "Bernoulli and Categorical")


def noisy(key: jax.Array, law: Distribution) -> jax.Array:
    """Logits with noise, whose sign or whose greatest entry is a draw of the law."""
    if isinstance(peeled(law), BERNOULLI):
        odds = log_odds(law)
        return odds + jax.random.logistic(key, odds.shape, odds.dtype)
    logits = class_log_probabilities(law)
    return logits + jax.random.gumbel(key, logits.shape, logits.dtype)


def softened(noise: jax.Array, law: Distribution, temperature: float | jax.Array) -> jax.Array:
    """The relaxed draw of logits with noise."""
    heat = jnp.asarray(temperature, noise.dtype)
    return (
        jax.nn.sigmoid(noise / heat)
        if isinstance(peeled(law), BERNOULLI)
        else jax.nn.softmax(noise / heat, -1)
    )


def hardened(noise: jax.Array, law: Distribution) -> jax.Array:
    """The draw of logits with noise, as a real number or a one-hot vector."""
    if isinstance(peeled(law), BERNOULLI):
        return jnp.asarray(noise > 0, noise.dtype)
    return jax.nn.one_hot(jnp.argmax(noise, -1), noise.shape[-1], dtype=noise.dtype)

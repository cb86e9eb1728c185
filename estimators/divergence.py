"""KL(q, p) = E_q[log q(x) - log p(x)] where it has a closed form: NumPyro's, and the sum over a finite support."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from numpyro.distributions import (
    BernoulliLogits,
    BernoulliProbs,
    CategoricalLogits,
    CategoricalProbs,
    Distribution,
    ExpandedDistribution,
    kl_divergence,
)

BERNOULLI = BernoulliProbs | BernoulliLogits
CATEGORICAL = CategoricalProbs | CategoricalLogits


def divergence(q: Distribution, p: Distribution) -> jax.Array:
    """One number for each element of the batch; what has no mass under q does not count."""
    first, second = _base(q), _base(p)
    if isinstance(first, BERNOULLI) and isinstance(second, BERNOULLI):
        return _finite(jnp.stack([1 - first.probs, first.probs], -1), jnp.stack([1 - second.probs, second.probs], -1))
    if isinstance(first, CATEGORICAL) and isinstance(second, CATEGORICAL):
        return _finite(first.probs, second.probs)
    return jnp.asarray(kl_divergence(q, p))


def _base(law: Distribution) -> Distribution:
    return law.base_dist if isinstance(law, ExpandedDistribution) else law


def _finite(q: jax.Array, p: jax.Array) -> jax.Array:
    return jnp.sum(jnp.where(q > 0, q * (jnp.log(jnp.where(q > 0, q, 1.0)) - jnp.log(p)), 0.0), -1)

"""KL(q, p) = E_q[log q(x) - log p(x)] in closed form: NumPyro's, and finite sums."""

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

from .box import softplus

BERNOULLI = BernoulliProbs | BernoulliLogits
CATEGORICAL = CategoricalProbs | CategoricalLogits


def divergence(q: Distribution, p: Distribution) -> jax.Array:
    """One number for each element of the batch; what has no mass under q does not count."""
    first, second = _base(q), _base(p)
    if isinstance(first, BERNOULLI) and isinstance(second, BERNOULLI):
        return _coins(first, second)
    if isinstance(first, CATEGORICAL) and isinstance(second, CATEGORICAL):
        return _finite(first.probs, second.probs)
    return jnp.asarray(kl_divergence(q, p))


def _base(dist: Distribution) -> Distribution:
    return dist.base_dist if isinstance(dist, ExpandedDistribution) else dist


def _coins(q: Distribution, p: Distribution) -> jax.Array:
    log_yes, log_no = _log(q.probs), _log(1 - q.probs)
    if isinstance(q, BernoulliLogits):
        odds = jnp.asarray(q.logits)
        log_no = -softplus(odds)
        log_yes = jnp.where(jnp.isinf(odds), 0.0, odds + log_no)
    return _weighed(q.probs, log_yes, p.probs) + _weighed(1 - q.probs, log_no, 1 - p.probs)


def _finite(q: jax.Array, p: jax.Array) -> jax.Array:
    return jnp.sum(_weighed(q, _log(q), p), -1)


def _weighed(q: jax.Array, log_q: jax.Array, p: jax.Array) -> jax.Array:
    """Neither value nor gradients look at what has no mass."""
    return jnp.where(q > 0, q * (jnp.where(q > 0, log_q, 0.0) - jnp.log(p)), 0.0)


def _log(q: jax.Array) -> jax.Array:
    return jnp.log(jnp.where(q > 0, q, 1.0))

"""KL(q, p) = E_q[log q(x) - log p(x)] in closed form: NumPyro's, and finite sums."""

from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist


def divergence(q: Any, p: Any) -> jax.Array:
    """One number for each element of the batch; what has no mass under q does not count."""
    coins = dist.BernoulliProbs | dist.BernoulliLogits
    tables = dist.CategoricalProbs | dist.CategoricalLogits
    first, second = unexpanded(q), unexpanded(p)
    if isinstance(first, coins) and isinstance(second, coins):
        log_yes, log_no = log_of_mass(first.probs), log_of_mass(1 - first.probs)
        if isinstance(first, dist.BernoulliLogits):
            odds = jnp.asarray(first.logits)
            log_no = -jax.nn.softplus(odds)
            log_yes = jnp.where(jnp.isinf(odds), 0.0, odds + log_no)
        yes = weighed(first.probs, log_yes, second.probs)
        return yes + weighed(1 - first.probs, log_no, 1 - second.probs)
    if isinstance(first, tables) and isinstance(second, tables):
        return jnp.sum(weighed(first.probs, log_of_mass(first.probs), second.probs), -1)
    return jnp.asarray(dist.kl_divergence(q, p))


def unexpanded(distribution: Any) -> Any:
    is_expanded = isinstance(distribution, dist.ExpandedDistribution)
    return distribution.base_dist if is_expanded else distribution


def weighed(q: jax.Array, log_q: jax.Array, p: jax.Array) -> jax.Array:
    """Neither value nor gradients look at what has no mass."""
    return jnp.where(q > 0, q * (jnp.where(q > 0, log_q, 0.0) - jnp.log(p)), 0.0)


def log_of_mass(q: jax.Array) -> jax.Array:
    return jnp.log(jnp.where(q > 0, q, 1.0))

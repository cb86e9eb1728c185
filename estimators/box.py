"""Numbers that are known, with derivatives of their own.

magic_box(x) = exp(x - stop(x)) is 1, and has the derivatives of exp(x - c) for a constant c:
weighing a sample with the box of its log probability makes all derivatives of the sample's mean
right (DiCE). No exponential is computed for them. lean(x, s) = (x - stop(x)) (s + stop(s)) / 2 is
0, its first derivative is s dx and its second s ddx + dx ds: those of the integral of s dx from
here to here. The derivatives of functions of log odds are written with the probability itself.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient
from numpyro import distributions as numpyro_dist
from numpyro.distributions import Distribution

BERNOULLI = numpyro_dist.BernoulliProbs | numpyro_dist.BernoulliLogits
CATEGORICAL = numpyro_dist.CategoricalProbs | numpyro_dist.CategoricalLogits


@jax.custom_jvp
def magic_box(x: Array) -> Array:
    """A function for JAX, which maps a constant and its derivative unlike; a constant for XLA."""
    return jnp.where(True, 1.0, x)


@magic_box.defjvp
def _tangent_of_box(x: tuple[Array], tangent: tuple[Array]) -> tuple[Array, Array]:
    box = magic_box(x[0])
    return box, box * tangent[0]


def lean(x: Array, gradient: Array) -> Array:
    """Where x is infinite there is nowhere to lean."""
    finite = jnp.where(jnp.isfinite(x), x, 0.0)
    return (finite - stop_gradient(finite)) * (gradient + stop_gradient(gradient)) / 2


@jax.custom_jvp
def softplus(odds: Array) -> Array:
    """log (1 + exp odds), with the gradient p."""
    return jax.nn.softplus(odds)


@softplus.defjvp
def _tangent_of_softplus(odds: tuple[Array], tangent: tuple[Array]) -> tuple[Array, Array]:
    return softplus(odds[0]), jax.nn.sigmoid(odds[0]) * tangent[0]


@jax.custom_jvp
def log_mass(odds: Array, yes: Array) -> Array:
    """log p where `yes`, log (1 - p) elsewhere; its gradient [yes] - p is smooth at even odds."""
    return -jax.nn.softplus(jnp.where(yes, -odds, odds))


@log_mass.defjvp
def _tangent_of_log_mass(
    given: tuple[Array, Array], tangent: tuple[Array, object]
) -> tuple[Array, Array]:
    odds, yes = given
    return log_mass(odds, yes), (yes - jax.nn.sigmoid(odds)) * tangent[0]


# ---- KL(q, p) = E_q[log q(x) - log p(x)] in closed form: NumPyro's, and finite sums


def divergence(q: Distribution, p: Distribution) -> Array:
    """One number for each element of the batch; what has no mass under q does not count."""
    first, second = _base(q), _base(p)
    if isinstance(first, BERNOULLI) and isinstance(second, BERNOULLI):
        log_yes, log_no = _log(first.probs), _log(1 - first.probs)
        if isinstance(first, numpyro_dist.BernoulliLogits):
            odds = jnp.asarray(first.logits)
            log_no = -softplus(odds)
            log_yes = jnp.where(jnp.isinf(odds), 0.0, odds + log_no)
        yes = _weighed(first.probs, log_yes, second.probs)
        return yes + _weighed(1 - first.probs, log_no, 1 - second.probs)
    if isinstance(first, CATEGORICAL) and isinstance(second, CATEGORICAL):
        return jnp.sum(_weighed(first.probs, _log(first.probs), second.probs), -1)
    return jnp.asarray(numpyro_dist.kl_divergence(q, p))


def _base(dist: Distribution) -> Distribution:
    return dist.base_dist if isinstance(dist, numpyro_dist.ExpandedDistribution) else dist


def _weighed(q: Array, log_q: Array, p: Array) -> Array:
    """Neither value nor gradients look at what has no mass."""
    return jnp.where(q > 0, q * (jnp.where(q > 0, log_q, 0.0) - jnp.log(p)), 0.0)


def _log(q: Array) -> Array:
    return jnp.log(jnp.where(q > 0, q, 1.0))

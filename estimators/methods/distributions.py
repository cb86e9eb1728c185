"""Distributions of single numbers: unwrapped, element by element, along local axes or others.

Axes of a wrapped distribution that belong to the event come after those of the batch, and are
never local.
"""

from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from numpyro import distributions as numpyro_dist
from numpyro.distributions import Distribution

from ..box import log_mass

BERNOULLI = (numpyro_dist.BernoulliLogits, numpyro_dist.BernoulliProbs)
CATEGORICAL = (numpyro_dist.CategoricalLogits, numpyro_dist.CategoricalProbs)


def peeled(dist: Distribution) -> Distribution:
    """The distribution without `expand` and `to_event`."""
    while isinstance(dist, numpyro_dist.Independent | numpyro_dist.ExpandedDistribution):
        dist = dist.base_dist
    return dist


def kind_of(dist: Distribution) -> type:
    """Its class without `expand` and `to_event`.

    A class that only computes its density in another way says so by `same_as`.
    """
    own = type(peeled(dist))
    kind: type = vars(own).get("same_as", own)
    return kind


def element_shape(dist: Distribution) -> tuple[int, ...]:
    return (*dist.batch_shape, *dist.event_shape)


def log_prob(dist: Distribution, value: Array) -> Array:
    """The log density along the batch axes."""
    if not isinstance(peeled(dist), (*BERNOULLI, *CATEGORICAL)) and not _is_rough(dist):
        return jnp.asarray(dist.log_prob(value))
    rank = len(dist.batch_shape) + jnp.ndim(value) - len(element_shape(dist))
    found = element_log_prob(dist, value)
    return jnp.sum(found, tuple(range(rank, found.ndim)))


def element_log_prob(dist: Distribution, value: Array) -> Array:
    """The log density of each element; of log odds smooth at even odds, unlike NumPyro's."""
    base = peeled(dist)
    shape = jnp.broadcast_shapes(jnp.shape(value), element_shape(dist))
    if isinstance(base, numpyro_dist.BernoulliLogits):
        found = log_mass(jnp.asarray(base.logits), value > 0)
    elif isinstance(base, numpyro_dist.BernoulliProbs):
        found = jnp.log(jnp.where(value > 0, base.probs, 1 - base.probs))
    elif _is_rough(base):
        yes, no = -jax.nn.softplus(-base.logits), -jax.nn.softplus(base.logits)
        n, lgamma = base.total_count, jax.scipy.special.gammaln
        log_choose = lgamma(n + 1.0) - lgamma(value + 1.0) - lgamma(n - value + 1.0)
        found = log_choose + value * yes + (n - value) * no
    elif isinstance(base, numpyro_dist.CategoricalLogits):
        found = _entry(jax.nn.log_softmax(base.logits), value)
    elif isinstance(base, numpyro_dist.CategoricalProbs):
        found = jnp.log(_entry(base.probs, value))
    else:
        found = base.log_prob(value)
    return jnp.broadcast_to(found, shape)


def _is_rough(dist: Distribution) -> bool:
    """Whether NumPyro's density has a derivative that jumps at even odds."""
    return type(peeled(dist)) is numpyro_dist.BinomialLogits


def _entry(table: Array, value: Array) -> Array:
    """table[..., value], rows shared where there are fewer; NumPyro would copy the table."""
    rows = jnp.ix_(*(jnp.arange(length) for length in table.shape[:-1]))
    return table[(*rows, jnp.asarray(value))]


def yes_probability(dist: Distribution) -> Array:
    """The probability that each element of a Bernoulli is 1."""
    return jnp.broadcast_to(peeled(dist).probs, element_shape(dist))


def log_odds(dist: Distribution) -> Array:
    return jnp.broadcast_to(peeled(dist).logits, element_shape(dist))


def class_probabilities(dist: Distribution) -> Array:
    """The table of a Categorical, one row for each element."""
    probs = peeled(dist).probs
    return jnp.broadcast_to(probs, (*element_shape(dist), probs.shape[-1]))


def class_log_probabilities(dist: Distribution) -> Array:
    """The logarithms of the table of a Categorical, which add up to one."""
    logits = jax.nn.log_softmax(peeled(dist).logits, -1)
    return jnp.broadcast_to(logits, (*element_shape(dist), logits.shape[-1]))


def refuse_unless(dist: Distribution, kinds: tuple[type, ...], names: str) -> str:
    """Why a distribution that is none of these is not for a method."""
    return "" if isinstance(peeled(dist), kinds) else f"it is for {names}"


def distant(rank: int, local: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that are not local."""
    return tuple(axis for axis in range(rank) if axis not in local)


def together(array: Array, local: tuple[int, ...]) -> Array:
    """The sum over all axes that are not local: the local axes are left."""
    return jnp.sum(array, distant(array.ndim, local))


def everywhere(total: Array, rank: int, local: tuple[int, ...]) -> Array:
    """What is left after `together`, for every element again."""
    return jnp.expand_dims(total, distant(rank, local))


def apart(array: Array, local: tuple[int, ...]) -> Array:
    """One row for each place along the axes that are not local: (places, *local)."""
    first = jnp.moveaxis(array, local, range(array.ndim - len(local), array.ndim))
    return jnp.reshape(first, (-1, *(array.shape[axis] for axis in local)))


def replaced(old: Array, new: Array, local: tuple[int, ...]) -> Array:
    """The old array with one place of the distant axes from the new: (places, *shape)."""
    shape = tuple(1 if axis in local else size for axis, size in enumerate(old.shape))
    places = prod(shape)
    here = jnp.reshape(jnp.eye(places, dtype=bool), (places, *shape))
    return jnp.where(here, new, old)


def sample(dist: Distribution, key: Array) -> Any:
    """One draw of every element, without derivatives."""
    if isinstance(peeled(dist), BERNOULLI):
        probability = jax.lax.stop_gradient(yes_probability(dist))
        uniform = jax.random.uniform(key, probability.shape, probability.dtype)
        return jnp.asarray(uniform < probability, jnp.result_type(int))
    if isinstance(peeled(dist), CATEGORICAL):
        table = jax.lax.stop_gradient(peeled(dist).probs)
        uniform = jax.random.uniform(key, element_shape(dist), table.dtype)
        heights = jnp.cumsum(table, -1)  # the least k with uniform < p_0 + ... + p_k, of mass
        return jnp.sum(heights <= uniform[..., None] * heights[..., -1:], -1)
    return jax.lax.stop_gradient(dist.sample(key))

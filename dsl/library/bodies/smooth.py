"""Smoothed maxima and the probabilities that attain them: softmax and sparsemax.

Scores of -inf are alternatives that cannot be chosen: they get probability 0 and derivative 0. When
all are -inf the value is -inf, and the probabilities are equal.
"""

import jax
import jax.numpy as jnp
from jax import lax

from .elementary import as_real
from .entropies import gini_entropy, nonnegative

# ---- scores


def fixed_max(x: jax.Array) -> jax.Array:
    """max(x) as a constant, and 0 when that is infinite: what may be subtracted and added again."""
    top = lax.stop_gradient(jnp.max(x, initial=-jnp.inf))
    return jnp.where(jnp.isfinite(top), top, 0.0)


def scaled_scores(x: jax.Array, temperature: float | jax.Array) -> jax.Array:
    """(x - max(x)) / t, which -inf passes without derivative, and 0 everywhere if all are -inf."""
    x = as_real(x)
    absent = x == -jnp.inf
    scores = jnp.where(absent, 0.0, x - fixed_max(x)) / temperature
    return jnp.where(absent & ~jnp.all(absent), -jnp.inf, scores)


def weighted_sum(p: jax.Array, x: jax.Array) -> jax.Array:
    """sum_i p_i x_i, where 0 * inf is 0."""
    return jnp.sum(p * jnp.where((p == 0) & jnp.isinf(x), 0.0, x))


def attained_max(
    x: jax.Array, p: jax.Array, entropy: jax.Array, temperature: float | jax.Array
) -> jax.Array:
    """<p, x> + t H(p) = max(x) + t (<p, (x - max(x)) / t> + H(p)) (SM17)."""
    gain = weighted_sum(p, scaled_scores(x, temperature)) + entropy
    return lax.stop_gradient(jnp.max(x)) + temperature * gain


# ---- Shannon's entropy


def softmax(x: jax.Array, temperature: float | jax.Array = 1.0) -> jax.Array:
    """t log(sum(exp(x / t))), from max(x) to max(x) + t log(N) (PP07, SM19)."""
    x = as_real(x)
    absent, top = x == -jnp.inf, fixed_max(x)
    terms = jnp.exp(jnp.where(absent, 0.0, x - top) / temperature)
    total = jnp.sum(jnp.where(absent, 0.0, terms))
    return jnp.where(
        total > 0, top + temperature * jnp.log(jnp.where(total > 0, total, 1.0)), -jnp.inf
    )


def logsumexp(x: jax.Array) -> jax.Array:
    """log(sum(exp(x))) over all entries (PP07); -inf with derivatives 0 when all are -inf."""
    return softmax(x)


def softmin(x: jax.Array, temperature: float | jax.Array = 1.0) -> jax.Array:
    """-softmax(-x) (SM17)."""
    return -softmax(-as_real(x), temperature)


def softargmax(x: jax.Array, temperature: float | jax.Array = 1.0) -> jax.Array:
    """exp(x / t) / sum(exp(x / t)), the gradient of softmax (PP10, SM23)."""
    return jax.nn.softmax(scaled_scores(x, temperature))


def softargmin(x: jax.Array, temperature: float | jax.Array = 1.0) -> jax.Array:
    """softargmax(-x) (CF20)."""
    return softargmax(-as_real(x), temperature)


def log_softargmax(x: jax.Array, temperature: float | jax.Array = 1.0) -> jax.Array:
    """x / t - logsumexp(x / t) (PP10)."""
    scores = scaled_scores(x, temperature)
    return scores - softmax(scores)


def softargmax_inverse(p: jax.Array) -> jax.Array:
    """log(p) - mean(log(p)): the x of sum 0 with softargmax(x) = p, p inside the simplex (PP11)."""
    logs = jnp.log(p)
    return logs - jnp.mean(logs)


# ---- Gini's entropy


def sparse_support(scores: jax.Array) -> jax.Array:
    """The scores x_[k] > (sum_{j<=k} x_[j] - 1) / k, of decreasing x_[k] (SM20, erratum 62)."""
    descending = -jnp.sort(-lax.stop_gradient(scores))
    places = jnp.arange(1, scores.size + 1, dtype=scores.dtype)
    size = jnp.sum(descending > (jnp.cumsum(descending) - 1) / places)
    return scores >= descending[size - 1]


def sparseargmax(x: jax.Array, temperature: float | jax.Array = 1.0) -> jax.Array:
    """[x / t - tau]_+ with tau = (sum of the support - 1) / its size: the projection to the simplex
    (SM20, SM23).
    """
    scores = scaled_scores(x, temperature)
    support = sparse_support(scores)
    tau = (jnp.sum(jnp.where(support, scores, 0.0)) - 1) / jnp.sum(support, dtype=scores.dtype)
    return nonnegative(jnp.where(support, scores - tau, 0.0))


def sparseargmin(x: jax.Array, temperature: float | jax.Array = 1.0) -> jax.Array:
    """sparseargmax(-x) (SM23)."""
    return sparseargmax(-as_real(x), temperature)


def sparsemax(x: jax.Array, temperature: float | jax.Array = 1.0) -> jax.Array:
    """max over p of <p, x> + t gini_entropy(p), in max(x) + [0, t (N - 1) / (2 N)] (SM20)."""
    p = sparseargmax(x, temperature)
    return attained_max(as_real(x), p, gini_entropy(p), temperature)


def sparsemin(x: jax.Array, temperature: float | jax.Array = 1.0) -> jax.Array:
    """-sparsemax(-x) (SM17)."""
    return -sparsemax(-as_real(x), temperature)

"""Entropies, the smoothed maxima that they make and the probabilities that attain these, losses.

Scores of -inf are alternatives that cannot be chosen: they get probability 0 and derivative 0. When
all are -inf the value is -inf, and the probabilities are equal. Where a probability is 0 and the
derivative of an entropy is infinite, 0 is given instead: what cannot happen is left alone.
"""

import jax
import jax.numpy as jnp
from jax import lax

from .elementary import as_real

# ---- entropies and the divergence of Kullback and Leibler


def entropy(p: jax.Array) -> jax.Array:
    """-sum_i p_i log(p_i) (SM14)."""
    alive = p > 0
    return -jnp.sum(jnp.where(alive, p * jnp.log(jnp.where(alive, p, 1.0)), 0.0))


def gini_entropy(p: jax.Array) -> jax.Array:
    """sum_i p_i (1 - p_i) / 2 (SM14)."""
    return jnp.sum(p * (1 - p)) / 2


def expm1_ratio(y: jax.Array) -> jax.Array:
    """(exp(y) - 1) / y, and 1 at 0."""
    near = jnp.abs(y) < 1e-3
    z = jnp.where(near, y, 0.0)
    series = 1 + z / 2 * (1 + z / 3 * (1 + z / 4 * (1 + z / 5 * (1 + z / 6))))
    far = jnp.where(near, 1.0, y)
    return jnp.where(near, series, jnp.expm1(far) / far)


def tsallis_entropy(p: jax.Array, alpha: float | jax.Array = 1.5) -> jax.Array:
    """sum_i (p_i - p_i^a) / (a (a - 1)), by expm1_ratio((a - 1) log(p_i)) near a = 1 (SM14)."""
    alive = p > 0
    logs = jnp.log(jnp.where(alive, p, 1.0))
    terms = -p * logs * expm1_ratio((alpha - 1) * logs) / alpha
    above = jnp.asarray(alpha) > 1
    edge = jnp.where(above, p / (alpha * jnp.where(above, alpha - 1, 1.0)), 0.0)
    return jnp.sum(jnp.where(alive, terms, edge))


def nonnegative(x: jax.Array) -> jax.Array:
    """max(x, 0) with the derivative of x: for what is negative by rounding only."""
    return x - lax.stop_gradient(jnp.minimum(x, 0.0))


def kl(p: jax.Array, q: jax.Array) -> jax.Array:
    """sum_i p_i log(p_i / q_i) - p_i + q_i, the Bregman divergence of negative entropy (DU04)."""
    alive = p > 0
    log_ratio = jnp.log(jnp.where(alive, p, 1.0)) - jnp.log(jnp.where(alive, q, 1.0))
    return nonnegative(jnp.sum(jnp.where(alive, p * log_ratio - p, 0.0) + q))


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


# ---- the entropies of Tsallis: from softmax (alpha 1) to sparsemax (alpha 2), and beyond both


def log1p_ratio(y: jax.Array) -> jax.Array:
    """log(1 + y) / y, and 1 at 0."""
    near = jnp.abs(y) < 1e-3
    z = jnp.where(near, y, 0.0)
    series = 1 - z * (1 / 2 - z * (1 / 3 - z * (1 / 4 - z * (1 / 5 - z / 6))))
    far = jnp.where(near, 1.0, y)
    return jnp.where(near, series, jnp.log1p(far) / far)


def deformed_exp(z: jax.Array, alpha: jax.Array) -> jax.Array:
    """[1 + (a - 1) z]_+^(1 / (a - 1)), which is exp(z) at a = 1."""
    alive = (z > -jnp.inf) & (1 + (alpha - 1) * jnp.where(z > -jnp.inf, z, 0.0) > 0)
    z = jnp.where(alive, z, 0.0)
    return jnp.where(alive, jnp.exp(z * log1p_ratio((alpha - 1) * z)), 0.0)


def entmax_total(scores: jax.Array, alpha: jax.Array, threshold: jax.Array) -> jax.Array:
    """sum_i deformed_exp(x_i - tau), which decreases in tau (SM18)."""
    return jnp.sum(deformed_exp(scores - threshold, alpha))


@jax.custom_jvp
def entmax_threshold(scores: jax.Array, alpha: jax.Array) -> jax.Array:
    """The tau with entmax_total = 1, by bisection up to (1 - N^(1 - a)) / (a - 1) (SM18)."""
    log_size = jnp.log(jnp.asarray(scores.size, scores.dtype))
    upper = log_size * expm1_ratio((1 - alpha) * log_size)

    def halve(_: jax.Array, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        middle = (ends[0] + ends[1]) / 2
        low = entmax_total(scores, alpha, middle) > 1
        return jnp.where(low, middle, ends[0]), jnp.where(low, ends[1], middle)

    ends: tuple[jax.Array, jax.Array] = lax.fori_loop(0, 64, halve, (jnp.zeros_like(upper), upper))
    return (ends[0] + ends[1]) / 2


@entmax_threshold.defjvp
def entmax_threshold_jvp(
    primals: tuple[jax.Array, jax.Array], tangents: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    """d tau = -(d total at fixed tau) / (d total / d tau), the implicit function theorem (DO05)."""
    root = entmax_threshold(*primals)
    _, change = jax.jvp(lambda scores, alpha: entmax_total(scores, alpha, root), primals, tangents)
    return root, -change / jax.grad(entmax_total, argnums=2)(*primals, root)


def entargmax(
    x: jax.Array, alpha: float | jax.Array = 1.5, temperature: float | jax.Array = 1.0
) -> jax.Array:
    """deformed_exp(x / t - tau), of sum one: softargmax at alpha 1, sparseargmax at 2 (SM18)."""
    scores = scaled_scores(x, temperature)
    alpha = jnp.asarray(alpha, scores.dtype)
    p = deformed_exp(scores - entmax_threshold(scores, alpha), alpha)
    return p / jnp.sum(p)


def entmax(
    x: jax.Array, alpha: float | jax.Array = 1.5, temperature: float | jax.Array = 1.0
) -> jax.Array:
    """max over p of <p, x> + t tsallis_entropy(p, alpha): softmax at 1, sparsemax at 2 (SM17)."""
    p = entargmax(x, alpha, temperature)
    return attained_max(as_real(x), p, tsallis_entropy(p, alpha), temperature)


# ---- losses of scores x against a label or a distribution q: max_H(x) - H(q) - <x, q> (DU07)
#
# They are 0 or above, and their gradient in the scores is argmax_H(x) - q (DU08).


def logistic_loss(scores: jax.Array, label: jax.Array) -> jax.Array:
    """softmax(x) - x_label (DU07)."""
    return nonnegative(softmax(scores) - scores[label])


def logistic_loss_target(scores: jax.Array, target: jax.Array) -> jax.Array:
    """softmax(x) - entropy(q) - <x, q> = kl(q, softargmax(x)) (DU07)."""
    return nonnegative(softmax(scores) - entropy(target) - weighted_sum(target, scores))


def sparsemax_loss(scores: jax.Array, label: jax.Array) -> jax.Array:
    """sparsemax(x) - x_label (DU07)."""
    return nonnegative(sparsemax(scores) - scores[label])


def sparsemax_loss_target(scores: jax.Array, target: jax.Array) -> jax.Array:
    """sparsemax(x) - gini_entropy(q) - <x, q> (DU07)."""
    return nonnegative(sparsemax(scores) - gini_entropy(target) - weighted_sum(target, scores))


def entmax_loss(scores: jax.Array, label: jax.Array, alpha: float | jax.Array = 1.5) -> jax.Array:
    """entmax(x, alpha) - x_label (DU07)."""
    return nonnegative(entmax(scores, alpha) - scores[label])


def entmax_loss_target(
    scores: jax.Array, target: jax.Array, alpha: float | jax.Array = 1.5
) -> jax.Array:
    """entmax(x, alpha) - tsallis_entropy(q, alpha) - <x, q> (DU07)."""
    return nonnegative(
        entmax(scores, alpha) - tsallis_entropy(target, alpha) - weighted_sum(target, scores)
    )


def perceptron_loss(scores: jax.Array, label: jax.Array) -> jax.Array:
    """max(x) - x_label (DU07)."""
    scores = as_real(scores)
    return jnp.max(scores) - scores[label]


def perceptron_loss_target(scores: jax.Array, target: jax.Array) -> jax.Array:
    """max(x) - <x, q> (DU07)."""
    return nonnegative(jnp.max(as_real(scores)) - weighted_sum(target, scores))

"""Losses of scores against a label or a target distribution: max_H(x) - H(target) - <x, target>
(DU07).

They are 0 or above, and their gradient in the scores is argmax_H(x) - target (DU08).
"""

import jax
import jax.numpy as jnp

from .elementary import as_real
from .entmax import entmax
from .entropies import entropy, gini_entropy, nonnegative, tsallis_entropy
from .smooth import softmax, sparsemax, weighted_sum


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

"""The smoothed maxima between softmax (alpha 1) and sparsemax (alpha 2), and beyond both."""

import jax
import jax.numpy as jnp
from jax import lax

from .elementary import as_real
from .entropies import expm1_ratio, tsallis_entropy
from .smooth import attained_max, scaled_scores


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

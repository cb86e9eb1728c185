"""What hard operations mean inside `soft(kind, scale=s)`: their expectation when the numbers
compared are noisy.

kind      noise of a - b        a > b                a == b               argmax
logistic  s Logistic(0, 1)      logistic(d / s)      sech(d / 2s)^2       softargmax(x / s)
gaussian  s Normal(0, 1)        Phi(d / s)           exp(-d^2 / 2s^2)     by noise of sd s / sqrt(2)
sparse    s Uniform(-1, 1)      sparsesigmoid(d/s)   [1 - (d / s)^2]_+    sparseargmax(x / s)

`a == b` is the density of the noise over its value at 0 (CF06, CF09). For uniform noise that is a
box, whose derivative tells nothing; `sparse` takes 4 P(a > b) P(b > a) instead, which for logistic
noise is the density ratio (CF01). For two numbers argmax is `a > b`. Truths are probabilities, and
logic assumes that they are independent (product), nested (extremum), or as far from it as they can
be (lukasiewicz).
"""

import jax
import jax.numpy as jnp

from .elementary import Phi, as_real
from .smooth import scaled_scores, softargmax, sparseargmax

# ---- comparisons


def soft_greater_logistic(a: jax.Array, b: jax.Array, scale: float | jax.Array) -> jax.Array:
    """P(a + s z > b) = logistic((a - b) / s) for logistic z (CF02, CF05)."""
    return jax.nn.sigmoid((as_real(a) - b) / scale)


def soft_greater_gaussian(a: jax.Array, b: jax.Array, scale: float | jax.Array) -> jax.Array:
    """P(a + s z > b) = Phi((a - b) / s) for normal z (CF02, CF04)."""
    return Phi((as_real(a) - b) / scale)


def soft_greater_sparse(a: jax.Array, b: jax.Array, scale: float | jax.Array) -> jax.Array:
    """P(a + s z > b) = clip((1 + (a - b) / s) / 2, 0, 1) for z uniform on [-1, 1] (CF02, SM22)."""
    return jax.nn.sparse_sigmoid((as_real(a) - b) / scale)


def soft_equal_logistic(a: jax.Array, b: jax.Array, scale: float | jax.Array) -> jax.Array:
    """sech((a - b) / 2s)^2 = 4 P(a > b) P(b > a): logistic density over that at 0 (CF06, CF09)."""
    d = (as_real(a) - b) / scale
    return 4 * jax.nn.sigmoid(d) * jax.nn.sigmoid(-d)


def soft_equal_gaussian(a: jax.Array, b: jax.Array, scale: float | jax.Array) -> jax.Array:
    """exp(-(a - b)^2 / 2s^2): the normal density over its value at 0 (CF06, CF09)."""
    return jnp.exp(-jnp.square((as_real(a) - b) / scale) / 2)


def soft_equal_sparse(a: jax.Array, b: jax.Array, scale: float | jax.Array) -> jax.Array:
    """[1 - ((a - b) / s)^2]_+ = 4 P(a > b) P(b > a): exactly 0 outside the band (CF01)."""
    return jax.nn.relu(1 - jnp.square((as_real(a) - b) / scale))


# ---- logic


def soft_not(p: jax.Array) -> jax.Array:
    """1 - p (CF12)."""
    return 1 - as_real(p)


def soft_and_product(p: jax.Array, q: jax.Array) -> jax.Array:
    """p q (CF12)."""
    return as_real(p) * as_real(q)


def soft_or_product(p: jax.Array, q: jax.Array) -> jax.Array:
    """p + q - p q (CF12)."""
    return as_real(p) + soft_not(p) * as_real(q)


def soft_and_extremum(p: jax.Array, q: jax.Array) -> jax.Array:
    """min(p, q) (CF13)."""
    return jnp.minimum(as_real(p), as_real(q))


def soft_or_extremum(p: jax.Array, q: jax.Array) -> jax.Array:
    """max(p, q) (CF13)."""
    return jnp.maximum(as_real(p), as_real(q))


def soft_and_lukasiewicz(p: jax.Array, q: jax.Array) -> jax.Array:
    """max(p + q - 1, 0) (CF13)."""
    return jax.nn.relu(as_real(p) - soft_not(q))


def soft_or_lukasiewicz(p: jax.Array, q: jax.Array) -> jax.Array:
    """min(p + q, 1) (CF13)."""
    return jnp.minimum(as_real(p) + as_real(q), 1.0)


def soft_all_product(p: jax.Array) -> jax.Array:
    """prod_k p_k along the last axis (CF12)."""
    return jnp.prod(as_real(p), axis=-1)


def soft_any_product(p: jax.Array) -> jax.Array:
    """1 - prod_k (1 - p_k) along the last axis (CF12)."""
    return 1 - jnp.prod(soft_not(p), axis=-1)


def soft_all_extremum(p: jax.Array) -> jax.Array:
    """min_k p_k along the last axis (CF13)."""
    return jnp.min(as_real(p), axis=-1, initial=1.0)


def soft_any_extremum(p: jax.Array) -> jax.Array:
    """max_k p_k along the last axis (CF13)."""
    return jnp.max(as_real(p), axis=-1, initial=0.0)


def soft_all_lukasiewicz(p: jax.Array) -> jax.Array:
    """max(1 - sum_k (1 - p_k), 0) along the last axis (CF13)."""
    return jax.nn.relu(1 - jnp.sum(soft_not(p), axis=-1))


def soft_any_lukasiewicz(p: jax.Array) -> jax.Array:
    """min(sum_k p_k, 1) along the last axis (CF13)."""
    return jnp.minimum(jnp.sum(as_real(p), axis=-1), 1.0)


# ---- branches


def weighted(p: jax.Array, x: jax.Array) -> jax.Array:
    """p x with p over the leading axes of x, where 0 times what is not finite is 0."""
    p, x = as_real(p), as_real(x)
    p = p.reshape(p.shape + (1,) * (x.ndim - p.ndim))
    return p * jnp.where((p == 0) & ~jnp.isfinite(x), 0.0, x)


def soft_if(p: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    """p a + (1 - p) b = E[if I then a else b] for I ~ Bernoulli(p) (CF15, CF16)."""
    return weighted(p, a) + weighted(soft_not(p), b)


def soft_if_variance(p: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    """p (1 - p) (a - b)^2 = Var[if I then a else b] (CF16)."""
    return weighted(as_real(p) * soft_not(p), jnp.square(as_real(a) - as_real(b)))


def hard_variance(x: jax.Array) -> jax.Array:
    """0: a hard `if` takes one branch (CF16)."""
    return jnp.zeros_like(as_real(x))


# ---- which entry is the largest: the weights for soft_get


def soft_argmax_logistic(x: jax.Array, scale: float | jax.Array) -> jax.Array:
    """P(i = argmax(x + s z)) = softargmax(x / s) for Gumbel z (CF20, CV19)."""
    return softargmax(x, scale)


def soft_argmax_sparse(x: jax.Array, scale: float | jax.Array) -> jax.Array:
    """sparseargmax(x / s), whose two-entry case is soft_greater_sparse (SM21, SM23)."""
    return sparseargmax(x, scale)


def soft_argmax_gaussian(x: jax.Array, scale: float | jax.Array) -> jax.Array:
    """P(i = argmax(x + s z / sqrt(2))) = integral of phi(z) prod_{j != i} Phi(z + sqrt(2) (x_i -
    x_j) / s) (CV22).

    The trapezoid rule converges faster than any power of its step here.
    """
    scores = scaled_scores(x, scale)
    present = scores > -jnp.inf
    safe = jnp.where(present, scores, 0.0)
    ahead = 2**0.5 * (safe[:, None] - safe[None, :])
    rivals = present[None, :] & ~jnp.eye(scores.size, dtype=bool)
    z = jnp.linspace(-9.0, 9.0, 109, dtype=scores.dtype)
    beaten = jax.vmap(lambda at: jnp.prod(jnp.where(rivals, Phi(at + ahead), 1.0), axis=1))(z)
    weights = jnp.where(present, jnp.exp(-jnp.square(z) / 2) @ beaten, 0.0)
    return weights / jnp.sum(weights)

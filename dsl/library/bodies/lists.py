"""Lists and dictionaries, hard and soft (DS01-DS12). A list changes by making a new array."""

import jax
import jax.numpy as jnp

from .arrays import squared_distances
from .elementary import as_real
from .smooth import softargmax

# ---- lists


def list_get(items: jax.Array, i: jax.Array) -> jax.Array:
    """l_i (DS01)."""
    return items[i]


def list_set(items: jax.Array, i: jax.Array, value: jax.Array) -> jax.Array:
    """value at i, l_j elsewhere (DS02)."""
    return jnp.where(jnp.arange(items.size, dtype=jnp.result_type(i)) == i, value, items)


def list_insert(items: jax.Array, i: jax.Array, value: jax.Array) -> jax.Array:
    """l_j for j < i, value for j = i, l_{j-1} for j > i (DS03)."""
    places = jnp.arange(items.size + 1, dtype=jnp.result_type(i))
    return jnp.where(
        places < i, jnp.append(items, value), jnp.where(places == i, value, push_left(items, value))
    )


def push_left(items: jax.Array, value: jax.Array) -> jax.Array:
    """(value, l_0, ..., l_{N-1}) (DS03)."""
    return jnp.append(value, items)


def pop_left(items: jax.Array) -> jax.Array:
    """(l_1, ..., l_{N-1}) (DS03)."""
    return items[1:]


def pop_right(items: jax.Array) -> jax.Array:
    """(l_0, ..., l_{N-2}) (DS03)."""
    return items[:-1]


def soft_get(items: jax.Array, p: jax.Array) -> jax.Array:
    """sum_i p_i l_i = E[l_I] for I ~ p, where an entry may be an array (DS04)."""
    return p @ as_real(items)


def soft_get_variance(items: jax.Array, p: jax.Array) -> jax.Array:
    """sum_i p_i (l_i - E[l_I])^2 (CF20)."""
    items = as_real(items)
    return p @ jnp.square(items - soft_get(items, p)[None])


def soft_get_pair(items: jax.Array, p: jax.Array, q: jax.Array) -> jax.Array:
    """sum_ij p_i q_j l_ij (DS07)."""
    return p @ as_real(items) @ q


def soft_set(items: jax.Array, p: jax.Array, value: jax.Array) -> jax.Array:
    """p_j value + (1 - p_j) l_j = E[set(l, I, value)]_j (DS05)."""
    return p * value + (1 - p) * items


def soft_insert(items: jax.Array, p: jax.Array, value: jax.Array) -> jax.Array:
    """P(I > j) l_j + P(I = j) value + P(I < j) l_{j-1}, where what does not exist has weight 0
    (DS06).

    A distribution over the old places alone never inserts after the last.
    """
    p = jnp.pad(p, (0, items.shape[0] + 1 - p.shape[0]))
    after = jnp.flip(jnp.cumsum(jnp.flip(p)))[1:] * items
    before = jnp.cumsum(p)[:-1] * items
    return jnp.append(after, 0.0) + p * value + push_left(before, jnp.zeros_like(before[:1]))


# ---- dictionaries


def key_distances(keys: jax.Array, key: jax.Array) -> jax.Array:
    """|k_i - k|^2 (DS08)."""
    return squared_distances(keys, jnp.asarray(key)[None])[:, 0]


def lookup(keys: jax.Array, values: jax.Array, key: jax.Array) -> jax.Array:
    """v_i for i = argmin_i |k_i - k|, the first of equals (DS08)."""
    return values[jnp.argmin(key_distances(keys, key))]


def update(keys: jax.Array, values: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """value where k_i = k, v_i elsewhere (DS09)."""
    return jnp.where(key_distances(keys, key) == 0, value, values)


def lookup_weights(keys: jax.Array, key: jax.Array, scale: float | jax.Array = 1.0) -> jax.Array:
    """softargmax(-|k_i - k|^2 / (2 s^2)) (DS11)."""
    return softargmax(-key_distances(keys, key) / 2, jnp.square(scale))


def soft_lookup(
    keys: jax.Array, values: jax.Array, key: jax.Array, scale: float | jax.Array = 1.0
) -> jax.Array:
    """sum_i lookup_weights_i v_i, the regression of Nadaraya and Watson (DS10)."""
    return soft_get(values, lookup_weights(keys, key, scale))


# ---- attention


def attention(
    queries: jax.Array, keys: jax.Array, values: jax.Array, temperature: float | jax.Array = 1.0
) -> jax.Array:
    """softargmax(Q K^T / t) V, row by row (PP15, DS12)."""
    return jax.nn.softmax(as_real(queries) @ as_real(keys).T / temperature) @ as_real(values)


def masked_attention(
    queries: jax.Array,
    keys: jax.Array,
    values: jax.Array,
    mask: jax.Array,
    temperature: float | jax.Array = 1.0,
) -> jax.Array:
    """sum_j w_j v_j / sum_j w_j with w_j = mask_j exp(q.k_j / t), 0 for an empty row (PP15)."""
    scores = as_real(queries) @ as_real(keys).T / temperature
    allowed = mask.astype(scores.dtype) > 0
    top = jax.lax.stop_gradient(
        jnp.max(jnp.where(allowed, scores, -jnp.inf), axis=1, keepdims=True)
    )
    shifted = jnp.where(allowed, scores - jnp.where(jnp.isfinite(top), top, 0.0), 0.0)
    weights = jnp.where(allowed, jnp.exp(shifted), 0.0) * mask.astype(scores.dtype)
    total = jnp.sum(weights, axis=1, keepdims=True)
    return weights / jnp.where(total > 0, total, 1.0) @ as_real(values)

"""The incomplete beta function with the derivatives in its parameters that JAX leaves out."""

import jax
import jax.numpy as jnp
from jax import lax


@jax.custom_jvp
def betainc(a: jax.Array, b: jax.Array, x: jax.Array) -> jax.Array:
    """I_x(a, b) = P(y < x) for y ~ Beta(a, b); derivatives in a and b by its continued fraction."""
    return jax.scipy.special.betainc(a, b, x)


@betainc.defjvp
def betainc_jvp(
    primals: tuple[jax.Array, jax.Array, jax.Array],
    tangents: tuple[jax.Array, jax.Array, jax.Array],
) -> tuple[jax.Array, jax.Array]:
    """dI = I_a da + I_b db + x^(a-1) (1-x)^(b-1) / B(a, b) dx."""
    a, b, x = jnp.broadcast_arrays(*primals)
    inside = (x > 0) & (x < 1)
    at = jnp.where(inside, x, 0.5)
    _, slope_a = jax.jvp(lambda v: beta_fraction(v, b, at), (a,), (jnp.ones_like(a),))
    _, slope_b = jax.jvp(lambda v: beta_fraction(a, v, at), (b,), (jnp.ones_like(b),))
    density = jnp.exp(
        (a - 1) * jnp.log(at) + (b - 1) * jnp.log1p(-at) - jax.scipy.special.betaln(a, b)
    )
    d_a, d_b, d_x = (
        jnp.where(inside, slope, 0.0) * tangent
        for slope, tangent in zip((slope_a, slope_b, density), tangents, strict=True)
    )
    return betainc(*primals), d_a + d_b + d_x


def beta_fraction(a: jax.Array, b: jax.Array, x: jax.Array) -> jax.Array:
    """I_x(a, b) = x^a (1-x)^b / (a B(a, b)) / (1 + d_1 / (1 + d_2 / ...)), or 1 - I_{1-x}(b, a)
    right of the middle.
    """
    swap = x > (a + 1) / (a + b + 2)
    p, q, y = jnp.where(swap, b, a), jnp.where(swap, a, b), jnp.where(swap, 1 - x, x)

    def deepen(i: jax.Array, tail: jax.Array) -> jax.Array:
        m = (256 - i).astype(y.dtype)
        even = m * (q - m) * y / ((p + 2 * m - 1) * (p + 2 * m))
        odd = -(p + m) * (p + q + m) * y / ((p + 2 * m) * (p + 2 * m + 1))
        return even / (1 + odd / (1 + tail))

    tail = lax.fori_loop(0, 256, deepen, jnp.zeros_like(y))
    first = -(p + q) * y / (p + 1)
    front = jnp.exp(p * jnp.log(y) + q * jnp.log1p(-y) - jax.scipy.special.betaln(p, q)) / p
    value = front / (1 + first / (1 + tail))
    return jnp.where(swap, 1 - value, value)

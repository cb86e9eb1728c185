"""Functions of numbers that JAX does not have, or has with other edges. All are elementwise."""

import jax
import jax.numpy as jnp
from jax import lax


def as_real(x: float | jax.Array) -> jax.Array:
    """x as floating point: whole numbers and truths become the default float, floats stay."""
    x = jnp.asarray(x)
    return x if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.asarray(x, float)


# ---- powers and logarithms


def magnitude(x: jax.Array) -> jax.Array:
    """|x| = x * sign(x), with derivative 0 at 0, where that of jnp.abs is 1."""
    x = as_real(x)
    return x * jnp.sign(x)


def square(x: jax.Array) -> jax.Array:
    """x^2 as floating point, so that whole numbers do not overflow."""
    return jnp.square(as_real(x))


def power(x: jax.Array, y: jax.Array) -> jax.Array:
    """x^y as floating point; 0^0 is 1, with derivative 0."""
    return jnp.power(jnp.where((x == 0) & (y == 0), 1.0, as_real(x)), y)


def log1mexp(x: jax.Array) -> jax.Array:
    """log(1 - exp(-x)) = log(-expm1(-x)) below log(2), log1p(-exp(-x)) above: exact at the ends."""
    small = x < 0.6931471805599453
    below = jnp.log(-jnp.expm1(-jnp.where(small, x, 1.0)))
    above = jnp.log1p(-jnp.exp(-jnp.where(small, 1.0, x)))
    return jnp.where(small, below, above)


def log_sigmoid(x: jax.Array) -> jax.Array:
    """log(1 / (1 + exp(-x))) = min(x, 0) - log1p(exp(-|x|)), with every derivative right at 0."""
    negative = x < 0
    return jnp.where(negative, x, 0.0) - jnp.log1p(jnp.exp(jnp.where(negative, x, -x)))


def xlogy(x: jax.Array, y: jax.Array) -> jax.Array:
    """x * log(y), and 0 where x is 0; the derivatives at x = y = 0 are 0."""
    return jax.scipy.special.xlogy(x, jnp.where((x == 0) & (y == 0), 1.0, y))


def logaddexp(a: jax.Array, b: jax.Array) -> jax.Array:
    """log(exp(a) + exp(b)) (PP07); -inf with derivatives 0 where both are -inf."""
    empty = (a == -jnp.inf) & (b == -jnp.inf)
    return jnp.where(
        empty, -jnp.inf, jnp.logaddexp(jnp.where(empty, 0.0, a), jnp.where(empty, 0.0, b))
    )


def logdiffexp(a: jax.Array, b: jax.Array) -> jax.Array:
    """log(exp(a) - exp(b)) = a + log1mexp(a - b), for a above b; -inf where they are equal."""
    equal = a == b
    difference = jnp.where(equal, 1.0, jnp.where(equal, 1.0, a) - jnp.where(equal, 0.0, b))
    return jnp.where(equal, -jnp.inf, a + log1mexp(difference))


# ---- probabilities and counts


def Phi(x: jax.Array) -> jax.Array:
    """P(z <= x) for z ~ Normal(0, 1) (CV08)."""
    return jax.scipy.special.ndtr(as_real(x))


def Phi_inverse(p: jax.Array) -> jax.Array:
    """The x with Phi(x) = p; infinite at 0 and 1."""
    return jax.scipy.special.ndtri(as_real(p))


def logistic(x: jax.Array) -> jax.Array:
    """1 / (1 + exp(-x)) (PP09)."""
    return jax.nn.sigmoid(as_real(x))


def lchoose(n: jax.Array, k: jax.Array) -> jax.Array:
    """log(n! / (k! (n - k)!)) = -log(n + 1) - lbeta(n - k + 1, k + 1); -inf for k above n."""
    n, k = as_real(n), as_real(k)
    rest = jnp.maximum(n - k, 0.0)
    ways = -jnp.log1p(n) - jax.scipy.special.betaln(rest + 1, k + 1)
    return jnp.where(k > n, -jnp.inf, ways)


# ---- whole numbers


def sign(x: jax.Array) -> jax.Array:
    """-1, 0 or 1, as a whole number."""
    return jnp.sign(as_real(x)).astype(int)


def step(x: jax.Array) -> jax.Array:
    """x >= 0, so step(0) is true (CF01)."""
    return x >= 0


def floor(x: jax.Array) -> jax.Array:
    """The largest whole number up to x."""
    return jnp.floor(as_real(x)).astype(int)


def ceil(x: jax.Array) -> jax.Array:
    """The smallest whole number from x up."""
    return jnp.ceil(as_real(x)).astype(int)


def nearest_int(x: jax.Array) -> jax.Array:
    """The nearest whole number, halves to the even one."""
    return jnp.round(as_real(x)).astype(int)


def trunc(x: jax.Array) -> jax.Array:
    """x without its fraction, as a whole number."""
    return jnp.trunc(as_real(x)).astype(int)


# ---- activations


def relu(x: jax.Array) -> jax.Array:
    """max(x, 0), with derivative 0 at 0 (PP09)."""
    return jax.nn.relu(as_real(x))


def leaky_relu(x: jax.Array, slope: float | jax.Array = 0.01) -> jax.Array:
    """x from 0 up, slope * x below."""
    return jax.nn.leaky_relu(as_real(x), slope)


def elu(x: jax.Array, alpha: float | jax.Array = 1.0) -> jax.Array:
    """x above 0, alpha * (exp(x) - 1) below."""
    return jax.nn.elu(as_real(x), alpha)


def silu(x: jax.Array) -> jax.Array:
    """x * logistic(x)."""
    return jax.nn.silu(as_real(x))


def gelu(x: jax.Array) -> jax.Array:
    """x * Phi(x), not its tanh approximation."""
    return jax.nn.gelu(as_real(x), approximate=False)


def huber(x: jax.Array, threshold: float | jax.Array = 1.0) -> jax.Array:
    """c * (x - c / 2) for c = clip(x, -t, t): x^2 / 2 up to t, t * (|x| - t / 2) beyond (SM03)."""
    x, threshold = as_real(x), as_real(threshold)
    inner = jnp.clip(x, -threshold, threshold)
    return inner * (x - inner / 2)


def soft_threshold(x: jax.Array, threshold: float | jax.Array = 1.0) -> jax.Array:
    """x - clip(x, -t, t): the proximal operator of t * |x| (SM03)."""
    x, threshold = as_real(x), as_real(threshold)
    return x - jnp.clip(x, -threshold, threshold)


# ---- the incomplete beta function, with the derivatives in its parameters that JAX leaves out


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
    _, by_a = jax.jvp(lambda v: beta_fraction(v, b, at), (a,), (jnp.ones_like(a),))
    _, by_b = jax.jvp(lambda v: beta_fraction(a, v, at), (b,), (jnp.ones_like(b),))
    density = jnp.exp(
        (a - 1) * jnp.log(at) + (b - 1) * jnp.log1p(-at) - jax.scipy.special.betaln(a, b)
    )
    d_a, d_b, d_x = (
        jnp.where(inside, derivative, 0.0) * tangent
        for derivative, tangent in zip((by_a, by_b, density), tangents, strict=True)
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


def within(x: jax.Array, low: float, high: float) -> jax.Array:
    """x, and not a number where it is outside."""
    return jnp.where((x >= low) & (x <= high), x, jnp.nan)


def on_simplex(x: jax.Array) -> jax.Array:
    """x, and not a number where it has parts below 0 or does not sum to 1."""
    is_whole = jnp.abs(jnp.sum(x, -1, keepdims=True) - 1) < 1e-3
    return jnp.where(is_whole & (jnp.min(x, -1, keepdims=True) >= 0), x, jnp.nan)


def guarded(is_taken: jax.Array, x: jax.Array) -> jax.Array:
    """x, which is a constant to derivatives where a branch that reads it is not taken."""
    return jnp.where(is_taken, x, lax.stop_gradient(x))

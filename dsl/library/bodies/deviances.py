"""Log densities without differences of large numbers, in the form of saddle points (Loader 2000).

lgamma(x + 1) = x log(x) - x + rest(x), and the large parts of several lgammas and powers meet in
deviances x log(x / m) - x + m, which are small where a density is large. So single precision keeps
its digits at counts and concentrations of millions.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .elementary import as_real, log_sigmoid


def log_factorial_rest(x: Any) -> jax.Array:
    """lgamma(x + 1) - x log(x) + x, by Stirling's series above 10."""
    x = as_real(x)
    is_large = x > 10
    large = jnp.where(is_large, x, 10.0)
    square = 1 / (large * large)
    series = 1 / 1188 - square * 691 / 360360
    for term in (1 / 1680, 1 / 1260, 1 / 360, 1 / 12):
        series = term - square * series
    above = jnp.log(2 * jnp.pi * large) / 2 + series / large
    small = jnp.where(is_large | (x <= 0), 1.0, x)
    below = jax.scipy.special.gammaln(small + 1) - small * jnp.log(small) + small
    return jnp.where(is_large, above, jnp.where(x <= 0, 0.0, below))


def deviance(x: Any, mean: Any, gap: Any, log_mean: Any = None) -> jax.Array:
    """x log(x / mean) - x + mean for gap = x - mean, which the caller knows to more digits.

    By v = gap / (x + mean) it is gap v + 2 x (v^3 / 3 + v^5 / 5 + ...). A mean that is too small
    for numbers may be told by its logarithm.
    """
    x, mean = as_real(x), as_real(mean)
    total = x + mean
    v = gap / jnp.where(total == 0, 1.0, total)
    is_near = (jnp.abs(v) < 0.1) & (x > 0)
    v = jnp.where(is_near, v, 0.0)
    square = v * v
    series = jnp.zeros_like(v)
    for odd in (17, 15, 13, 11, 9, 7, 5, 3):
        series = 1 / odd + square * series
    near = gap * v + 2 * x * v * square * series
    is_apart = ~is_near & (x > 0)
    place = jnp.where(is_apart, x, 1.0)
    other = jnp.where(is_apart, mean, 1.0)
    logarithm = jnp.log(place / other)
    if log_mean is not None:
        is_tiny = is_apart & (mean < 1e-30)
        logarithm = jnp.where(
            is_tiny,
            jnp.log(place) - log_mean,
            jnp.log(place / jnp.where(is_tiny, 1.0, other)),
        )
    far = jnp.where(is_apart, place * logarithm - gap, mean)
    return jnp.where(is_near, near, far)


def log_ratio(x: Any, y: Any) -> jax.Array:
    """log(x / y), to all digits where x is near y."""
    is_near = (x > y / 2) & (x < 2 * y)
    near = jnp.log1p(jnp.where(is_near, x - y, 0.0) / y)
    return jnp.where(is_near, near, jnp.log(jnp.where(is_near, 1.0, x / y)))


def poisson_log_mass(x: Any, rate: Any, log_rate: Any = None) -> jax.Array:
    """x log(rate) - rate - log x!; at rate 0 all mass is at 0, the impossible has derivative 0."""
    place = jnp.maximum(as_real(x), 0.0)
    is_nothing = (rate == 0) & (place > 0) if log_rate is None else jnp.zeros_like(place, bool)
    safe = jnp.where(is_nothing, 1.0, rate)
    is_huge = jnp.isinf(safe)
    usual = jnp.where(is_huge, 1.0, safe)
    mass = -deviance(place, usual, place - usual, log_rate) - log_factorial_rest(place)
    return jnp.where((x < 0) | is_nothing, -jnp.inf, jnp.where(is_huge, -safe, mass))


def binomial_log_mass(x: Any, n: Any, yes: Any, no: Any, logits: Any = None) -> jax.Array:
    """log C(n, x) yes^x no^(n - x), where both probabilities have all their digits."""
    x, n = as_real(x), as_real(n)
    x = jnp.clip(x, 0.0, n)
    rest = n - x
    gap = x * no - rest * yes
    log_yes = None if logits is None else jnp.log(jnp.maximum(n, 1.0)) + log_sigmoid(logits)
    log_no = None if logits is None else jnp.log(jnp.maximum(n, 1.0)) + log_sigmoid(-logits)
    ways = log_factorial_rest(n) - log_factorial_rest(x) - log_factorial_rest(rest)
    spread = deviance(x, n * yes, gap, log_yes) + deviance(rest, n * no, -gap, log_no)
    return ways - spread


# ---- where a probability is 0: d log Z = dp / Z is finite, as a product of 0 and infinity


@jax.custom_jvp
def steep(p: jax.Array, rise: jax.Array) -> jax.Array:
    """Nothing, with the derivative rise / least in p, which engines multiply by the least mass.

    The least is that of dpc.inference.engines.limits. Second derivatives are not known.
    """
    return jnp.zeros(jnp.broadcast_shapes(p.shape, rise.shape), p.dtype)


@steep.defjvp
def _steep_slope(primals: Any, tangents: Any) -> Any:
    (p, rise), (dp, _) = primals, tangents
    return steep(p, rise), rise * dp * steepness(p)


@jax.custom_jvp
def steepness(p: jax.Array) -> jax.Array:
    """1 / least, without a derivative."""
    return jnp.full(p.shape, 1e150 if p.dtype.itemsize == 8 else 1e18, p.dtype)


@steepness.defjvp
def _no_slope(primals: Any, tangents: Any) -> Any:
    (p,), (dp,) = primals, tangents
    return steepness(p), jnp.nan * dp


def poisson_limit(x: Any, rate: Any) -> jax.Array:
    """The log mass; at rate 0 the probability of 1 begins to rise by 1."""
    x, rate = as_real(x), as_real(rate)
    is_impossible = (rate == 0) & (x > 0)
    usual = poisson_log_mass(x, jnp.where(is_impossible, 1.0, rate))
    rise = jnp.where(x == 1, 1.0, 0.0)
    return jnp.where(is_impossible, steep(rate, rise) - jnp.inf, usual)


def binomial_limit(x: Any, n: Any, p: Any) -> jax.Array:
    """The log mass; at p = 0 that of 1, and at p = 1 that of n - 1, begins to move by n."""
    x, n, p = as_real(x), as_real(n), as_real(p)
    is_impossible = ((p == 0) & (x > 0)) | ((p == 1) & (x < n))
    usual = jnp.where(is_impossible, 0.5, p)
    rise = jnp.where((p == 0) & (x == 1), n, jnp.where((p == 1) & (x == n - 1), -n, 0.0))
    mass = binomial_log_mass(x, n, usual, 1 - usual)
    return jnp.where(is_impossible, steep(p, rise) - jnp.inf, mass)


def negative_binomial_log_mass(
    x: Any, shape: Any, yes: Any, no: Any, gap: Any, log_no: Any = None
) -> jax.Array:
    """log C(x + shape - 1, x) yes^shape no^x, for gap = shape no - x yes."""
    x = jnp.maximum(as_real(x), 0.0)
    total = x + shape
    log_mean = None if log_no is None else jnp.log(total) + log_no
    ways = log_factorial_rest(total) - log_factorial_rest(shape) - log_factorial_rest(x)
    spread = deviance(shape, total * yes, gap) + deviance(x, total * no, -gap, log_mean)
    return ways - spread - jnp.log1p(x / shape)


def beta_binomial_log_mass(x: Any, n: Any, a: Any, b: Any) -> jax.Array:
    """log C(n, x) B(x + a, n - x + b) / B(a, b): the table of x, n - x, a and b is compared with
    the products of its margins.
    """
    x, n = as_real(x), as_real(n)
    x = jnp.clip(x, 0.0, n)
    y, s = n - x, a + b
    total = n + s
    gap = (x * b - y * a) / total
    spread = (
        deviance(x, n * (x + a) / total, gap)
        + deviance(a, s * (x + a) / total, -gap)
        + deviance(y, n * (y + b) / total, -gap)
        + deviance(b, s * (y + b) / total, gap)
    )
    rest = log_factorial_rest
    ways = rest(n) - rest(x) - rest(y) + rest(s) - rest(a) - rest(b)
    ways = ways + rest(x + a) + rest(y + b) - rest(total)
    return ways - spread - jnp.log1p(x / a) - jnp.log1p(y / b) + jnp.log1p(n / s)


def gamma_log_density(x: Any, shape: Any, mean: Any, gap: Any) -> jax.Array:
    """That of a Gamma with rate 1, times x: shape log(mean) - mean - lgamma(shape) at its mean."""
    x, shape, mean, gap = map(as_real, (x, shape, mean, gap))
    return jnp.log(shape) - log_factorial_rest(shape) - deviance(shape, mean, gap) - jnp.log(x)


def beta_log_density(x: Any, a: Any, b: Any) -> jax.Array:
    """(a - 1) log(x) + (b - 1) log(1 - x) - log B(a, b)."""
    x, a, b = as_real(x), as_real(a), as_real(b)
    total = a + b
    is_inside = (x > 0) & (x < 1)
    place = jnp.where(is_inside, x, 0.5)
    gap = a * (1 - place) - b * place
    spread = deviance(a, total * place, gap) + deviance(b, total * (1 - place), -gap)
    rest = log_factorial_rest
    ways = rest(total) - rest(a) - rest(b) + jnp.log(a) + jnp.log(b / total)
    inside = ways - spread - jnp.log(place) - jnp.log1p(-place)
    ends = jax.scipy.special.xlogy(a - 1, x) + jax.scipy.special.xlog1py(b - 1, -x)
    powers = a * jnp.log(a / total) + b * jnp.log(b / total)
    return jnp.where(is_inside, inside, ends + ways - powers)


def log_gamma_ratio(h: Any, step: Any) -> jax.Array:
    """lgamma(h + step) - lgamma(h) - step log(h)."""
    h = as_real(h)
    rests = log_factorial_rest(h + step) - log_factorial_rest(h)
    found: jax.Array = (h + step - 1) * jnp.log1p(step / h) - step + rests
    return found

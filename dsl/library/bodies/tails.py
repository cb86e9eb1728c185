"""Distribution functions in closed form, by logarithms from below and from above.

Each `_tails` gives of a distribution log P(X < x), log P(X > x), and the quantile as a function of
both logarithms, of which one has digits where the other has none. The derivatives are those of
these formulas, which lose no digits far out. Nothing is asked outside of the support.
"""

# NumPyro has no types.
# mypy: disable-error-code="misc,no-any-return,no-untyped-call,untyped-decorator"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .elementary import log1mexp, log_sigmoid
from .smooth import expm1_ratio, log1p_ratio

# ---- rates: P(X > x) = exp(-y), for a y whose logarithm is known


def log_cdf_of_rate(log_y: Any) -> Any:
    """log(1 - exp(-y)), where y itself may be too small or too large for a number."""
    limit = jnp.log(jnp.finfo(jnp.result_type(log_y)).max) - 1
    is_huge = log_y > limit
    ratio = expm1_ratio(-jnp.exp(jnp.where(is_huge, 0.0, log_y)))
    return jnp.where(is_huge, 0.0, log_y + jnp.log(ratio))


def log_rate(below: Any, above: Any) -> Any:
    """log(y) for log(1 - exp(-y)) = below and -y = above."""
    is_small = below < -1
    small, large = jnp.where(is_small, below, -1.0), jnp.where(is_small, -1.0, above)
    return jnp.where(is_small, small + jnp.log(log1p_ratio(-jnp.exp(small))), jnp.log(-large))


def rate_of(below: Any, above: Any) -> Any:
    """y itself."""
    is_small = below < -1
    small = jnp.where(is_small, below, -1.0)
    return jnp.where(is_small, -jnp.log1p(-jnp.exp(small)), -above)


def exponential_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    rate = base.rate
    return (
        lambda x: log_cdf_of_rate(jnp.log(rate * x)),
        lambda x: -rate * x,
        lambda below, above: rate_of(below, above) / rate,
    )


def weibull_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    shape, scale = base.concentration, base.scale

    def log_y(x: Any) -> Any:
        return shape * jnp.log(x / scale)

    return (
        lambda x: log_cdf_of_rate(log_y(x)),
        lambda x: -jnp.exp(log_y(x)),
        lambda below, above: scale * jnp.exp(log_rate(below, above) / shape),
    )


def gompertz_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    shape, rate = base.concentration, base.rate

    def y(x: Any) -> Any:
        return shape * jnp.expm1(rate * x)

    return (
        lambda x: log_cdf_of_rate(jnp.log(y(x))),
        lambda x: -y(x),
        lambda below, above: jnp.log1p(rate_of(below, above) / shape) / rate,
    )


def pareto_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    scale, alpha = base.scale, base.alpha

    def y(x: Any) -> Any:
        return alpha * jnp.log(x / scale)

    return (
        lambda x: log_cdf_of_rate(jnp.log(y(x))),
        lambda x: -y(x),
        lambda below, above: scale * jnp.exp(rate_of(below, above) / alpha),
    )


def kumaraswamy_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    """P(X > x) = (1 - x^a)^b."""
    a, b = base.concentration1, base.concentration0

    def y(x: Any) -> Any:
        return -b * log1mexp(-a * jnp.log(x))

    def log_cdf(x: Any) -> Any:
        """Where x^a is too small for a number, y is b x^a."""
        power = a * jnp.log(x)
        is_small = power < -30
        log_y = jnp.log(y(jnp.where(is_small, 0.5, x)))
        return log_cdf_of_rate(jnp.where(is_small, jnp.log(b) + power, log_y))

    def quantile(below: Any, above: Any) -> Any:
        log_y = log_rate(below, above) - jnp.log(b)
        return jnp.exp(log_cdf_of_rate(log_y) / a)

    return log_cdf, lambda x: -y(x), quantile


def gumbel_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    """P(X < x) = exp(-y) with log(y) = (loc - x) / scale."""
    loc, scale = base.loc, base.scale
    return (
        lambda x: -jnp.exp((loc - x) / scale),
        lambda x: log_cdf_of_rate((loc - x) / scale),
        lambda below, above: loc - scale * log_rate(above, below),
    )


# ---- the same on both sides of the location, or nearly so


def laplace_sides(
    loc: Any, left: Any, right: Any, shares: tuple[Any, Any]
) -> tuple[Callable[..., Any], ...]:
    """Exponential on both sides, with the logarithms of their masses."""

    def sides(x: Any) -> tuple[Any, Any]:
        is_below = x < loc
        below = shares[0] + jnp.where(is_below, x - loc, 0.0) / left
        above = shares[1] - jnp.where(is_below, 0.0, x - loc) / right
        log_cdf = jnp.where(is_below, below, log1mexp(-above))
        return log_cdf, jnp.where(is_below, log1mexp(-below), above)

    def quantile(below: Any, above: Any) -> Any:
        is_below = below < shares[0]
        low = left * (below - shares[0])
        return loc + jnp.where(is_below, low, right * (shares[1] - above))

    return lambda x: sides(x)[0], lambda x: sides(x)[1], quantile


def laplace_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    half = -0.6931471805599453
    return laplace_sides(base.loc, base.scale, base.scale, (half, half))


def asymmetric_laplace_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    own = getattr(base, "_ald", base)
    left, right = own.scale * own.asymmetry, own.scale / own.asymmetry
    log_odds = 2 * jnp.log(own.asymmetry)
    shares = log_sigmoid(log_odds), log_sigmoid(-log_odds)
    return laplace_sides(own.loc, left, right, shares)


def logistic_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    loc, scale = base.loc, base.scale
    return (
        lambda x: log_sigmoid((x - loc) / scale),
        lambda x: log_sigmoid((loc - x) / scale),
        lambda below, above: loc + scale * (below - above),
    )


def cauchy_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    loc, scale = base.loc, base.scale

    def quantile(below: Any, above: Any) -> Any:
        distance = scale / jnp.tan(jnp.pi * jnp.exp(jnp.minimum(below, above)))
        return loc + jnp.where(below < above, -distance, distance)

    return (
        lambda x: jnp.log(jnp.arctan2(scale, loc - x) / jnp.pi),
        lambda x: jnp.log(jnp.arctan2(scale, x - loc) / jnp.pi),
        quantile,
    )


def half_cauchy_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    scale = base.scale

    def quantile(below: Any, above: Any) -> Any:
        angle = jnp.pi / 2 * jnp.exp(jnp.minimum(below, above))
        return scale * jnp.where(below < above, jnp.tan(angle), 1 / jnp.tan(angle))

    return (
        lambda x: jnp.log(2 / jnp.pi * jnp.arctan2(x, scale)),
        lambda x: jnp.log(2 / jnp.pi * jnp.arctan2(scale, x)),
        quantile,
    )


# ---- the Gaussian and what is made of it


def mills_nodes() -> tuple[Any, Any]:
    """Double-exponential nodes on (0, inf) for exp(-t - t^2 / 2 z^2), with weights."""
    turns = jnp.arange(-3.4, 4.0, 0.0625)
    nodes = jnp.exp(turns - jnp.exp(-turns))
    return nodes, 0.0625 * nodes * (1 + jnp.exp(-turns))


@jnp.vectorize
def log_Phi(z: Any) -> Any:
    """log of the Gaussian distribution function.

    Below -1 it is the log density at z plus that of the integral of exp(z t - t^2 / 2) over t > 0:
    its derivatives have all digits as far out as one likes, those of log_ndtr have not.
    """
    is_far = z < -1
    far, near = jnp.where(is_far, z, -2.0), jnp.where(is_far, 0.0, z)
    nodes, weights = mills_nodes()
    times = nodes / lax.stop_gradient(-far)
    integral = jnp.sum(weights * jnp.exp(far * times - jnp.square(times) / 2))
    log_density = -jnp.square(far) / 2 - 0.9189385332046727
    beyond = log_density - jnp.log(lax.stop_gradient(-far)) + jnp.log(integral)
    return jnp.where(is_far, beyond, jax.scipy.special.log_ndtr(near))


@jax.custom_jvp
def ndtri_exp(level: jax.Array) -> jax.Array:
    """The z with log(Phi(z)) = level, by Newton's steps on the logarithm, which is concave."""
    far = -jnp.sqrt(jnp.maximum(-2 * level, 1.0))
    near = jax.scipy.special.ndtri(jnp.exp(jnp.maximum(level, -10.0)))

    def step(_: int, z: jax.Array) -> jax.Array:
        return z - (log_Phi(z) - level) / hazard(z)

    return jnp.where(level > -10, near, lax.fori_loop(0, 8, step, far))


@ndtri_exp.defjvp
def ndtri_exp_jvp(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    found = ndtri_exp(*primals)
    return found, tangents[0] / hazard(found)


@jnp.vectorize
def hazard(z: jax.Array) -> jax.Array:
    """phi(z) / Phi(z), the derivative of log(Phi(z))."""
    return jax.grad(log_Phi)(z)


def log_erf(z: Any) -> Any:
    """log P(|Z| < z) of a standard normal Z."""
    return jnp.log(jax.scipy.special.erf(z / 1.4142135623730951))


def log_erfc(z: Any) -> Any:
    """log P(|Z| > z) of a standard normal Z."""
    return 0.6931471805599453 + log_Phi(-z)


def half_gaussian(below: Any, above: Any) -> Any:
    """The z with these log P(|Z| < z), log P(|Z| > z)."""
    is_near = below < above
    near = 1.4142135623730951 * lax.erf_inv(jnp.exp(jnp.where(is_near, below, -1.0)))
    far = -ndtri_exp(jnp.where(is_near, -1.0, above) - 0.6931471805599453)
    return jnp.where(is_near, near, far)


def gaussian_quantile(below: Any, above: Any) -> Any:
    z = ndtri_exp(jnp.minimum(below, above))
    return jnp.where(below < above, z, -z)


def gaussian_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    loc, scale = base.loc, base.scale
    return (
        lambda x: log_Phi((x - loc) / scale),
        lambda x: log_Phi((loc - x) / scale),
        lambda below, above: loc + scale * gaussian_quantile(below, above),
    )


def log_normal_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    loc, scale = base.loc, base.scale
    return (
        lambda x: log_Phi((jnp.log(x) - loc) / scale),
        lambda x: log_Phi((loc - jnp.log(x)) / scale),
        lambda below, above: jnp.exp(loc + scale * gaussian_quantile(below, above)),
    )


def half_normal_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    scale = base.scale
    return (
        lambda x: log_erf(x / scale),
        lambda x: log_erfc(x / scale),
        lambda below, above: scale * half_gaussian(below, above),
    )


def levy_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    """loc + scale / z^2 for a standard normal z: what is above is near 0."""
    loc, scale = base.loc, base.scale
    return (
        lambda x: log_erfc(jnp.sqrt(scale / (x - loc))),
        lambda x: log_erf(jnp.sqrt(scale / (x - loc))),
        lambda below, above: loc + scale / jnp.square(half_gaussian(above, below)),
    )


# ---- between two ends


def uniform_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    low, high = base.low, base.high
    width = high - low

    def quantile(below: Any, above: Any) -> Any:
        is_low = below < above
        return jnp.where(is_low, low + width * jnp.exp(below), high - width * jnp.exp(above))

    return lambda x: jnp.log((x - low) / width), lambda x: jnp.log((high - x) / width), quantile


def log_uniform_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    low, high = base.low, base.high
    width = jnp.log(high / low)

    def quantile(below: Any, above: Any) -> Any:
        near, far = low * jnp.exp(width * jnp.exp(below)), high * jnp.exp(-width * jnp.exp(above))
        return jnp.where(below < above, near, far)

    return (
        lambda x: jnp.log(jnp.log(x / low) / width),
        lambda x: jnp.log(jnp.log(high / x) / width),
        quantile,
    )


def relaxed_bernoulli_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    """Its logit is (logits + logistic noise) / temperature."""
    logits, temperature = base.logits, base.temperature

    def noise(x: Any) -> Any:
        return temperature * jax.scipy.special.logit(x) - logits

    return (
        lambda x: log_sigmoid(noise(x)),
        lambda x: log_sigmoid(-noise(x)),
        lambda below, above: jax.nn.sigmoid((logits + below - above) / temperature),
    )


# ---- where no better formulas are known


def plain_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    """By 1 - cdf, which is no number where it has lost its digits."""

    def sides(x: Any) -> tuple[Any, Any]:
        below = base.cdf(x)
        above = 1 - below
        least = 1000 * jnp.finfo(jnp.result_type(above)).eps
        # A cdf that is 1 may be so by rounding.
        return jnp.log(below), jnp.log(jnp.where(above > least, above, jnp.nan))

    def quantile(below: Any, above: Any) -> Any:
        is_low = below < above
        low, high = jnp.exp(jnp.where(is_low, below, -1.0)), jnp.exp(jnp.where(is_low, -1.0, above))
        return base.icdf(jnp.where(is_low, low, 1 - high))

    return lambda x: sides(x)[0], lambda x: sides(x)[1], quantile

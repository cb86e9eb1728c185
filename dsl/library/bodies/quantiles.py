"""Quantiles that have no formula: of Gamma, Beta and StudentT, with derivatives of any order.

The level F(x) is that of JAX, its derivatives are those of the integral of the density, and the
quantile solves F(x) = level, so that its derivatives are implicit: dx = (dlevel - dF) / density.
"""

# NumPyro has no types.
# mypy: disable-error-code="no-any-return,untyped-decorator"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def log_nodes() -> tuple[Any, Any]:
    """Double-exponential nodes: logarithms of points of (0, 1), and d log(point) at each."""
    steps = jnp.arange(-6.0, 3.0, 0.0625)
    logits = jnp.pi * jnp.sinh(steps)
    weights = 0.0625 * jnp.pi * jnp.cosh(steps) * jax.nn.sigmoid(-logits)
    return jax.nn.log_sigmoid(logits), weights


def with_value(differentiated: Any, value: Any) -> Any:
    """This value, with the derivatives of another way to get it."""
    return differentiated + lax.stop_gradient(value - differentiated)


def solved(
    level: Any, ends: tuple[Any, Any], given: tuple[Any, ...], plain: Any, full: Any, slope: Any
) -> Any:
    """The place where a monotone function of what is given, and of the place, has this level.

    `plain` and `full` are the same function, without and with all its derivatives, and `slope` is
    that in the place. Newton's steps for the logarithm of the level, within a bracket.
    """
    fixed_level, fixed, (low, high) = lax.stop_gradient((level, given, ends))
    is_rising = plain(*fixed, low) < plain(*fixed, high)

    def step(_: Any, state: Any) -> Any:
        low, high, place = state
        own, rise = plain(*fixed, place), slope(*fixed, place)
        is_below = (own < fixed_level) == is_rising
        low, high = jnp.where(is_below, place, low), jnp.where(is_below, high, place)
        new = place + jnp.log(fixed_level / own) * own / rise
        return low, high, jnp.where((new > low) & (new < high), new, (low + high) / 2)

    low, high = (jnp.asarray(end, jnp.result_type(level)) for end in (low, high))
    place = lax.fori_loop(0, 30, step, (low, high, (low + high) / 2))[2]
    # A step has the first derivatives of the solution, two have the second ones, too.
    for _ in range(2):
        rise = slope(*given, place)
        is_flat = rise == 0
        change = (level - full(*given, place)) / jnp.where(is_flat, 1.0, rise)
        place = place + jnp.where(is_flat, 0.0, change)
    return place


# ---- Gamma at rate 1


def gamma_density(shape: Any, log_z: Any) -> Any:
    """That of log z."""
    return jnp.exp(shape * log_z - jnp.exp(log_z) - lax.lgamma(shape))


def gamma_integral(shape: Any, z: Any) -> Any:
    """P(a, z) is the integral of the density of log t for t up to z, or 1 less that beyond it.

    The side is taken that has no more than about half; beyond exp(40) nothing is left.
    """
    logs, weights = log_nodes()
    is_low = z < shape
    low, high = jnp.where(is_low, z, 1.0), jnp.where(is_low, 1.0, z)
    below = jnp.sum(weights * gamma_density(shape, jnp.log(low) + logs))
    log_t = jnp.minimum(jnp.log(high) - logs, 40.0)
    return jnp.where(is_low, below, 1 - jnp.sum(weights * gamma_density(shape, log_t)))


@jnp.vectorize
def gamma_level(shape: Any, z: Any) -> Any:
    value = jax.scipy.special.gammainc(*lax.stop_gradient((shape, z)))
    return with_value(gamma_integral(shape, z), value)


@jnp.vectorize
def gamma_level_above(shape: Any, z: Any) -> Any:
    value = jax.scipy.special.gammaincc(*lax.stop_gradient((shape, z)))
    return with_value(1 - gamma_integral(shape, z), value)


def gamma_ends(shape: Any, log_level: Any) -> tuple[Any, Any]:
    """log z lies between: P(a, z) is at most z^a / gamma(a + 1)."""
    least = (log_level + lax.lgamma(shape + 1)) / shape - 1
    return least, jnp.log(shape + 40 * jnp.sqrt(shape) + 750)


@jnp.vectorize
def gamma_quantile(shape: Any, q: Any) -> Any:
    found = solved(
        q,
        gamma_ends(shape, jnp.log(q)),
        (shape,),
        lambda a, log_z: jax.scipy.special.gammainc(a, jnp.exp(log_z)),
        lambda a, log_z: gamma_level(a, jnp.exp(log_z)),
        gamma_density,
    )
    return jnp.exp(found)


@jnp.vectorize
def gamma_quantile_above(shape: Any, q: Any) -> Any:
    found = solved(
        q,
        gamma_ends(shape, jnp.log1p(-q)),
        (shape,),
        lambda a, log_z: jax.scipy.special.gammaincc(a, jnp.exp(log_z)),
        lambda a, log_z: gamma_level_above(a, jnp.exp(log_z)),
        lambda a, log_z: -gamma_density(a, log_z),
    )
    return jnp.exp(found)


def gamma_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    shape, rate = 1.0 * base.concentration, base.rate
    return (
        lambda x: gamma_level(shape, rate * x),
        lambda q: gamma_quantile(shape, q) / rate,
        lambda x: gamma_level_above(shape, rate * x),
        lambda q: gamma_quantile_above(shape, q) / rate,
    )


def inverse_gamma_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    """1 / x is Gamma, so that what is above is below."""
    shape, rate = 1.0 * base.concentration, base.rate
    return (
        lambda x: gamma_level_above(shape, rate / x),
        lambda q: rate / gamma_quantile_above(shape, q),
        lambda x: gamma_level(shape, rate / x),
        lambda q: rate / gamma_quantile(shape, q),
    )


# ---- Beta, in the logit of x


def beta_density(a: Any, b: Any, log_x: Any, log_rest: Any) -> Any:
    """That of logit x."""
    log_beta = lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b)
    return jnp.exp(a * log_x + b * log_rest - log_beta)


def beta_integral(a: Any, b: Any, log_x: Any) -> Any:
    """I(x; a, b) is the integral of t^a (1 - t)^(b - 1) / B(a, b) over log t, for t up to x."""
    logs, weights = log_nodes()
    log_t = log_x + logs
    rest = -jnp.expm1(log_t)
    return jnp.sum(weights * beta_density(a, b, log_t, jnp.log(rest)) / rest)


@jnp.vectorize
def beta_level(a: Any, b: Any, logit: Any) -> Any:
    """From the side on which x lies of its mean, where the density has no pole."""
    is_low = logit < jnp.log(a / b)
    below = beta_integral(a, b, jnp.where(is_low, jax.nn.log_sigmoid(logit), -1.0))
    above = beta_integral(b, a, jnp.where(is_low, -1.0, jax.nn.log_sigmoid(-logit)))
    value = jax.scipy.special.betainc(*lax.stop_gradient((a, b, jax.nn.sigmoid(logit))))
    return with_value(jnp.where(is_low, below, 1 - above), value)


@jnp.vectorize
def beta_quantile(a: Any, b: Any, q: Any) -> Any:
    """The logit of x."""

    def plain(a: Any, b: Any, logit: Any) -> Any:
        return jax.scipy.special.betainc(a, b, jax.nn.sigmoid(logit))

    def slope(a: Any, b: Any, logit: Any) -> Any:
        return beta_density(a, b, jax.nn.log_sigmoid(logit), jax.nn.log_sigmoid(-logit))

    return solved(q, (-700.0, 700.0), (a, b), plain, beta_level, slope)


def beta_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    a, b = 1.0 * base.concentration1, 1.0 * base.concentration0
    return (
        lambda x: beta_level(a, b, jax.scipy.special.logit(x)),
        lambda q: jax.nn.sigmoid(beta_quantile(a, b, q)),
        lambda x: beta_level(b, a, -jax.scipy.special.logit(x)),
        lambda q: jax.nn.sigmoid(-beta_quantile(b, a, q)),
    )


def kumaraswamy_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    """P(x > v) = (1 - v^a)^b."""
    a, b = base.concentration1, base.concentration0
    return (
        lambda x: -jnp.expm1(b * jnp.log1p(-(x**a))),
        lambda q: (-jnp.expm1(jnp.log1p(-q) / b)) ** (1 / a),
        lambda x: (1 - x**a) ** b,
        lambda q: (-jnp.expm1(jnp.log(q) / b)) ** (1 / a),
    )


# ---- StudentT at location 0 and scale 1, in asinh(z)


def student_density(df: Any, z: Any) -> Any:
    log_scale = lax.lgamma((df + 1) / 2) - lax.lgamma(df / 2) - jnp.log(df * jnp.pi) / 2
    return jnp.exp(log_scale - (df + 1) / 2 * jnp.log1p(z**2 / df))


@jnp.vectorize
def student_survival(df: Any, z: Any) -> Any:
    """P(t > z) is 1/2 less the integral of the density from 0 to z."""
    logs, weights = log_nodes()
    points = jnp.exp(logs)
    integral = z * jnp.sum(weights * points * student_density(df, z * points))
    return with_value(0.5 - integral, student_survival_value(*lax.stop_gradient((df, z))))


def student_survival_value(df: Any, z: Any) -> Any:
    half = jnp.asarray(0.5, jnp.result_type(df))
    tail = jax.scipy.special.betainc(df / 2, half, df / (df + z**2)) / 2
    return jnp.where(z > 0, tail, 1 - tail)


@jnp.vectorize
def student_inverse(df: Any, q: Any) -> Any:
    """The z with P(t > z) = q."""

    found = solved(
        q,
        (-40.0, 40.0),
        (df,),
        lambda df, y: student_survival_value(df, jnp.sinh(y)),
        lambda df, y: student_survival(df, jnp.sinh(y)),
        lambda df, y: -student_density(df, jnp.sinh(y)) * jnp.cosh(y),
    )
    return jnp.sinh(found)


def student_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    df, loc, scale = 1.0 * base.df, base.loc, base.scale
    return (
        lambda x: student_survival(df, (loc - x) / scale),
        lambda q: loc - scale * student_inverse(df, q),
        lambda x: student_survival(df, (x - loc) / scale),
        lambda q: loc + scale * student_inverse(df, q),
    )


def half_student_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    df, scale = 1.0 * base.base_dist.df, base.base_dist.scale
    return (
        lambda x: 1 - 2 * student_survival(df, x / scale),
        lambda q: scale * student_inverse(df, (1 - q) / 2),
        lambda x: 2 * student_survival(df, x / scale),
        lambda q: scale * student_inverse(df, q / 2),
    )

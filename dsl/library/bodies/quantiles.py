"""Distribution functions and quantiles without a formula: of Gamma, Beta and StudentT.

All is by logarithms. In log z, in the logit of x and in log |t| these three densities are concave
logarithms, exp(g(u)), so that a tail is exp(g(u)) times the integral of exp(g(u + v) - g(u)) over
v > 0: no digits are lost however far out, and derivatives of any order are those of the integral.
The quantile solves log F(u) = level, so that its derivatives are implicit.
"""

# NumPyro has no types.
# mypy: disable-error-code="no-any-return,untyped-decorator"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .elementary import log1mexp, log_sigmoid


def half_line_nodes(step: float) -> tuple[Any, Any]:
    """Double-exponential nodes on (0, inf) for what decays at least like exp(-v), with weights."""
    # From 1e-15 on; up to 4e5, as slopes at the end of a tail may be less steep than here.
    turns = jnp.arange(-3.4, 13.0, step)
    nodes = jnp.exp(turns - jnp.exp(-turns))
    return nodes, step * nodes * (1 + jnp.exp(-turns))


def unit_nodes() -> tuple[Any, Any]:
    """Double-exponential nodes on (0, 1), with weights."""
    turns = jnp.arange(-3.2, 3.2, 0.0625)
    logits = jnp.pi * jnp.sinh(turns)
    nodes = jax.nn.sigmoid(logits)
    weights = 0.0625 * jnp.pi * jnp.cosh(turns) * nodes * jax.nn.sigmoid(-logits)
    return nodes, weights


def log_tail(gain: Callable[[Any], Any], slope: Any, bend: Any, step: float) -> Any:
    """log of the integral of exp(gain(v)) over v > 0, of a concave gain that falls from gain(0) = 0
    with these first two derivatives.
    """
    nodes, weights = half_line_nodes(step)
    # |slope| v + |bend| v^2 / 2 = 1 there. The integral is the same for any length.
    length = 2 / (-slope + jnp.sqrt(jnp.square(slope) - 2 * bend))
    # What bends a density bends it within a few units of these logarithms.
    length = lax.stop_gradient(jnp.minimum(length, 1.0))
    is_needed = lax.stop_gradient(gain(length * nodes)) > -100
    # Beyond, a gain may overflow, and its derivative with it.
    places = jnp.where(is_needed, length * nodes, 0.0)
    terms = jnp.where(is_needed, weights * jnp.exp(gain(places)), 0.0)
    return jnp.log(length) + jnp.log(jnp.sum(terms))


def log_growth(share: Any, rest: Any, v: Any) -> Any:
    """log(rest + share exp(v)) with share + rest = 1, for v > 0: 0 at 0, without overflow."""
    is_near = v < 1
    near, far = jnp.where(is_near, v, 0.0), jnp.where(is_near, 1.0, v)
    beyond = far + jnp.log1p(rest * jnp.expm1(-far))
    return jnp.where(is_near, jnp.log1p(share * jnp.expm1(near)), beyond)


def solved(
    logs: tuple[Any, Any], ends: tuple[Any, Any], given: tuple[Any, ...], levels: Any, density: Any
) -> Any:
    """The u with `log P(< u), log P(> u)` equal to `logs`, by the lesser of the two.

    `levels(*given, u, step)` are both, with quadrature of this step, `density` is the log of the
    density of u. Newton's steps for the logarithm of the level, within a bracket.
    """
    is_low = logs[0] < logs[1]
    wanted: Any = jnp.where(is_low, *logs)
    sign = jnp.where(is_low, 1.0, -1.0)

    def change(place: Any, step: float) -> Any:
        found: Any = jnp.where(is_low, *levels(*given, place, step))
        return sign * (wanted - found) * jnp.exp(found - density(*given, place))

    def turn(state: Any) -> Any:
        count, low, high, place, _ = state
        move = change(place, 0.25)
        low, high = jnp.where(move > 0, place, low), jnp.where(move > 0, high, place)
        new = place + move
        new = jnp.where((new > low) & (new < high), new, (low + high) / 2)
        return count + 1, low, high, new, jnp.abs(new - place)

    low, high = (jnp.asarray(end, jnp.result_type(wanted)) for end in ends)
    # Until the digits of the coarse rule are there; the finer one doubles them twice.
    start = (0, low, high, (low + high) / 2, jnp.full_like(low, jnp.inf))
    place = lax.while_loop(lambda state: (state[0] < 60) & (state[4] > 1e-4), turn, start)[3]
    return lax.fori_loop(0, 2, lambda _, place: place + change(place, 0.05), place)


def implicit(root: Any, levels: Any, density: Any, given: Any, moves: Any) -> tuple[Any, Any]:
    """The root and its derivative: du = (dlevel - dlog F) F / density; derivatives of these too."""
    found = root(*given)
    *own, below, above = given
    *own_moves, below_move, above_move = moves
    is_low = below < above

    def level(*own: Any) -> Any:
        return jnp.where(is_low, *levels(*own, found))

    value, change = jax.jvp(level, tuple(own), tuple(own_moves))
    sign = jnp.where(is_low, 1.0, -1.0)
    move = jnp.where(is_low, below_move, above_move) - change
    return found, sign * move * jnp.exp(value - density(*own, found))


def by_the_tail(is_low: Any, tail: Any) -> tuple[Any, Any]:
    """log P(< u) and log P(> u), of which one is the tail."""
    other = log1mexp(-tail)
    return jnp.where(is_low, tail, other), jnp.where(is_low, other, tail)


# ---- Gamma at rate 1, in u = log z


def gamma_density(shape: Any, u: Any) -> Any:
    """The log of that of u."""
    return shape * u - jnp.exp(u) - lax.lgamma(shape)


def gamma_levels(shape: Any, u: Any, step: float = 0.05) -> tuple[Any, Any]:
    """log P(< u) and log P(> u); the density rises up to u = log(shape)."""
    is_low = u < jnp.log(shape)
    z, sign = jnp.exp(u), jnp.where(is_low, -1.0, 1.0)

    def gain(v: Any) -> Any:
        return sign * shape * v - z * jnp.expm1(sign * v)

    tail = log_tail(gain, sign * (shape - z), -z, step)
    return by_the_tail(is_low, gamma_density(shape, u) + tail)


@jnp.vectorize
def gamma_log_cdf(shape: Any, z: Any) -> Any:
    return gamma_levels(shape, jnp.log(z))[0]


@jnp.vectorize
def gamma_log_survival(shape: Any, z: Any) -> Any:
    return gamma_levels(shape, jnp.log(z))[1]


@jax.custom_jvp
def gamma_root(shape: Any, below: Any, above: Any) -> Any:
    """P(z) is at most z^a / gamma(a + 1), P(> a + sqrt(2 a t) + t) at most exp(-t)."""
    least = (below + lax.lgamma(shape + 1)) / shape
    most = jnp.log(shape + jnp.sqrt(-2 * shape * above) - above)
    ends = least - 1, jnp.maximum(most, least) + 1
    return solved((below, above), ends, (shape,), gamma_levels, gamma_density)


@gamma_root.defjvp
def gamma_root_jvp(given: Any, moves: Any) -> tuple[Any, Any]:
    return implicit(gamma_root, gamma_levels, gamma_density, given, moves)


@jnp.vectorize
def gamma_quantile(shape: Any, below: Any, above: Any) -> Any:
    return jnp.exp(gamma_root(shape, below, above))


def gamma_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    shape, rate = 1.0 * base.concentration, base.rate
    return (
        lambda x: gamma_log_cdf(shape, rate * x),
        lambda x: gamma_log_survival(shape, rate * x),
        lambda below, above: gamma_quantile(shape, below, above) / rate,
    )


def inverse_gamma_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    """1 / x is Gamma, so that what is above is below."""
    shape, rate = 1.0 * base.concentration, base.rate
    return (
        lambda x: gamma_log_survival(shape, rate / x),
        lambda x: gamma_log_cdf(shape, rate / x),
        lambda below, above: rate / gamma_quantile(shape, above, below),
    )


def poisson_tails(base: Any) -> tuple[Callable[..., Any] | None, ...]:
    """P(x > k) is that a Gamma(k + 1, 1) is below the rate; there is no formula of the quantile."""
    return (
        lambda k: gamma_log_survival(jnp.floor(k) + 1, base.rate),
        lambda k: gamma_log_cdf(jnp.floor(k) + 1, base.rate),
        None,
    )


# ---- Beta, in u = logit x


def beta_density(a: Any, b: Any, u: Any) -> Any:
    """The log of that of u."""
    log_beta = lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b)
    return a * log_sigmoid(u) + b * log_sigmoid(-u) - log_beta


def beta_levels(a: Any, b: Any, u: Any, step: float = 0.05) -> tuple[Any, Any]:
    """log P(< u) and log P(> u); the density rises up to u = log(a / b)."""
    is_low = u < jnp.log(a / b)
    # What is below is above for 1 - x.
    rising, falling, place = (
        jnp.where(is_low, b, a),
        jnp.where(is_low, a, b),
        jnp.where(is_low, -u, u),
    )
    x, rest = jax.nn.sigmoid(place), jax.nn.sigmoid(-place)

    def gain(v: Any) -> Any:
        return -rising * jnp.log1p(rest * jnp.expm1(-v)) - falling * log_growth(x, rest, v)

    tail = log_tail(gain, rising * rest - falling * x, -(a + b) * x * rest, step)
    return by_the_tail(is_low, beta_density(a, b, u) + tail)


@jnp.vectorize
def beta_log_cdf(a: Any, b: Any, u: Any) -> Any:
    return beta_levels(a, b, u)[0]


@jnp.vectorize
def beta_log_survival(a: Any, b: Any, u: Any) -> Any:
    return beta_levels(a, b, u)[1]


@jax.custom_jvp
def beta_root(a: Any, b: Any, below: Any, above: Any) -> Any:
    return solved((below, above), (-700.0, 700.0), (a, b), beta_levels, beta_density)


@beta_root.defjvp
def beta_root_jvp(given: Any, moves: Any) -> tuple[Any, Any]:
    return implicit(beta_root, beta_levels, beta_density, given, moves)


@jnp.vectorize
def beta_quantile(a: Any, b: Any, below: Any, above: Any) -> Any:
    """The logit of x."""
    return beta_root(a, b, below, above)


def beta_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    a, b = 1.0 * base.concentration1, 1.0 * base.concentration0
    return (
        lambda x: beta_log_cdf(a, b, jax.scipy.special.logit(x)),
        lambda x: beta_log_survival(a, b, jax.scipy.special.logit(x)),
        lambda below, above: jax.nn.sigmoid(beta_quantile(a, b, below, above)),
    )


# ---- StudentT at location 0 and scale 1, in u = asinh(t / sqrt(df))


def student_density(df: Any, u: Any) -> Any:
    """The log of that of u, cosh(u)^-df / B(1/2, df/2)."""
    log_beta = lax.lgamma(df / 2) + 0.5723649429247001 - lax.lgamma((df + 1) / 2)
    size = jnp.abs(u)
    return -df * (size + jnp.log1p(jnp.expm1(-2 * size) / 2)) - log_beta


def student_tail(df: Any, u: Any, step: float) -> Any:
    """log P(> u) for u above 0, where the density falls."""
    share, rest = jax.nn.sigmoid(2 * u), jax.nn.sigmoid(-2 * u)

    def gain(v: Any) -> Any:
        """cosh(u + v) / cosh(u) is share exp(v) + rest exp(-v)."""
        return df * (v - log_growth(share, rest, 2 * v))

    tail = log_tail(gain, df * (rest - share), -4 * df * share * rest, step)
    return student_density(df, u) + tail


def student_levels(df: Any, u: Any, step: float = 0.05) -> tuple[Any, Any]:
    """log P(< u) and log P(> u)."""
    is_low = u < 0
    return by_the_tail(is_low, student_tail(df, jnp.where(is_low, -u, u), step))


@jnp.vectorize
def student_log_survival(df: Any, t: Any) -> Any:
    return student_levels(df, jnp.arcsinh(t / jnp.sqrt(df)))[1]


def student_most(df: Any, least: Any) -> Any:
    """P(> u) is at most 2^df exp(-df u) / (df B(1/2, df/2))."""
    return (student_density(df, jnp.zeros_like(df)) - jnp.log(df) - least) / df + 1


@jax.custom_jvp
def student_root(df: Any, below: Any, above: Any) -> Any:
    most = student_most(df, jnp.minimum(below, above))
    return solved((below, above), (-most, most), (df,), student_levels, student_density)


@student_root.defjvp
def student_root_jvp(given: Any, moves: Any) -> tuple[Any, Any]:
    return implicit(student_root, student_levels, student_density, given, moves)


@jnp.vectorize
def student_quantile(df: Any, below: Any, above: Any) -> Any:
    return jnp.sqrt(df) * jnp.sinh(student_root(df, below, above))


def student_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    df, loc, scale = 1.0 * base.df, base.loc, base.scale
    return (
        lambda x: student_log_survival(df, (loc - x) / scale),
        lambda x: student_log_survival(df, (x - loc) / scale),
        lambda below, above: loc + scale * student_quantile(df, below, above),
    )


# ---- its absolute value, in w = log(u)


def half_student_density(df: Any, w: Any) -> Any:
    return student_density(df, jnp.exp(w)) + w + 0.6931471805599453


def half_student_levels(df: Any, w: Any, step: float = 0.05) -> tuple[Any, Any]:
    """log P(< w) and log P(> w); below 1/2 by the integral of the density from 0 on."""
    u = jnp.exp(w)
    is_near = u < 0.5
    nodes, weights = unit_nodes()
    near = jnp.where(is_near, u, 0.5)
    inner = jnp.log(jnp.sum(weights * jnp.exp(student_density(df, near * nodes))))
    below = 0.6931471805599453 + jnp.log(near) + inner
    above = 0.6931471805599453 + student_tail(df, jnp.where(is_near, 0.5, u), step)
    return by_the_tail(is_near, jnp.where(is_near, below, above))


@jnp.vectorize
def half_student_log_cdf(df: Any, t: Any) -> Any:
    return half_student_levels(df, jnp.log(jnp.arcsinh(t / jnp.sqrt(df))))[0]


@jnp.vectorize
def half_student_log_survival(df: Any, t: Any) -> Any:
    return half_student_levels(df, jnp.log(jnp.arcsinh(t / jnp.sqrt(df))))[1]


@jax.custom_jvp
def half_student_root(df: Any, below: Any, above: Any) -> Any:
    """The density falls, so that P(< u) is at most u times that at 0."""
    least = below - student_density(df, jnp.zeros_like(df)) - 1
    most = jnp.log(student_most(df, above - 0.6931471805599453) + 1)
    ends = least, jnp.maximum(most, least + 1)
    return solved((below, above), ends, (df,), half_student_levels, half_student_density)


@half_student_root.defjvp
def half_student_root_jvp(given: Any, moves: Any) -> tuple[Any, Any]:
    return implicit(half_student_root, half_student_levels, half_student_density, given, moves)


@jnp.vectorize
def half_student_quantile(df: Any, below: Any, above: Any) -> Any:
    return jnp.sqrt(df) * jnp.sinh(jnp.exp(half_student_root(df, below, above)))


def half_student_tails(base: Any) -> tuple[Callable[..., Any], ...]:
    df, scale = 1.0 * base.base_dist.df, base.base_dist.scale
    return (
        lambda x: half_student_log_cdf(df, x / scale),
        lambda x: half_student_log_survival(df, x / scale),
        lambda below, above: scale * half_student_quantile(df, below, above),
    )

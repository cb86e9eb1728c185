"""Normal families (of known scale, of unknown scale, multivariate) and Wishart."""

import math
from typing import Any

import jax.numpy as jnp
from jax.scipy.special import gammaln, multigammaln

from . import family
from .family import Array, ConjugatePrior, Family, Usual

LOG_2PI = math.log(2 * math.pi)


def normal_of_known_scale(scale: Any) -> Family:
    """exp(theta x / scale - theta^2 / 2) N(x; 0, scale), theta = loc / scale."""

    known = scale

    def log_base(x: Array) -> Array:
        return -((x / scale) ** 2) / 2 - jnp.log(scale) - LOG_2PI / 2

    def prior(loc: Array, scale: Array) -> tuple[Array, Array]:
        count = (known / scale) ** 2
        return (count * loc / known)[None], count[None]

    return Family(
        name="Normal",
        support="real numbers",
        statistic=lambda x: x[None] / scale,
        log_base=log_base,
        mean_log_base=lambda theta: -(1 + theta[0] ** 2) / 2 - jnp.log(scale) - LOG_2PI / 2,
        contains=jnp.isfinite,
        log_partition=lambda theta: theta[0] ** 2 / 2,
        slack=lambda mean: jnp.ones_like(mean[0]),
        from_usual=lambda loc: loc[None] / scale,
        to_usual=lambda theta: {"loc": theta[0] * scale},
        examples=({"loc": 0.0}, {"loc": -3.2}),
        natural_of_mean=lambda mean: mean,
        conjugate=ConjugatePrior(
            name="Normal",
            of="loc",
            pieces=lambda theta: theta**2 / 2,
            log_normaliser=lambda chi, nu: (
                chi[0] ** 2 / (2 * nu[0]) + (LOG_2PI - jnp.log(nu[0])) / 2
            ),
            from_usual=prior,
            to_usual=lambda chi, nu: {
                "loc": scale * chi[0] / nu[0],
                "scale": scale / jnp.sqrt(nu[0]),
            },
            usual_ndims={"loc": 0, "scale": 0},
        ),
        known={"scale": scale},
    )


def normal() -> Family:
    """exp(theta_1 x + theta_2 x^2 - A) / sqrt(2 pi), theta = (loc, -1/2) / scale^2."""

    def usual(theta: Array) -> Usual:
        variance = -0.5 / theta[1]
        return {"loc": theta[0] * variance, "scale": jnp.sqrt(variance)}

    def natural_of_mean(mean: Array) -> Array:
        variance = mean[1] - mean[0] ** 2
        return jnp.stack([mean[0] / variance, -0.5 / variance])

    return Family(
        name="Normal",
        support="real numbers",
        statistic=lambda x: jnp.stack([x, x**2]),
        log_base=lambda x: jnp.full_like(x, -LOG_2PI / 2),
        mean_log_base=lambda theta: jnp.full_like(theta[0], -LOG_2PI / 2),
        contains=jnp.isfinite,
        log_partition=lambda theta: normal_pieces(theta).sum(),
        in_domain=lambda theta: jnp.isfinite(theta).all() & (theta[1] < 0),
        slack=lambda mean: jnp.where(
            mean[1] > 0, 1 - mean[0] ** 2 / jnp.where(mean[1] > 0, mean[1], 1), 0
        ),
        from_usual=lambda loc, scale: jnp.stack([loc / scale**2, -0.5 / scale**2]),
        to_usual=usual,
        examples=({"loc": 0.0, "scale": 1.0}, {"loc": -3.2, "scale": 0.4}),
        natural_of_mean=natural_of_mean,
        conjugate=normal_gamma(),
    )


def normal_pieces(theta: Array) -> Array:
    """loc^2 / (2 scale^2) and log scale."""
    return jnp.stack([-(theta[0] ** 2) / (4 * theta[1]), -jnp.log(-2 * theta[1]) / 2])


def normal_gamma() -> ConjugatePrior:
    """precision ~ Gamma(concentration, rate), loc ~ Normal(loc, 1 / sqrt(count precision))."""

    def to_usual(chi: Array, nu: Array) -> Usual:
        loc = chi[0] / nu[0]
        rate = (chi[1] - chi[0] * loc) / 2
        return {"loc": loc, "count": nu[0], "concentration": (nu[1] + 3) / 2, "rate": rate}

    def from_usual(
        loc: Array, count: Array, concentration: Array, rate: Array
    ) -> tuple[Array, Array]:
        statistic = jnp.stack([count * loc, 2 * rate + count * loc**2])
        return statistic, jnp.stack([count, 2 * concentration - 3])

    def log_normaliser(chi: Array, nu: Array) -> Array:
        _, count, a, b = to_usual(chi, nu).values()
        return gammaln(a) - a * jnp.log(b) + (LOG_2PI - jnp.log(count)) / 2 - math.log(2)

    ndims = {"loc": 0, "count": 0, "concentration": 0, "rate": 0}
    functions = normal_pieces, log_normaliser, from_usual, to_usual
    return ConjugatePrior("NormalGamma", "loc, 1 / scale^2", *functions, ndims)


def multivariate_normal(size: int) -> Family:
    """exp(<theta_1, x> + trace(theta_2 x x') - A) / (2 pi)^(size / 2), theta = (P loc, -P / 2)."""

    def statistic(x: Array) -> Array:
        return jnp.append(x, family.lower(jnp.outer(x, x)))

    def from_usual(loc: Array, covariance_matrix: Array) -> Array:
        precision = inverse(covariance_matrix)
        return jnp.append(precision @ loc, family.dual_lower(-precision / 2))

    def to_usual(theta: Array) -> Usual:
        covariance = inverse(precision_of(theta, size))
        return {"loc": covariance @ theta[:size], "covariance_matrix": covariance}

    def covariance_of_mean(mean: Array) -> Array:
        return family.symmetric(mean[size:]) - jnp.outer(mean[:size], mean[:size])

    def slack(mean: Array) -> Array:
        """The least pivot of the covariance, relative to the second moment of its variable."""
        root = jnp.diagonal(jnp.linalg.cholesky(covariance_of_mean(mean)))
        moments = jnp.diagonal(family.symmetric(mean[size:]))
        return jnp.nan_to_num(jnp.min(root**2 / moments))

    def natural_of_mean(mean: Array) -> Array:
        return from_usual(mean[:size], covariance_of_mean(mean))

    return Family(
        name="MultivariateNormal",
        support=f"vectors of {size} real numbers",
        event_ndim=1,
        statistic=statistic,
        log_base=lambda x: jnp.full_like(x[0], -size * LOG_2PI / 2),
        mean_log_base=lambda theta: jnp.full_like(theta[0], -size * LOG_2PI / 2),
        contains=lambda x: jnp.isfinite(x).all(),
        log_partition=lambda theta: multivariate_pieces(theta, size).sum(),
        in_domain=lambda theta: (
            jnp.isfinite(theta).all() & family.is_positive_definite(precision_of(theta, size))
        ),
        slack=slack,
        from_usual=from_usual,
        to_usual=to_usual,
        examples=multivariate_examples(size),
        natural_of_mean=natural_of_mean,
        conjugate=normal_wishart(size),
    )


def inverse(matrix: Array) -> Array:
    """Of a symmetric matrix, symmetric to the last digit."""
    found = jnp.linalg.inv(matrix)
    return (found + found.T) / 2


def precision_of(theta: Array, size: int) -> Array:
    return -2 * family.dual_symmetric(theta[size:])


def multivariate_pieces(theta: Array, size: int) -> Array:
    """loc' P loc / 2 and -log |P| / 2."""
    precision = precision_of(theta, size)
    square = theta[:size] @ jnp.linalg.solve(precision, theta[:size])
    return jnp.stack([square, -family.log_det(precision)]) / 2


def multivariate_examples(size: int) -> tuple[dict[str, Any], ...]:
    identity = [[float(i == j) for j in range(size)] for i in range(size)]
    near = [[0.8 ** abs(i - j) * (1 + 0.2 * (i + j)) for j in range(size)] for i in range(size)]
    standard = {"loc": [0.0] * size, "covariance_matrix": identity}
    return standard, {"loc": [0.5 - i for i in range(size)], "covariance_matrix": near}


def normal_wishart(size: int) -> ConjugatePrior:
    """precision ~ Wishart(concentration, scale_matrix), loc ~ Normal(loc, (count precision)^-1)."""

    def to_usual(chi: Array, nu: Array) -> Usual:
        loc = chi[:size] / nu[0]
        scatter = family.symmetric(chi[size:]) - nu[0] * jnp.outer(loc, loc)
        n = nu[1] + 2 + size
        return {"loc": loc, "count": nu[0], "concentration": n, "scale_matrix": inverse(scatter)}

    def from_usual(
        loc: Array, count: Array, concentration: Array, scale_matrix: Array
    ) -> tuple[Array, Array]:
        scatter = inverse(scale_matrix) + count * jnp.outer(loc, loc)
        statistic = jnp.append(count * loc, family.lower(scatter))
        return statistic, jnp.stack([count, concentration - 2 - size])

    def log_normaliser(chi: Array, nu: Array) -> Array:
        _, count, n, scale_matrix = to_usual(chi, nu).values()
        log_scale = size * math.log(2) + family.log_det(scale_matrix)
        wishart = n / 2 * log_scale + multigammaln(n / 2, size)
        return wishart + size / 2 * (LOG_2PI - jnp.log(count)) - size * math.log(2)

    ndims = {"loc": 1, "count": 0, "concentration": 0, "scale_matrix": 2}
    return ConjugatePrior(
        name="NormalWishart",
        of="loc, covariance_matrix^-1",
        pieces=lambda theta: multivariate_pieces(theta, size),
        log_normaliser=log_normaliser,
        from_usual=from_usual,
        to_usual=to_usual,
        usual_ndims=ndims,
    )


def wishart(size: int) -> Family:
    """exp(trace(theta_1 X) + theta_2 log |X| - A), theta = (-scale_matrix^-1 / 2, (concentration -
    size - 1) / 2); symmetric matrices are packed by their lower triangle (`family.py`).
    """

    def half_count(theta: Array) -> Array:
        return theta[-1] + (size + 1) / 2

    def log_partition(theta: Array) -> Array:
        half = half_count(theta)
        return multigammaln(half, size) - half * family.log_det(-family.dual_symmetric(theta[:-1]))

    def in_domain(theta: Array) -> Array:
        finite = jnp.isfinite(theta).all() & (theta[-1] > -1)
        return finite & family.is_positive_definite(-family.dual_symmetric(theta[:-1]))

    def from_usual(concentration: Array, scale_matrix: Array) -> Array:
        packed = family.dual_lower(-inverse(scale_matrix) / 2)
        return jnp.append(packed, (concentration - size - 1) / 2)

    def to_usual(theta: Array) -> Usual:
        scale_matrix = inverse(-2 * family.dual_symmetric(theta[:-1]))
        return {"concentration": 2 * half_count(theta), "scale_matrix": scale_matrix}

    def slack(mean: Array) -> Array:
        """log |E X| - E log |X|, positive by Jensen's inequality."""
        return jnp.nan_to_num(family.log_det(family.symmetric(mean[:-1])) - mean[-1])

    def start(mean: Array) -> Array:
        """log |E X| - E log |X| is about size (size + 1) / 2 / concentration."""
        count = size - 1 + size * (size + 1) / 2 / slack(mean)
        return from_usual(count, family.symmetric(mean[:-1]) / count)

    return Family(
        name="Wishart",
        support=f"positive definite matrices of {size} rows",
        event_ndim=2,
        statistic=lambda x: jnp.append(family.lower(x), family.log_det(x)),
        log_base=lambda x: jnp.zeros_like(x[0, 0]),
        contains=lambda x: family.is_positive_definite(x) & (x == x.T).all(),
        log_partition=log_partition,
        in_domain=in_domain,
        slack=slack,
        from_usual=from_usual,
        to_usual=to_usual,
        examples=wishart_examples(size),
        start=start,
    )


def wishart_examples(size: int) -> tuple[dict[str, Any], ...]:
    near = [[0.5 ** abs(i - j) * (1 + 0.2 * (i + j)) for j in range(size)] for i in range(size)]
    return tuple([{"concentration": size + more, "scale_matrix": near} for more in (0.5, 9.0)])

"""Families of indices and counts. A simplex of k has the log-odds against its last entry."""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jax.scipy.special import betaln, gammaln

from .family import Array, ConjugatePrior, Family, mean_log_factorial, positive_first, zero_like


def is_count(x: Array) -> Array:
    return (x >= 0) & (x == jnp.floor(x)) & jnp.isfinite(x)


def binomial(total_count: int) -> Family:
    """C(n, x) exp(theta x - n softplus(theta)), theta = logit(probs)."""
    n = total_count

    def log_base(x: Array) -> Array:
        return gammaln(n + 1.0) - gammaln(x + 1) - gammaln(n - x + 1)

    def mean_log_base(theta: Array) -> Array:
        p, q = jax.nn.sigmoid(theta[0]), jax.nn.sigmoid(-theta[0])
        return (
            gammaln(jnp.asarray(n + 1, p.dtype))
            - binomial_log_factorial(n, p)
            - binomial_log_factorial(n, q)
        )

    return Family(
        name="Binomial",
        support=f"whole numbers from 0 to {n}",
        log_base=log_base,
        mean_log_base=mean_log_base,
        contains=lambda x: is_count(x) & (x <= n),
        log_partition=lambda theta: n * jax.nn.softplus(theta[0]),
        slack=lambda mean: jnp.where(mean[0] > 0, 1 - mean[0] / n, 0),
        from_usual=lambda probs: jax.scipy.special.logit(probs)[None],
        to_usual=lambda theta: {"probs": jax.nn.sigmoid(theta[0])},
        examples=({"probs": 0.3}, {"probs": 0.95}),
        natural_of_mean=lambda mean: jnp.log(mean) - jnp.log(n - mean),
        conjugate=ConjugatePrior(
            name="Beta",
            of="probs",
            pieces=lambda theta: n * jax.nn.softplus(theta),
            log_normaliser=lambda chi, nu: betaln(chi[0], n * nu[0] - chi[0]),
            from_usual=lambda concentration1, concentration0: (
                concentration1[None],
                (concentration1 + concentration0)[None] / n,
            ),
            to_usual=lambda chi, nu: {
                "concentration1": chi[0],
                "concentration0": n * nu[0] - chi[0],
            },
            usual_ndims={"concentration1": 0, "concentration0": 0},
        ),
        known={"total_count": n},
    )


def binomial_log_factorial(n: int, p: Array) -> Array:
    """E log X! of a Binomial: E (1 - z)^X = (1 - p z)^n."""
    return mean_log_factorial(n * p, lambda z: -jnp.expm1(n * jnp.log1p(-p * z)))


def multinomial(total_count: int, size: int) -> Family:
    """n! / prod x_k! exp(<theta, x without its last entry> - n log(1 + sum exp theta))."""
    n = total_count

    def mean_log_base(theta: Array) -> Array:
        one: Array = jax.vmap(lambda p: binomial_log_factorial(n, p))
        factorials = one(jax.nn.softmax(with_zero(theta)))
        return gammaln(jnp.asarray(n + 1, theta.dtype)) - factorials.sum()

    return Family(
        name="Multinomial",
        support=f"{size} counts that sum to {n}",
        event_ndim=1,
        statistic=lambda x: x[:-1],
        log_base=lambda x: gammaln(n + 1.0) - gammaln(x + 1).sum(),
        mean_log_base=mean_log_base,
        contains=lambda x: is_count(x).all() & (x.sum() == n),
        log_partition=lambda theta: n * jax.nn.logsumexp(with_zero(theta)),
        slack=lambda mean: simplex_slack(mean / n),
        from_usual=log_odds,
        to_usual=lambda theta: {"probs": jax.nn.softmax(with_zero(theta))},
        examples=simplex_examples(size),
        natural_of_mean=lambda mean: jnp.log(mean) - jnp.log(n - mean.sum()),
        conjugate=dirichlet_prior(n),
        known={"total_count": n},
    )


def categorical(size: int) -> Family:
    """exp(<theta, e_x without its last entry> - log(1 + sum exp theta)): a Multinomial of one."""
    return replace(
        multinomial(1, size),
        name="Categorical",
        support=f"whole numbers from 0 to {size - 1}",
        event_ndim=0,
        statistic=lambda x: (x == jnp.arange(size - 1, dtype=x.dtype)).astype(x.dtype),
        log_base=jnp.zeros_like,
        mean_log_base=zero_like,
        contains=lambda x: is_count(x) & (x < size),
        known={},
    )


def with_zero(theta: Array) -> Array:
    """The logits of all entries: the last is the reference."""
    return jnp.append(theta, jnp.zeros(1, theta.dtype))


def log_odds(probs: Array) -> Array:
    return jnp.log(probs[:-1]) - jnp.log(probs[-1])


def simplex_slack(probs: Array) -> Array:
    return jnp.where((probs > 0).all(), 1 - probs.sum(), 0)


def simplex_examples(size: int) -> tuple[dict[str, list[float]], ...]:
    weights = range(1, size + 1)
    return {"probs": [1 / size] * size}, {"probs": [k / sum(weights) for k in weights]}


def dirichlet_prior(n: int) -> ConjugatePrior:
    def concentration(chi: Array, nu: Array) -> Array:
        return jnp.append(chi, n * nu - chi.sum())

    def log_normaliser(chi: Array, nu: Array) -> Array:
        return gammaln(concentration(chi, nu)).sum() - gammaln(n * nu[0])

    return ConjugatePrior(
        name="Dirichlet",
        of="probs",
        pieces=lambda theta: n * jax.nn.logsumexp(with_zero(theta))[None],
        log_normaliser=log_normaliser,
        from_usual=lambda concentration: (concentration[:-1], concentration.sum()[None] / n),
        to_usual=lambda chi, nu: {"concentration": concentration(chi, nu)},
        usual_ndims={"concentration": 1},
    )


def bernoulli() -> Family:
    """exp(theta x - softplus(theta)), theta = logit(probs) (PL16): a Binomial of one trial."""
    return replace(
        binomial(1),
        name="Bernoulli",
        support="0 and 1",
        log_base=jnp.zeros_like,
        mean_log_base=zero_like,
        known={},
    )


def poisson() -> Family:
    """1 / x! exp(theta x - exp(theta)), theta = log(rate)."""

    def mean_log_base(theta: Array) -> Array:
        rate = jnp.exp(theta[0])
        return -mean_log_factorial(rate, lambda z: -jnp.expm1(-rate * z))

    return Family(
        name="Poisson",
        support="whole numbers from 0",
        log_base=lambda x: -gammaln(x + 1),
        mean_log_base=mean_log_base,
        contains=is_count,
        log_partition=lambda theta: jnp.exp(theta[0]),
        slack=positive_first,
        from_usual=lambda rate: jnp.log(rate)[None],
        to_usual=lambda theta: {"rate": jnp.exp(theta[0])},
        examples=({"rate": 0.2}, {"rate": 3.5}, {"rate": 40.0}),
        natural_of_mean=jnp.log,
        conjugate=ConjugatePrior(
            name="Gamma",
            of="rate",
            pieces=jnp.exp,
            log_normaliser=lambda chi, nu: gammaln(chi[0]) - chi[0] * jnp.log(nu[0]),
            from_usual=lambda concentration, rate: (concentration[None], rate[None]),
            to_usual=lambda chi, nu: {"concentration": chi[0], "rate": nu[0]},
            usual_ndims={"concentration": 0, "rate": 0},
        ),
    )


def geometric() -> Family:
    """exp(theta x + log(1 - exp theta)), x failures before a success, theta = log(1 - probs)."""

    def log_partition(theta: Array) -> Array:
        return -jnp.log(-jnp.expm1(theta[0]))

    return Family(
        name="Geometric",
        support="whole numbers from 0",
        contains=is_count,
        log_partition=log_partition,
        in_domain=lambda theta: jnp.isfinite(theta[0]) & (theta[0] < 0),
        slack=positive_first,
        from_usual=lambda probs: jnp.log1p(-probs)[None],
        to_usual=lambda theta: {"probs": -jnp.expm1(theta[0])},
        examples=({"probs": 0.15}, {"probs": 0.8}),
        natural_of_mean=lambda mean: -jnp.log1p(1 / mean),
        conjugate=ConjugatePrior(
            name="Beta",
            of="probs",
            pieces=lambda theta: log_partition(theta)[None],
            log_normaliser=lambda chi, nu: betaln(chi[0], nu[0] + 1),
            from_usual=lambda concentration1, concentration0: (
                concentration0[None],
                concentration1[None] - 1,
            ),
            to_usual=lambda chi, nu: {"concentration1": nu[0] + 1, "concentration0": chi[0]},
            usual_ndims={"concentration1": 0, "concentration0": 0},
        ),
    )

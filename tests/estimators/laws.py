"""One draw of each of the laws with infinite support, with a cost of which every method can take
the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import scipy.stats
from cases import Case
from tape import Rule, Rules, logarithmic

from dpc.estimators import Cost, Draw, Step
from dpc.estimators.methods.method import Method


def _cost(x: jax.Array, theta: jax.Array) -> jax.Array:
    return jnp.exp(theta[0] / 3) * (0.1 * x**3 - 0.5 * x**2) + theta[0] * x


def _case(
    name: str,
    theta: list[float],
    law: Callable[[jax.Array], dist.Distribution],
    moments: Callable[[jax.Array], Sequence[jax.Array]],
    rules: Rules,
    fineness: int = 40,
) -> Case:
    """`moments`: E[x], E[x^2], E[x^3] in closed form."""

    def steps(theta: jax.Array, methods: Sequence[Method]) -> list[Step]:
        return [
            Draw("x", (), lambda v: law(theta), methods[0]),
            Cost("loss", ("x",), lambda v: _cost(v["x"], theta)),
        ]

    def truth(theta: jax.Array) -> jax.Array:
        first, second, third = moments(theta)
        return jnp.exp(theta[0] / 3) * (0.1 * third - 0.5 * second) + theta[0] * first

    return Case(
        name,
        np.array(theta),
        steps,
        truth,
        (law(jnp.array(theta)),),
        lambda *_: np.zeros(0),
        rules,
        fineness,
    )


def _counts(law: scipy.stats.rv_discrete, most: int) -> Rule:
    k = np.arange(most)
    return k.astype(float), law.pmf(k)


def _geometric_cells(p: float, most: int) -> Rule:
    """The middle of the uniform numbers that give each count."""
    ends = 1 - (1 - p) ** np.arange(most + 1)
    return (ends[1:] + ends[:-1]) / 2, np.diff(ends)


def _normal_moments(theta: jax.Array) -> Sequence[jax.Array]:
    m, v = theta[0], jnp.exp(2 * theta[1])
    return m, m**2 + v, m**3 + 3 * m * v


def _poisson_moments(theta: jax.Array) -> Sequence[jax.Array]:
    rate = jnp.exp(theta[0])
    return rate, rate + rate**2, rate + 3 * rate**2 + rate**3


def _exponential_moments(theta: jax.Array) -> Sequence[jax.Array]:
    mean = jnp.exp(-theta[0])
    return mean, 2 * mean**2, 6 * mean**3


def _gamma_moments(theta: jax.Array) -> Sequence[jax.Array]:
    a, mean = jnp.exp(theta[0]), jnp.exp(-theta[1])
    return a * mean, a * (a + 1) * mean**2, a * (a + 1) * (a + 2) * mean**3


def _geometric_moments(theta: jax.Array) -> Sequence[jax.Array]:
    """From the factorial moments j! (q / p)^j."""
    odds = jnp.exp(-theta[0])
    return odds, 2 * odds**2 + odds, 6 * odds**3 + 6 * odds**2 + odds


def _binomial_moments(theta: jax.Array) -> Sequence[jax.Array]:
    """From the factorial moments 3 p, 6 p^2, 6 p^3 of three coins."""
    p = 1 / (1 + jnp.exp(-theta[0]))
    return 3 * p, 6 * p**2 + 3 * p, 6 * p**3 + 18 * p**2 + 3 * p


P = float(1 / (1 + np.exp(-3.0)))
LAWS = [
    _case(
        "normal", [0.4, -0.3], lambda t: dist.Normal(t[0], jnp.exp(t[1])), _normal_moments, {}, 24
    ),
    _case(
        "poisson",
        [0.4],
        lambda t: dist.Poisson(jnp.exp(t[0])),
        _poisson_moments,
        {"poisson": _counts(scipy.stats.poisson(np.exp(0.4)), 60)},
    ),
    _case(
        "exponential",
        [0.4],
        lambda t: dist.Exponential(jnp.exp(t[0])),
        _exponential_moments,
        {"exponential": logarithmic(1.0)},
    ),
    _case(
        "geometric",
        [3.0],
        lambda t: dist.Geometric(logits=t[0]),
        _geometric_moments,
        {"uniform": _geometric_cells(P, 12)},
    ),
    _case(
        "gamma",
        [0.7, -0.2],
        lambda t: dist.Gamma(jnp.exp(t[0]), jnp.exp(t[1])),
        _gamma_moments,
        {"gamma": logarithmic(float(np.exp(0.7))), "exponential": logarithmic(1.0)},
    ),
]

"""Perturbed maxima over two choices, where expectations over the noise are quadratures and truths
closed forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import norm
from tape import Rule, hermite, legendre, logarithmic, tanh_sinh

from dpc.estimators.perturbed import GAUSSIAN, GUMBEL, Noise, perturbed_argmax, perturbed_max

LOOSE_JAX = "NumPyro promotes types and ranks"

AT = np.array([0.4, -0.3, 0.7])


def best(theta: jax.Array) -> jax.Array:
    return jax.nn.one_hot(jnp.argmax(theta), theta.shape[0])


def _gumbels() -> Rule:
    """-log of two exponentials R u and R (1 - u); the choice changes at one u, from both sides of
    which u is split.
    """
    change = 1 / (1 + np.exp((AT[1] - AT[0]) / AT[2]))
    nodes, weights = tanh_sinh(80)
    u = np.concatenate([change * nodes, change + (1 - change) * nodes])
    rest = np.concatenate([(1 - change) + change * nodes[::-1], (1 - change) * nodes[::-1]])
    by_u = np.concatenate([change * weights, (1 - change) * weights])
    r, by_r = logarithmic(2.0, 100)
    noise = -np.log(np.stack([np.outer(r, u), np.outer(r, rest)], -1)) - np.euler_gamma
    return noise.reshape(-1, 2), np.outer(by_r, by_u).reshape(-1)


def _gaussians() -> Rule:
    """Their difference, on both sides of the change, and their sum."""
    change = (AT[1] - AT[0]) / (AT[2] * np.sqrt(2))
    halves = [legendre(60, -9.0, change), legendre(60, change, 9.0)]
    d, by_d = (np.concatenate(part) for part in zip(*halves, strict=True))
    by_d = by_d * np.exp(-d * d / 2) / np.sqrt(2 * np.pi)
    m, by_m = hermite(12)
    noise = np.stack(
        np.broadcast_arrays((m[:, None] + d) / np.sqrt(2), (m[:, None] - d) / np.sqrt(2)), -1
    )
    return noise.reshape(-1, 2), np.outer(by_m, by_d).reshape(-1)


def _soft(at: jax.Array) -> jax.Array:
    return at[2] * jax.nn.logsumexp(at[:2] / at[2])


def _clark(at: jax.Array) -> jax.Array:
    """E max of two normal numbers with means m and standard deviations s."""
    spread = at[2] * jnp.sqrt(2)
    gap = (at[0] - at[1]) / spread
    return at[0] * norm.cdf(gap) + at[1] * norm.cdf(-gap) + spread * norm.pdf(gap)


@pytest.mark.parametrize("jacobian", ["score", "value"])
@pytest.mark.parametrize(
    ("noise", "rule", "truth"),
    [(GUMBEL, _gumbels, _soft), (GAUSSIAN, _gaussians, _clark)],
    ids=["gumbel", "gaussian"],
)
def test_value_gradient_and_hessian(
    noise: Noise, rule: Callable[[], Rule], truth: Callable[[jax.Array], jax.Array], jacobian: Any
) -> None:
    """To both numbers and the scale; the noise is given in the place of a key."""
    given = noise._replace(sample=lambda key, shape, dtype: key[None])
    nodes, weights = rule()

    def maximum(at: jax.Array, key: jax.Array) -> jax.Array:
        return perturbed_max(best, at[:2], key, at[2], 1, given, jacobian)

    def argmax(at: jax.Array, key: jax.Array) -> jax.Array:
        return perturbed_argmax(best, at[:2], key, at[2], 1, given, jacobian)

    def all_of(at: jax.Array, key: jax.Array) -> tuple[jax.Array, ...]:
        first = jax.value_and_grad(maximum)(at, key)
        return (*first, jax.hessian(maximum)(at, key), argmax(at, key), jax.jacrev(argmax)(at, key))

    found = jax.jit(jax.vmap(all_of, (None, 0)))(jnp.asarray(AT), jnp.asarray(nodes))
    mean = [np.tensordot(weights, np.asarray(array), 1) for array in found]
    value, slope, hessian = jax.jit(
        lambda at: (truth(at), jax.grad(truth)(at), jax.hessian(truth)(at))
    )(AT)
    for mine, true in zip(mean, [value, slope, hessian, slope[:2], hessian[:2]], strict=True):
        np.testing.assert_allclose(mine, true, atol=1e-9)


def test_gumbel_noise_gives_the_softargmax_of_many() -> None:
    """Over 50,000 samples; each entry is a proportion, z < 5 is one false alarm in a million."""
    theta = jnp.array([0.3, -0.5, 1.0, 0.0])
    found = jax.jit(lambda key: perturbed_argmax(best, theta, key, 0.5, 50_000))(jax.random.key(0))
    p = np.asarray(jax.nn.softmax(theta / 0.5))
    assert np.all(np.abs(found - p) < 5 * np.sqrt(p * (1 - p) / 50_000))


def test_another_polytope() -> None:
    """The two largest of four: the argmax sums to two, and is the gradient of the value of the same
    noise.
    """

    def two_best(theta: jax.Array) -> jax.Array:
        return jax.nn.one_hot(jax.lax.top_k(theta, 2)[1], 4, dtype=theta.dtype).sum(0)

    theta = jnp.array([0.3, -0.5, 1.0, 0.0])

    @jax.jit
    def both(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        slope = jax.grad(lambda t: perturbed_max(two_best, t, key, 0.5, 100, GAUSSIAN))(theta)
        return slope, perturbed_argmax(two_best, theta, key, 0.5, 100, GAUSSIAN)

    slope, argmax = both(jax.random.key(0))
    np.testing.assert_allclose(slope, argmax)
    np.testing.assert_allclose(jnp.sum(argmax), 2.0)


def test_an_unknown_jacobian_is_refused() -> None:
    with pytest.raises(ValueError, match="'score' or by 'value'"):
        perturbed_argmax(best, jnp.zeros(2), jax.random.key(0), jacobian="path")  # type: ignore[arg-type]

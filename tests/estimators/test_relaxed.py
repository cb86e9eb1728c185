"""Relaxed draws: the bias is the one that is declared."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from cases import Case
from tape import directions, legendre
from verification import moments, verify

from dpc.estimators import Cost, Draw, Step, surrogate
from dpc.estimators.methods.method import Method
from dpc.estimators.methods.relaxed import GumbelSoftmax, StraightThrough
from dpc.estimators.methods.table import METHODS


def _cost(b: jax.Array, theta: jax.Array) -> jax.Array:
    return (b - 0.3) ** 2 * jnp.exp(theta[0])


def _steps(theta: jax.Array, methods: list[Method]) -> list[Step]:
    return [
        Draw("b", (), lambda v: dist.Bernoulli(logits=theta[0]), methods[0]),
        Cost("loss", ("b",), lambda v: _cost(v["b"], theta)),
    ]


def _relaxed_truth(theta: jax.Array) -> jax.Array:
    """E[f(s(z / t))] over z with its logistic density, t = 1/2."""
    u, weights = legendre(60)
    odds = jnp.exp(theta[0]) * jnp.asarray(u / (1 - u))
    return jnp.sum(jnp.asarray(weights) * _cost(odds**2 / (1 + odds**2), theta))


def test_a_relaxed_coin_is_right_for_the_relaxed_mean() -> None:
    case = Case("relaxed coin", np.array([0.4]), _steps, _relaxed_truth, (), fineness=60)
    verify(case, [GumbelSoftmax()])


def test_the_bias_goes_with_the_temperature() -> None:
    p = 1 / (1 + np.exp(-0.4))
    true = (p * 0.49 + (1 - p) * 0.09) * np.exp(0.4) + p * (1 - p) * (0.49 - 0.09) * np.exp(0.4)
    case = Case("relaxed coin", np.array([0.4]), _steps, _relaxed_truth, (), fineness=400)
    bias = [abs(moments(case, [GumbelSoftmax(t)])[0][0] - true) for t in (1.0, 0.3, 0.1)]
    assert bias[0] > 2 * bias[1] > 4 * bias[2] > 0


def _die_values(method: Method, key: jax.Array) -> jax.Array:
    def value(theta: jax.Array) -> jax.Array:
        steps = [
            Draw("k", (), lambda v: dist.Categorical(logits=theta), method),
            Cost("loss", ("k",), lambda v: v["k"]),
        ]
        return surrogate(steps, key).value

    theta = jnp.array([0.3, -0.5, 1.0])
    return jnp.concatenate([value(theta)[None], jax.jacrev(value)(theta).T])


def _die_sample(method: Method, keys: jax.Array) -> jax.Array:
    return jax.jit(jax.vmap(lambda key: _die_values(method, key)))(keys)


def test_straight_through_is_a_hard_value_with_a_soft_slope() -> None:
    """The values are one-hot and average to p; the slopes are those of the relaxed draw with the
    same noise.
    """
    keys = jax.random.split(jax.random.key(0), 4_000)
    hard, soft = (
        np.asarray(_die_sample(method, keys)) for method in (StraightThrough(), GumbelSoftmax())
    )
    np.testing.assert_allclose(np.sort(hard[:, 0]), np.tile([0.0, 0.0, 1.0], (len(keys), 1)))
    np.testing.assert_array_equal(np.argmax(hard[:, 0], 1), np.argmax(soft[:, 0], 1))
    np.testing.assert_allclose(hard[:, 1:], soft[:, 1:], atol=1e-14)
    p = np.exp([0.3, -0.5, 1.0]) / np.exp([0.3, -0.5, 1.0]).sum()
    assert np.all(
        np.abs(hard[:, 0].mean(0) - p) < 5 * np.sqrt(p * (1 - p) / len(keys))
    )  # one false alarm in a million


def test_a_relaxed_die_has_the_mean_of_its_density() -> None:
    """E[softargmax((logits + Gumbel) / t)] by quadrature over the direction of three
    exponentials.
    """
    keys = jax.random.split(jax.random.key(1), 4_000)
    sample = np.asarray(_die_sample(GumbelSoftmax(), keys))[:, 0]
    nodes, weights = directions(60, 3)
    powers = (np.exp([0.3, -0.5, 1.0]) / nodes) ** 2
    mean = weights @ (powers / powers.sum(1, keepdims=True))
    assert np.all(
        np.abs(sample.mean(0) - mean) < 5 * sample.std(0) / np.sqrt(len(keys))
    )  # one false alarm in a million


def test_what_is_biased_says_so() -> None:
    for row in METHODS.values():
        assert (row.order == 0) == bool(row.bias)

"""Random fields as exponential families, against sums over all configurations."""

from __future__ import annotations

from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpc
from dpc.learn.family import FieldPrior, NoMaximum, NotAFamily

TRIANGLE = """
dim V = 3
param h[V] : real = 0
param J    : real = 0
latent s[V] : bool
fn sign(a: bool) -> real = if a then 1 else -1
factor field[i in V] : h[i] * sign(s[i])
factor pair          : J * (sign(s[0]) * sign(s[1]) + sign(s[1]) * sign(s[2])) + 0.3 * sign(s[0])
"""

SIGNS = 2.0 * np.array(list(product((0, 1), repeat=3))) - 1
THETA = {"h": np.array([0.2, -0.4, 0.1]), "J": np.array(0.5)}


@pytest.fixture(scope="module")
def family() -> Any:
    with jax.enable_x64(True):
        return dpc.parse(TRIANGLE).family()


def statistics() -> np.ndarray:
    pairs = SIGNS[:, 0] * SIGNS[:, 1] + SIGNS[:, 1] * SIGNS[:, 2]
    return np.column_stack([SIGNS, pairs])


def chances(theta: Any) -> tuple[np.ndarray, float]:
    scores = statistics() @ np.append(theta["h"], theta["J"]) + 0.3 * SIGNS[:, 0]
    log_z = np.logaddexp.reduce(scores)
    return np.exp(scores - log_z), log_z


def test_all_quantities_by_enumeration(family: Any) -> None:
    p, log_z = chances(THETA)
    t = statistics()
    assert float(family.log_partition(THETA)) == pytest.approx(log_z, abs=1e-12)
    mean = family.mean(THETA)
    np.testing.assert_allclose([*mean["h"], mean["J"]], p @ t, atol=1e-12)
    covariance = np.cov(t.T, aweights=p, bias=True)
    fisher = family.fisher(THETA)
    np.testing.assert_allclose(fisher["J"]["J"], covariance[3, 3], atol=1e-12)
    np.testing.assert_allclose(fisher["h"]["h"], covariance[:3, :3], atol=1e-12)
    assert float(family.entropy(THETA)) == pytest.approx(-p @ np.log(p), abs=1e-12)
    other = {"h": np.zeros(3), "J": np.array(-0.2)}
    q, _ = chances(other)
    assert float(family.kl(THETA, other)) == pytest.approx(p @ np.log(p / q), abs=1e-12)
    for states, expected in zip(SIGNS > 0, t, strict=True):
        found = family.statistic({"s": states})
        np.testing.assert_allclose([*found["h"], found["J"]], expected, atol=1e-12)


def test_means_and_parameters_are_inverses(family: Any) -> None:
    found = family.natural(family.mean(THETA))
    np.testing.assert_allclose(found["h"], THETA["h"], atol=1e-8)
    np.testing.assert_allclose(found["J"], THETA["J"], atol=1e-8)


def test_moments_on_the_boundary_have_no_parameters(family: Any) -> None:
    with pytest.raises(NoMaximum, match="no parameters have these means"):
        family.natural({"h": np.array([1.0, 0.0, 0.0]), "J": np.array(0.0)})


def test_the_conjugate_posterior_is_highest_at_the_mixed_moments(family: Any) -> None:
    prior = FieldPrior({"h": jnp.zeros(3), "J": jnp.asarray(0.0)}, 2.0)
    after = family.update(prior, {"h": jnp.asarray([1.0, 2.0, -1.0]), "J": jnp.asarray(1.0)}, 4.0)
    mode = family.mode(after)
    mean = family.mean(mode)
    np.testing.assert_allclose(mean["h"], np.array([1.0, 2.0, -1.0]) / 6, atol=1e-7)
    np.testing.assert_allclose(mean["J"], 1 / 6, atol=1e-7)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            TRIANGLE.replace("factor pair          : J", "factor pair          : J^2"),
            "`pair` keeps the model",
        ),
        (
            TRIANGLE.replace("param J    : real = 0", "param J : real(lower=0) = 1"),
            "natural parameters are free",
        ),
        ("param p : real = 0\nb ~ Bernoulli(logits=p)", "its law depends on parameters"),
    ],
)
def test_what_is_no_family_says_where(text: str, says: str) -> None:
    with pytest.raises(NotAFamily, match=says):
        dpc.parse(text).family()

"""Laws of every row of the table of families: sums and integrals, NumPyro, SciPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as peers
import pytest
import scipy.stats
from hypothesis import assume, settings
from hypothesis import given as for_all
from hypothesis import strategies as st
from marks import slow_ones, some_fast
from supports import nodes_of

from dpc.inference.errors import InferenceError
from dpc.inference.families import features
from dpc.inference.families import features as priors
from dpc.inference.families.family import Family
from dpc.inference.families.fits import fit_to_data, to_natural
from dpc.inference.families.table import FAMILIES, find_family

QUICKLY_COMPILED = "each program runs once, and compiling takes most of the time"

NAMES = tuple(FAMILIES)


@cache
def family_of(name: str) -> Family:
    return find_family(name, **FAMILIES[name].example)


def examples(family: Family) -> dict[str, Any]:
    """The first two examples, one on another."""
    return {
        name: jnp.asarray([example[name] for example in family.examples[:2]])
        for name in family.usual_ndims
    }


def naturals(family: Family) -> Any:
    return features.from_usual(family, **examples(family))


def nodes(family: Family) -> tuple[Any, Any]:
    size = FAMILIES[family.name].example.get("size", 0) if family.event_ndim else 0
    return nodes_of(family.support, size)


def peer(family: Family, usual: dict[str, Any]) -> Any:
    return getattr(peers, family.name)(**family.known, **usual, validate_args=False)


def peer_log_prob(family: Family, usual: dict[str, Any], values: Any) -> Any:
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        values = values.astype(int) if family.support.startswith(("whole", "0 and 1")) else values
        return peer(family, usual).log_prob(values)


def sample(family: Family, shape: tuple[int, ...] = ()) -> Any:
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        drawn = peer(family, {k: v[1] for k, v in examples(family).items()}).sample(
            jax.random.key(5), (*shape, 200)
        )
    return features.floats(drawn)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Wishart"])
def test_what_follows_from_the_log_partition_is_what_sums_and_integrals_give(name: str) -> None:
    family = family_of(name)
    theta = naturals(family)
    points, weights = map(jnp.asarray, nodes(family))

    def derived(p: Any, q: Any) -> Any:
        return [f(family, p) for f in (features.mean, features.fisher, features.entropy)] + [
            features.kl(family, p, q)
        ]

    @jax.jit
    def summed(theta: Any, points: Any, weights: Any) -> Any:
        logs = features.log_prob(family, theta[:, None], points[None])
        logs = jnp.where(logs > -700, logs, -700.0)
        mass = jnp.exp(logs) * weights[None]
        t = features.statistic(family, points)
        mean = mass @ t
        second = jnp.einsum("kn,ni,nj->kij", mass, t, t) - jnp.einsum("ki,kj->kij", mean, mean)
        return mass.sum(-1), [
            mean,
            second,
            -(mass * logs).sum(-1),
            (mass * (logs - logs[::-1])).sum(-1),
        ]

    total, expected = summed(theta, points, weights)
    np.testing.assert_allclose(total, 1, rtol=1e-8)
    for found, wanted in zip(jax.jit(derived)(theta, theta[::-1]), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-8)


def test_moments_and_entropy_of_a_wishart_are_those_of_scipy() -> None:
    family = family_of("Wishart")
    theta, usual = naturals(family)[1], family.examples[1]
    expected = scipy.stats.wishart(usual["concentration"], usual["scale_matrix"])
    np.testing.assert_allclose(
        features.mean(family, theta)[:-1], expected.mean()[np.tril_indices(2)], rtol=1e-12
    )
    assert features.entropy(family, theta) == pytest.approx(float(expected.entropy()), rel=1e-12)


@pytest.mark.parametrize("name", some_fast(NAMES, 6))
def test_densities_are_those_of_numpyro(name: str) -> None:
    family = family_of(name)
    values, theta = sample(family), naturals(family)[1]
    usual = {k: v[1] for k, v in examples(family).items()}
    found = features.log_prob(family, theta, values)
    np.testing.assert_allclose(found, peer_log_prob(family, usual, values), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize(
    "name", slow_ones([name for name in NAMES if family_of(name).start], ["Wishart", "Beta"])
)
def test_maxima_by_newton_are_where_the_gradient_of_numpyro_vanishes(name: str) -> None:
    family = family_of(name)
    values = sample(family)
    fit = fit_to_data(family, values)
    assert fit.certificate.holds
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        score = jax.jit(
            jax.grad(lambda natural: peer(family, family.to_usual(natural)).log_prob(values).mean())
        )
        gradient = score(fit.natural)
    np.testing.assert_allclose(gradient, 0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@for_all(data=st.data())
@settings(max_examples=10, deadline=None)
def test_parameters_come_back(name: str, data: st.DataObject) -> None:
    """Natural to mean to natural, and to usual to natural, on convex mixtures of examples,
    stretched a little.
    """
    with jax.enable_x64(True):
        family = family_of(name)
        share = data.draw(st.floats(0, 1))
        first, second = np.asarray(naturals(family))
        stretch = data.draw(st.lists(st.floats(0.7, 1.4), min_size=first.size, max_size=first.size))
        theta = jnp.asarray((share * first + (1 - share) * second) * np.array(stretch))
        assume(bool(features.in_domain(family, theta)))
        there, certificate = to_natural(family, features.mean(family, theta))
        assert certificate.holds
        np.testing.assert_allclose(there, theta, rtol=1e-6, atol=1e-7)
        usual = features.to_usual(family, theta)
        np.testing.assert_allclose(
            features.from_usual(family, **usual), theta, rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("name", ["Poisson", "Normal", "Gamma"])
def test_single_precision_stays_single(name: str) -> None:
    family = family_of(name)
    theta = naturals(family)[0].astype(jnp.float32)
    value = jnp.float32(2.0)
    assert features.log_prob(family, theta, value).dtype == jnp.float32
    there, certificate = to_natural(family, features.mean(family, theta))
    assert there.dtype == jnp.float32
    assert certificate.holds
    np.testing.assert_allclose(there, theta, rtol=2e-5)


def test_leading_axes_are_carried_and_maps_compose() -> None:
    family = family_of("Gamma")
    theta = jnp.broadcast_to(naturals(family)[:, None], (2, 3, 2))
    value = jnp.linspace(0.1, 3, 12).reshape(4, 1, 3)
    assert features.log_prob(family, theta, value).shape == (4, 2, 3)
    assert features.fisher(family, theta).shape == (2, 3, 2, 2)
    moments = features.mean(family, theta)
    there, certificate = jax.jit(jax.vmap(lambda m: to_natural(family, m)))(moments)
    assert certificate.gap.shape == (2, 3)
    np.testing.assert_allclose(there, theta, rtol=1e-9)


def test_the_gradient_through_newton_is_the_inverse_fisher_information() -> None:
    family = family_of("Gamma")
    theta = naturals(family)[0]
    slope = jax.jacobian(lambda m: to_natural(family, m)[0])(features.mean(family, theta))
    np.testing.assert_allclose(slope @ features.fisher(family, theta), np.eye(2), atol=1e-10)


def test_outside_the_support_or_the_domain() -> None:
    family = family_of("Gamma")
    theta = naturals(family)[0]
    assert features.log_prob(family, theta, -1.0) == -jnp.inf
    assert features.log_partition(family, jnp.array([0.5, 0.1])) == jnp.inf
    assert jnp.isfinite(
        jax.grad(lambda t: features.log_prob(family, t, jnp.array([-1.0, 2.0]))[1])(theta)
    ).all()


def test_entropies_of_counts_are_right_far_from_the_examples() -> None:
    for rate in (1e-6, 1e4):
        expected = (
            scipy.stats.poisson(rate).entropy()
            if rate < 1
            else 0.5 * np.log(2 * np.pi * np.e * rate) - 1 / (12 * rate) - 1 / (24 * rate**2)
        )
        found = features.entropy(family_of("Poisson"), jnp.log(jnp.array([rate])))
        assert found == pytest.approx(float(expected), rel=1e-9)
    many = find_family("Binomial", total_count=2000)
    found = features.entropy(many, features.from_usual(many, probs=0.3))
    assert found == pytest.approx(float(scipy.stats.binom(2000, 0.3).entropy()), rel=1e-10)


def test_who_is_not_a_family_is_told_why() -> None:
    with pytest.raises(
        InferenceError, match=r"Gumbel is not an exponential family: its density holds exp"
    ):
        find_family("Gumbel")
    with pytest.raises(InferenceError, match="Binomial is made from total_count, not from nothing"):
        find_family("Binomial")
    with pytest.raises(
        InferenceError, match="Zeta is not in the table of families, which has Bernoulli"
    ):
        find_family("Zeta")
    with pytest.raises(TypeError, match="Gamma takes concentration, rate, not rate"):
        features.from_usual(family_of("Gamma"), rate=1.0)


CLOSED = [name for name in NAMES if find_family(name, **FAMILIES[name].example).conjugate]


def seen(family: Family, count: float = 60.0) -> priors.Prior:
    """As if `count` observations had had the statistics of the second example."""
    assert family.conjugate
    pieces = family.conjugate.pieces(naturals(family)[1]).size
    return priors.Prior(count * features.mean(family, naturals(family)[1]), jnp.full(pieces, count))


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSED)
def test_a_predictive_distribution_sums_to_one_and_the_usual_prior_comes_back(name: str) -> None:
    family = family_of(name)
    prior = seen(family)
    points, weights = nodes(family)
    total = (
        jnp.exp(jax.jit(lambda x: priors.log_predictive(family, prior, x))(points)) * weights
    ).sum()
    assert total == pytest.approx(1, rel=1e-8)
    again = priors.prior_from_usual(family, **priors.prior_to_usual(family, prior))
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-10), again, prior)

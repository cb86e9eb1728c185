"""Fits: against SciPy, at boundaries, by maximum entropy; priors against brute-force Bayes on a
grid.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from dpc.inference.errors import InferenceError
from dpc.inference.families import features
from dpc.inference.families import features as priors
from dpc.inference.families.family import NoClosedFormError, NoMaximumError, OutsideSupportError
from dpc.inference.families.fits import fit_to_data, fit_to_moments, maximise_entropy, to_natural
from dpc.inference.families.table import find_family

POISSON, NORMAL, GAMMA = find_family("Poisson"), find_family("Normal"), find_family("Gamma")


def test_gamma_and_normal_fits_are_those_of_scipy() -> None:
    values = np.random.default_rng(1).gamma(2.5, 0.8, 300)
    shape, _, scale = scipy.stats.gamma.fit(values, floc=0)
    usual = features.to_usual(GAMMA, fit_to_data(GAMMA, values).natural)
    assert usual["concentration"] == pytest.approx(shape, rel=1e-7)
    assert usual["rate"] == pytest.approx(1 / scale, rel=1e-7)
    usual = features.to_usual(NORMAL, fit_to_data(NORMAL, values).natural)
    assert (usual["loc"], usual["scale"]) == pytest.approx(scipy.stats.norm.fit(values), rel=1e-10)


def test_weights_are_repetitions() -> None:
    twice = fit_to_data(POISSON, jnp.array([1.0, 4.0, 4.0, 0.0]))
    weighted = fit_to_data(POISSON, jnp.array([1.0, 4.0, 0.0]), jnp.array([1.0, 2.0, 1.0]))
    np.testing.assert_allclose(weighted.natural, twice.natural, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "known", "values"),
    [
        ("Bernoulli", {}, [1.0, 1.0, 1.0]),
        ("Categorical", {"size": 3}, [0.0, 1.0, 1.0]),
        ("Poisson", {}, [0.0, 0.0]),
        ("Normal", {}, [0.1, 0.1, 0.1]),
        ("Gamma", {}, [0.7, 0.7, 0.7]),
        pytest.param("Beta", {}, [0.3, 0.3], marks=pytest.mark.slow),
        pytest.param("VonMises", {}, [0.2, 0.2], marks=pytest.mark.slow),
        ("MultivariateNormal", {"size": 2}, [[1.0, 2.0], [0.5, 1.0], [0.1, 0.2]]),
    ],
)
def test_a_mean_on_the_boundary_has_no_maximum(
    name: str, known: dict[str, int], values: list[float]
) -> None:
    with pytest.raises(
        NoMaximumError, match=r"no maximum exists, because the mean of the statistics"
    ):
        fit_to_data(find_family(name, **known), jnp.array(values))


def test_a_boundary_names_its_place_and_a_trace_gives_nan() -> None:
    means = jnp.array([[0.5], [0.0]])
    with pytest.raises(NoMaximumError, match=r"at index \[1\], \[0.0\]"):
        fit_to_moments(POISSON, means)
    natural = jax.jit(lambda m: fit_to_moments(POISSON, m).natural)(means)
    assert np.isnan(natural).tolist() == [[False], [True]]
    assert to_natural(POISSON, means)[1].holds.tolist() == [True, False]


def test_a_value_outside_the_support_is_named() -> None:
    with pytest.raises(
        OutsideSupportError,
        match=r"value -2.0 at index \[1\]: the support of Gamma is positive numbers",
    ):
        fit_to_data(GAMMA, jnp.array([1.0, -2.0]))


def test_no_observation_is_said() -> None:
    with pytest.raises(NoMaximumError, match="no observation to fit Poisson to"):
        fit_to_data(POISSON, jnp.zeros(0))


def test_the_die_of_maximum_entropy() -> None:
    """A die whose mean is 4.5: p_k proportional to r^k, where r is a root."""
    faces = np.arange(1.0, 7.0)
    probs, fit = maximise_entropy(faces[:, None], np.array([4.5]))
    ratio = scipy.optimize.brentq(
        lambda r: (faces * r**faces).sum() / (r**faces).sum() - 4.5, 1, 3, xtol=1e-15
    )
    np.testing.assert_allclose(probs, ratio**faces / (ratio**faces).sum(), rtol=1e-10)
    assert fit.certificate.holds
    assert fit.natural[0] == pytest.approx(np.log(ratio), rel=1e-9)


def test_entropy_has_no_maximum_outside_the_polytope() -> None:
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    for moments in ([0.5, 1.0], [1.2, 0.5]):
        with pytest.raises(NoMaximumError, match="not inside the polytope"):
            maximise_entropy(square, np.array(moments))
    with pytest.raises(
        InferenceError, match="3 statistics of which only 2 are affinely independent"
    ):
        maximise_entropy(np.column_stack([square, square.sum(1)]), np.array([0.5, 0.5, 1.0]))


@pytest.mark.parametrize(
    ("name", "known", "usual", "values", "grid"),
    [
        (
            "Bernoulli",
            {},
            {"concentration1": 2.0, "concentration0": 3.5},
            [1.0, 0.0, 1.0],
            (-25, 25),
        ),
        ("Poisson", {}, {"concentration": 2.0, "rate": 1.5}, [3.0, 0.0, 2.0], (-25, 5)),
        (
            "Geometric",
            {},
            {"concentration1": 2.0, "concentration0": 3.0},
            [3.0, 0.0, 2.0],
            (-40, 0),
        ),
        ("Exponential", {}, {"concentration": 3.0, "rate": 1.5}, [0.3, 1.0, 2.0], (-60, 0)),
        (
            "Normal of known scale",
            {"scale": 1.7},
            {"loc": 0.5, "scale": 2.0},
            [0.3, -1.0, 2.0],
            (-15, 15),
        ),
        (
            "Laplace of known location",
            {"loc": 0.4},
            {"concentration": 3.0, "rate": 1.5},
            [0.3, -1.0, 2.0],
            (-60, 0),
        ),
    ],
)
def test_updates_are_bayes_rule_on_a_grid(
    name: str,
    known: dict[str, float],
    usual: dict[str, float],
    values: list[float],
    grid: tuple[float, float],
) -> None:
    family = find_family(name, **known)
    edges, width = np.linspace(*grid, 20001, retstep=True)
    theta, observed = jnp.asarray(edges[:-1] + width / 2)[:, None], jnp.array(values)
    prior = priors.prior_from_usual(family, **usual)
    before = priors.log_density(family, prior, theta)
    assert jnp.exp(before).sum() * width == pytest.approx(1, rel=1e-5)
    joint = before + features.log_prob(family, theta[:, None], observed[None]).sum(-1)
    evidence = jnp.log(jnp.exp(joint).sum() * width)
    assert priors.log_evidence(family, prior, observed) == pytest.approx(float(evidence), rel=1e-5)
    after = priors.log_density(family, priors.update(family, prior, observed), theta)
    np.testing.assert_allclose(jnp.exp(after), jnp.exp(joint - evidence), atol=1e-5)


def test_predictives_are_those_of_scipy() -> None:
    prior = priors.prior_from_usual(POISSON, concentration=2.0, rate=1.5)
    counts = jnp.arange(6.0)
    expected = scipy.stats.nbinom(2, 1.5 / 2.5).logpmf(np.arange(6))
    np.testing.assert_allclose(priors.log_predictive(POISSON, prior, counts), expected, rtol=1e-11)
    prior = priors.prior_from_usual(NORMAL, loc=0.5, count=2.0, concentration=3.0, rate=4.0)
    student = scipy.stats.t(6, 0.5, np.sqrt(4 * 3 / (3 * 2)))
    x = jnp.linspace(-3, 3, 5)
    np.testing.assert_allclose(
        priors.log_predictive(NORMAL, prior, x), student.logpdf(x), rtol=1e-11
    )
    plane = find_family("MultivariateNormal", size=2)
    matrix = np.array([[0.5, 0.1], [0.1, 0.8]])
    prior = priors.prior_from_usual(
        plane, loc=[0.2, 1.0], count=2.0, concentration=5.0, scale_matrix=matrix
    )
    peer = scipy.stats.multivariate_t([0.2, 1.0], np.linalg.inv(matrix) * 3 / (2 * 4), df=4)
    x = np.array([[0.0, 0.0], [1.0, -2.0]])
    np.testing.assert_allclose(priors.log_predictive(plane, prior, x), peer.logpdf(x), rtol=1e-10)


def test_a_prior_without_normaliser_is_updated_all_the_same() -> None:
    prior = priors.Prior(jnp.array([-0.5, 2.0]), jnp.array([1.0]))
    values = jnp.array([0.5, 2.0])
    after = priors.update(GAMMA, prior, values)
    theta = features.from_usual(GAMMA, concentration=[0.8, 3.0], rate=[1.0, 2.0])
    change = priors.log_density(GAMMA, after, theta) - priors.log_density(GAMMA, prior, theta)
    expected = scipy.stats.gamma([[0.8], [3.0]], scale=[[1.0], [0.5]]).logpdf(values).sum(-1)
    np.testing.assert_allclose(change, expected, rtol=1e-12)
    with pytest.raises(NoClosedFormError, match="Gamma has no normaliser in closed form"):
        priors.log_predictive(GAMMA, prior, values)

"""`m.posterior`: closed forms, elimination against hand-marginalised models, finite variables,
groups, guides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import Any

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy.stats import norm

import dpc
from dpc.inference.mcmc.run import NutsPlan, NutsRun
from dpc.inference.mcmc.target import TargetDensity

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "each program runs once, and compiling takes most of the time"

CHAIN = """
dim T
dim K = 2
dim State = low | high
observed y[T] : real
stay[k in State] ~ Beta(4, 1)
mu[k in State]   ~ Normal(0, 3)   with ordered
z[0] : State           ~ Categorical(low=0.5, high=0.5)
z[t in T[1..]] : State ~ table z[t-1] => low, high {
    low  => stay[low], 1 - stay[low]
    high => 1 - stay[high], stay[high]
}
y[t in T] ~ Normal(mu[z[t]], 1)
in_high := sum[t in T] (if z[t] == high then 1.0 else 0.0)
"""
CLUSTERS = """
dim Point
dim Cluster = 2
observed x[Point] : real
weight ~ Dirichlet(ones(Cluster))
centre[k in Cluster] ~ Normal(0, 5)   with ordered
label[i in Point]    ~ Categorical(weight)
x[i in Point]        ~ Normal(centre[label[i]], 1)
"""
Y = np.array([-2.1, -1.7, 1.5, 2.4, 1.9, -2.5, -1.2, 2.2])


# ---- elimination against the same by hand


def hmm_by_hand() -> None:
    stay = numpyro.sample("stay", dist.Beta(4, 1).expand([2]).to_event(1))
    mu = numpyro.sample("mu", dist.ImproperUniform(dist.constraints.ordered_vector, (), (2,)))
    numpyro.factor("prior", jnp.sum(norm_logpdf(mu, 0.0, 3.0)) + jnp.log(2.0))
    step = jnp.log(jnp.array([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]]))
    seen = norm_logpdf(Y[:, None], mu, 1.0)
    forward = lambda alpha, own: (jax.nn.logsumexp(alpha[:, None] + step, axis=0) + own, None)  # noqa: E731
    alpha, _ = jax.lax.scan(forward, jnp.log(0.5) + seen[0], seen[1:])
    numpyro.factor("likelihood", jax.nn.logsumexp(alpha))


def mixture_by_hand() -> None:
    weight = numpyro.sample("weight", dist.Dirichlet(jnp.ones(2)))
    centre = numpyro.sample(
        "centre", dist.ImproperUniform(dist.constraints.ordered_vector, (), (2,))
    )
    numpyro.factor("prior", jnp.sum(norm_logpdf(centre, 0.0, 5.0)) + jnp.log(2.0))
    numpyro.factor(
        "seen",
        jnp.sum(jax.nn.logsumexp(jnp.log(weight) + norm_logpdf(Y[:, None], centre, 1.0), axis=1)),
    )


def norm_logpdf(x: Any, mean: Any, sd: float) -> jax.Array:
    return jax.scipy.stats.norm.logpdf(x, mean, sd)


BY_HAND: dict[str, tuple[str, str, Callable[[], None]]] = {
    "hmm": (CHAIN, "y", hmm_by_hand),
    "mixture": (CLUSTERS, "x", mixture_by_hand),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_elimination_is_the_hand_marginalised_density(name: str) -> None:
    """Potential and gradient in unconstrained space at five points: NUTS sees one and the same
    function.
    """
    text, seen, by_hand = BY_HAND[name]
    model = dpc.parse(text)
    ours, theirs = TargetDensity(model.to_numpyro(model.bind({seen: Y}))), TargetDensity(by_hand)
    assert ours.shapes == theirs.shapes
    chance = np.random.default_rng(0)
    functions = [jax.jit(jax.value_and_grad(target.potential)) for target in (ours, theirs)]
    for _ in range(5):
        point = {
            site: jnp.asarray(chance.uniform(-2, 2, shape)) for site, shape in ours.shapes.items()
        }
        found, expected = (function(point) for function in functions)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
        for site in point:
            np.testing.assert_allclose(found[1][site], expected[1][site], rtol=1e-7, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_HAND)
def test_posterior_is_that_of_the_hand_marginalised_model(name: str) -> None:
    """Means of all elements within 4.5 Monte Carlo errors of their difference: false alarm below 1
    in 10,000.
    """
    text, seen, by_hand = BY_HAND[name]
    model = dpc.parse(text)
    plan = NutsPlan(warmup=1000, chains=4)
    found = []
    for run in (model.posterior_run({seen: Y}, plan), NutsRun(by_hand, plan._replace(seed=1))):
        found.append(run.advance(run.start(), 3000)[1].values)
    for site in found[1]:
        flat = [np.reshape(f[site], (4, 2000, -1)) for f in found]
        for k in range(flat[0].shape[2]):
            means = [f[..., k].mean() for f in flat]
            errors = [f[..., k].std() / np.sqrt(float(az.ess(f[..., k]))) for f in flat]
            assert abs(means[0] - means[1]) < 4.5 * np.hypot(*errors), (site, k)


# ---- one posterior, and all that belongs to it


@pytest.fixture(scope="module")
def chain() -> Iterator[tuple[dpc.Model, Any, Any]]:
    with jax.enable_x64(True):
        model = dpc.parse(CHAIN)
        data = model.bind({"y": Y})
        yield model, data, model.posterior(data, draws=150, warmup=150, chains=2, prior=False)


def test_groups_have_the_dims_and_labels_of_the_file(chain: Any) -> None:
    _, _, found = chain
    posterior = found.posterior
    assert posterior["mu"].dims == ("chain", "draw", "State")
    assert list(posterior.coords["State"].values) == ["low", "high"]
    assert posterior["z"].dims == ("chain", "draw", "T")
    assert dict(posterior.sizes) == {"chain": 2, "draw": 150, "State": 2, "T": 8}
    assert {"diverging", "energy", "acceptance_rate", "tree_depth"} <= set(
        found.sample_stats.data_vars
    )
    assert found.posterior_predictive["y"].shape == (2, 150, 8)
    np.testing.assert_array_equal(found.observed_data["y"], Y)
    np.testing.assert_array_equal(posterior["in_high"], (posterior["z"] == 1).sum("T"))


def test_likelihood_of_a_chain_is_whole(chain: Any) -> None:
    """log p(y | draw), by summing over all 2^8 paths."""
    _, _, found = chain
    stay, mu = (found.posterior[name].values[1, 7] for name in ("stay", "mu"))
    step = np.array([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]])
    total = 0.0
    for z in product(range(2), repeat=len(Y)):
        moves = np.prod([step[a, b] for a, b in pairwise(z)])
        total += 0.5 * moves * norm.pdf(Y, mu[list(z)]).prod()
    assert found.log_likelihood["y"].shape == (2, 150)
    np.testing.assert_allclose(found.log_likelihood["y"].values[1, 7], np.log(total), rtol=1e-9)


@pytest.fixture(scope="module")
def shares(chain: Any) -> Iterator[np.ndarray]:
    model, data, found = chain
    with jax.enable_x64(True):
        yield model.recover(found, data, "marginals")["z"]


def test_recovered_marginals_are_exact_given_each_draw(chain: Any, shares: np.ndarray) -> None:
    model, data, found = chain
    assert shares.shape == (2, 150, 8, 2)
    one = {name: found.posterior[name].values[0, 3] for name in ("stay", "mu")}
    np.testing.assert_allclose(shares[0, 3], model.marginals({}, data, given=one)["z"], atol=1e-12)


@pytest.mark.slow
def test_recovered_modes_are_exact_given_each_draw(chain: Any) -> None:
    model, data, found = chain
    one = {name: found.posterior[name].values[0, 3] for name in ("stay", "mu")}
    expected = model.mode({}, data, given=one)["z"]
    np.testing.assert_array_equal(model.recover(found, data, "mode")["z"][0, 3], expected)


def test_recovered_draws_have_the_average_marginals(chain: Any, shares: np.ndarray) -> None:
    """Given the 300 draws, a state is a coin with the average marginal p: within 4.5 sd at 8 steps,
    1 in 18,000.
    """
    _, _, found = chain
    p = shares[..., 1]
    error = np.sqrt((p * (1 - p)).sum(axis=(0, 1))) / 300
    drawn = found.posterior["z"].values.mean(axis=(0, 1))
    assert np.all(np.abs(drawn - p.mean(axis=(0, 1))) < 4.5 * error + 1e-9)


def test_nothing_to_recover_is_said() -> None:
    model = dpc.parse("m ~ Normal(0, 1)\n")
    with pytest.raises(ValueError, match="nothing to recover"):
        model.recover({"m": np.zeros((1, 3))}, None)


# ---- closed forms

GAUSSIAN = """
dim N
observed y[N] : real
m ~ Normal(0, 2)
y[i in N] ~ Normal(m, 0.5)
"""
PRECISION = 1 / 4 + len(Y) / 0.25
MEAN, SD = Y.sum() / 0.25 / PRECISION, PRECISION**-0.5


@pytest.mark.parametrize("method", ["laplace", "importance"])
def test_approximations_of_a_conjugate_model(method: str) -> None:
    """Mean within 4.5 standard errors of 1000 draws: false alarm 1 in 150,000."""
    found = dpc.parse(GAUSSIAN).posterior(
        {"y": Y}, method, draws=1000, prior=False, predictive=False
    )
    m = found.posterior["m"].values
    assert m.shape == (1, 1000)
    assert abs(m.mean() - MEAN) < 4.5 * SD / np.sqrt(1000)
    assert abs(m.std() / SD - 1) < 4.5 / np.sqrt(2 * 1000)
    assert found.posterior.attrs["pareto_k"] < 0.7
    assert found.log_likelihood["y"].shape == (1, 1000, 8)


def test_the_guide_of_the_file_is_fitted_and_drawn_from() -> None:
    """The guide holds the posterior: within a tenth of its sd after 1000 steps, plus 4.5 standard
    errors.
    """
    text = GAUSSIAN + (
        "param a : real\nparam b : real\nguide { m ~ Normal(a, exp(b)) with grad=pathwise "
        "}\nmaximize elbo()\n"
    )
    found = dpc.parse(text).posterior(
        {"y": Y}, "svi", draws=1000, steps=1500, prior=False, predictive=False
    )
    m = found.posterior["m"].values
    assert abs(m.mean() - MEAN) < (0.1 + 4.5 / np.sqrt(1000)) * SD
    assert abs(m.std() / SD - 1) < 0.1 + 4.5 / np.sqrt(2 * 1000)
    assert found.posterior.attrs["method"] == "svi"


# ---- what cannot be


def test_a_count_without_bounds_is_refused_by_name() -> None:
    model = dpc.parse("observed y : real\nn ~ Poisson(3)\ny ~ Normal(n, 1)\n")
    with pytest.raises(ValueError, match="`n` is a whole number without bounds"):
        model.posterior({"y": 1.0})


def test_a_network_has_nothing_to_move_along() -> None:
    model = dpc.parse(
        "observed b : bool\na ~ Bernoulli(0.3)\nb ~ Bernoulli(if a then 0.9 else 0.2)\n"
    )
    with pytest.raises(ValueError, match="nothing in this model is continuous"):
        model.posterior({"b": True})


def test_unknown_methods_are_told() -> None:
    with pytest.raises(ValueError, match="no method 'gibbs': nuts, svi, laplace, importance"):
        dpc.parse("m ~ Normal(0, 1)\n").posterior(method="gibbs")


def test_centred_hierarchies_are_told_from_others() -> None:
    from dpc.posterior.groups import centred_draws

    head = "dim J = 3\nmu ~ Normal(0, 1)\ntau ~ HalfNormal(1)\n"
    for line, expected in {
        "x[j in J] ~ Normal(mu, tau)": ("x",),
        "x[j in J] ~ Normal(mu, tau) with noncentered": (),
        "x[j in J] ~ Normal(mu, 1)": (),
    }.items():
        assert centred_draws(dpc.parse(f"{head}{line}\n").graph) == expected

"""`m.to_numpyro()` has the density of the model, for every model of models/ that draws, and
composes with NumPyro.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from marks import some_fast
from numpyro.handlers import condition, seed, substitute, trace
from numpyro.infer import Predictive, log_likelihood
from numpyro.infer.util import initialize_model, log_density
from test_models_scipy import EXTERNS, GIVEN, OWN, SIZES, some_value

import dpc
from dpc.dsl.graph.graph import Graph, Kind, verify_graph
from dpc.dsl.graph.passes.noncentered import decentre, is_noncentered
from dpc.posterior.write import find_sites

LOOSE_JAX = "NumPyro promotes types and ranks"

Values = dict[str, Any]
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "posterior.md"
WIDE = "vae"
"""Twenty coins in one table."""
QUICK = {"eight_schools", "hmm", "garch", "tracking", "gate", "tagger"}
"""A model of every kind; the others are tried where there is time."""


def drawing() -> Iterator[Any]:
    for path in OWN:
        kinds = {node.kind for node in load(path.stem).graph.nodes}
        if kinds & {Kind.DRAW, Kind.FACTOR} and path.stem != WIDE:
            yield pytest.param(path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)


def load(name: str) -> dpc.Model:
    (path,) = (path for path in OWN if path.stem == name)
    return dpc.load(path, **EXTERNS.get(name, {}))


def density(model: Callable[..., None], sites: Values) -> float:
    return float(jax.jit(lambda values: log_density(model, (), {}, values)[0])(sites))


def expected_density(model: dpc.Model, values: Values, data: Mapping[str, Any]) -> float:
    """The joint density, or its sum over the finite draws that are not observed."""
    params = {n.name: values[n.name] for n in model.graph.of_kind(Kind.PARAMETER)}
    hidden = find_sites(model.graph).hidden
    latent = {
        n.name: values[n.name]
        for n in model.graph.of_kind(Kind.DRAW)
        if n.name not in hidden and not n.observed
    }
    if hidden:
        return float(model.log_partition(params, data, given=latent))
    return float(model.log_prob(params, latent, data))


def sites_of(graph: Graph, values: Values) -> tuple[Values, float]:
    """Values of the sites, and log |dx/draw| of those that are computed; these are Normal(mean,
    scale) here.
    """
    hidden = find_sites(graph).hidden
    unknown = [
        n
        for n in graph.of_kind(Kind.DRAW, Kind.PARAMETER)
        if n.name not in hidden and not n.observed
    ]
    sites, change = {n.name: values[n.name] for n in unknown}, 0.0
    for node in filter(is_noncentered, unknown):
        mean, scale = {"theta": ("mu", "tau"), "a": ("mu_a", "tau")}[node.name]
        sites[f"{node.name}_decentered"] = (sites.pop(node.name) - values[mean]) / values[scale]
        change += np.log(values[scale]) * values[node.name].size
    return sites, change


@pytest.mark.parametrize("name", list(drawing()))
def test_density_is_that_of_the_model(name: str) -> None:
    model = load(name)
    chance = np.random.default_rng(1)
    values = {
        n.name: jnp.asarray(some_value(n, chance)) for n in model.graph.nodes if n.kind in GIVEN
    }
    data = {n.name: values[n.name] for n in model.graph.nodes if n.kind is Kind.INPUT or n.observed}
    data |= {d.name: SIZES[d.name] for d in model.graph.dims if d.size is None}
    sites, change = sites_of(model.graph, values)
    expected = expected_density(model, values, data) + change
    assert np.isfinite(expected)
    np.testing.assert_allclose(
        density(model.to_numpyro(data), sites), expected, rtol=1e-9, atol=1e-12
    )


# ---- what no model of models/ has

ROTATIONS = """
dim T
observed y[T] : real
s ~ HalfNormal(1)
x[0] ~ Normal(0, 1)
y[0] ~ Normal(x[0], 1)
x[t in T[1..]] ~ Normal(0.5 * y[t-1] + x[t-1], s)
y[t in T[1..]] ~ Normal(x[t] + 0.1 * y[t-1], 1)
"""
TWO_LATENT = ROTATIONS.replace(
    "observed y[T] : real\n", "observed w : real\nw ~ Normal(sum(y), 1)\n"
)
SWITCHING = """
dim T
dim K = 2
observed y[T] : real
mu[k in K] ~ Normal(0, 1)
z[0] ~ Categorical([0.5, 0.5])
y[0] ~ Normal(mu[z[0]], 1)
z[t in T[1..]] : K ~ Categorical(softargmax([y[t-1], 0.3 + z[t-1]]))
y[t in T[1..]] ~ Normal(mu[z[t]] + 0.5 * y[t-1], 1)
"""
BETWEEN = """
dim N
observed y[N] : real
m ~ Normal(0, 2)
z[i in N] ~ Bernoulli(0.3)
shift[i in N] := if z[i] then m else 0
theta[i in N] ~ Normal(shift[i], 1)
y[i in N] ~ Normal(theta[i], 0.5)
"""
MASKED = """
dim N
data keep[N] : bool
observed y[N] : real
m ~ Normal(0, 1)
y[i in N where keep[i]] ~ Normal(m, 1)
factor pull : -m^4
"""
FLAT = """
dim K = 3
dim N
observed k[N] : K
param p[K] : simplex
param rate : real(lower=0)
x ~ Exponential(rate)
k[n in N] ~ Categorical(p)
"""
RISING = """
dim N
dim K = 3
observed y[N] : real
c[n in N, k in K] ~ Beta(2, 2) with ordered
y[0] ~ Normal(c[0, 1], 1)
y[n in N[1..]] ~ Normal(c[n, 2], 1)
"""
VALUES: Values = {
    "y": np.array([0.3, -0.2, 0.9, 0.4]), "x": np.array([0.1, 0.5, -0.4, 0.2]), "s": np.array(0.7), "w": np.array(1.0),
    "mu": np.array([-0.5, 0.8]), "m": np.array(0.6), "theta": np.array([0.2, 0.7, -0.3, 0.4]), "rate": np.array(1.3),
    "keep": np.array([True, False, True, True]), "k": np.array([0, 2, 1, 1]), "p": np.array([0.2, 0.5, 0.3]),
    "c": np.sort(np.random.default_rng(0).uniform(0.1, 0.9, (4, 3))),
}  # fmt: skip
TEXTS = {"feedback": ROTATIONS, "two latent": TWO_LATENT, "switching": SWITCHING, "between": BETWEEN,
         "masked": MASKED, "flat": FLAT, "rising": RISING}  # fmt: skip


@pytest.mark.parametrize("name", some_fast(TEXTS, 4))
def test_density_of_odd_models(name: str) -> None:
    model = dpc.parse(TEXTS[name])
    values = {**VALUES, "x": np.array(0.4)} if name == "flat" else VALUES
    data = {n.name: values[n.name] for n in model.graph.nodes if n.kind is Kind.INPUT or n.observed}
    data |= {d.name: 4 for d in model.graph.dims if d.size is None}
    sites, _ = sites_of(model.graph, values)
    expected = expected_density(model, {**values, **sites}, data)
    np.testing.assert_allclose(density(model.to_numpyro(data), sites), expected, rtol=1e-9)


def test_sum_of_switching_model_by_hand() -> None:
    """log of the sum over all 2^4 paths of prior, transitions and densities, written with NumPy."""
    from itertools import product

    from scipy.stats import norm

    y, mu = VALUES["y"], VALUES["mu"]
    total = 0.0
    for z in product(range(2), repeat=4):
        p = 0.5 * norm.pdf(y[0], mu[z[0]])
        for t in range(1, 4):
            weights = np.exp([y[t - 1], 0.3 + z[t - 1]])
            p *= weights[z[t]] / weights.sum() * norm.pdf(y[t], mu[z[t]] + 0.5 * y[t - 1])
        total += p
    expected = np.log(total) + norm.logpdf(mu).sum()
    model = dpc.parse(SWITCHING).to_numpyro({"y": y, "T": 4})
    np.testing.assert_allclose(density(model, {"mu": mu}), expected, rtol=1e-9)


# ---- without a centre

LAWS = ["Normal(m, s)", "StudentT(4, m, s)", "LogNormal(m, s)"]
VECTORS = [
    "MultivariateNormal(m * ones(K), C)",
    "MultivariateNormal(m * ones(K), chol=cholesky(C))",
    "MultivariateNormal(m * ones(K), precision=C)",
    "MultivariateStudentT(5, m * ones(K), C)",
    "MultivariateNormal([m, 1.0], C)",
]


@pytest.mark.parametrize("law", LAWS)
def test_noncentered_numbers_have_the_density_of_centered_ones(law: str) -> None:
    """log p(x) + log |dx/draw| = log p(draw)."""
    head = "dim D = 3\nm ~ Normal(0, 1)\ns ~ HalfNormal(1)\n"
    plain, moved = (
        dpc.parse(f"{head}x[d in D] ~ {law}{end}\n") for end in ("", " with noncentered")
    )
    raw = jnp.array([0.3, -1.0, 0.7])
    m, s = jnp.array(0.4), jnp.array(1.7)
    expected, logs = m + s * raw, 3 * jnp.log(s)
    if law.startswith("LogNormal"):
        logs, expected = logs + jnp.sum(expected), jnp.exp(expected)
    model = moved.to_numpyro()
    sites = trace(substitute(model, data={"m": m, "s": s, "x_decentered": raw})).get_trace()
    np.testing.assert_allclose(sites["x"]["value"], expected, rtol=1e-12)
    assert sites["x"]["type"] == "deterministic"
    found = density(model, {"m": m, "s": s, "x_decentered": raw})
    np.testing.assert_allclose(
        found, plain.log_prob({}, {"m": m, "s": s, "x": expected}) + logs, rtol=1e-9
    )


@pytest.mark.parametrize("law", VECTORS)
def test_noncentered_vectors(law: str) -> None:
    """log |det dx/draw| by automatic differentiation."""
    head = "dim K = 2\ndata C[K, K] : covariance\nm ~ Normal(0, 1)\n"
    plain, moved = (dpc.parse(f"{head}x ~ {law}{end}\n") for end in ("", " with noncentered"))
    data = {"C": jnp.array([[2.0, 0.6], [0.6, 1.0]])}
    m, raw = jnp.array(0.4), jnp.array([0.3, -1.0])
    inner = dpc.Model(decentre(moved.graph))
    verify_graph(inner.graph)
    x = lambda r: inner.evaluate({}, data, {"m": m, "x_decentered": r})["x"]  # noqa: E731
    _, change = np.linalg.slogdet(jax.jacobian(x)(raw))
    found = density(moved.to_numpyro(data), {"m": m, "x_decentered": raw})
    np.testing.assert_allclose(
        found, plain.log_prob({}, {"m": m, "x": x(raw)}, data) + change, rtol=1e-9
    )


def test_noncentered_recurrence_is_a_scan_of_noise() -> None:
    text = "dim T\ns ~ HalfNormal(1)\nx[0] ~ Normal(0, 1)\nx[t in T[1..]] ~ Normal(x[t-1], s)"
    plain, moved = dpc.parse(text), dpc.parse(text + " with noncentered\n")
    raw, s = jnp.array([0.5, -0.3, 1.0]), jnp.array(0.6)
    x = jnp.cumsum(raw * jnp.array([1.0, 0.6, 0.6]))
    found = density(moved.to_numpyro({"T": 3}), {"s": s, "x_decentered": raw})
    expected = plain.log_prob({}, {"s": s, "x": x}, {"T": 3}) + 2 * jnp.log(s)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


# ---- with NumPyro's own tools


@pytest.fixture(scope="module")
def mixture() -> dpc.Model:
    return dpc.parse("""
dim Point
dim Cluster = 2
observed x[Point] : real
weight ~ Dirichlet(ones(Cluster))
centre[k in Cluster] ~ Normal(0, 10) with ordered
label[i in Point] ~ Categorical(weight)
x[i in Point] ~ Normal(centre[label[i]], 1)
""")


def sites_in(model: Callable[..., None]) -> Values:
    """The trace, without computing anything."""
    found: Values = {}
    jax.eval_shape(
        lambda key: found.update(trace(seed(model, key)).get_trace()), jax.random.PRNGKey(0)
    )
    return found


def test_one_site_for_each_draw_and_none_for_what_is_summed_over(mixture: dpc.Model) -> None:
    model = mixture.to_numpyro(mixture.bind({"x": [0.0, 1.0, 2.0]}))
    sites = sites_in(model)
    assert {name for name, site in sites.items() if site["type"] == "sample"} == {
        "weight",
        "centre",
        "x",
    }
    assert sites["x"]["is_observed"]
    assert sites["centre"]["value"].shape == (2,)
    assert sites_in(condition(model, {"centre": jnp.array([0.0, 1.0])}))["centre"]["is_observed"]


def test_dims_are_plates() -> None:
    model = load("hierarchical")
    data = model.bind({"county": [0, 1, 1, 0], "floor": [0.0, 1, 0, 1], "y": [1.0, 2, 3, 4]})
    sites = sites_in(model.to_numpyro(data))
    assert {name for name, site in sites.items() if site["type"] == "plate"} == {"County", "Obs"}
    assert [frame.name for frame in sites["y"]["cond_indep_stack"]] == ["Obs"]
    assert sites["icc"]["type"] == sites["a"]["type"] == "deterministic"


def test_predictions_have_the_moments_of_the_mixture(mixture: dpc.Model) -> None:
    """Mean and variance of 4000 draws, each within 4.5 standard errors: false alarm 1 in 70,000."""
    data = mixture.bind({}, partial=True, Point=1)
    known = {
        "weight": jnp.tile(jnp.array([0.3, 0.7]), (4000, 1)),
        "centre": jnp.tile(jnp.array([-1.0, 2.0]), (4000, 1)),
    }
    predict = Predictive(mixture.to_numpyro(), known, parallel=True)
    x = np.asarray(predict(jax.random.PRNGKey(0), data)["x"])[:, 0]
    mean, variance = 0.3 * -1 + 0.7 * 2, 1 + 0.3 * 0.7 * 9
    assert abs(x.mean() - mean) < 4.5 * np.sqrt(variance / 4000)
    fourth = np.mean((x - x.mean()) ** 4)
    assert abs(x.var() - variance) < 4.5 * np.sqrt((fourth - variance**2) / 4000)


def test_feedback_is_predicted_given_what_is_known() -> None:
    """With the states known, y[t] = x[t] + 0.1 y[t-1] + noise; drawn together, x follows y, too."""
    model = dpc.parse(ROTATIONS)
    data = model.bind({}, partial=True, T=3)
    x = jnp.array([1.0, 2.0, 3.0])
    known = {"s": jnp.full(2000, 0.1), "x": jnp.tile(x, (2000, 1))}
    y = np.asarray(
        Predictive(model.to_numpyro(), known, parallel=True)(jax.random.PRNGKey(0), data)["y"]
    )
    left = y - np.asarray(x)
    left[:, 1:] -= 0.1 * y[:, :-1]
    assert np.all(np.abs(left.mean(axis=0)) < 4.5 / np.sqrt(2000))
    run = Predictive(model.to_numpyro(), {"s": jnp.full(2000, 0.1)}, parallel=True)
    both = run(jax.random.PRNGKey(1), data)
    steps = both["x"][:, 1:] - 0.5 * both["y"][:, :-1] - both["x"][:, :-1]
    assert np.all(np.abs(np.std(steps, axis=0) - 0.1) < 4.5 * 0.1 / np.sqrt(2 * 2000))


def test_likelihood_is_whole_for_numpyro_and_by_point_for_us(mixture: dpc.Model) -> None:
    from scipy.stats import norm

    x = np.array([0.0, 1.0, 2.0])
    model = mixture.to_numpyro(mixture.bind({"x": x}))
    values = {"weight": jnp.array([[0.3, 0.7]]), "centre": jnp.array([[-1.0, 2.0]])}
    by_hand = np.log(0.3 * norm.pdf(x, -1) + 0.7 * norm.pdf(x, 2))
    np.testing.assert_allclose(
        jax.jit(lambda v: log_likelihood(model, v))(values)["x"], [by_hand.sum()], rtol=1e-9
    )
    data = dict(mixture.bind({"x": x}))
    one = {name: value[0] for name, value in values.items()}
    pointwise = jax.jit(lambda v: mixture.posteriors.as_written.log_likelihood(data, v))(one)["x"]
    np.testing.assert_allclose(pointwise, by_hand, rtol=1e-9)


COUNTS = """
dim N
observed y[N] : int(lower=0)
rate ~ Gamma(2, 1)
y[i in N] ~ Poisson(rate)
"""


def test_blackjax_draws_from_the_posterior_by_the_recipe_of_the_documentation() -> None:
    """rate | y is Gamma(2 + sum y, 1 + n): mean and square within 4.5 Monte Carlo errors, false
    alarm 1 in 70,000.
    """
    pytest.importorskip("blackjax")
    (recipe,) = re.findall(
        r"^```py\n(.*?)^```$", DOCUMENTATION.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    y = np.array([3, 1, 4, 1, 5])
    counts = dpc.parse(COUNTS)
    names: Values = {
        "jax": jax,
        "initialize_model": initialize_model,
        "model": counts.to_numpyro(counts.bind({"y": y})),
    }
    exec(recipe, names)
    rate = np.asarray(names["draws"]["rate"])
    assert rate.shape == (2000,)
    shape, scale = 2 + y.sum(), 1 / (1 + len(y))
    for power, expected in ((1, shape * scale), (2, shape * (shape + 1) * scale**2)):
        draws = rate**power
        error = draws.std() / np.sqrt(float(az.ess(draws[None])))
        assert abs(draws.mean() - expected) < 4.5 * error


@pytest.mark.slow
def test_other_samplers_get_a_potential_and_a_start() -> None:
    """As blackjax asks for them."""
    model = dpc.parse(RISING)
    found = initialize_model(jax.random.PRNGKey(0), model.to_numpyro(model.bind({"y": [0.3, 0.2]})))
    raw = found.param_info.z
    values = found.postprocess_fn(raw)
    assert np.all(np.diff(values["c"], axis=-1) > 0)
    assert np.all((values["c"] > 0) & (values["c"] < 1))
    assert np.isclose(found.potential_fn(raw), found.param_info.potential_energy)


def test_a_count_that_is_given_to_numpyro_is_no_hidden_one() -> None:
    """p(y | a) summed over z, with y substituted where the data lack it."""
    model = dpc.parse("dim N\nobserved y[N] : bool\na ~ Beta(2, 2)\nz ~ Bernoulli(0.3)\n"
                      "y[i in N] ~ Bernoulli(if z then a else 0.5)\n")  # fmt: skip
    found = density(model.to_numpyro({"N": 2}), {"a": jnp.array(0.2), "y": jnp.array([1, 0])})
    expected = np.log(6 * 0.2 * 0.8) + np.log(0.3 * 0.2 * 0.8 + 0.7 * 0.25)
    np.testing.assert_allclose(found, expected, rtol=1e-9)

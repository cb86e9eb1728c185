"""Likelihoods by brute force, maxima by other ways of finding them."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import some_fast
from scipy import stats

import dpc
from dpc.data.errors import DataError
from dpc.learn.cases import read_cases
from dpc.learn.choose import NotApplicable, halves
from dpc.learn.likelihood import Likelihood
from dpc.learn.roles import Update, find_updates

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "each program runs once, and compiling takes most of the time"

MIXTURE = """
dim N
dim K = 2
observed x[N] : real
param w[K]    : simplex
param mu[K]   : real
param s[K]    : real(lower=0)
z[i in N] ~ Categorical(w)
x[i in N] ~ Normal(mu[z[i]], s[z[i]])
"""

NETWORK = """
dim YesNo = yes | no
a : YesNo ~ Categorical(yes=0.3, no=0.7)
b ~ Bernoulli(0.4)
c : YesNo ~ table a, b => yes, no { yes, true => 0.9, 0.1; yes, false => 0.2, 0.8; no, _ => 0.5, 0.5 }
"""

CHAIN = """
dim T
dim F = 2
dim Tag = O | B
data x[T, F]      : real
param W[Tag, F]   : real = 0
param V[Tag, Tag] : real = 0
latent tag[T]     : Tag
factor emit[t in T]       : dot(W[tag[t]], x[t])
factor trans[t in T[1..]] : V[tag[t-1], tag[t]]
factor ridge              : -0.5 * sum[a in Tag, b in Tag] V[a, b]^2
"""


@pytest.fixture(scope="module")
def network_rows() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"a": rng.integers(0, 2, 200), "b": rng.random(200) < 0.4, "c": rng.integers(0, 2, 200)}


# ---- the likelihood


def chain_cases() -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    return [{"x": rng.normal(size=(t, 2)), "tag": rng.integers(0, 2, t)} for t in (3, 2, 3)]


def chain_score(w: Any, v: Any, x: Any, tags: Any) -> Any:
    emit = sum(w[tag] @ row for tag, row in zip(tags, x, strict=True))
    return emit + sum(v[a, b] for a, b in pairwise(tags))


def test_the_loss_of_a_conditional_random_field_by_enumeration() -> None:
    model, cases = dpc.parse(CHAIN), chain_cases()
    rng = np.random.default_rng(2)
    params = {"W": rng.normal(size=(2, 2)), "V": rng.normal(size=(2, 2))}
    expected = 0.5 * np.sum(params["V"] ** 2)
    for case in cases:
        scores = [
            chain_score(params["W"], params["V"], case["x"], t)
            for t in product((0, 1), repeat=len(case["tag"]))
        ]
        expected += np.logaddexp.reduce(scores) - chain_score(
            params["W"], params["V"], case["x"], case["tag"]
        )
    assert float(model.loss(params, cases)) == pytest.approx(expected, abs=1e-10)


def test_the_gradient_is_expected_less_observed_statistics() -> None:
    model, cases = dpc.parse(CHAIN), chain_cases()
    likelihood = model.likelihood(cases)
    params = {"W": jnp.ones((2, 2)) / 3, "V": jnp.asarray([[0.1, -0.2], [0.3, 0.4]])}
    found = jax.jit(jax.grad(likelihood.loss))(params)
    pairs = np.asarray(params["V"]).copy()
    for case in cases:
        paths = list(product((0, 1), repeat=len(case["tag"])))
        scores = np.array([chain_score(params["W"], params["V"], case["x"], t) for t in paths])
        chances = np.exp(scores - np.logaddexp.reduce(scores))
        for path, chance in [*zip(paths, chances, strict=True), (tuple(case["tag"]), -1.0)]:
            for before, after in pairwise(path):
                pairs[before, after] += chance
    np.testing.assert_allclose(found["V"], pairs, atol=1e-10)


def test_rows_cut_by_a_column_are_the_same_cases() -> None:
    pandas = pytest.importorskip("pandas")
    model, cases = dpc.parse(CHAIN), chain_cases()
    frame = pandas.DataFrame(np.concatenate([case["x"] for case in cases]), columns=["x.0", "x.1"])
    frame["tag"] = np.array(["O", "B"], object)[np.concatenate([case["tag"] for case in cases])]
    frame["sentence"] = np.repeat(["first", "second", "third"], [3, 2, 3])
    params = {"W": np.ones((2, 2)) / 3, "V": np.arange(4.0).reshape(2, 2)}
    by_list = float(model.loss(params, cases))
    assert float(model.likelihood(frame, by="sentence").loss(params)) == pytest.approx(
        by_list, abs=1e-12
    )
    with pytest.raises(DataError, match="no column `sentences`"):
        model.likelihood(frame, by="sentences")


def test_missing_entries_are_summed_over(network_rows: dict[str, np.ndarray]) -> None:
    pandas = pytest.importorskip("pandas")
    model = dpc.parse(NETWORK)
    seen = {"a": [0, 1, None], "b": [True, None, False], "c": [0, 0, 1]}
    likelihood = model.likelihood(pandas.DataFrame(seen, dtype=object))
    params = likelihood.start()
    expected = 0.0
    for a, b, c in zip(*seen.values(), strict=True):
        joint = 0.0
        for i, j in product((0, 1), repeat=2):
            if a in (None, i) and b in (None, bool(j)):
                p = (
                    params["a.p"][i]
                    * (params["b.p"] if j else 1 - params["b.p"])
                    * params["c.p"][i, j, c]
                )
                joint += float(p)
        expected += np.log(joint)
    assert float(likelihood.log_likelihood(params)) == pytest.approx(expected, abs=1e-12)
    assert likelihood.open == {"a", "b"}


def test_a_missing_number_that_nothing_depends_on_integrates_to_one() -> None:
    model = dpc.parse(MIXTURE)
    x = np.array([0.5, np.nan, -1.0])
    params = {"w": np.array([0.3, 0.7]), "mu": np.array([-1.0, 1.0]), "s": np.array([1.0, 0.5])}
    found = float(model.likelihood({"x": x}).log_likelihood(params))
    each = [params["w"] @ stats.norm.pdf(v, params["mu"], params["s"]) for v in (0.5, -1.0)]
    assert found == pytest.approx(float(np.sum(np.log(each))), abs=1e-12)


def test_a_missing_number_that_others_depend_on_is_an_error() -> None:
    model = dpc.parse("dim T\nobserved y[T] : real\nparam a : real = 0.5\ny[0] ~ Normal(0, 1)\n"
                      "y[t in T[1..]] ~ Normal(a * y[t-1], 1)")  # fmt: skip
    with pytest.raises(DataError, match="`y` has missing entries, and `y` depends on them"):
        model.likelihood({"y": [0.1, np.nan, 0.2]})


# ---- closed forms


def test_counts_are_relative_frequencies(network_rows: dict[str, np.ndarray]) -> None:
    fit = dpc.parse(NETWORK).fit(network_rows)
    a, b, c = network_rows.values()
    assert fit.method == "counts"
    assert fit.converged
    assert fit.params["a.p"][0] == np.mean(a == 0)
    assert fit.params["b.p"] == np.mean(b)
    for i, j in product((0, 1), repeat=2):
        rows = (a == i) & (b == j)
        assert fit.params["c.p"][i, j, 0] == pytest.approx(np.mean(c[rows] == 0), abs=1e-15)
        error = np.sqrt(np.var(c[rows]) / rows.sum())
        assert fit.errors["c.p"][i, j, 0] == pytest.approx(error, abs=1e-15)


def test_counts_agree_with_the_gradient_of_the_likelihood(
    network_rows: dict[str, np.ndarray],
) -> None:
    model = dpc.parse(NETWORK)
    fit, likelihood = model.fit(network_rows), model.likelihood(network_rows)
    assert fit.value == pytest.approx(float(likelihood.log_likelihood(fit.params)), abs=1e-10)
    slope = jax.jit(jax.grad(lambda raw: likelihood.loss(likelihood.constrain(raw))))(
        likelihood.unconstrain(fit.params)
    )
    assert max(float(jnp.abs(s).max()) for s in slope.values()) < 1e-10


def test_smoothing_is_a_dirichlet_prior(network_rows: dict[str, np.ndarray]) -> None:
    prior = """
    dim YesNo = yes | no
    p ~ Dirichlet(3 * ones(YesNo))
    q ~ Beta(3, 3)
    a : YesNo ~ Categorical(p)
    b ~ Bernoulli(q)
    """
    rows = {name: network_rows[name] for name in "ab"}
    plain = dpc.parse(
        "dim YesNo = yes | no\na : YesNo ~ Categorical(yes=0.3, no=0.7)\nb ~ Bernoulli(0.4)"
    )
    smoothed, fit = plain.fit(rows, smoothing=2.0), dpc.parse(prior).fit(rows)
    assert fit.method == "counts"
    np.testing.assert_allclose(fit.params["p"], smoothed.params["a.p"], atol=1e-15)
    np.testing.assert_allclose(fit.params["q"], smoothed.params["b.p"], atol=1e-15)
    value = stats.dirichlet.logpdf(fit.params["p"], [3, 3]) + stats.beta.logpdf(
        fit.params["q"], 3, 3
    )
    assert fit.log_prior == pytest.approx(value, abs=1e-10)


def test_bdeu_spreads_a_sample_over_the_cells_of_each_table(
    network_rows: dict[str, np.ndarray],
) -> None:
    """By hand: two cells of a, two of b, eight of c."""
    params = dpc.parse(NETWORK).fit(network_rows, smoothing="bdeu:10").params
    a, b, c = network_rows.values()
    assert params["a.p"][0] == pytest.approx((np.sum(a == 0) + 5) / (len(a) + 10), abs=1e-15)
    assert params["b.p"] == pytest.approx((np.sum(b) + 5) / (len(b) + 10), abs=1e-15)
    for i, j, k in product((0, 1), repeat=3):
        rows = (a == i) & (b == j)
        by_hand = (np.sum(rows & (c == k)) + 10 / 8) / (np.sum(rows) + 10 / 4)
        assert params["c.p"][i, j, k] == pytest.approx(by_hand, abs=1e-15)
    with pytest.raises(ValueError, match="`smoothing=` is a number from 0 up, or `bdeu:N`"):
        dpc.parse(NETWORK).fit(network_rows, smoothing="bdeu:-1")


def test_tables_are_tied_over_plates_and_time() -> None:
    text = """
    dim S
    dim T
    dim K = 2
    observed z[S, T] : K
    param start[K] : simplex
    param step[K, K] : simplex
    for s in S {
        z[s, 0]           ~ Categorical(start)
        z[s, t in T[1..]] ~ Categorical(step[z[s, t-1]])
    }
    """
    z = np.random.default_rng(3).integers(0, 2, (5, 7))
    fit = dpc.parse(text).fit({"z": z})
    assert fit.method == "counts"
    np.testing.assert_allclose(fit.params["start"][1], z[:, 0].mean(), atol=1e-15)
    np.testing.assert_allclose(
        fit.params["step"][1, 1], z[:, 1:][z[:, :-1] == 1].mean(), atol=1e-15
    )


CLOSED = """
dim N
dim G = 2
data g[N] : G
observed n[N] : int
observed t[N] : real(lower=0)
observed y[N] : real
observed b[N] : bool
param rate[G] : real(lower=0)
param speed   : real(lower=0)
param mean[G] : real
param sd      : real(lower=0)
param chance  : real(lower=0, upper=1)
n[i in N] ~ Poisson(rate[g[i]])
t[i in N] ~ Exponential(speed)
y[i in N] ~ Normal(mean[g[i]], sd)
b[i in N] ~ Bernoulli(chance)
"""


def test_closed_forms_are_means() -> None:
    rng = np.random.default_rng(4)
    g = rng.integers(0, 2, 40)
    data = {
        "g": g,
        "n": rng.poisson(3, 40),
        "t": rng.exponential(2, 40),
        "y": rng.normal(1, 2, 40),
        "b": g == 1,
    }
    model = dpc.parse(CLOSED)
    fit = model.fit(data, errors=False)
    assert fit.method == "closed form"
    assert fit.converged
    means = [data["y"][g == k].mean() for k in (0, 1)]
    np.testing.assert_allclose(
        fit.params["rate"], [data["n"][g == k].mean() for k in (0, 1)], rtol=1e-12
    )
    np.testing.assert_allclose(fit.params["speed"], 1 / data["t"].mean(), rtol=1e-12)
    np.testing.assert_allclose(fit.params["mean"], means, rtol=1e-12)
    np.testing.assert_allclose(
        fit.params["sd"], np.sqrt(np.mean((data["y"] - np.take(means, g)) ** 2)), rtol=1e-12
    )
    np.testing.assert_allclose(fit.params["chance"], g.mean(), rtol=1e-12)


def test_each_unknown_has_the_update_that_its_use_allows() -> None:
    model = dpc.load("models/mixture.dp")
    updates = find_updates(model.likelihood({"x": [0.0]}).roles)
    assert updates == {
        "weight": Update.PROBABILITIES,
        "centre": Update.NEWTON,
        "spread": Update.NEWTON,
    }
    assert set(find_updates(dpc.parse(MIXTURE).likelihood({"x": [0.0]}).roles).values()) == {
        Update.PROBABILITIES,
        Update.MEAN,
        Update.SPREAD,
    }


# ---- hidden variables


@pytest.fixture(scope="module")
def mixture_steps() -> Any:
    with jax.enable_x64(True):
        likelihood = dpc.parse(MIXTURE).likelihood({"x": np.zeros(6)})
        expect, maximise = halves(likelihood)
        start = jax.jit(lambda seed: likelihood.unconstrain(likelihood.start(jax.random.key(seed))))
        return likelihood, start, jax.jit(expect), jax.jit(maximise)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=6, max_size=6, unique=True), st.integers(0, 100))
def test_expectation_maximisation_never_lowers_the_likelihood(
    mixture_steps: Any, x: list[float], seed: int
) -> None:
    likelihood, start, expect, maximise = mixture_steps
    arrays = [a.replace(shared={**a.shared, "x": jnp.asarray(x)}) for a in likelihood.arrays]
    raw = start(seed)
    value, expected = expect(raw, arrays)
    for _ in range(5):
        after = maximise(raw, expected, arrays)
        spread = jnp.exp(after["s"])
        if not jnp.all(
            spread > 1e-3
        ):  # a component has collapsed on a point: the likelihood has no maximum
            return
        raw = after
        higher, expected = expect(raw, arrays)
        assert higher >= value - 1e-9 * abs(value)
        value = higher


def test_em_and_the_gradient_of_the_likelihood_agree() -> None:
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.normal(-2, 1, 40), rng.normal(2, 0.5, 60)])
    model = dpc.parse(MIXTURE)
    start = {"mu": np.array([-1.0, 1.0]), "s": np.array([1.0, 1.0]), "w": np.array([0.5, 0.5])}
    em, direct = (model.fit({"x": x}, method=m, start=start, errors=False) for m in ("em", "lbfgs"))
    assert em.converged
    assert direct.converged
    assert em.value == pytest.approx(direct.value, abs=1e-7)
    np.testing.assert_allclose(em.params["mu"], direct.params["mu"], atol=1e-4)


# ---- random fields

ISING = """
dim Row = 3
dim Col = 3
param J : real = 0
latent s[Row, Col] : bool
fn sign(a: bool) -> real = if a then 1 else -1
factor right[i in Row, j in Col[1..]] : J * sign(s[i, j-1]) * sign(s[i, j])
factor below[i in Row[1..], j in Col] : J * sign(s[i-1, j]) * sign(s[i, j])
"""


def test_the_maximum_of_a_random_field_matches_its_moments() -> None:
    rng = np.random.default_rng(6)
    model, s = dpc.parse(ISING), rng.random((30, 3, 3)) < 0.5
    fit = model.fit({"s": s}, method="newton")
    signs = 2.0 * np.array(list(product((0, 1), repeat=9))).reshape(-1, 3, 3) - 1
    pairs = lambda s: (s[:, 1:] * s[:, :-1]).sum((1, 2)) + (s[:, :, 1:] * s[:, :, :-1]).sum((1, 2))  # noqa: E731
    weights = np.exp(float(fit.params["J"]) * pairs(signs))
    expected = weights @ pairs(signs) / weights.sum()
    assert expected == pytest.approx(pairs(2.0 * s - 1).mean(), abs=1e-8)
    variance = weights @ pairs(signs) ** 2 / weights.sum() - expected**2
    assert float(fit.errors["J"]) == pytest.approx((30 * variance) ** -0.5, rel=1e-6)


def test_other_losses_say_what_they_are_for(network_rows: dict[str, np.ndarray]) -> None:
    with pytest.raises(NotApplicable, match="is for random fields"):
        dpc.parse(NETWORK).fit(network_rows, loss="pseudo")
    with pytest.raises(NotApplicable, match="there is no loss 'pseud'"):
        dpc.parse(ISING).fit({"s": np.zeros((2, 3, 3), bool)}, loss="pseud")
    with pytest.raises(NotApplicable, match="needs complete data"):
        dpc.load("models/boltzmann.dp").fit({"v": np.zeros((2, 16), bool)}, loss="pseudo")


def test_pseudo_likelihood_is_the_product_of_conditionals() -> None:
    s = np.random.default_rng(7).random((4, 3, 3)) < 0.5
    model = dpc.parse(ISING)
    likelihood = model.likelihood({"s": s})
    expected = 0.0
    for case in 2.0 * s - 1:
        padded = np.pad(case, 1)
        field = 0.3 * (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:])
        expected += np.log1p(np.exp(-2 * case * field)).sum()
    assert float(likelihood.field_loss("pseudo", {"J": jnp.asarray(0.3)})) == pytest.approx(
        expected, abs=1e-10
    )


# ---- cases of many lengths


@pytest.mark.parametrize("text", some_fast([CHAIN, None], 1), ids=["field", "hmm"])
def test_joined_cases_have_the_likelihood_of_separate_ones(text: str | None) -> None:
    rng = np.random.default_rng(8)
    model = dpc.parse(text) if text else dpc.load("models/hmm.dp")
    cases = chain_cases() if text else [{"y": rng.normal(size=t)} for t in (2, 3, 4)]
    joined, apart = (
        Likelihood(model.graph, read_cases(model.graph, cases, join=join)) for join in (True, False)
    )
    assert joined.cases.joined == "T"
    assert len(apart.cases.groups) > 1
    params = joined.start(jax.random.key(0))
    found, expected = (jax.jit(jax.value_and_grad(one.loss))(params) for one in (joined, apart))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-10), found, expected)


def test_a_fit_starts_where_scaled_numbers_fail() -> None:
    """Transitions that span more than floats do are summed in logarithms, until the fit has left
    them behind.
    """
    model, cases = dpc.parse(CHAIN), chain_cases()
    likelihood = model.likelihood(cases)
    far = {"W": jnp.zeros((2, 2)), "V": jnp.array([[0.0, -900.0], [-900.0, 0.0]])}
    assert jnp.isnan(likelihood.checked.loss(far))
    assert jnp.isfinite(likelihood.loss(far))
    near, fit = (model.fit(cases, start=start, errors=False) for start in ({}, far))
    assert fit.converged
    assert fit.value == pytest.approx(near.value, abs=1e-6)
    np.testing.assert_allclose(fit.params["V"], near.params["V"], atol=1e-3)

"""Questions to compiled models: pure functions whose answers are those of enumeration."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpc
from dpc.inference.queries import infer_log_partition, infer_marginals

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

MODELS = Path(__file__).parents[2] / "models"
HMM = {
    "pi": np.array([0.2, 0.3, 0.5]),
    "A": np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]),
    "mu": np.array([0.0, 5.0, 9.0]),
}


@pytest.fixture(scope="module")
def hmm() -> dpc.Model:
    return dpc.load(MODELS / "hmm.dp")


def scores(model: dpc.Model, data: Any, given: dict[str, Any]) -> dict[tuple[int, ...], float]:
    """log p of every configuration of a chain z, by the model's own density."""
    steps, states = data["T"], 3
    batch = jnp.array(list(product(range(states), repeat=steps)))
    values = jax.vmap(lambda z: model.log_prob({}, {**given, "z": z}, data))(batch)
    return {tuple(z): float(v) for z, v in zip(batch.tolist(), values, strict=True)}


def test_a_hidden_chain_by_enumeration(hmm: dpc.Model) -> None:
    data = hmm.bind({"y": [0.1, 1.0, 6.0, 5.2]})
    table = scores(hmm, data, HMM)
    log_z = np.logaddexp.reduce(list(table.values()))
    np.testing.assert_allclose(hmm.log_partition({}, data, HMM), log_z, rtol=1e-12)
    expected = np.zeros((4, 3))
    for states, score in table.items():
        expected[range(4), states] += np.exp(score - log_z)
    np.testing.assert_allclose(hmm.marginals({}, data, HMM)["z"], expected, atol=1e-12)
    best = sorted(table, key=lambda key: -table[key])
    assert tuple(hmm.mode({}, data, HMM)["z"].tolist()) == best[0]
    found, logs = hmm.kbest(4, {}, data, HMM)
    assert list(map(tuple, found["z"].tolist())) == best[:4]
    np.testing.assert_allclose(logs, [table[key] for key in best[:4]], rtol=1e-12)
    p = np.exp(np.array(list(table.values())) - log_z)
    np.testing.assert_allclose(hmm.entropy({}, data, HMM), -np.sum(p * np.log(p)), rtol=1e-10)


def test_evidence_of_every_kind(hmm: dpc.Model) -> None:
    data = hmm.bind({"y": [0.1, 1.0, 6.0, 5.2]})
    table = scores(hmm, data, HMM)

    def log_z(keep: Any) -> float:
        return float(np.logaddexp.reduce([score + keep(states) for states, score in table.items()]))

    def only(holds: bool) -> float:
        return 0.0 if holds else -np.inf

    cases = [
        ({"z[1]": 2}, lambda z: only(z[1] == 2)),
        ({"z": np.array([dpc.OPEN, 0, dpc.OPEN, 1])}, lambda z: only(z[1] == 0 and z[3] == 1)),
        ({"z": [None, 0, {0, 1}, 1]}, lambda z: only(z[1] == 0 and z[2] < 2 and z[3] == 1)),
        ({"z": [float("nan"), 0, float("nan"), 1]}, lambda z: only(z[1] == 0 and z[3] == 1)),
        ({"z[0]": {0, 2}}, lambda z: only(z[0] in (0, 2))),
        ({"z[2]": np.array([0.1, 0.5, 0.2])}, lambda z: np.log([0.1, 0.5, 0.2][z[2]])),
    ]
    for given, keep in cases:
        np.testing.assert_allclose(
            hmm.log_partition({}, data, {**HMM, **given}), log_z(keep), rtol=1e-12
        )
    with pytest.raises(ValueError, match="no variable `zz`"):
        hmm.log_partition({}, data, {**HMM, "zz": 1})
    with pytest.raises(ValueError, match=r"its evidence has shape \(2,\)"):
        hmm.log_partition({}, data, {**HMM, "z[0]": np.array([0.5, 0.5])})
    with pytest.raises(ValueError, match="`mu` is not finite and not given"):
        hmm.log_partition({}, data, {key: HMM[key] for key in ("pi", "A")})


def test_jit_vmap_and_grad(hmm: dpc.Model) -> None:
    data = hmm.bind({"y": [0.1, 1.0, 6.0, 5.2]})

    def log_evidence(mu: Any, z1: Any) -> Any:
        return hmm.log_partition({}, data, {**HMM, "mu": mu, "z[1]": z1})

    compiled = jax.jit(jax.vmap(log_evidence, in_axes=(None, 0)))
    batch = compiled(HMM["mu"], jnp.arange(3))
    np.testing.assert_allclose(
        jnp.logaddexp(jnp.logaddexp(*batch[:2]), batch[2]), hmm.log_partition({}, data, HMM)
    )
    slope = jax.grad(lambda mu: hmm.log_partition({}, data, {**HMM, "mu": mu}))(HMM["mu"])

    def moved(by: Any) -> Any:
        return hmm.log_partition({}, data, {**HMM, "mu": HMM["mu"] + by})

    central = [(moved(step) - moved(-step)) / 2e-6 for step in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(slope, central, rtol=1e-6)


def test_structure_told_by_data_cannot_be_traced() -> None:
    model = dpc.parse(
        "dim E\ndim N = 3\ndata a[E] : N\nlatent v[N] : bool\nfactor f[e in E] : if v[a[e]] then "
        "1 else 0\n"
    )
    data = model.bind({"a": [0, 2, 2]})
    np.testing.assert_allclose(
        model.log_partition({}, data), np.log((1 + np.e) * 2 * (1 + np.e**2))
    )
    other = model.bind({"a": [1, 1, 1]})
    np.testing.assert_allclose(model.log_partition({}, other), np.log(4 * (1 + np.e**3)))
    with pytest.raises(ValueError, match=r"`a`, whose value is not known inside jax\.jit"):
        jax.jit(lambda a: model.log_partition({}, {"a": a, "E": 3}))(jnp.array([0, 1, 2]))


def test_a_network_answers_as_the_engine_without_compilation() -> None:
    model = dpc.load(MODELS / "cancer.dp")
    graph = model.factor_graph()
    found = model.marginals(given={"xray": "yes"})
    for name, table in infer_marginals(graph, {"xray": 0}).items():
        np.testing.assert_allclose(found[str(name)], table, atol=1e-12)
    np.testing.assert_allclose(
        model.log_partition(given={"xray": "yes"}), infer_log_partition(graph, {"xray": 0})
    )
    np.testing.assert_allclose(model.log_partition(), 0, atol=1e-12)


@pytest.mark.slow
def test_a_field_learns_by_its_marginals() -> None:
    """d log Z / d J is the expected sufficient statistic (GM10)."""
    model = dpc.parse(
        "dim R = 3\ndim C = 3\nparam J : real = 0.4\nlatent s[R, C] : bool\n"
        "factor right[i in R, j in C[1..]] : J * (if s[i, j-1] == s[i, j] then 1 else 0)\n"
        "factor below[i in R[1..], j in C] : J * (if s[i-1, j] == s[i, j] then 1 else 0)\n"
    )
    values = jnp.array(list(product((0, 1), repeat=9))).reshape(-1, 3, 3).astype(bool)
    logs = jax.vmap(lambda s: model.log_prob({"J": 0.4}, {"s": s}))(values)
    agree = (values[:, :, 1:] == values[:, :, :-1]).sum((1, 2)) + (
        values[:, 1:] == values[:, :-1]
    ).sum((1, 2))
    value, slope = jax.value_and_grad(lambda p: model.log_partition(p))({"J": jnp.asarray(0.4)})
    weights = jax.nn.softmax(logs)
    np.testing.assert_allclose(value, jax.nn.logsumexp(logs), rtol=1e-12)
    np.testing.assert_allclose(slope["J"], jnp.sum(weights * agree), rtol=1e-10)
    curvature = jax.hessian(lambda j: model.log_partition({"J": j}))(0.4)
    mean = jnp.sum(weights * agree)
    np.testing.assert_allclose(curvature, jnp.sum(weights * (agree - mean) ** 2), rtol=1e-8)


def test_moments_of_computed_numbers_by_enumeration(hmm: dpc.Model) -> None:
    """Of a product of the two ends, which closes a ring, and of a truth value about neighbours,
    under jit too.
    """
    model = dpc.parse(
        (MODELS / "hmm.dp").read_text() + "\nends = y[0] + z[0] * z[3]\nstays = z[0] == z[1]\n"
    )
    data = model.bind({"y": [0.1, 1.0, 6.0, 5.2]})
    table = scores(model, data, HMM)
    p = np.exp(np.array(list(table.values())) - np.logaddexp.reduce(list(table.values())))
    z = np.array(list(table))
    expected = {"ends": 0.1 + z[:, 0] * z[:, 3], "stays": (z[:, 0] == z[:, 1]).astype(float)}
    for name, values in expected.items():
        found = model.moments(name, {}, data, HMM)
        mean = p @ values
        np.testing.assert_allclose(found.mean, mean, rtol=1e-10)
        np.testing.assert_allclose(found.variance, p @ (values - mean) ** 2, rtol=1e-8, atol=1e-12)

    def mean_of(mu: Any) -> Any:
        return model.moments("stays", {}, data, {**HMM, "mu": mu}).mean

    value, slope = jax.jit(jax.value_and_grad(mean_of))(HMM["mu"])
    np.testing.assert_allclose(value, p @ expected["stays"], rtol=1e-10)
    central = [
        (mean_of(HMM["mu"] + step) - mean_of(HMM["mu"] - step)) / 2e-6 for step in 1e-6 * np.eye(3)
    ]
    np.testing.assert_allclose(slope, central, rtol=1e-5, atol=1e-9)


@pytest.mark.slow
def test_moments_in_a_field_and_what_has_none() -> None:
    model = dpc.parse(
        "dim N = 4\nparam J : real = 0.5\nmu ~ Normal(0, 1)\nlatent s[N] : bool\n"
        "factor tie[i in N[1..]] : J * (if s[i-1] == s[i] then 1 else 0)\n"
        "up[i in N] = if s[i] then 1 else 0\ncount = sum[i in N] up[i]\nshifted = count + mu\n"
    )
    values = np.array(list(product((0, 1), repeat=4)))
    agree = (values[:, 1:] == values[:, :-1]).sum(1)
    p = np.exp(0.5 * agree) / np.exp(0.5 * agree).sum()
    found = model.moments("count", {"J": 0.5})
    np.testing.assert_allclose(found.mean, 2.0, rtol=1e-12)
    np.testing.assert_allclose(found.variance, p @ (values.sum(1) - 2.0) ** 2, rtol=1e-10)
    np.testing.assert_allclose(
        model.moments("shifted", {"J": 0.5}, given={"mu": 3.0}).mean, 5.0, rtol=1e-12
    )
    with pytest.raises(
        ValueError, match="`shifted` depends on `mu`, which is not finite and not given"
    ):
        model.moments("shifted", {"J": 0.5})
    with pytest.raises(ValueError, match="`up` is an array"):
        model.moments("up", {"J": 0.5})
    with pytest.raises(ValueError, match="no `cont`; did you mean `count`"):
        model.moments("cont", {"J": 0.5})


def test_counts_that_a_finite_draw_says_are_none_have_all_derivatives() -> None:
    """A zero-inflated Poisson by hand: log(psi [y = 0] + (1 - psi) Poisson(y | rate)), to second
    order.
    """
    y = np.array([0, 0, 3, 1])
    model = dpc.parse("""
dim Obs
observed y[Obs] : int(lower=0)
psi ~ Beta(1, 1)
rate ~ Gamma(2, 1)
none[i in Obs] ~ Bernoulli(psi)
y[i in Obs] ~ Poisson(if none[i] then 0.0 else rate)
""")
    data = model.bind({"y": y})

    def by_hand(at: Any) -> Any:
        psi, rate = at
        counts = (1 - psi) * jnp.exp(y * jnp.log(rate) - rate - jax.scipy.special.gammaln(y + 1.0))
        prior = jax.scipy.stats.gamma.logpdf(rate, 2.0)
        return jnp.sum(jnp.log(jnp.where(y == 0, psi, 0.0) + counts)) + prior

    def ours(at: Any) -> Any:
        return model.log_partition({}, data, given={"psi": at[0], "rate": at[1]})

    at = jnp.array([0.3, 1.7])
    both = jax.jit(lambda at: [(jax.grad(f)(at), jax.hessian(f)(at)) for f in (ours, by_hand)])
    (slope, curvature), (expected_slope, expected_curvature) = both(at)
    np.testing.assert_allclose(slope, expected_slope, rtol=1e-10)
    np.testing.assert_allclose(curvature, expected_curvature, rtol=1e-10)

"""Means of random objectives and their derivatives, against sums over all values, closed forms and
other estimators.

Every estimate is the mean of many independent ones and is off by at most five of its standard
errors, which a right one fails once in 1.7 million; seeds are fixed, so a failure is a change.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dpc

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

ESTIMATES = 4000


def agree(
    model: dpc.Model,
    exact: Callable[[Any], Any],
    data: Any = None,
    samples: int = 2,
    hessian: bool = False,
) -> None:
    """Value, gradient and Hessian of the mean objective are those of an exact function of the
    parameters.
    """
    params = model.init(data=data)
    keys = jax.random.split(jax.random.key(3), ESTIMATES)

    def one(key: Any, p: Any) -> Any:
        return model.surrogate(key, p, data, samples=2)

    def all_orders(key: Any) -> Any:
        value, slope = jax.value_and_grad(lambda p: one(key, p))(params)
        return value, slope, jax.hessian(lambda p: one(key, p))(params) if hessian else ()

    found = jax.jit(jax.vmap(all_orders))(keys)
    true = jax.jit(
        lambda p: (exact(p), jax.grad(exact)(p), jax.hessian(exact)(p) if hessian else ())
    )(params)
    for estimate, value in zip(jax.tree.leaves(found), jax.tree.leaves(true), strict=True):
        error = np.std(estimate, 0) / np.sqrt(ESTIMATES)
        assert np.all(np.abs(np.mean(estimate, 0) - value) <= 5 * error + 1e-9), (
            np.mean(estimate, 0),
            value,
            error,
        )


# ---- one program under every method

PROGRAM = """
dim K = red | green | blue
dim N = 2
param th[K] : real = [0.3, -0.5, 1]
param w : real = 0.4
fn pay(x: bool, w: real) -> real = if x then 2 * w else 1
z ~ Categorical(softargmax(th)) {first}
b[n in N] ~ Bernoulli(logits=w + (if z == green then 1 else 0)) {second}
v : K ~ table z => red, green, blue {{ red => 0.1, 0.2, 0.7; green => 0.3, 0.3, 0.4; blue => 0.5, 0.25, 0.25 }}
r = [2.0, -1, 0.5]
minimize sum[n in N] pay(b[n], w) * r[z] + (if v == blue and b[0] then w else 0.2) + (sum[n in N] b[n])^2
"""
REWARDS = np.array([2.0, -1, 0.5])
TABLE = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.5, 0.25, 0.25]])


def exact_program(params: Any) -> Any:
    """The sum over all values of all draws."""
    th, w = params["th"], params["w"]
    z, v, *b = np.array(list(itertools.product(range(3), range(3), [0, 1], [0, 1]))).T
    up, count = jax.nn.sigmoid(w + (z == 1)), b[0] + b[1]
    mass = jax.nn.softmax(th)[z] * TABLE[z, v] * up**count * (1 - up) ** (2 - count)
    pay = sum(jnp.where(x, 2 * w, 1.0) for x in b) * REWARDS[z]
    return jnp.sum(mass * (pay + jnp.where((v == 2) & (b[0] == 1), w, 0.2) + count**2))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("rloo", "rloo(samples=3)"),
        ("mvd", "disarm"),
        ("sfe(constant=-1.5)", "rebar(temperature=0.7, scale=0.5)"),
    ],
)
def test_every_unbiased_method_has_the_right_mean(first: str, second: str) -> None:
    model = dpc.parse(PROGRAM.format(first=f"with grad={first}", second=f"with grad={second}"))
    agree(model, exact_program, hessian=first == "rloo")


def test_finite_draws_are_summed_exactly() -> None:
    model = dpc.parse(PROGRAM.format(first="", second=""))
    params = model.init()
    found = model.value_and_grad(jax.random.key(0), params)
    true = jax.value_and_grad(exact_program)(params)
    assert jax.tree.all(jax.tree.map(lambda a, b: np.allclose(a, b, atol=1e-12), found, true))


def test_relaxed_values_at_the_corners_are_those_of_the_hard_program() -> None:
    """Straight-through draws are hard, so the relaxed program has the mean of the hard one."""
    method = "with grad=straight_through(temperature=0.5)"
    model = dpc.parse(PROGRAM.format(first=method, second=method))
    values = jax.vmap(lambda key: model.surrogate(key, model.init(), samples=1))(
        jax.random.split(jax.random.key(1), ESTIMATES)
    )
    error = np.std(values) / np.sqrt(ESTIMATES)
    assert abs(np.mean(values) - exact_program(model.init())) <= 5 * error


# ---- continuous draws, recurrences, critics


def test_the_score_of_a_child_flows_through_its_parent() -> None:
    """x ~ Normal(a, 1), b ~ Bernoulli(logistic(x)): E[b x] by quadrature over x."""
    model = dpc.parse(
        "param a : real = 0.3\nx ~ Normal(a, 1)\nb ~ Bernoulli(logits=x) with grad=sfe\nminimize "
        "b * x\n"
    )
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)

    def exact(params: Any) -> Any:
        x = params["a"] + nodes
        return jnp.sum(weights / np.sqrt(2 * np.pi) * jax.nn.sigmoid(x) * x)

    agree(model, exact)


CHAIN = """
dim T = 4
dim K = 2
param th : real = 0.3
z[0] ~ Categorical([0.4, 0.6])                               with grad={z}
z[t in T[1..]] ~ Categorical(softargmax([th * z[t-1], 0.1])) with grad={z}
y[0] ~ Normal(0, 1)                                          with grad={y}
y[t in T[1..]] ~ Normal(0.5 * y[t-1] + th * z[t], 1)         with grad={y}
minimize sum[t in T] (y[t] - 1)^2
"""


def exact_chain(params: Any) -> Any:
    th = params["th"]
    total = 0.0
    for z in itertools.product([0, 1], repeat=4):
        mass, mean, variance, cost = jnp.array([0.4, 0.6])[z[0]], 0.0, 1.0, 2.0
        for before, now in itertools.pairwise(z):
            mass = mass * jax.nn.softmax(jnp.stack([th * before, jnp.asarray(0.1)]))[now]
            mean, variance = 0.5 * mean + th * now, 0.25 * variance + 1
            cost = cost + (mean - 1) ** 2 + variance
        total = total + mass * cost
    return total


@pytest.mark.slow
def test_recurrences() -> None:
    agree(dpc.parse(CHAIN.format(z="rloo", y="pathwise")), exact_chain, hessian=True)


def test_only_later_costs_weigh_the_score_of_a_step() -> None:
    """The same chain with its costs as one: the mean is the same, the variance is not."""
    local = dpc.parse(CHAIN.format(z="sfe", y="sfe"))
    whole = dpc.parse(
        CHAIN.format(z="sfe", y="sfe").replace(
            "minimize sum[t in T] (y[t] - 1)^2", "minimize norm(y - 1)^2"
        )
    )
    keys = jax.random.split(jax.random.key(5), ESTIMATES)
    slopes = [
        jax.vmap(lambda k, m=m: m.value_and_grad(k, m.init(), samples=1)[1]["th"])(keys)
        for m in (local, whole)
    ]
    assert np.var(slopes[0]) < 0.8 * np.var(slopes[1])


def test_a_critic_changes_the_variance_and_not_the_mean() -> None:
    text = (
        "param a : real = 0.3\nc = 2 + a\nb ~ Bernoulli(logits=a) with grad=sfe{}\nminimize if "
        "b then 3 else 2\n"
    )
    plain, guided = dpc.parse(text.format("")), dpc.parse(text.format("(control=c)"))
    agree(guided, lambda p: 2 + jax.nn.sigmoid(p["a"]))
    keys = jax.random.split(jax.random.key(5), ESTIMATES)
    slopes = [
        jax.vmap(lambda k, m=m: m.value_and_grad(k, m.init(), samples=1)[1]["a"])(keys)
        for m in (plain, guided)
    ]
    assert np.var(slopes[1]) < 0.1 * np.var(slopes[0])


# ---- bounds

GUIDED = """
dim N
observed x[N] : real
param a[N] : real = 0.2
param s : real(lower=0) = 0.7
z[n in N] ~ Normal(0, 1)
x[n in N] ~ Normal(z[n], 1)
guide {{ z[n in N] ~ Normal(a[n], s) {grad} }}
maximize {bound}
"""
X = np.array([0.5, -1.0, 2.0])


def exact_elbo(params: Any) -> Any:
    a, s = params["a"], params["s"]
    fit = -0.5 * np.log(2 * np.pi) - 0.5 * ((X - a) ** 2 + s**2)
    return jnp.sum(fit - (-jnp.log(s) + (s**2 + a**2) / 2 - 0.5))


@pytest.mark.parametrize(
    ("bound", "grad"),
    [
        ("elbo()", ""),
        ("elbo(analytic=false)", "with grad=rloo"),
        ("elbo(landing=true)", ""),
        ("iwae(samples=1)", ""),
    ],
)
def test_the_evidence_lower_bound(bound: str, grad: str) -> None:
    model = dpc.parse(GUIDED.format(bound=bound, grad=grad))
    agree(model, exact_elbo, model.bind({"x": X}))


def test_sticking_the_landing_has_no_variance_at_the_posterior() -> None:
    model = dpc.parse(GUIDED.format(bound="elbo(landing=true)", grad=""))
    params = {"a": X / 2, "s": np.sqrt(0.5)}
    value, slope = model.value_and_grad(jax.random.key(0), params, {"x": X})
    assert np.allclose(value, stats.norm(0, np.sqrt(2)).logpdf(X).sum())
    assert all(np.allclose(leaf, 0, atol=1e-12) for leaf in jax.tree.leaves(slope))


def exact_iwae(params: Any, power: float) -> Any:
    """Two samples for each element, by quadrature over both."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    z = params["a"][:, None] + params["s"] * nodes
    log_w = (
        -0.5 * z**2
        - 0.5 * (X[:, None] - z) ** 2
        - np.log(2 * np.pi)
        + 0.5 * nodes**2
        + jnp.log(params["s"])
    )
    log_w = log_w + 0.5 * np.log(2 * np.pi)
    pairs = jnp.logaddexp(power * log_w[:, :, None], power * log_w[:, None, :]) - jnp.log(2.0)
    return jnp.sum(weights[:, None] * weights[None] * pairs) / power


@pytest.mark.parametrize(
    ("bound", "power", "grad"),
    [("iwae(samples=2)", 1.0, "with grad=rloo"), ("renyi(alpha=0.5, samples=2)", 0.5, "")],
)
def test_bounds_of_several_samples(bound: str, power: float, grad: str) -> None:
    model = dpc.parse(GUIDED.format(bound=bound, grad=grad))
    agree(model, lambda p: exact_iwae(p, power), model.bind({"x": X}))


def test_a_discrete_guide_is_summed_element_by_element() -> None:
    text = """
    dim N
    dim Z = 3
    observed x[N] : real
    param a[N, Z] : real = 0.2
    param w[Z] : real = 0.5
    z[n in N, k in Z] ~ Bernoulli(0.4)
    x[n in N] ~ Normal(sum[k in Z] w[k] * z[n, k], 1)
    guide { z[n in N, k in Z] ~ Bernoulli(logits=a[n, k]) }
    maximize elbo()
    """
    model = dpc.parse(text)

    def exact(params: Any) -> Any:
        q = jax.nn.sigmoid(params["a"])
        total = -jnp.sum(q * jnp.log(q / 0.4) + (1 - q) * jnp.log((1 - q) / 0.6))
        for z in itertools.product([0, 1], repeat=3):
            chosen = np.array(z)
            mass = jnp.prod(jnp.where(chosen, q, 1 - q), 1)
            total += jnp.sum(
                mass * (-0.5 * np.log(2 * np.pi) - 0.5 * (X - params["w"] @ chosen) ** 2)
            )
        return total

    params = model.init(data=model.bind({"x": X}))
    value, slope = model.value_and_grad(jax.random.key(0), params, {"x": X})
    assert np.allclose(value, exact(params), atol=1e-12)
    assert jax.tree.all(
        jax.tree.map(lambda a, b: np.allclose(a, b, atol=1e-12), slope, jax.grad(exact)(params))
    )

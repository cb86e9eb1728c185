"""Simulation-based calibration (Talts et al. 2018): parameters from the prior, data from them,
draws given the data.

Among the draws the true value has every rank equally often. 200 simulations, 19 nearly independent
draws each: the 20 ranks are tested by chi-square, one test for each number, all together at a
false-alarm rate of 1 in 1000.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer import NUTS
from scipy.stats import chi2

import dpc
from dpc.inference.mcmc.target import TargetDensity

SIMULATIONS, DRAWS, THINNING, WARMUP = 200, 19, 8, 400
RATE = 1e-3

SCHOOLS = """
dim School = 8
data sd[School]         : real(lower=0) = [15, 10, 16, 11, 9, 11, 10, 18]
observed effect[School] : real
mu  ~ Normal(0, 5)
tau ~ HalfNormal(10)
theta[s in School]  ~ Normal(mu, tau)   with noncentered
effect[s in School] ~ Normal(theta[s], sd[s])
"""
CLUSTERS = """
dim Point
dim Cluster = 2
observed x[Point] : real
weight ~ Beta(2, 2)
centre[k in Cluster] ~ Normal(0, 2)   with ordered
label[i in Point]    ~ Bernoulli(weight)
x[i in Point]        ~ Normal(if label[i] then centre[1] else centre[0], 1)
"""
SERIES = """
dim T
observed y[T] : real
pull  ~ Uniform(-0.9, 0.9)
noise ~ HalfNormal(1)
level[0]           ~ Normal(0, 1)
level[t in T[1..]] ~ Normal(pull * level[t-1], noise)
y[t in T]          ~ Normal(level[t], 0.5)
"""
LOOSE_JAX = "NumPyro promotes types and ranks"

CASES = {
    "schools": (SCHOOLS, {}),
    "mixture": (CLUSTERS, {"Point": 20}),
    "series": (SERIES, {"T": 10}),
}


def simulate(
    model: dpc.Model, blank: dict[str, Any], key: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """True values, and DRAWS draws given data that were made from them."""
    first, second, third = jax.random.split(key, 3)
    truth = model.sample(first, {}, blank)
    seen = [node.name for node in model.graph.nodes if node.observed]
    data = {**blank, **{name: truth[name] for name in seen}}
    target = TargetDensity(lambda: model.to_numpyro()(data))
    raw = {
        name: jax.random.uniform(second, shape, minval=-1, maxval=1)
        for name, shape in target.shapes.items()
    }
    kernel = NUTS(potential_fn=target.potential, target_accept_prob=0.9, max_tree_depth=8)
    state = kernel.init(third, WARMUP, raw, (), {})
    step = lambda _, state: kernel.sample(state, (), {})  # noqa: E731
    state = jax.lax.fori_loop(0, WARMUP, step, state)
    thinned = lambda state, _: (jax.lax.fori_loop(0, THINNING, step, state),) * 2  # noqa: E731
    _, states = jax.lax.scan(thinned, state, length=DRAWS)
    return truth, jax.vmap(target.constrain)(states.z)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_ranks_are_uniform(name: str) -> None:
    text, sizes = CASES[name]
    model = dpc.parse(text)
    blank = dict(model.bind({}, partial=True, **sizes))
    keys = jax.random.split(jax.random.PRNGKey(7), SIMULATIONS)
    truth, draws = jax.jit(lambda keys: jax.lax.map(lambda key: simulate(model, blank, key), keys))(
        keys
    )
    numbers = {}
    for site in draws:
        if site in truth:
            ranks = np.asarray(jnp.sum(draws[site] < truth[site][:, None], axis=1)).reshape(
                SIMULATIONS, -1
            )
            numbers |= {f"{site}[{k}]": ranks[:, k] for k in range(ranks.shape[1])}
    for number, ranks in numbers.items():
        counts = np.bincount(ranks, minlength=DRAWS + 1)
        expected = SIMULATIONS / (DRAWS + 1)
        distance = float(np.sum((counts - expected) ** 2 / expected))
        assert chi2.sf(distance, DRAWS) > RATE / len(numbers), (number, counts)

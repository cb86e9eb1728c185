"""A model as a factor graph: at every configuration, the factors add up to the model's own log
density.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import jax
import numpy as np
import pytest
from helpers import graph
from marks import some_fast

from dpc.data import BoundData
from dpc.dsl.graph.evaluate import NeedsJax
from dpc.finite.discrete import Discrete, discrete_model
from dpc.finite.slots import NotTabular
from dpc.inference.factors.factor_graph import log_score
from dpc.model.model import Model

LOOSE_JAX = "NumPyro promotes types and ranks"

PROGRAMS = {
    "tables": "dim S = a | b | c\nx : S ~ Categorical(a=0.2, b=0.3, c=0.5)\n"
    "y ~ table x => true, false { a => 0.1, 0.9; b => 0.5, 0.5; _ => 1, 0 }\n",
    (
        "plates and a chain"
    ): "dim T = 3\ndim K = 2\nparam A[K] : simplex[K]\nz[0] : K ~ Categorical([0.5, 0.5])\n"
    "z[t in T[1..]] ~ Categorical(A[z[t-1]])\n",
    "sum in a factor": "dim N = 3\nparam w[N] : real\nlatent v[N] : bool\n"
    "factor f : 2 * (sum[i in N] w[i] * v[i]) - sum[i in N, j in N where i < j] w[i] * v[i] * v[j]\n",
    (
        "a function of all"
    ): "dim N = 3\nlatent v[N] : bool\nfactor f : if sum(v) >= 2 then 1.5 else 0\n",
    "reductions": "dim N = 3\ndim S = 2\nlatent v[N] : S\nlatent b[N] : bool\n"
    "factor f : if all[i in N] b[i] then 1 else 0\nfactor g : max[i in N] (2.5 * v[i])\n"
    "factor h : prod[i in N where i > 0] (1.0 + v[i])\n"
    "factor k : if any[i in N] (v[i] == 1 and b[i]) then 0.5 else 2\n",
    (
        "computed nodes and functions"
    ): "dim N = 2\ndim S = 3\nparam m[S] : real\nfn half(x: real) -> real = x / 2\n"
    "latent z[N] : S\neta[i in N] = half(m[z[i]])\ntotal = sum[i in N] eta[i]\n"
    "factor f : total\nfactor g : (total - eta[0])^2\n",
    "a random index into a random array": "dim N = 3\nlatent k : N\nlatent x[N] : bool\n"
    "factor f : if x[k] then 1.5 else 0\n",
    "the same variable twice": "dim N = 3\nparam J[N, N] : real\nlatent v[N] : bool\n"
    "factor f[i in N, j in N] : J[i, j] * v[i] * v[j]\n",
    (
        "indices from data"
    ): "dim Edge\ndim N = 3\ndata a[Edge] : N\ndata b[Edge] : N\nlatent v[N] : bool\n"
    "factor f[e in Edge] : if v[a[e]] == v[b[e]] then 0.3 else -0.2\n",
    (
        "continuous children and given draws"
    ): "dim N = 2\ndim K = 2\nmu[k in K] ~ Normal(0, 2)\nobserved y[N] : real\n"
    "z[i in N] : K ~ Categorical([0.3, 0.7])\ny[i in N] ~ Normal(mu[z[i]], 1.5)\n",
    (
        "draws told in order"
    ): "dim N = 2\ndim K = 3\nmu[k in K] ~ Normal(0, 2) with ordered\nobserved y[N] : real\n"
    "z[i in N] : K ~ Categorical([0.3, 0.3, 0.4])\ny[i in N] ~ Normal(mu[z[i]], 1.5)\n",
    "whole numbers": "n ~ Binomial(3, 0.4)\nb ~ Bernoulli(0.1 + 0.2 * n)\n",
    "where": "dim N = 3\nlatent v[N] : bool\ndata keep[N] : bool\n"
    "factor f[i in N where keep[i]] : if v[i] then 2 else 1\n",
    "an array of an array": "dim N = 2\ndim M = 2\nparam w[M] : real\nlatent v[N, M] : bool\n"
    "factor f[i in N] : dot(w, [j in M] (if v[i, j] then 1.0 else 0.0))\n",
}
DATA: dict[str, dict[str, Any]] = {
    "indices from data": {"a": [0, 1, 2, 0], "b": [1, 2, 2, 2]},
    "continuous children and given draws": {"y": [0.3, -1.0]},
    "draws told in order": {"y": [0.3, -1.0]},
    "where": {"keep": [True, False, True]},
}
GIVEN: dict[str, dict[str, Any]] = {
    "continuous children and given draws": {"mu": np.array([-0.5, 1.0])},
    "draws told in order": {"mu": np.array([-0.5, 0.2, 1.0])},
}


def prepared(name: str) -> tuple[Model, dict[str, Any], Any, dict[str, Any], Discrete]:
    model = Model(graph(PROGRAMS[name]))
    data = model.bind(DATA.get(name, {}))
    params = {
        k: v + 0.3
        for k, v in model.init(jax.random.key(1), data).items()
        if model.graph[k].type.constraint == ""
    }
    params = {**model.init(jax.random.key(1), data), **params}
    given = GIVEN.get(name, {})
    arrays = {k: np.asarray(v) for k, v in {**data.arrays, **params, **given}.items()}
    known = BoundData(data.sizes, data.labels, arrays)
    return (
        model,
        params,
        data,
        given,
        discrete_model(model.graph, known),
    )


def assembled(
    model: Model, discrete: Discrete, states: tuple[int, ...], data: Any
) -> dict[str, Any]:
    """The configuration as the values of the model's draws."""
    found: dict[str, Any] = {}
    for (name, labels), state in zip(discrete.states.items(), states, strict=True):
        node = name.partition("[")[0]
        numeric = labels[state] in ("false", "true")
        number = (
            bool(state) if numeric else int(labels[state]) if labels[state].isdigit() else state
        )
        found.setdefault(node, []).append(number)
    shapes = {
        n.name: [data.sizes[str(axis)] for axis in n.type.shape]
        for n in model.graph.nodes
        if n.name in found
    }
    return {name: np.reshape(items, shapes[name]) for name, items in found.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_factors_add_up_to_the_log_density(name: str) -> None:
    model, params, data, given, discrete = prepared(name)
    configurations = list(product(*(range(len(labels)) for labels in discrete.states.values())))
    chosen = np.random.default_rng(0).permutation(len(configurations))[:24]
    batch = [configurations[i] for i in chosen]
    values = [{**assembled(model, discrete, states, data), **given} for states in batch]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *values)
    expected = jax.vmap(lambda v: model.log_prob(params, v, data))(stacked)
    for states, total in zip(batch, expected.tolist(), strict=True):
        named = dict(zip(discrete.states, states, strict=True))
        assert float(log_score(discrete.factors.factors, named)) == pytest.approx(
            total, rel=1e-12, abs=1e-12
        )


@pytest.mark.parametrize("name", some_fast(PROGRAMS, 7))
def test_numpy_and_jax_make_the_same_tables(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise NeedsJax("always")

    *_, by_either = prepared(name)
    monkeypatch.setattr("dpc.dsl.graph.evaluate.Evaluator.table", refuse)
    *_, by_jax = prepared(name)
    for a, b in zip(by_either.factors.factors, by_jax.factors.factors, strict=True):
        assert a.variables == b.variables
        np.testing.assert_allclose(a.log_values, b.log_values, rtol=1e-13)


def test_a_sum_is_split_into_small_factors() -> None:
    *_, discrete = prepared("sum in a factor")
    assert max(len(factor.variables) for factor in discrete.factors.factors) == 2


def refusal(text: str, **data: Any) -> str:
    model = Model(graph(text))
    bound = model.bind(data, partial=True)
    arrays = {k: np.asarray(v) for k, v in bound.arrays.items()}
    with pytest.raises(NotTabular) as error:
        discrete_model(model.graph, BoundData(bound.sizes, bound.labels, arrays))
    return str(error.value)


def test_what_has_no_table_is_refused_with_what_to_do() -> None:
    assert "`mu` is not finite and not given" in refusal(
        "mu ~ Normal(0, 1)\nb ~ Bernoulli(logistic(mu))\n"
    )
    message = refusal(
        "dim T = 4\nb[t in T] ~ Bernoulli(0.5)\nc[0] = 0.0\nc[t in T[1..]] = c[t-1] + "
        "b[t]\nfactor f : c[3]\n"
    )
    assert "step by step" in message
    wide = refusal("dim N = 40\nlatent v[N] : bool\nfactor f : if sum(v) == 3 then 1 else 0\n")
    assert "`f` ties 40 finite variables in one table" in wide
    assert "fewer variables" in wide
    assert "smoothed" in refusal(
        "b ~ Bernoulli(0.5)\nu = if b then 1 else 0 with soft(logistic, scale=0.1)\nfactor f : u\n"
    )


def test_continuous_draws_that_nothing_needs_are_left_out() -> None:
    model = Model(graph("b ~ Bernoulli(0.3)\ny ~ Normal(b, 1)\nz ~ Normal(y, 1)\n"))
    discrete = discrete_model(model.graph, BoundData({}, {}, {}))
    assert [factor.variables for factor in discrete.factors.factors] == [("b",)]

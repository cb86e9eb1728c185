"""Random graphs with everything that goes wrong in them, and evidence of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from dpc.inference.factors.factor_graph import Factor, FactorGraph, Name, factor_of_values


@st.composite
def factor_graphs(draw: st.DrawFn, zeros: bool = True, spread: float = 2.0) -> FactorGraph:
    """Up to 7 variables of 1 to 3 states, factors of arity 0 to 5, zeros, parts that do not touch,
    lonely variables.
    """
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(1, 7))
    sizes: dict[Name, int] = {f"v{i}": draw(st.integers(1, 3)) for i in range(count)}
    scopes = draw(
        st.lists(st.lists(st.sampled_from(list(sizes)), max_size=5, unique=True), max_size=8)
    )
    factors = []
    for scope in scopes:
        logs = generator.normal(size=[sizes[v] for v in scope]) * spread
        hidden = generator.random(logs.shape) < (0.2 if zeros else 0.0)
        factors.append(Factor(tuple(scope), np.where(hidden, -np.inf, logs)))
    return FactorGraph(sizes, tuple(factors))


@st.composite
def networks(draw: st.DrawFn) -> FactorGraph:
    """Directed graphs: each variable given up to three earlier ones, some tables deterministic."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes: dict[Name, int] = {
        f"v{i}": draw(st.integers(1, 3)) for i in range(draw(st.integers(1, 7)))
    }
    names = list(sizes)
    factors = []
    for i, child in enumerate(names):
        parents = draw(st.lists(st.sampled_from(names[:i]), max_size=3, unique=True)) if i else []
        table = generator.dirichlet(np.full(sizes[child], 0.5), size=[sizes[p] for p in parents])
        table = np.where(table < 0.1, 0.0, table)
        factors.append(
            factor_of_values((*parents, child), table / table.sum(-1, keepdims=True), str(child))
        )
    return FactorGraph(sizes, tuple(factors))


@st.composite
def evidence_on(draw: st.DrawFn, graph: FactorGraph) -> dict[Name, Any]:
    """States, sets of states and likelihood vectors with zeros, on a few variables."""
    given: dict[Name, Any] = {}
    for name in draw(st.lists(st.sampled_from(list(graph.sizes)), max_size=3, unique=True)):
        states = st.integers(0, graph.sizes[name] - 1)
        likelihood = st.lists(
            st.sampled_from([0.0, 0.3, 2.0]), min_size=graph.sizes[name], max_size=graph.sizes[name]
        )
        given[name] = draw(
            st.one_of(states, st.sets(states, min_size=1), likelihood.filter(any).map(np.array))
        )
    return given

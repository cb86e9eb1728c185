"""A table of cases equals its rows one by one."""

from __future__ import annotations

import brute
import numpy as np
import pytest
from graphs import factor_graphs, networks
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from shared import needs_networks, network

from dpc.inference.engines.numpy import cases, passes
from dpc.inference.errors import ImpossibleEvidenceError, InferenceError, MemoryLimitError
from dpc.inference.factors.factor_graph import Factor, FactorGraph, Name
from dpc.inference.queries import infer_cases, infer_log_partition, infer_marginals, infer_samples


def possible_table(graph: FactorGraph, count: int, seed: int) -> dict[Name, np.ndarray]:
    """States drawn from the graph itself, so that every row is possible; some are hidden, one
    column is soft.
    """
    generator = np.random.default_rng(seed)
    draws = infer_samples(graph, count, seed=generator)
    names = [v for v in graph.sizes if generator.random() < 0.6] or list(graph.sizes)[:1]
    table = {v: np.where(generator.random(count) < 0.3, -1, draws[v]) for v in names}
    if generator.random() < 0.5:
        table[names[0]] = generator.random((count, graph.sizes[names[0]])) + 0.1
    return table


def row_of(table: dict[Name, np.ndarray], i: int) -> dict:
    return {
        v: c[i] if c.ndim == 2 else int(c[i]) for v, c in table.items() if c.ndim == 2 or c[i] >= 0
    }


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(factor_graphs(), networks()),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 1 << 20]),
    st.booleans(),
)
def test_a_table_equals_its_rows(graph: FactorGraph, seed: int, chunk: int, logs: bool) -> None:
    """Whatever the chunks, and in logarithms too."""
    assume((brute.brute_scores(graph) > -np.inf).any())
    table = possible_table(graph, 5, seed)
    saved = cases.CHUNK_ENTRIES, passes.SAFE
    cases.CHUNK_ENTRIES, passes.SAFE = chunk, 0.5 if logs else passes.SAFE
    try:
        answers = infer_cases(graph, table)
        some = infer_cases(graph, table, list(graph.sizes)[:2])
    finally:
        cases.CHUNK_ENTRIES, passes.SAFE = saved
    for i in range(5):
        expected = brute.brute_marginals(graph, row_of(table, i))
        assert answers.log_evidence[i] == pytest.approx(
            brute.brute_log_partition(graph, row_of(table, i)), abs=1e-9
        )
        for v in graph.sizes:
            np.testing.assert_allclose(answers.marginals[v][i], expected[v], atol=1e-11)
        for v in some.marginals:
            np.testing.assert_allclose(some.marginals[v][i], expected[v], atol=1e-11)


@needs_networks
@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_cases_of_alarm(count: int) -> None:
    graph = network("alarm").factor_graph()
    labels = graph.sizes
    draws = infer_samples(graph, count, seed=1)
    generator = np.random.default_rng(2)
    table = {v: draws[v] for v in list(labels)[::5]}
    table[list(labels)[1]] = np.where(generator.random(count) < 0.5, -1, draws[list(labels)[1]])
    answers = infer_cases(graph, table)
    for i in range(0, count, 1 if count > 1000 else 10):
        assert answers.log_evidence[i] == pytest.approx(
            infer_log_partition(graph, row_of(table, i)), abs=1e-10
        )
        one = infer_marginals(graph, row_of(table, i))
        assert (
            max(np.abs(answers.marginals[v][i] - marginal).max() for v, marginal in one.items())
            < 1e-12
        )


GRAPH = FactorGraph(
    {"a": 2, "b": 3}, (Factor(("a", "b"), np.array([[0.0, 0.0, -np.inf], [0.0, -np.inf, 0.0]])),)
)


def test_an_impossible_case_is_named() -> None:
    with pytest.raises(ImpossibleEvidenceError, match="case 2 is impossible"):
        infer_cases(GRAPH, {"a": np.array([0, 1, 1]), "b": np.array([0, 0, 1])})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": np.array([0, 2])}, "case 1: 'a' = 2"),
        ({"z": np.array([0])}, "asked about"),
        ({"a": np.array([0]), "b": np.array([0, 1])}, "one length"),
        ({"a": np.ones((2, 3))}, "likelihoods of shape"),
        ({"a": np.array([[1.0, -1.0]])}, "not negative"),
        ({}, "one length"),
    ],
)
def test_wrong_tables_are_refused(table: dict, message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        infer_cases(GRAPH, table)


def test_the_memory_limit_holds_for_tables() -> None:
    with pytest.raises(MemoryLimitError, match="the limit is 100 B"):
        infer_cases(GRAPH, {"a": np.zeros(50, dtype=int)}, memory=100)

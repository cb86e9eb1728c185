"""The compiled engine against every configuration written out, and real networks against answers of
others.
"""

from __future__ import annotations

from functools import cache
from math import inf
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from brute import (
    brute_distribution,
    brute_entropy,
    brute_factor_marginals,
    brute_log_partition,
    brute_marginals,
    brute_mode,
    brute_scores,
)
from grouped import Grouped, group_factors, log_evidence_of
from hypothesis import given, settings
from hypothesis import strategies as st
from shared import needs_references, network, reference, reference_evidence

from dpc.inference.engines.tree.model import Compiled, compile_structure, run_marginals
from dpc.inference.engines.tree.structure import FactorGroup, Structure
from dpc.inference.errors import ImpossibleEvidenceError, InferenceError, MemoryLimitError
from dpc.inference.factors.factor_graph import Factor, FactorGraph

SIZES = {
    "loops": (2, 3, 1, 2, 3, 2),
    "parts": (3, 2, 2, 1, 4),
    "clique": (2, 2, 3, 2, 2),
}
SCOPES: dict[str, list[tuple[int, ...]]] = {
    "loops": [(0, 1), (1, 2, 3), (3, 4), (4, 0), (5, 0), (5, 3), (), (4,)],
    "parts": [(0, 1), (2,), (), (3,)],
    "clique": [(0, 1, 2, 3, 4), (2, 0), (4, 3, 1), (2,)],
}
GRAPHS = pytest.mark.parametrize("name", SIZES)
TILES, MATRICES = pytest.param(inf, id="tiles"), pytest.param(0.0, id="matrices")
BOTH = pytest.mark.parametrize("dense_from", [TILES, MATRICES])
GRAPHS_BY_BOTH = pytest.mark.parametrize(
    ("name", "dense_from"), [*[(name, inf) for name in SIZES], ("loops", 0.0), ("loops", 10.0)]
)


def random_graph(name: str, seed: int, zeros: float = 0.2, spread: float = 2.0) -> FactorGraph:
    generator = np.random.default_rng(seed)
    sizes = dict(enumerate(SIZES[name]))
    factors = []
    for scope in SCOPES[name]:
        logs = generator.normal(size=[sizes[v] for v in scope]) * spread
        factors.append(Factor(scope, np.where(generator.random(logs.shape) < zeros, -np.inf, logs)))
    return FactorGraph(sizes, tuple(factors))


def random_evidence(name: str, seed: int) -> dict[int, Any]:
    """A state, a set of states and a likelihood with a zero, each on a variable of its own."""
    generator = np.random.default_rng(seed)
    sizes = SIZES[name]
    hard, some, soft = (int(v) for v in generator.permutation(len(sizes))[:3])
    likelihood = generator.random(sizes[soft])
    likelihood[: sizes[soft] - 1] *= generator.random(sizes[soft] - 1) < 0.7
    return {hard: int(generator.integers(sizes[hard])), some: {sizes[some] - 1}, soft: likelihood}


@cache
def compiled(name: str, dense_from: float = inf) -> tuple[Compiled, Grouped]:
    grouped = group_factors(random_graph(name, 0))
    return compile_structure(grouped.structure, dense_from=dense_from), grouped


def arguments(
    graph: FactorGraph, evidence: dict[int, Any] | None = None
) -> tuple[tuple[Any, ...], Any]:
    return group_factors(graph).tables, log_evidence_of(graph.sizes, evidence)


def by_factor(grouped: Grouped, arrays: tuple[Any, ...]) -> list[Any]:
    return [arrays[group][row] for group, row in grouped.rows]


def possible(graph: FactorGraph, evidence: dict[int, Any] | None = None) -> bool:
    try:
        return brute_log_partition(graph, evidence) > -np.inf
    except ImpossibleEvidenceError:
        return False


SEEDS = given(
    seed=st.integers(0, 2**32 - 1), observed=st.booleans(), zeros=st.sampled_from([0.0, 0.2, 0.5])
)


@GRAPHS_BY_BOTH
@settings(max_examples=40, deadline=None)
@SEEDS
def test_sums_are_those_of_brute_force(
    name: str, dense_from: float, seed: int, observed: bool, zeros: float
) -> None:
    """log Z, and its gradient: the marginals of factors and of variables; all zero where nothing is
    possible.
    """
    engine, grouped = compiled(name, dense_from)
    graph = random_graph(name, seed, zeros)
    evidence = random_evidence(name, seed) if observed else None
    log_z, (tables, unary) = jax.value_and_grad(engine.log_partition, (0, 1))(
        *arguments(graph, evidence)
    )
    if not possible(graph, evidence):
        assert log_z == -np.inf
        assert not unary.any()
        assert not any(table.any() for table in tables)
        return
    np.testing.assert_allclose(log_z, brute_log_partition(graph, evidence), rtol=1e-12, atol=1e-12)
    expected = brute_marginals(graph, evidence)
    for v, size in enumerate(SIZES[name]):
        found = unary[..., v, :size]
        np.testing.assert_allclose(found, expected[v], atol=1e-12)
        assert not unary[v, SIZES[name][v] :].any()
    for ours, theirs in zip(
        by_factor(grouped, tables), brute_factor_marginals(graph, evidence), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@GRAPHS
@settings(max_examples=40, deadline=None)
@SEEDS
def test_the_mode_is_that_of_brute_force(
    name: str, seed: int, observed: bool, zeros: float
) -> None:
    engine, _ = compiled(name)
    graph = random_graph(name, seed, zeros)
    evidence = random_evidence(name, seed) if observed else None
    mode = engine.mode(*arguments(graph, evidence))
    if not possible(graph, evidence):
        assert mode.score == -np.inf
        return
    best = brute_mode(graph, evidence).log_score
    np.testing.assert_allclose(mode.score, best, rtol=1e-12, atol=1e-12)
    score = brute_scores(graph, evidence)[tuple(mode.states.tolist())]
    np.testing.assert_allclose(score, best, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "dense_from"), [("parts", inf), ("loops", 10.0)])
def test_factor_marginals_and_entropy(name: str, dense_from: float) -> None:
    engine, grouped = compiled(name, dense_from)
    graph, evidence = random_graph(name, 3), random_evidence(name, 5)
    assert possible(graph, evidence)
    tables, logs = arguments(graph, evidence)
    found = by_factor(grouped, engine.factor_marginals(tables, logs))
    for ours, theirs in zip(found, brute_factor_marginals(graph, evidence), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    np.testing.assert_allclose(
        engine.entropy(tables, logs), brute_entropy(graph, evidence), rtol=1e-10, atol=1e-12
    )


@BOTH
def test_second_derivatives_are_covariances(dense_from: float) -> None:
    """d2 log Z / d evidence[v, s] d evidence[w, t] = P(v = s, w = t) - P(v = s) P(w = t)."""
    name = "parts"
    engine, _ = compiled(name, dense_from)
    graph = random_graph(name, 1)
    tables, logs = arguments(graph)
    flat = brute_distribution(graph).ravel()
    states = np.indices(SIZES[name]).reshape(len(SIZES[name]), -1)
    features = np.stack(
        [states[v] == s for v in range(len(states)) for s in range(max(SIZES[name]))]
    )
    means = features @ flat
    covariance = (features * flat) @ features.T - np.outer(means, means)
    forward = jax.hessian(engine.log_partition, 1)(tables, logs)
    np.testing.assert_allclose(forward.reshape(covariance.shape), covariance, atol=1e-12)
    reverse = jax.jit(jax.jacrev(jax.grad(engine.log_partition, 1), 1))(tables, logs)
    np.testing.assert_allclose(reverse.reshape(covariance.shape), covariance, atol=1e-12)


def test_gradient_of_the_entropy() -> None:
    """dH / d evidence = -Cov(features, log-potential), by differences."""
    engine, _ = compiled("parts")
    tables, logs = arguments(random_graph("parts", 2, zeros=0.0))
    direction = np.random.default_rng(0).normal(size=logs.shape)
    found = np.vdot(jax.grad(engine.entropy, 1)(tables, logs), direction)
    step = 1e-5
    ends = [float(engine.entropy(tables, logs + sign * step * direction)) for sign in (1, -1)]
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * step), rtol=1e-7)


def test_a_batch_is_its_cases_one_by_one() -> None:
    engine, _ = compiled("loops")
    tables, _ = arguments(random_graph("loops", 7))
    cases = np.stack(
        [arguments(random_graph("loops", 7), random_evidence("loops", s))[1] for s in range(6)]
    )
    together = jax.vmap(engine.marginals, (None, 0))(tables, cases)
    values = jax.vmap(jax.grad(engine.log_partition, 1), (None, 0))(tables, cases)
    for case, marginals, gradient in zip(cases, together, values, strict=True):
        alone = engine.marginals(tables, case)
        np.testing.assert_allclose(marginals, alone, atol=1e-14)
        np.testing.assert_allclose(gradient, alone, atol=1e-14)


def test_new_evidence_and_new_tables_compile_nothing() -> None:
    engine, _ = compiled("loops")
    engine.marginals(*arguments(random_graph("loops", 8)))
    before = run_marginals._cache_size()
    for seed in range(3):
        engine.marginals(*arguments(random_graph("loops", seed), random_evidence("loops", seed)))
    assert run_marginals._cache_size() == before


def test_the_program_does_not_grow_with_the_network() -> None:
    def operations(length: int) -> int:
        pairs = FactorGroup(np.stack([np.arange(length - 1), np.arange(1, length)], axis=1))
        engine = compile_structure(Structure((3,) * length, (pairs,)))
        table, evidence = jnp.zeros((length - 1, 3, 3)), jnp.zeros((length, 3))
        return len(run_marginals.lower(engine.unary, (table,), evidence).as_text().splitlines())

    assert operations(5) == operations(80)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_range_of_potentials_is_lost(dtype: Any) -> None:
    """Entries that differ by factors of exp(3000): beyond any float, and evidence that leaves only
    the smallest.
    """
    engine, _ = compiled("loops")
    graph = random_graph("loops", 11, zeros=0.0, spread=1000.0)
    evidence = {0: 1, 4: 0}
    tables, logs = arguments(graph, evidence)
    tables, logs = tuple(t.astype(dtype) for t in tables), logs.astype(dtype)
    log_z, gradient = jax.value_and_grad(engine.log_partition, 1)(tables, logs)
    assert log_z.dtype == gradient.dtype == dtype
    factors = [
        Factor(f.variables, f.log_values.astype(dtype).astype(np.float64)) for f in graph.factors
    ]
    rounded = FactorGraph(graph.sizes, tuple(factors))
    near = {"rtol": 1e-6 if dtype == np.float32 else 1e-13}
    np.testing.assert_allclose(log_z, brute_log_partition(rounded, evidence), **near)
    for v, marginal in brute_marginals(rounded, evidence).items():
        np.testing.assert_allclose(
            gradient[v, : len(marginal)], marginal, atol=1e-3 if dtype == np.float32 else 1e-9
        )


def test_single_precision() -> None:
    engine, _ = compiled("loops", 10.0)
    graph = random_graph("loops", 4)
    tables, logs = arguments(graph)
    found = engine.marginals(tuple(t.astype(np.float32) for t in tables), logs.astype(np.float32))
    assert found.dtype == np.float32
    for v, marginal in brute_marginals(graph).items():
        np.testing.assert_allclose(found[v, : len(marginal)], marginal, atol=1e-5)


@GRAPHS
def test_samples_have_the_joint_distribution(name: str) -> None:
    """Pearson's chi-squared over all configurations, at most one false alarm in 10^6; impossible
    ones never occur.
    """
    engine, _ = compiled(name)
    graph, evidence = random_graph(name, 3), random_evidence(name, 5)
    count = 20000
    drawn = np.asarray(engine.sample(jax.random.key(1), count, *arguments(graph, evidence)))
    expected = brute_distribution(graph, evidence) * count
    seen = np.zeros(expected.shape)
    np.add.at(seen, tuple(drawn.T), 1)
    assert not seen[expected == 0].any()
    often = expected > 5
    cells = [
        *zip(seen[often], expected[often], strict=True),
        (seen[~often].sum(), max(expected[~often].sum(), 1e-9)),
    ]
    statistic = sum((s - e) ** 2 / e for s, e in cells if e > 1)
    degrees = len(cells)
    assert (
        statistic < degrees + 2 * np.sqrt(14 * degrees) + 2 * 14
    )  # Laurent and Massart: exp(-14) < 10^-6


def test_mode_takes_the_first_of_equals() -> None:
    engine, grouped = compiled("loops")
    tables = tuple(np.zeros_like(t) for t in grouped.tables)
    mode = engine.mode(tables, np.zeros((6, 3)))
    assert mode.states.tolist() == [0] * 6
    assert mode.score == 0.0


def test_no_variables_and_no_factors() -> None:
    nothing = compile_structure(Structure((), ()))
    assert nothing.log_partition((), jnp.zeros((0, 1))) == 0.0
    uniform = compile_structure(Structure((2, 3), ()))
    np.testing.assert_allclose(uniform.log_partition((), jnp.zeros((2, 3))), np.log(6), rtol=1e-14)
    np.testing.assert_allclose(
        uniform.marginals((), jnp.zeros((2, 3))), [[1 / 2, 1 / 2, 0], [1 / 3] * 3], rtol=1e-14
    )


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InferenceError, match="variable 1 has no states"):
        Structure((2, 0), ())
    with pytest.raises(InferenceError, match="beyond 0 to 1"):
        Structure((2, 2), (FactorGroup(np.array([[0, 2]])),))
    with pytest.raises(InferenceError, match="different shapes"):
        Structure((2, 3), (FactorGroup(np.array([[0], [1]])),))
    with pytest.raises(InferenceError, match="names a variable twice"):
        Structure((2, 3), (FactorGroup(np.array([[1, 1]])),))
    with pytest.raises(InferenceError, match="at least one factor"):
        Structure((2, 3), (FactorGroup(np.zeros((0, 2), np.intp)),))
    engine = compile_structure(Structure((2, 3), (FactorGroup(np.array([[0, 1]])),)))
    with pytest.raises(InferenceError, match=r"the structure needs \(\(1, 2, 3\),\)"):
        engine.marginals((jnp.zeros((1, 3, 2)),), jnp.zeros((2, 3)))
    with pytest.raises(
        InferenceError, match=r"log_evidence has the shape \(2, 2\), needs \(2, 3\)"
    ):
        engine.marginals((jnp.zeros((1, 2, 3)),), jnp.zeros((2, 2)))
    with pytest.raises(MemoryLimitError):
        compile_structure(engine.structure, memory=10)


SMALL = ["asia", "child", "alarm"]
LARGE = [
    pytest.param(n, marks=pytest.mark.slow)
    for n in ("insurance", "hailfinder", "hepar2", "win95pts", "andes", "mildew", "munin3")
]


@needs_references
@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_reference_marginals(name: str) -> None:
    graph = network(name).factor_graph()
    grouped = group_factors(graph)
    engine = compile_structure(grouped.structure)
    logs = log_evidence_of(graph.sizes, reference_evidence(name))
    log_z, found = jax.value_and_grad(engine.log_partition, 1)(grouped.tables, logs)
    answers = reference(name)
    assert log_z == pytest.approx(answers["log_evidence"], abs=1e-9)
    for variable, row in zip(grouped.names, found, strict=True):
        expected = answers["marginals"][variable]
        np.testing.assert_allclose(row[: len(expected)], expected, atol=1e-9)

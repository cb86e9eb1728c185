"""Elimination equals enumeration, question by question, on graphs with zeros, lone states and
separate parts.
"""

from __future__ import annotations

from itertools import pairwise

import brute
import numpy as np
import pytest
from graphs import evidence_on, factor_graphs, networks
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from dpc.inference.engines.numpy import passes
from dpc.inference.errors import (
    ImpossibleEvidenceError,
    InferenceError,
    MemoryLimitError,
    PlanMismatchError,
)
from dpc.inference.factors.factor_graph import Factor, FactorGraph, factor_of_values
from dpc.inference.queries import (
    Term,
    infer_count,
    infer_covariance,
    infer_cross_entropy,
    infer_divergence,
    infer_entropy,
    infer_factor_marginals,
    infer_joint,
    infer_kbest,
    infer_log_partition,
    infer_log_probability,
    infer_marginal_mode,
    infer_marginals,
    infer_mode,
    infer_moments,
    infer_probability,
    infer_samples,
    plan_joint,
    plan_marginals,
    plan_partition,
)

cases = st.one_of(factor_graphs(), networks()).flatmap(
    lambda g: st.tuples(st.just(g), evidence_on(g))
)
quick = settings(max_examples=60, deadline=None)


def possible(graph: FactorGraph, evidence: dict) -> bool:
    return bool((brute.brute_scores(graph, evidence) > -np.inf).any())


@quick
@given(cases)
def test_log_partition_and_marginals(case: tuple) -> None:
    graph, evidence = case
    if not possible(graph, evidence):
        for question in (infer_log_partition, infer_marginals, infer_mode, infer_entropy):
            with pytest.raises(ImpossibleEvidenceError, match=r"impossible|zero"):
                question(graph, evidence)
        return
    assert infer_log_partition(graph, evidence) == pytest.approx(
        brute.brute_log_partition(graph, evidence), abs=1e-10
    )
    expected = brute.brute_marginals(graph, evidence)
    found = infer_marginals(graph, evidence)
    assert list(found) == list(expected)
    for name, marginal in expected.items():
        np.testing.assert_allclose(found[name], marginal, atol=1e-12)
        alone = infer_marginals(graph, evidence, [name])
        np.testing.assert_allclose(alone[name], marginal, atol=1e-12)


@quick
@given(cases)
def test_factor_marginals_joint_marginals_and_counts(case: tuple) -> None:
    graph, evidence = case
    assert infer_count(graph, evidence) == brute.brute_count(graph, evidence)
    assume(possible(graph, evidence))
    for found, expected in zip(
        infer_factor_marginals(graph, evidence),
        brute.brute_factor_marginals(graph, evidence),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    asked = sorted(graph.sizes, key=lambda v: hash((v, len(graph.factors))))[:3]
    joint = infer_joint(graph, asked, evidence)
    np.testing.assert_allclose(joint, brute.brute_joint(graph, asked, evidence), atol=1e-12)
    truth = np.random.default_rng(0).random(joint.shape) < 0.5
    probability = infer_probability(graph, (asked, truth), evidence)
    assert probability == pytest.approx(
        brute.brute_probability(graph, (asked, truth), evidence), abs=1e-12
    )


@quick
@given(cases, st.integers(1, 6))
def test_mode_k_best_and_marginal_mode(case: tuple, k: int) -> None:
    graph, evidence = case
    assume(possible(graph, evidence))
    scores = brute.brute_scores(graph, evidence)
    best = brute.brute_kbest(graph, k, evidence)
    found = infer_kbest(graph, k, evidence)
    np.testing.assert_allclose(
        [c.log_score for c in found], [c.log_score for c in best], rtol=1e-10, atol=1e-10
    )
    rows = [tuple(c.states.values()) for c in found]
    assert len(set(rows)) == len(rows) == len(best)
    np.testing.assert_allclose(
        [scores[row] for row in rows], [c.log_score for c in best], rtol=1e-10, atol=1e-10
    )
    mode = infer_mode(graph, evidence)
    np.testing.assert_allclose(
        [mode.log_score, scores[tuple(mode.states.values())]],
        best[0].log_score,
        rtol=1e-10,
        atol=1e-10,
    )
    some = list(graph.sizes)[::2]
    partial = infer_marginal_mode(graph, some, evidence)
    expected = brute.brute_marginal_mode(graph, some, evidence)
    assert partial.log_score == pytest.approx(expected.log_score, abs=1e-9)
    joint = brute.brute_joint(graph, some, evidence)
    assert joint[tuple(partial.states.values())] == pytest.approx(joint.max(), abs=1e-12)


@quick
@given(cases, st.integers(0, 2**32 - 1))
def test_entropy_divergence_and_moments(case: tuple, seed: int) -> None:
    graph, evidence = case
    assume(possible(graph, evidence))
    generator = np.random.default_rng(seed)
    assert infer_entropy(graph, evidence) == pytest.approx(
        brute.brute_entropy(graph, evidence), abs=1e-9
    )
    names = list(graph.sizes)
    scope = tuple(names[i] for i in generator.permutation(len(names))[:3])
    tilt = Factor(scope, generator.normal(size=[graph.sizes[v] for v in scope]))
    other = FactorGraph(graph.sizes, (*graph.factors, tilt))
    divergence = infer_divergence(graph, other, evidence)
    assert divergence == pytest.approx(brute.brute_divergence(graph, other, evidence), abs=1e-9)
    terms = [Term(scope, generator.normal(size=tilt.log_values.shape) + 5.0)]
    terms += [Term((v,), generator.normal(size=graph.sizes[v])) for v in names[:3]]
    found = infer_moments(graph, terms, evidence)
    np.testing.assert_allclose(
        found, brute.brute_moments(graph, terms, evidence), rtol=1e-9, atol=1e-9
    )
    covariance = infer_covariance(graph, terms, evidence)
    np.testing.assert_allclose(
        covariance, brute.brute_covariance(graph, terms, evidence), rtol=1e-9, atol=1e-9
    )


@quick
@given(st.one_of(factor_graphs(spread=2.0), factor_graphs(spread=400.0)))
def test_logarithms_take_over_where_floats_end(graph: FactorGraph) -> None:
    assume(possible(graph, {}))
    saved = passes.SAFE
    passes.SAFE = 0.5
    try:
        for name, marginal in infer_marginals(graph).items():
            np.testing.assert_allclose(marginal, brute.brute_marginals(graph)[name], atol=1e-11)
        assert infer_log_partition(graph) == pytest.approx(
            brute.brute_log_partition(graph), rel=1e-11, abs=1e-11
        )
        asked = list(graph.sizes)[:2]
        np.testing.assert_allclose(
            infer_joint(graph, asked), brute.brute_joint(graph, asked), atol=1e-11
        )
        terms = [Term((v,), np.arange(float(graph.sizes[v]))) for v in graph.sizes]
        np.testing.assert_allclose(
            infer_moments(graph, terms), brute.brute_moments(graph, terms), atol=1e-9
        )
    finally:
        passes.SAFE = saved


@quick
@given(factor_graphs(spread=400.0))
def test_wide_potentials(graph: FactorGraph) -> None:
    assume(possible(graph, {}))
    for name, marginal in infer_marginals(graph).items():
        np.testing.assert_allclose(marginal, brute.brute_marginals(graph)[name], atol=1e-11)
    assert infer_log_partition(graph) == pytest.approx(
        brute.brute_log_partition(graph), rel=1e-11, abs=1e-11
    )


def test_a_long_chain_is_rescaled_and_stays_exact() -> None:
    """A chain of equal links is a power of one matrix: log Z is found by repeated squaring with
    scaling.
    """
    link = np.array([[1e-3, 2e-5], [3e-4, 5e-6]])
    count = 3000
    sizes = dict.fromkeys(range(count + 1), 2)
    graph = FactorGraph(sizes, tuple(factor_of_values((i, i + 1), link) for i in range(count)))
    eigenvalues, vectors = np.linalg.eig(link)
    weights = np.ones(2) @ vectors * np.linalg.solve(vectors, np.ones(2))
    top = np.argmax(eigenvalues)
    ratio = (eigenvalues / eigenvalues[top]) ** count
    expected = count * np.log(eigenvalues[top]) + np.log((weights * ratio).sum())
    assert infer_log_partition(graph) == pytest.approx(expected, rel=1e-12)
    middle = infer_marginals(graph)[count // 2]
    left, right = np.linalg.eig(link.T), np.linalg.eig(link)
    stationary = left[1][:, np.argmax(left[0])] * right[1][:, np.argmax(right[0])]
    np.testing.assert_allclose(middle, stationary / stationary.sum(), rtol=1e-9)


def test_underflow_that_scaling_cannot_help_is_answered_in_logarithms() -> None:
    """Two sides agree only where each is about exp(-500): real numbers would say that the evidence
    is impossible.
    """
    logs = np.array([0.0, -500.0, -np.inf])
    graph = FactorGraph(
        {"a": 3}, (Factor(("a",), logs), Factor(("a",), np.array([-np.inf, -500.0, 0.0])))
    )
    assert infer_log_partition(graph) == pytest.approx(-1000.0)
    np.testing.assert_array_equal(infer_marginals(graph)["a"], [0.0, 1.0, 0.0])


def test_samples_have_the_joint_distribution() -> None:
    """Chi-square on all configurations; false alarm rate 1e-4 each, fixed seeds."""
    generator = np.random.default_rng(1)
    sizes = {"a": 2, "b": 3, "c": 2, "d": 1}
    scopes = [("a", "b"), ("b", "c"), ("c", "a", "d"), ("b",)]
    factors = [Factor(s, generator.normal(size=[sizes[v] for v in s])) for s in scopes]
    factors.append(factor_of_values(("a", "c"), [[1.0, 0.0], [1.0, 1.0]]))
    graph = FactorGraph(sizes, tuple(factors))
    for evidence in ({}, {"b": 1}, {"a": np.array([0.2, 3.0])}):
        draws = infer_samples(graph, 20_000, evidence, seed=3)
        expected = brute.brute_distribution(graph, evidence).ravel() * 20_000
        seen = np.bincount(
            np.ravel_multi_index(list(draws.values()), list(sizes.values())), minlength=12
        )
        assert not seen[expected == 0].any()
        alive = expected > 0
        statistic = ((seen[alive] - expected[alive]) ** 2 / expected[alive]).sum()
        assert statistic < chi2.ppf(1 - 1e-4, alive.sum() - 1)


@quick
@given(cases)
def test_samples_are_possible_and_scored(case: tuple) -> None:
    graph, evidence = case
    assume(possible(graph, evidence))
    draws = infer_samples(graph, 7, evidence, seed=5)
    logs = infer_log_probability(graph, draws, evidence)
    table = np.log(np.maximum(brute.brute_distribution(graph, evidence), 1e-300))
    np.testing.assert_allclose(logs, table[tuple(draws.values())], atol=1e-9)
    assert (logs > -600).all()


def test_a_plan_serves_new_states_and_refuses_other_questions() -> None:
    sizes = {"a": 2, "b": 3, "c": 2}
    generator = np.random.default_rng(0)
    graph = FactorGraph(
        sizes,
        (Factor(("a", "b"), generator.normal(size=(2, 3))), Factor(("b", "c"), np.ones((3, 2)))),
    )
    plan = plan_marginals(graph, {"b": 0})
    for state in range(3):
        found = infer_marginals(graph, {"b": state}, plan=plan)
        np.testing.assert_allclose(found["a"], brute.brute_marginals(graph, {"b": state})["a"])
    with pytest.raises(PlanMismatchError, match="plan again"):
        infer_marginals(graph, {"a": 0}, plan=plan)
    with pytest.raises(PlanMismatchError, match="plan again"):
        infer_joint(graph, ["a", "c"], {"b": 0}, plan=plan)
    together = plan_joint(graph, ["c", "a"], {"b": 0})
    found = infer_joint(graph, ["c", "a"], {"b": 2}, plan=together)
    np.testing.assert_allclose(found, brute.brute_joint(graph, ["c", "a"], {"b": 2}))


def test_barren_tables_and_separated_parts_are_left_out_of_the_plan() -> None:
    """In a -> b -> c -> d only a and b matter to evidence on b; the log-evidence is that of b."""
    tables = np.array([[0.9, 0.1], [0.2, 0.8]])
    names = ["a", "b", "c", "d"]
    factors = [factor_of_values(("a",), [0.3, 0.7], "a")]
    factors += [factor_of_values((p, c), tables, c) for p, c in pairwise(names)]
    graph = FactorGraph(dict.fromkeys(names, 2), tuple(factors))
    assert plan_partition(graph, {"b": 1}).names == ("a",)
    assert infer_log_partition(graph, {"b": 1}) == pytest.approx(np.log(0.3 * 0.1 + 0.7 * 0.8))
    assert infer_log_partition(graph) == pytest.approx(0.0)


def test_a_parent_without_a_table_is_counted_once_its_child_is_pruned() -> None:
    graph = FactorGraph(
        {"a": 3, "b": 2}, (factor_of_values(("a", "b"), np.full((3, 2), 0.5), "b"),)
    )
    assert infer_log_partition(graph) == pytest.approx(np.log(3.0))


def test_a_table_that_is_no_conditional_is_refused() -> None:
    graph = FactorGraph({"a": 2}, (factor_of_values(("a",), [0.5, 0.6], "a"),))
    with pytest.raises(InferenceError, match="normalise it"):
        infer_log_partition(graph)


def test_questions_about_unknown_variables_are_refused() -> None:
    graph = FactorGraph({"a": 2, "b": 2}, ())
    with pytest.raises(InferenceError, match=r"asked about \['z'\]"):
        infer_marginals(graph, variables=["a", "z"])
    with pytest.raises(InferenceError, match=r"asked about \['z'\]"):
        infer_joint(graph, ["z"])
    with pytest.raises(InferenceError, match=r"asked about \['z'\]"):
        infer_marginal_mode(graph, ["z"])
    with pytest.raises(InferenceError, match="twice"):
        infer_joint(graph, ["a", "a"])
    with pytest.raises(InferenceError, match="needs"):
        infer_probability(graph, (["a", "b"], np.ones((2, 3))))
    with pytest.raises(InferenceError, match="needs"):
        infer_moments(graph, [Term(("a",), np.ones(3))])
    with pytest.raises(InferenceError, match="one or more"):
        infer_kbest(graph, 0)


def test_k_best_counts_its_k_in_the_memory_it_needs() -> None:
    names = [f"x{i}" for i in range(12)]
    graph = FactorGraph(dict.fromkeys(names, 2), (Factor(tuple(names), np.zeros((2,) * 12)),))
    assert len(infer_kbest(graph, 2, memory=1 << 20)) == 2
    with pytest.raises(MemoryLimitError, match="4,096 entries"):
        infer_kbest(graph, 30, memory=1 << 20)


def test_ties_are_broken_not_averaged() -> None:
    graph = FactorGraph({"a": 3, "b": 2}, (Factor(("a", "b"), np.zeros((3, 2))),))
    assert infer_mode(graph).states == {"a": 0, "b": 0}
    assert sorted(tuple(c.states.values()) for c in infer_kbest(graph, 9)) == sorted(
        np.ndindex(3, 2)
    )


def test_a_clique_beyond_the_memory_limit_is_named() -> None:
    names = [f"x{i}" for i in range(24)]
    graph = FactorGraph(
        dict.fromkeys(names, 2),
        tuple(Factor((a, b), np.zeros((2, 2))) for i, a in enumerate(names) for b in names[:i]),
    )
    with pytest.raises(
        MemoryLimitError, match=r"the limit is 1 MiB.*16,777,216 entries over 24 variables.*x23"
    ) as caught:
        infer_log_partition(graph, memory=1 << 20)
    assert "approximate" in str(caught.value)


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"z": 0}, "not a variable"),
        ({"a": 2}, "states are 0 to 1"),
        ({"a": -1}, "states are 0 to 1"),
        ({"a": np.array([1.0, 2.0, 3.0])}, "shape"),
        ({"a": np.array([1.0, -2.0])}, "not negative"),
        ({"a": np.array([1.0, np.nan])}, "finite"),
        ({"a": {0, 5}}, "states are 0 to 1"),
    ],
)
def test_wrong_evidence_says_what_is_wrong(evidence: dict, message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        infer_marginals(FactorGraph({"a": 2}, ()), evidence)


def test_impossible_evidence_names_itself() -> None:
    graph = FactorGraph({"a": 2, "b": 2}, (factor_of_values(("a", "b"), [[1.0, 0.0], [0.0, 1.0]]),))
    with pytest.raises(ImpossibleEvidenceError, match="a=0, b=1"):
        infer_marginals(graph, {"a": 0, "b": 1})
    with pytest.raises(ImpossibleEvidenceError, match="empty set"):
        infer_marginals(graph, {"a": set()})
    with pytest.raises(ImpossibleEvidenceError, match="every configuration"):
        infer_log_partition(FactorGraph({"a": 2}, (Factor(("a",), np.full(2, -np.inf)),)))


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (Factor(("a", "z"), np.zeros((2, 2))), "'z', which has no size"),
        (Factor(("a",), np.zeros(3)), r"shape \(3,\), needs \(2,\)"),
        (Factor(("a", "a"), np.zeros((2, 2))), "twice"),
        (Factor(("a",), np.zeros(2), "b"), "no axis for its child"),
    ],
)
def test_wrong_factors_are_refused(factor: Factor, message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        FactorGraph({"a": 2, "b": 2}, (factor,))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_potentials_that_are_no_numbers_are_refused(value: float) -> None:
    graph = FactorGraph({"a": 2}, (Factor(("a",), np.array([0.0, value])),))
    with pytest.raises(InferenceError, match="NaN"):
        infer_marginals(graph)


def test_two_models_are_compared_on_the_same_variables() -> None:
    one, two = FactorGraph({"a": 2}, ()), FactorGraph({"a": 3}, ())
    with pytest.raises(InferenceError, match="these differ: a"):
        infer_cross_entropy(one, two)


def test_what_q_excludes_makes_the_divergence_infinite() -> None:
    one = FactorGraph({"a": 2}, ())
    two = FactorGraph({"a": 2}, (Factor(("a",), np.array([0.0, -np.inf])),))
    assert infer_divergence(one, two) == np.inf
    assert infer_divergence(two, one) == pytest.approx(np.log(2))

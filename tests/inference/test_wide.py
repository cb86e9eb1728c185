"""Questions whose exact answer does not fit: entropies, samples, joints and means by approximate
methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from approximations import grid, loopy, tree
from brute import brute_log_partition

from dpc.finite.answers import ANSWERED_BY
from dpc.inference.engines.approximate import auto
from dpc.inference.engines.approximate.gibbs import (
    advance_to,
    infer_joint_gibbs,
    infer_moments_gibbs,
    infer_samples_gibbs,
    start_gibbs,
    thinned,
)
from dpc.inference.engines.approximate.mean_field import infer_marginals_mean_field
from dpc.inference.engines.approximate.perturb import (
    certain_solver,
    infer_marginals_perturbed,
    infer_samples_perturbed,
)
from dpc.inference.engines.approximate.propagation import (
    PropagationOptions,
    infer_entropy_bp,
    infer_marginals_bp,
)
from dpc.inference.engines.approximate.results import Approximation
from dpc.inference.errors import InferenceError
from dpc.inference.factors.factor_graph import Factor, FactorGraph
from dpc.inference.queries import Term, infer_entropy, infer_joint, infer_mode, infer_moments

GIVEN: dict[str, Any] = {"b": {0, 1}, "e": np.array([0.5, 0.0, 1.0]), "d": 1}
GRAPH = loopy(1)
TERMS = (Term(("a", "c"), np.array([[0.0, 1.0], [2.0, -1.0]])), Term(("f",), np.array([0.5, 3.0])))


QUICKLY_COMPILED = "every program of this module runs once, and most are large"


# ---- entropy


@pytest.mark.parametrize(("schedule", "zeros"), [("flooding", 0.0), ("residual", 0.3)])
def test_the_entropy_of_a_tree_is_exact(schedule: Any, zeros: float) -> None:
    given: dict[str, Any] = {"c": {0, 2}, "lonely": 2, "g": np.array([0.3, 2.0])}
    found = infer_entropy_bp(tree(1, zeros), given, PropagationOptions(schedule=schedule))
    assert found.is_exact
    assert found.entropy == pytest.approx(infer_entropy(tree(1, zeros), given), abs=1e-7)


def scaled(graph: FactorGraph, by: float) -> FactorGraph:
    return FactorGraph(
        graph.sizes,
        tuple([Factor(f.variables, by * np.asarray(f.log_values)) for f in graph.factors]),
    )


def test_bethe_entropy_is_the_legendre_transform_of_the_bethe_partition() -> None:
    """H = log Z - d/db log Z(b theta) at b = 1, the slope by differences: no belief is looked
    at.
    """
    step, options = 1e-4, PropagationOptions(tolerance=1e-12)
    up, here, down = (
        infer_marginals_bp(scaled(GRAPH, b), options=options) for b in (1 + step, 1.0, 1 - step)
    )
    assert up.log_partition is not None
    assert here.log_partition is not None
    assert down.log_partition is not None
    found = infer_entropy_bp(GRAPH, options=options)
    assert not found.is_exact
    assert "Bethe" in str(found)
    assert found.entropy == pytest.approx(
        here.log_partition - (up.log_partition - down.log_partition) / 2 / step, abs=1e-6
    )


def test_the_entropy_of_mean_field_closes_its_bound() -> None:
    """log Z >= E_q[score] + H(q), the expectation by summing products of q."""
    found = infer_marginals_mean_field(GRAPH)
    q, entropy, bound = found.marginals, found.entropy, found.log_partition
    assert q is not None
    assert entropy is not None
    assert bound is not None
    score = 0.0
    for factor in GRAPH.factors:
        for states in np.ndindex(factor.log_values.shape):
            score += factor.log_values[states] * np.prod(
                [q[v][s] for v, s in zip(factor.variables, states, strict=True)]
            )
    assert entropy == pytest.approx(bound - score, abs=1e-10)


# ---- Gibbs sampling


@pytest.fixture(scope="module")
def draws() -> Approximation:
    return infer_samples_gibbs(GRAPH, 6001, GIVEN, seed=3)


def test_thinned_draws_follow_the_joint(draws: Approximation) -> None:
    """z-scores of 6 joint states, as of independent draws: by a normal law one exceeds 4.5 once in
    20,000 runs.
    """
    assert draws.samples is not None
    assert draws.converged
    assert not draws.is_exact
    assert "6001 independent ones" in str(draws)
    assert list(draws.samples) == list(GRAPH.sizes)
    assert {len(states) for states in draws.samples.values()} == {6001}
    assert set(draws.samples["d"].tolist()) == {1}
    exact = infer_joint(GRAPH, ["a", "b"], GIVEN)
    counts = np.zeros(exact.shape)
    np.add.at(counts, (draws.samples["a"], draws.samples["b"]), 1)
    assert (np.abs(counts / 6001 - exact) <= 4.5 * np.sqrt(exact * (1 - exact) / 6001)).all()


def test_thinning_picks_the_states_of_an_unbroken_run() -> None:
    start = start_gibbs(GRAPH, GIVEN, seed=5)
    whole = advance_to(start, 400)
    run, picked = thinned(advance_to(start, 150), 20, 7, 50)
    np.testing.assert_array_equal(picked, whole.visited[20:370:7])
    assert run.sweeps == 400
    assert len(run.visited) == 50
    few = infer_samples_gibbs(GRAPH, 3, GIVEN, seed=5)
    assert few.samples is not None
    assert len(few.samples["a"]) == 3
    with pytest.raises(InferenceError, match="one or more"):
        infer_samples_gibbs(GRAPH, 0, GIVEN)


def test_joint_frequencies_have_standard_errors() -> None:
    """8 states that are possible: one of them exceeds 4.5 errors once in 15,000 runs; what cannot
    be is never seen.
    """
    names = ["e", "d", "a", "f"]
    found = infer_joint_gibbs(GRAPH, names, GIVEN, seed=2)
    exact = infer_joint(GRAPH, names, GIVEN)
    assert found.joint is not None
    assert found.joint_errors is not None
    assert found.joint.shape == exact.shape
    assert (np.abs(found.joint - exact) <= 4.5 * found.joint_errors).all()
    assert not found.joint[exact == 0].any()
    assert (found.joint_errors > 1e-4).all(), "what was never seen is not certain"
    assert found.joint_errors.max() < 0.03
    certain = infer_joint_gibbs(GRAPH, ["d"], GIVEN)
    np.testing.assert_array_equal(certain.joint, [0.0, 1.0])
    np.testing.assert_array_equal(certain.joint_errors, [0.0, 0.0])


def test_moments_are_those_of_exact_inference_within_their_error() -> None:
    """|z| < 4.5: a false alarm in 100,000 runs; the variance within a twentieth, which is four of
    its errors.
    """
    found = infer_moments_gibbs(GRAPH, TERMS, GIVEN, seed=1)
    exact = infer_moments(GRAPH, TERMS, GIVEN)
    assert found.moments is not None
    assert found.mean_error is not None
    assert 0 < abs(found.moments.mean - exact.mean) < 4.5 * found.mean_error < 0.2
    assert found.moments.variance == pytest.approx(exact.variance, rel=0.05)
    with pytest.raises(InferenceError, match="has shape"):
        infer_moments_gibbs(GRAPH, [Term(("a",), np.zeros(3))])


# ---- perturb-and-MAP with modes that are certain


def attracted(side: int) -> FactorGraph:
    graph = grid(side, 0.5, seed=2)
    return FactorGraph(
        graph.sizes,
        tuple(
            [
                f
                if len(f.variables) == 1
                else Factor(f.variables, np.abs(f.log_values[0, 0]) * AGREE)
                for f in graph.factors
            ]
        ),
    )


AGREE = np.array([[1.0, -1.0], [-1.0, 1.0]])


def test_perturbed_modes_are_certain_by_plan_or_by_cut() -> None:
    graph = attracted(4)
    by_plan = infer_samples_perturbed(graph, 5, seed=4)
    by_cut = infer_samples_perturbed(graph, 5, seed=4, memory=1000)
    assert by_plan.samples is not None
    assert by_cut.samples is not None
    for v in graph.sizes:
        np.testing.assert_array_equal(by_plan.samples[v], by_cut.samples[v])
    solve = certain_solver(graph, {}, memory=1000)
    assert solve(graph, {}).log_score == pytest.approx(infer_mode(graph).log_score, abs=1e-9)
    with pytest.raises(InferenceError, match="use gibbs"):
        certain_solver(grid(4, 0.5), {}, memory=1000)


def test_the_perturbed_bound_is_above_the_log_partition() -> None:
    """The mean is above it by more than its standard error can hide: 4 of them; samples and
    marginals are one.
    """
    found = infer_marginals_perturbed(GRAPH, GIVEN, count=200)
    assert found.log_partition is not None
    assert found.log_partition_error is not None
    assert found.log_partition + 4 * found.log_partition_error >= brute_log_partition(GRAPH, GIVEN)
    assert found.log_partition_is == "upper bound"
    assert found.samples is not None
    assert found.marginals is not None
    np.testing.assert_allclose(
        np.bincount(found.samples["a"], minlength=2) / 200, found.marginals["a"]
    )


# ---- the choice


def test_auto_prefers_exact_and_says_what_it_fell_back_to() -> None:
    questions: dict[str, Any] = {
        "entropy": lambda memory: auto.infer_auto("entropy", GRAPH, GIVEN, memory=memory),
        "samples": lambda memory: auto.infer_auto("samples", GRAPH, GIVEN, 10, memory=memory),
        "joint": lambda memory: auto.infer_auto("joint", GRAPH, GIVEN, ["a", "b"], memory=memory),
        "moments": lambda memory: auto.infer_auto("moments", GRAPH, GIVEN, TERMS, memory=memory),
    }
    for name, ask in questions.items():
        exact, other = ask(None), ask(100)
        assert exact.is_exact
        assert exact.method == "exact"
        assert not other.is_exact
        assert other.method == ("bp" if name == "entropy" else "gibbs")
        assert "the limit is 100 B" in str(other)
        assert getattr(other, name) is not None
    np.testing.assert_array_equal(
        questions["joint"](None).joint, infer_joint(GRAPH, ["a", "b"], GIVEN)
    )
    assert questions["moments"](None).moments == infer_moments(GRAPH, TERMS, GIVEN)


def test_the_command_line_knows_the_methods_of_each_question() -> None:
    assert ANSWERED_BY["marginals"] == ("bp", "bp_residual", "mean_field", "gibbs", "perturb")
    assert ANSWERED_BY["log_partition"] == ("bp", "bp_residual", "mean_field", "perturb")
    assert ANSWERED_BY["mode"] == ("cut", "bp", "bp_residual")
    assert ANSWERED_BY["entropy"] == ("bp", "bp_residual", "mean_field")
    assert ANSWERED_BY["samples"] == ("gibbs", "perturb")
    for name in ("joint", "moments"):
        with pytest.raises(
            InferenceError, match=f"auto, exact, {', '.join(ANSWERED_BY[name])}, not"
        ):
            auto.infer_auto(name, GRAPH, (), method="magic")

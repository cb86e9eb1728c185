"""Mean field, Gibbs sampling with its diagnostics, and perturb-and-MAP, against brute force and
known laws.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from approximations import grid, largest_error, loopy
from brute import brute_log_partition, brute_marginals

from dpc.inference.engines.approximate.blocks import Blocking, cover_by_forests
from dpc.inference.engines.approximate.gibbs import (
    advance_gibbs,
    infer_marginals_gibbs,
    start_gibbs,
    summarise_gibbs,
)
from dpc.inference.engines.approximate.layout import greedy_colours, lay_out
from dpc.inference.engines.approximate.mean_field import infer_marginals_mean_field
from dpc.inference.engines.approximate.perturb import infer_perturbed
from dpc.inference.engines.approximate.results import diagnose
from dpc.inference.errors import InferenceError
from dpc.inference.factors.factor_graph import Factor, FactorGraph
from dpc.inference.queries import infer_mode

GIVEN: dict[str, Any] = {"b": {0, 1}, "e": np.array([0.5, 0.0, 1.0])}


QUICKLY_COMPILED = "every program of this module runs once, and most are large"


@pytest.mark.parametrize("zeros", [0.0, 0.25])
def test_mean_field_is_a_lower_bound_that_never_falls(zeros: float) -> None:
    for seed in range(4):
        graph = loopy(seed, zeros)
        bounds = [
            infer_marginals_mean_field(graph, GIVEN, max_iterations=n).log_partition
            for n in (1, 2, 3, 5, 200)
        ]
        assert all(a <= b + 1e-12 for a, b in pairwise(bounds))  # type: ignore[operator]
        assert bounds[-1] is not None
        assert bounds[-1] <= brute_log_partition(graph, GIVEN) + 1e-12


def test_mean_field_is_exact_for_independent_variables_and_close_for_weak_couplings() -> None:
    alone = infer_marginals_mean_field(grid(3, 0.0))
    assert alone.converged
    assert alone.log_partition == pytest.approx(brute_log_partition(grid(3, 0.0)), abs=1e-9)
    weak = infer_marginals_mean_field(grid(3, 0.1))
    assert weak.marginals is not None
    assert largest_error(weak.marginals, brute_marginals(grid(3, 0.1))) < 0.02


@pytest.mark.parametrize("blocking", ["forests", "colours"])
def test_gibbs_frequencies_agree_with_exact_marginals(blocking: Blocking) -> None:
    """z-scores of 14 states: by a normal law one of them exceeds 4.5 once in 10,000 runs."""
    graph = loopy(1)
    found = infer_marginals_gibbs(graph, GIVEN, sweeps=2000, burn_in=100, blocking=blocking, seed=4)
    exact = brute_marginals(graph, GIVEN)
    assert found.converged
    assert found.marginals is not None
    assert found.errors is not None
    for v, errors in found.errors.items():
        assert (errors[exact[v] > 0] > 0).all()
        assert (np.abs(found.marginals[v] - exact[v]) <= 4.5 * errors).all()
        assert errors.max() < 0.05
    assert "approximate" in str(found)


def test_one_forest_is_drawn_exactly_so_that_sweeps_are_independent() -> None:
    """Draws of a tree in one block: the effective size is that of independent draws, within its own
    noise.
    """
    line = FactorGraph(dict.fromkeys("abcd", 2), tuple([pair(u, v) for u, v in ("ab", "bc", "cd")]))
    assert len(cover_by_forests(lay_out(line))) == 1
    run = start_gibbs(line, seed=1)
    for _ in range(10):
        run = advance_gibbs(run)
    found = summarise_gibbs(run, 0)
    draws = 4 * run.sweeps
    assert found.errors is not None
    assert found.marginals is not None
    for v in "abcd":
        p, error = found.marginals[v][0], found.errors[v][0]
        assert 0.5 < p * (1 - p) / draws / error**2 < 2


def pair(u: str, v: str) -> Factor:
    return Factor((u, v), np.array([[3.0, 0.0], [0.0, 3.0]]))


def test_forests_have_no_cycles_and_cover_and_colours_differ() -> None:
    layout = lay_out(grid(7, 1.0))
    forests = cover_by_forests(layout)
    assert set().union(*forests) == set(range(49))
    for forest in forests:
        inside = [scope for scope in layout.scopes if set(scope) <= set(forest)]
        assert len(forest) > 24
        assert len(inside) < len(forest)
    colours = greedy_colours(layout.count, layout.scopes)
    assert all(colours[u] != colours[v] for u, v in layout.scopes)


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been() -> None:
    graph = loopy(2)
    whole = start_gibbs(graph, seed=7)
    for _ in range(3):
        whole = advance_gibbs(whole)
    stopped = advance_gibbs(start_gibbs(graph, seed=7))
    resumed = advance_gibbs(advance_gibbs(stopped))
    np.testing.assert_array_equal(whole.visited, resumed.visited)
    other = advance_gibbs(start_gibbs(graph, seed=8))
    assert (other.visited != stopped.visited).any()


def test_gibbs_meets_no_zero_and_says_when_it_finds_no_start() -> None:
    run = advance_gibbs(start_gibbs(loopy(0, 0.3), seed=0))
    for states in run.visited.reshape(-1, run.visited.shape[-1])[::7]:
        assert run.layout.named_configuration(states).log_score > -np.inf
    even = np.where(np.indices((2, 2, 2)).sum(0) % 2 == 0, 0.0, -np.inf)
    impossible = FactorGraph(
        dict.fromkeys("abc", 2),
        (Factor(("a", "b", "c"), even), Factor(("c", "a", "b"), even[::-1])),
    )
    with pytest.raises(InferenceError):
        start_gibbs(impossible)


def test_diagnosis_of_chains_with_a_known_law() -> None:
    """x_t = r x_t-1 + noise has n (1 - r) / (1 + r) effective draws; chains with different means a
    large R-hat.
    """
    generator = np.random.default_rng(0)
    noise = generator.normal(size=(4000, 4))
    for r in (0.0, 0.6):
        chain = np.zeros((4000, 4))
        for t in range(1, 4000):
            chain[t] = r * chain[t - 1] + noise[t]
        found = diagnose(chain[:, :, None])
        assert found.effective_size[0] == pytest.approx(16000 * (1 - r) / (1 + r), rel=0.15)
        assert found.r_hat[0] == pytest.approx(1, abs=0.005)
    apart = diagnose((noise + np.arange(4)[None])[:, :, None])
    assert apart.r_hat[0] > 1.3
    assert apart.effective_size[0] < 30
    stuck = diagnose(
        np.stack([np.ones((100, 4)), np.tile([0.0, 1.0, 0.0, 1.0], (100, 1))], axis=-1)
    )
    np.testing.assert_array_equal(stuck.r_hat, [1.0, np.inf])


def test_perturbed_modes_of_one_variable_are_exact() -> None:
    """The mean of the perturbed maximum is the log-partition, the maximiser a sample; false alarm 1
    in 15,000 each.
    """
    graph = FactorGraph({"a": 3}, (Factor(("a",), np.array([0.3, -1.0, 1.2])),))
    found = infer_perturbed(graph, infer_mode, count=2000, exact_solver=True)
    assert found.log_partition is not None
    assert found.log_partition_error is not None
    assert abs(found.log_partition - brute_log_partition(graph)) < 4 * found.log_partition_error
    assert found.log_partition_error == pytest.approx(np.pi / np.sqrt(6) / np.sqrt(2000), rel=0.1)
    assert found.marginals is not None
    assert found.errors is not None
    assert (
        np.abs(found.marginals["a"] - brute_marginals(graph)["a"]) < 4 * found.errors["a"]
    ).all()


def test_perturbed_modes_bound_the_log_partition_from_above() -> None:
    """By more than its standard error can hide: 4 of them."""
    for given in ({}, GIVEN):
        graph = loopy(1)
        found = infer_perturbed(graph, infer_mode, given, count=300, exact_solver=True)
        assert found.log_partition is not None
        assert found.log_partition_error is not None
        assert found.log_partition + 4 * found.log_partition_error >= brute_log_partition(
            graph, given
        )
        assert found.log_partition_is == "upper bound"
    assert infer_perturbed(graph, infer_mode, count=2).log_partition_is == "estimate"

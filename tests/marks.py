"""Which of many cases every run takes, and which only `make test-all`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some_fast(cases: Iterable[Any], fast: int) -> list[Any]:
    """All cases; those after the first few are slow."""
    return [
        case if k < fast else pytest.param(case, marks=pytest.mark.slow)
        for k, case in enumerate(cases)
    ]


def slow_ones(cases: Iterable[Any], slow: Collection[Any]) -> list[Any]:
    """All cases; these are slow."""
    return [pytest.param(case, marks=pytest.mark.slow) if case in slow else case for case in cases]


COSTLY = frozenset(
    {
        "test_a_draw_above_another[disarm]",
        "test_a_draw_above_another[mvd]",
        "test_a_draw_above_another[rebar]",
        "test_a_finite_guide_has_the_bound_of_the_sum_over_all_its_values[steps of both]",
        "test_a_finite_guide_has_the_bound_of_the_sum_over_all_its_values[steps of the model]",
        "test_a_model_agrees_with_its_twin[asia0]",
        "test_a_model_agrees_with_its_twin[bandit]",
        "test_a_model_agrees_with_its_twin[hierarchical]",
        "test_a_model_agrees_with_its_twin[hmm]",
        "test_a_model_agrees_with_its_twin[potts]",
        "test_a_model_agrees_with_its_twin[score_chain]",
        "test_a_plate_is_its_elements[arm]",
        "test_a_plate_is_its_elements[rebar]",
        "test_a_small_scale_recovers_the_hard_statement[gaussian]",
        "test_approximations_of_a_conjugate_model[importance]",
        "test_baselines_above_and_below_others[disarm-sfe]",
        "test_baselines_above_and_below_others[rloo-mvd]",
        "test_baselines_above_and_below_others[sfe-rloo]",
        "test_blocks_change_nothing[False]",
        "test_bounds_of_several_samples[iwae(samples=2)-1.0-with grad=rloo]",
        "test_chains[by the batch-log-400.0]",
        "test_chains_side_by_side_below_a_coin[each]",
        "test_chains_side_by_side_below_a_coin[together at a step]",
        "test_coefficients_and_standard_errors_of_statsmodels[Gamma]",
        "test_density_of_odd_models[switching]",
        "test_elimination_is_the_hand_marginalised_density[hmm]",
        "test_every_query_equals_brute_force[a chain of second order]",
        "test_every_query_equals_brute_force[crossed lags and a variable that is not remembered]",
        "test_every_unbiased_method_has_the_right_mean[mvd-disarm]",
        "test_every_unbiased_method_has_the_right_mean[rloo-rloo(samples=3)]",
        "test_gaussians_are_right_where_the_posterior_is_one[svi]",
        "test_in_single_precision_with_real_noise[mvd-binomial]",
        "test_in_single_precision_with_real_noise[relax-die]",
        "test_joined_cases_have_the_likelihood_of_separate_ones[field]",
        "test_maxima_by_newton_are_where_the_gradient_of_numpyro_vanishes[Dirichlet]",
        "test_maxima_by_newton_are_where_the_gradient_of_numpyro_vanishes[VonMises]",
        "test_missing_numbers_of_a_hidden_chain[of many lengths]",
        "test_no_baseline_moves_the_mean[Constant-1]",
        "test_noncentered_vectors[MultivariateNormal(m * ones(K), C)]",
        "test_one_draw[coin of a probability-arm]",
        "test_one_draw[coin of a probability-disarm]",
        "test_one_draw[die-rebar]",
        "test_one_draw[three coins-rebar]",
        "test_one_draw[three coins-sfe]",
        "test_one_law_for_all_samples_is_the_law_of_each[plates]",
        "test_other_laws[exponential-mvd]",
        "test_other_laws[gamma-mvd]",
        "test_other_laws[geometric-mvd]",
        "test_other_laws[normal-mvd]",
        "test_real_draws_below_a_chain_are_drawn_for_each_of_its_values[pathwise]",
        "test_rows_on_their_own_columns_together[arm]",
        "test_rows_on_their_own_columns_together[disarm]",
        "test_second_derivatives_are_covariances[tiles]",
        "test_sequences_that_share_rows[2-log]",
        "test_the_evidence_lower_bound[iwae(samples=1)-]",
        "test_the_gradient_is_the_marginals_and_samples_follow_them[a chain]",
        "test_the_gradient_of_the_second_moment[relax]",
        "test_the_lines_of_a_model[gate_function]",
        "test_the_printed_program_gives_the_same_numbers[gate_function]",
        "test_value_gradient_and_hessian[gaussian-value]",
        "test_value_gradient_and_hessian[gumbel-score]",
        "test_what_follows_from_the_log_partition_is_what_sums_and_integrals_give[MultivariateNormal]",
        "test_what_follows_from_the_log_partition_is_what_sums_and_integrals_give[VonMises]",
    }
)
"""Cases that take seconds and have a cheaper one of the same test beside them: slow, all of them.
"""


def mark_costly(items: list[pytest.Item], is_whole: bool) -> None:
    """Of the whole suite, every name in the list is that of a test."""
    for item in items:
        if item.name in COSTLY:
            item.add_marker(pytest.mark.slow)
    unknown = COSTLY - {item.name for item in items}
    if is_whole and unknown:
        raise pytest.UsageError(
            f"tests/marks.py calls these costly, and there is no such test: {sorted(unknown)}"
        )

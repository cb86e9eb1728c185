"""Real networks against answers computed by others (pyAgrum, the UAI 2014 competition), where the
data is there.
"""

from __future__ import annotations

import numpy as np
import pytest
from shared import (
    UAI,
    needs_problems,
    needs_references,
    network,
    problem,
    published_marginals,
    published_mode,
    reference,
    reference_evidence,
)

from dpc.inference.factors.factor_graph import log_score
from dpc.inference.queries import (
    infer_kbest,
    infer_log_partition,
    infer_log_probability,
    infer_marginals,
    infer_mode,
    infer_samples,
)

SMALL = ("alarm", "asia", "cancer", "child", "earthquake", "hepar2", "insurance", "sachs", "survey")
LARGE = ("andes", "hailfinder", "mildew", "win95pts", "link", "munin3")
PARTITIONS = {
    "CSP_12": 37.8857496369,
    "ObjectDetection_11": -172.4184046419,
    "Promedus_24": -13.4973189285,
}


@needs_references
@pytest.mark.parametrize(
    "name", [*SMALL, *[pytest.param(name, marks=pytest.mark.slow) for name in LARGE]]
)
def test_reference_marginals(name: str) -> None:
    graph, expected, given = network(name).factor_graph(), reference(name), reference_evidence(name)
    assert infer_log_partition(graph, given) == pytest.approx(expected["log_evidence"], abs=1e-9)
    found = infer_marginals(graph, given)
    assert found.keys() == expected["marginals"].keys()
    for variable, marginal in expected["marginals"].items():
        np.testing.assert_allclose(found[variable], marginal, atol=1e-9)
    asked = list(graph.sizes)[:: max(1, len(graph.sizes) // 5)]
    for variable, marginal in infer_marginals(graph, given, asked).items():
        np.testing.assert_allclose(marginal, expected["marginals"][variable], atol=1e-9)


@needs_references
@pytest.mark.parametrize("name", ["alarm", "win95pts"])
def test_mode_is_above_every_sample_and_k_best_descend(name: str) -> None:
    graph, given = network(name).factor_graph(), reference_evidence(name)
    mode = infer_mode(graph, given)
    best = infer_kbest(graph, 20, given)
    scores = [c.log_score for c in best]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(mode.log_score, rel=1e-12)
    log_z = infer_log_partition(graph, given)
    logs = infer_log_probability(
        graph, {v: np.array([c.states[v] for c in best]) for v in graph.sizes}, given
    )
    np.testing.assert_allclose(logs, np.array(scores) - log_z, rtol=1e-10)
    samples = infer_samples(graph, 1000, given, seed=0)
    assert infer_log_probability(graph, samples, given).max() <= scores[0] - log_z + 1e-12


QUICK = {"CSP_12", "Promedus_24", "DBN_11", "Promedus_18"}
PROBLEMS = [
    pytest.param(path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)
    for path in sorted(UAI.glob("*.uai"))
]


@needs_problems
@pytest.mark.parametrize("name", PROBLEMS)
def test_competition_marginals(name: str) -> None:
    """Published to six significant digits."""
    graph, given = problem(name)
    if name in PARTITIONS:
        assert infer_log_partition(graph, given) == pytest.approx(PARTITIONS[name], abs=1e-9)
    found = infer_marginals(graph, given)
    for variable, marginal in published_marginals(name).items():
        np.testing.assert_allclose(found[variable], marginal, atol=2e-6)


@needs_problems
@pytest.mark.parametrize("name", PROBLEMS)
def test_competition_modes(name: str) -> None:
    """On some problems a better configuration than the published one exists: ours is never
    worse.
    """
    graph, given = problem(name)
    found = infer_mode(graph, given)
    assert found.log_score == pytest.approx(
        float(log_score(graph.factors, found.states)), rel=1e-12
    )
    assert found.log_score >= float(log_score(graph.factors, published_mode(name))) - 1e-9

"""Modes by minimum cut and the k best by beam search, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from approximations import grid
from brute import brute_kbest, brute_scores
from graphs import evidence_on, factor_graphs
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from dpc.inference.engines.approximate.auto import infer_auto
from dpc.inference.engines.approximate.beam import infer_kbest_by_beam
from dpc.inference.engines.approximate.cuts import infer_mode_by_cut
from dpc.inference.engines.approximate.results import NotSubmodularError
from dpc.inference.errors import ImpossibleEvidenceError, InferenceError
from dpc.inference.factors.factor_graph import Factor, FactorGraph, Name
from dpc.inference.queries import infer_mode

AGREE = np.array([[1.0, 0.0], [0.0, 1.0]])


@st.composite
def submodular_graphs(draw: st.DrawFn) -> FactorGraph:
    """Up to 8 variables of 1 or 2 states, pairs that agree up to flips, zeros where they differ,
    unary zeros.
    """
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes: dict[Name, int] = {
        i: draw(st.sampled_from([2, 2, 2, 1])) for i in range(draw(st.integers(1, 8)))
    }
    scale = draw(st.sampled_from([1e-3, 1.0, 1e4]))
    flips = generator.random(len(sizes)) < draw(st.sampled_from([0.0, 0.5]))
    factors = [Factor((v,), scale * generator.normal(size=size)) for v, size in sizes.items()]
    hidden = draw(st.sampled_from([0.0, 0.3]))
    for _ in range(draw(st.integers(0, 14)) if len(sizes) > 1 else 0):
        u, v = generator.choice(len(sizes), 2, replace=False).tolist()
        table = scale * generator.normal(size=(2, 2))
        table = table[::-1] if table[0, 0] + table[1, 1] < table[0, 1] + table[1, 0] else table
        table = np.where((generator.random((2, 2)) < hidden) & (AGREE == 0), -np.inf, table)
        table = table[:: -1 if flips[u] else 1, :: -1 if flips[v] else 1]
        factors.append(Factor((u, v), table[: sizes[u], : sizes[v]]))
    return FactorGraph(sizes, tuple(factors))


@for_all(st.data())
@settings(max_examples=150, deadline=None)
def test_a_cut_is_the_mode(data: st.DataObject) -> None:
    graph = data.draw(submodular_graphs())
    given = data.draw(evidence_on(graph))
    best = brute_scores(graph, given).max()
    if best == -np.inf:
        with pytest.raises(ImpossibleEvidenceError):
            infer_mode_by_cut(graph, given)
        return
    found = infer_mode_by_cut(graph, given)
    assert found.is_exact
    assert found.mode is not None
    assert found.mode.log_score == pytest.approx(best, rel=1e-11, abs=1e-11)


def test_a_cut_of_a_larger_grid_is_the_mode_to_its_gap() -> None:
    pairs = [f for f in grid(10, 1.0).factors if len(f.variables) == 2]
    fields = [f for f in grid(10, 1.0).factors if len(f.variables) == 1]
    graph = FactorGraph(
        grid(10, 1.0).sizes, (*[Factor(f.variables, 0.4 * AGREE) for f in pairs], *fields)
    )
    found = infer_mode_by_cut(graph)
    assert found.mode is not None
    assert found.residual < 1e-9
    assert found.mode.log_score == pytest.approx(infer_mode(graph).log_score, abs=1e-9)


def test_what_cuts_cannot_answer_is_refused_by_name() -> None:
    triangle = [Factor((u, v), -AGREE) for u, v in ("xy", "yz", "xz")]
    with pytest.raises(
        NotSubmodularError,
        match=r"factor on \(.*\) prefers its variables to differ against a cycle",
    ):
        infer_mode_by_cut(FactorGraph(dict.fromkeys("xyz", 2), tuple(triangle)))
    with pytest.raises(NotSubmodularError, match="'w' has 3 states"):
        infer_mode_by_cut(FactorGraph({"w": 3}, ()))
    with pytest.raises(NotSubmodularError, match=r"\(x, y, z\) is not pairwise"):
        infer_mode_by_cut(
            FactorGraph(dict.fromkeys("xyz", 2), (Factor(("x", "y", "z"), np.zeros((2, 2, 2))),))
        )


@for_all(st.data())
@settings(max_examples=80, deadline=None)
def test_a_beam_is_right_about_what_it_may_have_missed(data: st.DataObject) -> None:
    graph = data.draw(factor_graphs(zeros=False))
    given = data.draw(evidence_on(graph))
    k = data.draw(st.integers(1, 4))
    width = data.draw(st.integers(k, 12))
    best = brute_kbest(graph, k, given)
    order = data.draw(st.permutations(list(graph.sizes)))
    found = infer_kbest_by_beam(graph, k, given, width=width, order=order)
    scores = [c.log_score for c in found.configurations]
    everything = brute_scores(graph, given)
    for configuration in found.configurations:
        assert everything[tuple(configuration.states.values())] == pytest.approx(
            configuration.log_score, abs=1e-9
        )
    assert scores == sorted(scores, reverse=True)
    if found.is_proven:
        np.testing.assert_allclose(
            scores, [c.log_score for c in best[: len(scores)]], rtol=0, atol=1e-9
        )
    missing = sorted(everything[everything > -np.inf].ravel().tolist(), reverse=True)
    for score in scores:
        missing.remove(min(missing, key=lambda other: abs(other - score)))
    assert not missing or missing[0] <= found.missed + 1e-9


@for_all(st.data())
@settings(max_examples=50, deadline=None)
def test_a_beam_that_drops_nothing_is_exact(data: st.DataObject) -> None:
    graph = data.draw(factor_graphs())
    given = data.draw(evidence_on(graph))
    best = brute_kbest(graph, 3, given)
    if not best:
        with pytest.raises(ImpossibleEvidenceError):
            infer_kbest_by_beam(graph, 3, given, width=3**7)
        return
    found = infer_kbest_by_beam(graph, 3, given, width=3**7)
    assert found.is_proven
    scores = [c.log_score for c in found.configurations]
    np.testing.assert_allclose(scores, [c.log_score for c in best], rtol=0, atol=1e-9)


def test_a_beam_that_loses_everything_says_so() -> None:
    """Best for themselves, a = b = 0 leave no state for c."""
    low, high = np.array([[0.0, -np.inf], [0.0, 0.0]]), np.array([[-np.inf, 0.0], [0.0, 0.0]])
    likes_zero = [Factor((v,), np.array([1.0, 0.0])) for v in "ab"]
    graph = FactorGraph(
        dict.fromkeys("abc", 2), (*likes_zero, Factor(("a", "c"), low), Factor(("b", "c"), high))
    )
    with pytest.raises(InferenceError, match="widen it"):
        infer_kbest_by_beam(graph, 1, width=1, order="abc")
    assert infer_kbest_by_beam(graph, 1, width=2, order="abc").is_proven


def test_a_wide_beam_is_proven_and_a_narrow_one_admits_that_it_is_not() -> None:
    graph = grid(4, 0.4)
    wide = infer_kbest_by_beam(graph, 5, width=2**16)
    assert wide.is_proven
    assert "proven" in str(wide)
    np.testing.assert_allclose(
        [c.log_score for c in wide.configurations], [c.log_score for c in brute_kbest(graph, 5)]
    )
    narrow = infer_kbest_by_beam(grid(8, 1.0), 1, width=1)
    assert not narrow.is_proven
    assert "approximate" in str(narrow)
    with pytest.raises(InferenceError, match="names every variable"):
        infer_kbest_by_beam(graph, 1, order=[(0, 0)])


# ---- hard constraints


def colouring(count: int, edges: list[tuple[int, int]], colours: int, seed: int) -> FactorGraph:
    """Neighbours differ; each has a taste."""
    generator = np.random.default_rng(seed)
    differ = np.where(np.eye(colours, dtype=bool), -np.inf, 0.0)
    tastes = [Factor((v,), generator.normal(size=colours)) for v in range(count)]
    return FactorGraph(
        dict.fromkeys(range(count), colours), (*tastes, *(Factor(edge, differ) for edge in edges))
    )


@pytest.mark.parametrize("seed", range(4))
def test_an_approximate_mode_respects_every_hard_constraint(seed: int) -> None:
    generator = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(40) for j in range(i)]
    edges = [pairs[k] for k in generator.choice(len(pairs), 80, replace=False)]
    graph = colouring(40, edges, 4, seed)
    mode = infer_auto("mode", graph, method="bp").mode
    assert mode is not None
    assert np.isfinite(mode.log_score)
    assert all(mode.states[a] != mode.states[b] for a, b in edges)


def test_nothing_is_called_impossible_without_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    four = [(i, j) for i in range(4) for j in range(i)]
    with pytest.raises(ImpossibleEvidenceError):
        infer_auto("mode", colouring(4, four, 3, 0), method="bp")
    monkeypatch.setattr("dpc.inference.engines.approximate.feasible.BUDGET", 2)
    with pytest.raises(InferenceError, match="none was proved to be missing") as error:
        infer_auto("mode", colouring(4, four, 3, 0), method="bp")
    assert not isinstance(error.value, ImpossibleEvidenceError)

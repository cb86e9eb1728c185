"""Chains against brute force, the book's algorithms written out, closed forms, and each other."""

from __future__ import annotations

from functools import partial
from typing import Any

import brute
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpc.inference.engines import path as chains
from dpc.inference.errors import ImpossibleEvidenceError, InferenceError
from dpc.inference.factors.factor_graph import Factor, FactorGraph

QUICKLY_COMPILED = "each program runs once, and compiling takes most of the time"

STEPS, STATES, BEST = 4, 3, 4


def graph_of(unary: np.ndarray, pair: np.ndarray) -> FactorGraph:
    steps, states = unary.shape
    pairs = np.broadcast_to(pair, (steps - 1, states, states))
    singles = [Factor((t,), unary[t]) for t in range(steps)]
    return FactorGraph(
        dict.fromkeys(range(steps), states),
        (*singles, *(Factor((t, t + 1), pairs[t]) for t in range(steps - 1))),
    )


@jax.jit
def everything(unary: Any, pair: Any, length: Any) -> dict[str, Any]:
    """Every query, compiled once per shape; which domain answers is decided by the numbers."""
    gradient = jax.grad(lambda u, p: jnp.sum(chains.log_partition(u, p, length)), (0, 1))
    best = chains.kbest(unary, pair, length, k=BEST)
    return {
        "log_z": chains.log_partition(unary, pair, length),
        "marginals": chains.marginals(unary, pair, length),
        "gradient": gradient(unary, pair),
        "entropy": chains.entropy(unary, pair, length),
        "mode": chains.mode(unary, pair, length),
        "kbest": best,
        "log_prob": chains.log_prob(unary, pair, best.states, length),
    }


def random_logs(
    generator: np.random.Generator, shape: tuple[int, ...], spread: float, zeros: float
) -> np.ndarray:
    logs = generator.normal(size=shape) * spread
    return np.where(generator.random(shape) < zeros, -np.inf, logs)


def verify_sequence(found: dict[str, Any], b: int, unary: np.ndarray, pair: np.ndarray) -> None:
    """One sequence of the batch against all its configurations."""
    steps, graph = len(unary), graph_of(unary, pair)
    scale = max(1.0, float(np.abs(brute.brute_log_partition(graph))))
    np.testing.assert_allclose(
        found["log_z"][b], brute.brute_log_partition(graph), rtol=0, atol=1e-12 * scale
    )
    marginals = np.stack(list(brute.brute_marginals(graph).values()))
    np.testing.assert_allclose(found["marginals"].unary[b][:steps], marginals, rtol=0, atol=1e-11)
    assert not found["marginals"].unary[b][steps:].any()
    pairs = brute.brute_factor_marginals(graph)[steps:]
    for t, expected in enumerate(pairs):
        np.testing.assert_allclose(found["marginals"].pair[b][t], expected, rtol=0, atol=1e-11)
    # The entropy is a difference of log Z and a mean score, each as large as the potentials.
    largest = max(scale, *(float(np.abs(x[np.isfinite(x)]).max(initial=0)) for x in (unary, pair)))
    np.testing.assert_allclose(
        found["entropy"][b], brute.brute_entropy(graph), rtol=0, atol=1e-12 * largest
    )
    verify_best(found, b, graph, steps)


def verify_best(found: dict[str, Any], b: int, graph: FactorGraph, steps: int) -> None:
    expected = brute.brute_kbest(graph, BEST)
    scores = [c.log_score for c in expected] + [-np.inf] * (BEST - len(expected))
    np.testing.assert_allclose(found["kbest"].score[:, b], scores, rtol=1e-12, atol=1e-12)
    first = [expected[0].states[t] for t in range(steps)]
    np.testing.assert_array_equal(found["mode"].states[b][:steps], first)
    for q, configuration in enumerate(expected):
        np.testing.assert_array_equal(
            found["kbest"].states[q, b][:steps], [configuration.states[t] for t in range(steps)]
        )
        np.testing.assert_allclose(
            found["log_prob"][q, b],
            configuration.log_score - found["log_z"][b],
            rtol=1e-12,
            atol=1e-12,
        )


@pytest.mark.parametrize("same", [True, False])
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    spread=st.sampled_from([0.5, 3.0, 400.0]),
    zeros=st.sampled_from([0.0, 0.25]),
    lengths=st.tuples(st.integers(1, STEPS), st.integers(1, STEPS)),
)
def test_every_query_equals_brute_force(
    same: bool, seed: int, spread: float, zeros: float, lengths: tuple[int, int]
) -> None:
    """With zeros, potentials beyond the range of exp, and padding that holds no numbers at all."""
    generator = np.random.default_rng(seed)
    unary = random_logs(generator, (2, STEPS, STATES), spread, zeros)
    pair = random_logs(
        generator, (STATES, STATES) if same else (2, STEPS - 1, STATES, STATES), spread, zeros
    )
    for b, length in enumerate(lengths):
        unary[b, length:] = np.nan
        if not same:
            pair[b, length - 1 :] = np.nan
    found = jax.tree.map(np.asarray, everything(unary, pair, np.array(lengths)))
    for b, length in enumerate(lengths):
        own = pair if same else pair[b][: length - 1]
        try:
            verify_sequence(found, b, unary[b][:length], own)
        except ImpossibleEvidenceError:
            assert found["log_z"][b] == -np.inf
            assert not found["marginals"].unary[b].any()
            assert not found["marginals"].pair[b].any()
            assert (found["kbest"].score[:, b] == -np.inf).all()
    np.testing.assert_allclose(found["gradient"][0], found["marginals"].unary, rtol=0, atol=1e-11)
    counts = found["marginals"].pair.sum((0, 1)) if same else found["marginals"].pair
    np.testing.assert_allclose(found["gradient"][1], counts, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("steps", "states"), [(1, 3), (3, 1)])
def test_one_step_and_one_state(steps: int, states: int) -> None:
    generator = np.random.default_rng(5)
    unary, pair = (
        generator.normal(size=(steps, states)),
        generator.normal(size=(steps - 1, states, states)),
    )
    graph = graph_of(unary, pair)
    log_z, found = jax.jit(lambda u, p: (chains.log_partition(u, p), chains.mode(u, p)))(
        unary, pair
    )
    np.testing.assert_allclose(log_z, brute.brute_log_partition(graph), rtol=1e-13)
    np.testing.assert_array_equal(found.states, list(brute.brute_mode(graph).states.values()))
    np.testing.assert_allclose(found.score, brute.brute_mode(graph).log_score, rtol=1e-13)


@pytest.mark.parametrize("domain", ["scaled", "log"])
def test_the_hessian_is_the_covariance(domain: chains.Domain) -> None:
    generator = np.random.default_rng(3)
    unary, pair = generator.normal(size=(3, 2)), generator.normal(size=(2, 2))
    unary[1, 0] = -np.inf
    hessian = jax.jit(jax.hessian(lambda u: chains.log_partition(u, pair, domain=domain)))(unary)
    graph = graph_of(unary, pair)
    means = brute.brute_marginals(graph)
    for s in range(3):
        for t in range(3):
            joint = np.diag(means[s]) if s == t else brute.brute_joint(graph, [s, t])
            covariance = joint - np.outer(means[s], means[t])
            np.testing.assert_allclose(hessian[s, :, t, :], covariance, rtol=0, atol=1e-13)


def book_forward_backward(unary: np.ndarray, pair: np.ndarray) -> tuple[float, np.ndarray]:
    """Algorithm "marginal inference on a chain" (book line 12020), line by line, the unary put into
    psi.
    """
    steps, states = unary.shape
    psi = [np.exp(unary[0])[None, :], *[np.exp(pair + unary[k][None, :]) for k in range(1, steps)]]
    alpha, beta = np.zeros((steps, states)), np.ones((steps, states))
    alpha[0] = psi[0][0]
    for k in range(1, steps):
        for s in range(states):
            alpha[k, s] = sum(psi[k][r, s] * alpha[k - 1, r] for r in range(states))
    for k in range(steps - 2, -1, -1):
        for s in range(states):
            beta[k, s] = sum(psi[k + 1][s, r] * beta[k + 1, r] for r in range(states))
    whole = alpha[-1].sum()
    return float(np.log(whole)), alpha * beta / whole


def book_viterbi(unary: np.ndarray, pair: np.ndarray) -> list[int]:
    """Algorithm "MAP inference on a chain" (book line 12127), line by line, in logarithms, with
    back-pointers.
    """
    steps, states = unary.shape
    delta, back = np.zeros((steps, states)), np.zeros((steps, states), int)
    delta[0] = unary[0]
    for k in range(1, steps):
        for s in range(states):
            terms = [pair[r, s] + unary[k, s] + delta[k - 1, r] for r in range(states)]
            delta[k, s], back[k, s] = max(terms), int(np.argmax(terms))
    path = [int(np.argmax(delta[-1]))]
    for k in range(steps - 1, 0, -1):
        path.append(int(back[k, path[-1]]))
    return path[::-1]


def test_the_books_algorithms_agree() -> None:
    generator = np.random.default_rng(11)
    unary, pair = generator.normal(size=(60, 5)), generator.normal(size=(5, 5))
    log_z, marginals = book_forward_backward(unary, pair)
    found = jax.jit(
        lambda u, p: (chains.log_partition(u, p), chains.unary_marginals(u, p), chains.mode(u, p))
    )
    ours, our_marginals, our_mode = found(unary, pair)
    np.testing.assert_allclose(ours, log_z, rtol=1e-13)
    np.testing.assert_allclose(our_marginals, marginals, rtol=1e-11, atol=1e-14)
    np.testing.assert_array_equal(our_mode.states, book_viterbi(unary, pair))


def test_float32_keeps_its_digits_over_ten_thousand_steps() -> None:
    generator = np.random.default_rng(2)
    unary = generator.normal(size=(10_000, 8)).astype(np.float32)
    pair = generator.normal(size=(8, 8)).astype(np.float32)
    message, log_z = np.zeros(8), 0.0
    for t, row in enumerate(unary.astype(np.float64)):
        message = np.exp(row) * (np.exp(pair.astype(np.float64)).T @ message if t else 1.0)
        log_z, message = log_z + np.log(message.sum()), message / message.sum()
    found = jax.jit(chains.log_partition)(unary, pair)
    assert found.dtype == jnp.float32
    assert abs(float(found) - log_z) < 1e-6 * log_z


def test_a_state_that_underflows_and_comes_back_is_not_lost() -> None:
    """State 1 loses a factor ten a step against state 0, and at the end state 0 is excluded: log Z
    = -T log 10.
    """
    steps = 200
    pair = np.array([[0.0, -np.inf], [-np.inf, -np.log(10.0)]], np.float32)
    unary = np.zeros((steps, 2), np.float32)
    unary[-1, 0] = -np.inf
    answer = jax.jit(jax.value_and_grad(chains.log_partition))
    log_z, marginals = answer(unary, pair)
    np.testing.assert_allclose(log_z, -(steps - 1) * np.log(10.0), rtol=1e-5)
    np.testing.assert_allclose(marginals, np.tile([0.0, 1.0], (steps, 1)), atol=1e-6)
    assert jax.jit(partial(chains.log_partition, domain="scaled"))(unary, pair) == -np.inf


def test_samples_follow_the_distribution() -> None:
    """Chi-square over all configurations; false alarm once in 10^5 seeds, and this seed is
    fixed.
    """
    generator = np.random.default_rng(8)
    unary, pair = generator.normal(size=(3, 3)), random_logs(generator, (2, 3, 3), 1.0, 0.2)
    draws = np.asarray(
        jax.jit(partial(chains.sample, draws=20_000))(jax.random.key(1), unary, pair)
    )
    expected = brute.brute_distribution(graph_of(unary, pair))
    counts = np.zeros(expected.shape)
    np.add.at(counts, tuple(draws.T), 1)
    assert not counts[expected == 0].any()
    alive = expected > 0
    assert stats.chisquare(counts[alive], expected[alive] * len(draws)).pvalue > 1e-5


def test_samples_of_a_batch_stay_within_their_lengths() -> None:
    unary = np.log(np.array([[[0.0, 1.0]] * 3, [[0.5, 0.5]] * 3]) + np.array([[[1e-300, 0.0]]]))
    sample = jax.jit(partial(chains.sample, draws=400))
    draws = np.asarray(sample(jax.random.key(0), unary, np.zeros((2, 2)), np.array([2, 3])))
    np.testing.assert_array_equal(draws[:, 0], np.tile([1, 1, 0], (400, 1)))
    assert abs(draws[:, 1].mean() - 0.5) < 4.9 * 0.5 / np.sqrt(1200)


def test_divergence_equals_brute_force() -> None:
    generator = np.random.default_rng(4)
    one = random_logs(generator, (3, 2), 1.0, 0.0), random_logs(generator, (2, 2), 1.0, 0.0)
    two = random_logs(generator, (3, 2), 1.0, 0.0), random_logs(generator, (2, 2, 2), 1.0, 0.0)
    one[1][0, 1] = -np.inf
    graphs = graph_of(*one), graph_of(*two)
    expected = brute.brute_divergence(*graphs)
    for domain in ("scaled", "log"):
        divergence = jax.jit(partial(chains.divergence, domain=domain))
        np.testing.assert_allclose(divergence(*one, *two), expected, rtol=1e-12)
    one_way = jax.jit(partial(chains.cross_entropy, domain="scaled"))
    np.testing.assert_allclose(
        one_way(*one, *two), expected + brute.brute_entropy(graphs[0]), rtol=1e-12
    )
    assert one_way(*two, *one) == np.inf


def test_ties_are_broken_towards_the_first_and_all_are_listed() -> None:
    unary, pair = np.zeros((3, 2)), np.zeros((2, 2))
    found, best = jax.jit(lambda u, p: (chains.kbest(u, p, k=9), chains.mode(u, p)))(unary, pair)
    np.testing.assert_array_equal(best.states, [0, 0, 0])
    assert len({tuple(row) for row in np.asarray(found.states[:8]).tolist()}) == 8
    np.testing.assert_array_equal(found.score, [0.0] * 8 + [-np.inf])


def test_vmap_is_the_batch_and_runs_one_domain() -> None:
    generator = np.random.default_rng(6)
    unary, pair = generator.normal(size=(3, 4, 2)), generator.normal(size=(2, 2))
    mapped = jax.vmap(partial(chains.log_partition, log_pair=pair))
    np.testing.assert_allclose(
        jax.jit(mapped)(unary), jax.jit(chains.log_partition)(unary, pair), rtol=1e-14
    )
    slopes = jax.jit(jax.vmap(jax.grad(partial(chains.log_partition, log_pair=pair))))(unary)
    np.testing.assert_allclose(
        slopes, jax.jit(chains.unary_marginals)(unary, pair), rtol=0, atol=1e-14
    )
    batched = jax.make_jaxpr(mapped)(unary)
    assert str(batched).count("cond[") == str(
        jax.make_jaxpr(chains.log_partition)(unary[0], pair)
    ).count("cond[")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: chains.log_partition(np.zeros(3), np.zeros((3, 3))), "log_unary has shape"),
        (
            lambda: chains.log_partition(np.zeros((4, 3)), np.zeros((2, 3, 3))),
            r"needs \(3, 3\) or \[..., 3, 3, 3\]",
        ),
        (
            lambda: chains.log_partition(np.zeros((4, 3)), np.zeros((3, 3)), domain="fast"),
            "domain is one of",
        ),
        (lambda: chains.kbest(np.zeros((4, 3)), np.zeros((3, 3)), k=0), "k is at least 1"),
        (
            lambda: chains.score(np.zeros((4, 3)), np.zeros((3, 3)), np.zeros(4)),
            "states are integers",
        ),
        (
            lambda: chains.divergence(
                np.zeros((4, 3)), np.zeros((3, 3)), np.zeros((4, 2)), np.zeros((2, 2))
            ),
            "differ",
        ),
    ],
)
def test_wrong_shapes_say_what_is_needed(call: Any, message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        call()

"""The laws of every semiring, in NumPy and in JAX; gradients at zeros and ties."""

from __future__ import annotations

from typing import Any

import brute
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graphs import factor_graphs
from hypothesis import given, settings
from hypothesis import strategies as st

from dpc.inference.engines.numpy.program import run_upward, total_of
from dpc.inference.factors.factor_graph import Factor, FactorGraph
from dpc.inference.factors.semirings import (
    BOOLEAN,
    COUNTING,
    EXPECTATION,
    LOG,
    MAX_PLUS,
    MIN_PLUS,
    PROBABILITY,
    SECOND_EXPECTATION,
    SEMIRINGS,
    Semiring,
    choose_at_random,
    choose_first,
    k_best,
    log_sum_exp,
    smoothed_max,
    user_semiring,
    verify_laws,
    with_value,
    with_values,
)
from dpc.inference.planning.plan import plan_contraction
from dpc.inference.queries import infer_factor_marginals, infer_in_semiring, infer_mode

logs = st.lists(
    st.one_of(st.just(-np.inf), st.integers(-20, 20).map(lambda i: i / 4)), min_size=5, max_size=5
)
gcd = user_semiring("gcd", np.gcd, np.multiply, 0, 1, lambda x: np.exp(x).astype(np.int64))
broken = user_semiring("broken", np.subtract, np.multiply, 0.0, 1.0, np.exp)


def elements(semiring: Semiring, rows: list[list[float]], xp: Any) -> list[Any]:
    """Lifted logarithms; composite elements are filled beyond what lifting alone reaches."""
    lifted = [semiring.lift(xp.asarray(row), xp) for row in rows]
    if semiring is EXPECTATION:
        return [with_value(x[..., 0], xp.arange(5.0) - i, xp) for i, x in enumerate(lifted)]
    if semiring is SECOND_EXPECTATION:
        return [
            with_values(x[..., 0], xp.arange(5.0) - i, xp.arange(5.0) * i, xp)
            for i, x in enumerate(lifted)
        ]
    if semiring.name.endswith("-best"):
        return [semiring.add(x, xp.roll(x, 1, axis=0), xp) for x in lifted]
    return lifted


@pytest.mark.parametrize("semiring", [*SEMIRINGS.values(), gcd], ids=lambda s: s.name)
@settings(max_examples=40, deadline=None)
@given(rows=st.lists(logs, min_size=3, max_size=3))
def test_laws(semiring: Semiring, rows: list[list[float]]) -> None:
    verify_laws(semiring, *elements(semiring, rows, np))


@pytest.mark.parametrize("semiring", SEMIRINGS.values(), ids=lambda s: s.name)
def test_laws_in_jax(semiring: Semiring) -> None:
    rows = [
        [-np.inf, 0.0, 1.5, -2.0, -np.inf],
        [-np.inf, 0.0, -1.0, 3.0, 1.0],
        [0.5, 0.0, 1.5, -np.inf, 2.0],
    ]
    with jax.enable_x64(True):
        verify_laws(semiring, *elements(semiring, rows, jnp), jnp)


def test_a_broken_law_is_named() -> None:
    x = np.array([1.0, 2.0])
    with pytest.raises(ValueError, match="'broken': addition is commutative"):
        verify_laws(broken, x, x + 1, x + 3)


def sparse_max(a: Any, b: Any) -> Any:
    """max over p in the simplex of <p, (a, b)> - |p|^2 / 2 + 1/2: commutative, and equal to max far
    from ties.
    """
    p = np.clip((a - b + 1) / 2, 0, 1)
    return p * a + (1 - p) * b - (p**2 + (1 - p) ** 2) / 2 + 0.5


def test_sparsemax_is_no_semiring() -> None:
    """GM30: it is not associative, so no dynamic program can use it."""
    with pytest.raises(ValueError, match="addition is associative"):
        verify_laws(
            user_semiring("sparsemax", sparse_max, np.add, -100.0, 0.0),
            *np.array([[0.1], [0.2], [0.6]]),
        )


def log_partition_in_jax(graph: FactorGraph, semiring: Semiring, leaves: list[Any]) -> Any:
    plan = plan_contraction(graph.sizes, [f.variables for f in graph.factors])
    return total_of(plan, run_upward(plan, leaves, lambda product: semiring, jnp), semiring, jnp)


def loop_of_three() -> FactorGraph:
    generator = np.random.default_rng(4)
    logs = generator.normal(size=(3, 2, 2))
    logs[0, 1] = -np.inf
    scopes = [("a", "b"), ("b", "c"), ("c", "a")]
    return FactorGraph(
        dict.fromkeys("abc", 2), tuple(Factor(s, x) for s, x in zip(scopes, logs, strict=True))
    )


def test_marginals_are_the_gradient_of_the_log_partition() -> None:
    """GM27, through JAX, with a row of zeros in a table; GM28: at temperature 0+ the gradient is
    the mode.
    """
    graph = loop_of_three()
    with jax.enable_x64(True):
        leaves = [jnp.asarray(f.log_values) for f in graph.factors]
        marginals = jax.jit(jax.grad(lambda x: log_partition_in_jax(graph, LOG, x)))(leaves)
        cold = jax.jit(jax.grad(lambda x: log_partition_in_jax(graph, smoothed_max(1e-3), x)))(
            leaves
        )
        best = jax.jit(jax.grad(lambda x: log_partition_in_jax(graph, MAX_PLUS, x)))(leaves)
    states = infer_mode(graph).states
    for factor, soft, hard, top, exact in zip(
        graph.factors, marginals, cold, best, infer_factor_marginals(graph), strict=True
    ):
        np.testing.assert_allclose(soft, exact, atol=1e-12)
        indicator = np.zeros((2, 2))
        indicator[tuple(states[v] for v in factor.variables)] = 1.0
        np.testing.assert_allclose(hard, indicator, atol=1e-12)
        np.testing.assert_array_equal(top, indicator)


def test_expectation_semirings_carry_values() -> None:
    """E[f] and E[f g] of additive f, g with a term on every factor, against enumeration."""
    graph = loop_of_three()
    generator = np.random.default_rng(5)
    f, g = generator.normal(size=(2, 3, 2, 2))
    plan = plan_contraction(graph.sizes, [factor.variables for factor in graph.factors])
    weights = [np.exp(factor.log_values) for factor in graph.factors]
    first = [with_value(w, x) for w, x in zip(weights, f, strict=True)]
    second = [with_values(w, x, y) for w, x, y in zip(weights, f, g, strict=True)]
    one = total_of(plan, run_upward(plan, first, lambda product: EXPECTATION, np), EXPECTATION, np)
    two = total_of(
        plan,
        run_upward(plan, second, lambda product: SECOND_EXPECTATION, np),
        SECOND_EXPECTATION,
        np,
    )
    p = brute.brute_distribution(graph)
    whole = [
        sum(
            brute.on_all_axes(graph, factor.variables, x)
            for factor, x in zip(graph.factors, values, strict=True)
        )
        for values in (f, g)
    ]
    assert one[1] / one[0] == pytest.approx((p * whole[0]).sum())
    np.testing.assert_allclose(
        two[1:] / two[0], [(p * x).sum() for x in (*whole, whole[0] * whole[1])], rtol=1e-12
    )


def test_the_sum_of_nothing_but_zeros_has_gradient_zero() -> None:
    with jax.enable_x64(True):
        x = jnp.array([[-jnp.inf, -jnp.inf], [0.0, -jnp.inf], [1.0, 1.0]])
        for reduce in (LOG.reduce, smoothed_max(0.3).reduce):
            value, pull = jax.vjp(lambda y, reduce=reduce: reduce(y, (1,), jnp), x)
            assert value[0] == -jnp.inf
            np.testing.assert_allclose(pull(jnp.ones(3))[0], [[0, 0], [1, 0], [0.5, 0.5]])


def test_ties_of_a_maximum_go_to_the_first() -> None:
    with jax.enable_x64(True):
        x = jnp.array([[2.0, 2.0, 1.0], [0.0, 3.0, 3.0]])
        for semiring, sign in ((MAX_PLUS, 1.0), (MIN_PLUS, -1.0)):
            _, pull = jax.vjp(lambda y, s=semiring: s.reduce(y, (1,), jnp), sign * x)
            np.testing.assert_array_equal(pull(jnp.ones(2))[0], [[1, 0, 0], [0, 1, 0]])
            slope = jax.grad(lambda a, s=semiring: s.add(a, jnp.asarray(1.0), jnp))(1.0)
            assert slope == 1.0


def test_smoothed_max_lies_between_log_and_max() -> None:
    x = np.array([0.3, -1.0, 0.29])
    assert smoothed_max(1.0).reduce(x, (0,), np) == pytest.approx(log_sum_exp(x, (0,)))
    assert smoothed_max(1e-3).reduce(x, (0,), np) == pytest.approx(0.3, abs=1e-6)


def test_choices() -> None:
    """A million uniforms on a grid give frequencies to within the grid."""
    weights = np.log(np.array([[0.2, 0.5, 0.3]]))
    grid = (np.arange(1000) + 0.5) / 1000
    picked = choose_at_random(np.repeat(weights, 1000, axis=0), grid)
    np.testing.assert_array_equal(np.bincount(picked), [200, 500, 300])
    with np.errstate(divide="ignore"):
        certain = np.log(np.array([[0.0, 1.0, 0.0]]))
    assert choose_at_random(certain, np.array([0.0]))[0] == 1
    assert choose_first(np.array([[1.0, 2.0, 2.0]]), None)[0] == 1


@settings(max_examples=40, deadline=None)
@given(factor_graphs())
def test_one_plan_read_in_every_semiring(graph: FactorGraph) -> None:
    scores = brute.brute_scores(graph).reshape(-1)
    alive = scores[scores > -np.inf]
    best = np.sort(np.append(alive, np.full(3, -np.inf)))[::-1][:3]
    expected = {
        PROBABILITY: np.exp(scores).sum(),
        LOG: log_sum_exp(scores, (0,)),
        MAX_PLUS: scores.max(),
        MIN_PLUS: (-scores).min(),
        BOOLEAN: bool(alive.size),
        COUNTING: alive.size,
    }
    for semiring, value in expected.items():
        np.testing.assert_allclose(
            float(infer_in_semiring(graph, semiring)), value, rtol=1e-9, atol=1e-12
        )
    np.testing.assert_allclose(infer_in_semiring(graph, k_best(3)), best, rtol=1e-9, atol=1e-12)


def test_counts_are_exact_beyond_floats() -> None:
    graph = FactorGraph(dict.fromkeys(range(100), 3), ())
    assert infer_in_semiring(graph, COUNTING) == 3**100


def test_a_semiring_that_breaks_a_law_is_refused_where_it_is_used() -> None:
    graph = FactorGraph({"a": 2}, (Factor(("a",), np.array([0.2, 0.7])),))
    mean = user_semiring("mean", lambda a, b: (a + b) / 2, lambda a, b: a * b, 0.0, 1.0)
    with pytest.raises(ValueError, match="addition is associative"):
        infer_in_semiring(graph, mean)

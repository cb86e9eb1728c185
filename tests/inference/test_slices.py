"""Slices (coupled chains, higher orders, grids) against brute force and the chain kernels."""

from __future__ import annotations

from functools import partial
from typing import Any

import brute
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from marks import some_fast
from scipy import stats

from dpc.inference.engines.slices import slices
from dpc.inference.engines.slices.slice_plan import plan_slice
from dpc.inference.engines.slices.slices import Slices
from dpc.inference.errors import InferenceError, MemoryLimitError
from dpc.inference.factors.factor_graph import Factor, FactorGraph

QUICKLY_COMPILED = "each program runs once, and compiling takes most of the time"


def graph_of(model: Slices) -> FactorGraph:
    factors = []
    for scope, values in zip(model.scopes, model.values, strict=True):
        late = model.steps - values.shape[0]
        for row, table in enumerate(np.asarray(values)):
            factors.append(Factor(tuple((row + late - lag, v) for lag, v in scope), table))
    sizes = {(t, v): size for t in range(model.steps) for v, size in enumerate(model.sizes)}
    return FactorGraph(sizes, tuple(factors))


def random_slices(
    sizes: tuple[int, ...],
    steps: int,
    scopes: tuple[Any, ...],
    seed: int,
    spread: float = 1.0,
    zeros: float = 0.1,
) -> Slices:
    generator = np.random.default_rng(seed)
    values = []
    for scope in scopes:
        shape = (steps - max(lag for lag, _ in scope), *(sizes[v] for _, v in scope))
        logs = generator.normal(size=shape) * spread
        values.append(np.where(generator.random(shape) < zeros, -np.inf, logs))
    return Slices(sizes, steps, scopes, tuple(values))


def grid(n: int, seed: int = 0) -> Slices:
    """An n by n Ising grid, its rows as slices."""
    generator = np.random.default_rng(seed)
    spin = np.array([-1.0, 1.0])
    units = [((0, v),) for v in range(n)]
    down = [((1, v), (0, v)) for v in range(n)]
    across = [((0, v), (0, v + 1)) for v in range(n - 1)]
    values = [generator.normal(size=(n, 1)) * spin for _ in units]
    values += [generator.normal(size=(n - 1, 1, 1)) * np.outer(spin, spin) for _ in down]
    values += [generator.normal(size=(n, 1, 1)) * np.outer(spin, spin) for _ in across]
    return Slices((2,) * n, n, (*units, *down, *across), tuple(values))


COUPLED = (((0, 0),), ((1, 0), (0, 0)), ((0, 1), (1, 1)), ((0, 0), (0, 1)))
THREE = (*COUPLED, ((0, 1), (0, 2)), ((1, 2), (0, 2)))
SECOND_ORDER = (((2, 0), (1, 0), (0, 0)),)
MIXED_LAGS = (((1, 0), (0, 0)), ((0, 0), (0, 1)), ((2, 0), (0, 1)), ((1, 1), (0, 0), (1, 0)))
CASES = {
    "coupled chains of unequal sizes": ((2, 3), 3, COUPLED),
    "a chain of second order": ((3,), 5, SECOND_ORDER),
    "crossed lags and a variable that is not remembered": ((2, 3), 4, MIXED_LAGS),
    "three coupled chains": ((2, 2, 3), 3, THREE),
}


@jax.jit
def everything(model: Slices) -> dict[str, Any]:
    return {
        "log_z": slices.log_partition(model),
        "marginals": slices.marginals(model),
        "mode": slices.mode(model),
    }


def verify_against_brute(model: Slices) -> None:
    graph, found = graph_of(model), jax.tree.map(np.asarray, everything(model))
    np.testing.assert_allclose(
        found["log_z"], brute.brute_log_partition(graph), rtol=1e-12, atol=1e-12
    )
    expected = brute.brute_marginals(graph)
    for v in range(len(model.sizes)):
        rows = np.stack([expected[t, v] for t in range(model.steps)])
        np.testing.assert_allclose(found["marginals"].unary[v], rows, rtol=0, atol=1e-11)
    flat = np.concatenate([x.ravel() for x in brute.brute_factor_marginals(graph)])
    ours = np.concatenate([x.ravel() for x in found["marginals"].factors])
    np.testing.assert_allclose(ours, flat, rtol=0, atol=1e-11)
    best = brute.brute_mode(graph)
    assert {place: found["mode"].states[place] for place in graph.sizes} == best.states
    np.testing.assert_allclose(found["mode"].score, best.log_score, rtol=1e-12)


@pytest.mark.parametrize("case", some_fast(CASES, 3))
def test_every_query_equals_brute_force(case: str) -> None:
    """Mild potentials with zeros, and wide ones, which the same program answers in logarithms."""
    for seed, spread, zeros in ((1, 1.0, 0.1), (2, 300.0, 0.0), (3, 300.0, 0.1)):
        verify_against_brute(random_slices(*CASES[case], seed=seed, spread=spread, zeros=zeros))


@pytest.mark.slow
def test_a_grid_equals_brute_force() -> None:
    verify_against_brute(grid(4))


def test_impossible_slices_have_no_gradient() -> None:
    model = random_slices(*CASES["a chain of second order"], seed=1, zeros=1.0)
    found = everything(model)
    assert found["log_z"] == -np.inf
    assert not any(np.asarray(x).any() for x in jax.tree.leaves(found["marginals"]))


def test_samples_follow_the_distribution() -> None:
    """Chi-square over all configurations; false alarm once in 10^5 seeds, and this seed is
    fixed.
    """
    model = random_slices((2, 3), 2, MIXED_LAGS[:2], seed=7)
    draws = np.asarray(jax.jit(partial(slices.sample, draws=20_000))(jax.random.key(3), model))
    expected = brute.brute_distribution(graph_of(model))
    counts = np.zeros(expected.shape)
    np.add.at(counts, tuple(draws.reshape(len(draws), -1).T), 1)
    assert not counts[expected == 0].any()
    alive = expected > 0
    assert stats.chisquare(counts[alive], expected[alive] * len(draws)).pvalue > 1e-5


def test_the_second_derivative_is_a_covariance() -> None:
    """d E[f] / d weight of f is Var f, for f the indicator of a pair of states."""
    model = random_slices((2, 2), 2, (((1, 0), (0, 0)), ((0, 0), (0, 1))), seed=4, zeros=0.0)
    direction = Slices(
        model.sizes, 2, model.scopes, (np.zeros((1, 2, 2)), np.eye(4)[:2].reshape(2, 2, 2))
    )

    def along(weight: jax.Array) -> jax.Array:
        moved = jax.tree.map(lambda x, d: jnp.asarray(x) + weight * d, model, direction)
        return slices.log_partition(moved, domain="scaled")

    second = jax.jit(jax.grad(jax.grad(along)))(0.0)
    p = brute.brute_distribution(graph_of(model))
    f = np.zeros(p.shape)
    for t in range(2):
        table = direction.values[1][t]
        f += table.reshape([2 if place in (2 * t, 2 * t + 1) else 1 for place in range(4)])
    np.testing.assert_allclose(second, (p * f**2).sum() - (p * f).sum() ** 2, rtol=1e-11)


def test_a_plain_chain_is_given_to_the_chain_kernels() -> None:
    model = random_slices((3,), 4, (((0, 0),), ((0, 0), (1, 0))), seed=9)
    verify_against_brute(model)
    text = str(jax.make_jaxpr(slices.log_partition)(model))
    assert "log_partition_by_batch" in text


def test_a_row_of_a_grid_is_a_few_products_of_matrices_and_leaves_its_axes_in_place() -> None:
    model = grid(15)
    plan = plan_slice(model.sizes, model.scopes)
    assert [len(block.summed) for block in plan.blocks] == [5, 5, 5]
    assert all(block.before[:5] == block.summed for block in plan.blocks)
    assert plan.blocks[-1].after == plan.leave


def test_too_wide_a_slice_is_refused_before_it_runs() -> None:
    with pytest.raises(MemoryLimitError, match=r"x\[t-1, 5\] and 32 more for 3 slices take 14 TiB"):
        slices.log_partition(
            random_slices((2,) * 38, 3, tuple(((1, v), (0, v)) for v in range(38)), seed=0)
        )


@pytest.mark.parametrize(
    ("scope", "shape", "message"),
    [
        (((1, 0),), (1, 2), "with 0 among them"),
        (((0, 0), (0, 0)), (2, 2, 2), "distinct"),
        (((0, 1),), (2, 2), "variables below 1"),
        (((1, 0), (0, 0)), (2, 2, 2), r"needs \(1, 2, 2\)"),
    ],
)
def test_wrong_factors_say_what_is_needed(scope: Any, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        slices.log_partition(Slices((2,), 2, (scope,), (np.zeros(shape),)))

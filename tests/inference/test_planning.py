"""Orders, trees and their cost; the guard; what a plan says about itself."""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest
from graphs import factor_graphs
from hypothesis import given, settings
from hypothesis import strategies as st

from dpc.inference.engines.numpy.kernels import (
    EinsumLoop,
    Gemm,
    block_rows,
    choose_kernel,
    group_letters,
    make_gemm,
    make_loop,
)
from dpc.inference.factors.factor_graph import Factor, FactorGraph
from dpc.inference.planning.orders import (
    bits,
    greedy_path,
    neighbours_of,
    order_by_fill,
    order_by_weight,
)
from dpc.inference.planning.plan import (
    ALONE,
    Plan,
    available_memory,
    build_tree,
    default_memory_limit,
    format_bytes,
    order_of_path,
    plan_contraction,
)
from dpc.inference.queries import infer_marginals

scopes = st.lists(
    st.lists(st.integers(0, 8), min_size=1, max_size=4, unique=True), min_size=1, max_size=10
)


def naive_fill(near: list[set[int]], v: int) -> int:
    return sum(b not in near[a] for a in near[v] for b in near[v] if a < b)


@settings(max_examples=80, deadline=None)
@given(scopes, st.booleans())
def test_min_fill_always_takes_a_smallest_fill(scopes: list[list[int]], noisy: bool) -> None:
    """The incremental scores pick what recounting from scratch would."""
    near = neighbours_of(9, scopes)
    sets: list = [set(members) for members in near]
    for v in order_by_fill(near, [2] * 9, noise=random.Random(0) if noisy else None).order:
        alive = [u for u in range(9) if sets[u] is not None]
        assert naive_fill(sets, v) == min(naive_fill(sets, u) for u in alive)
        for u in sets[v]:
            sets[u] = (sets[u] | sets[v]) - {u, v}
        sets[v] = None


@settings(max_examples=50, deadline=None)
@given(scopes, st.lists(st.integers(2, 4), min_size=9, max_size=9))
def test_min_weight_takes_the_smallest_clique(scopes: list[list[int]], sizes: list[int]) -> None:
    near = neighbours_of(9, scopes)
    sets: list = [set(members) for members in near]
    for v in order_by_weight(near, sizes).order:
        weights = {
            u: prod(sizes[w] for w in sets[u] | {u}) for u in range(9) if sets[u] is not None
        }
        assert weights[v] == pytest.approx(min(weights.values()))
        for u in sets[v]:
            sets[u] = (sets[u] | sets[v]) - {u, v}
        sets[v] = None


def test_cost_of_an_order() -> None:
    """A star with centre 0: three leaves cost 2 * 3 each, then the centre costs 3 * 2 and the last
    leaf 2.
    """
    star = [[0, i] for i in range(1, 5)]
    sizes = [3, 2, 2, 2, 2]
    for find in (order_by_fill, order_by_weight):
        assert find(neighbours_of(5, star), sizes).cost == pytest.approx(3 * 6 + 6 + 2)
    assert find(neighbours_of(5, star), sizes, late=1 << 1).cost == pytest.approx(3 * 6 + 6 + 2)
    assert find(neighbours_of(5, star), sizes, late=0b11110).cost == pytest.approx(
        3 * 16 + 16 + 8 + 4 + 2
    )


def test_a_plan_of_greedy_pairs() -> None:
    """A path of pairs gives the same numbers."""
    generator = np.random.default_rng(0)
    names = list("abcdefgh")
    scopes = [tuple(generator.permutation(names)[:3]) for _ in range(9)]
    sizes = dict.fromkeys(names, 3)
    graph = FactorGraph(sizes, tuple(Factor(s, generator.normal(size=(3, 3, 3))) for s in scopes))
    expected = infer_marginals(graph)
    indexed = [[names.index(v) for v in s] for s in scopes]
    path = greedy_path(indexed, [3] * 8, 0)
    order = order_of_path(indexed, [3] * 8, 0, path)
    tree = build_tree(indexed, [3] * 8, 0, 0, order, path)
    plan = Plan(tuple(names[v] for v in order), (3,) * 8, tuple(scopes), (), "greedy pairs", tree)
    found = infer_marginals(graph, plan=plan)
    for name in names:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-10)


@settings(max_examples=80, deadline=None)
@given(factor_graphs())
def test_every_variable_goes_once_and_the_costs_add_up(graph: FactorGraph) -> None:
    plan = plan_contraction(graph.sizes, [f.variables for f in graph.factors])
    gone: list[int] = []
    for step, work in zip(plan.tree.steps, plan.tree.work, strict=True):
        union = plan.tree.scopes[step.left] | (
            0 if step.right == ALONE else plan.tree.scopes[step.right]
        )
        gone += bits(union & ~step.scope)
        assert work == prod(plan.sizes[v] for v in bits(union))
    assert sorted(gone) == list(range(len(plan.names)))
    assert plan.operations == sum(plan.tree.work)
    assert plan.largest_clique[1] == max(plan.tree.work, default=1)
    assert all(plan.tree.scopes[root] == 0 for root in plan.tree.roots)


def test_a_plan_prints_what_it_will_do() -> None:
    plan = plan_contraction({"rain": 2, "grass": 3}, [("rain",), ("rain", "grass")])
    text = str(plan)
    assert "order by min-fill: " in text
    assert "largest clique (" in text
    assert "6 entries" in text


def test_kept_and_late_variables_come_last() -> None:
    sizes = dict.fromkeys("abcdef", 2)
    links = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")]
    assert set(plan_contraction(sizes, links, keep=["b", "e"]).names[-2:]) == {"b", "e"}
    assert set(plan_contraction(sizes, links, last=["a", "c"]).names[-2:]) == {"a", "c"}


def test_memory() -> None:
    assert 0 < default_memory_limit() <= available_memory()
    assert [format_bytes(b) for b in (12, 2048, 3 << 30)] == ["12 B", "2 KiB", "3 GiB"]


@settings(max_examples=100, deadline=None)
@given(
    st.permutations("abcdef"),
    st.lists(st.sampled_from([2, 3, 16]), min_size=6, max_size=6),
    st.integers(0, 99),
)
def test_kernels_equal_einsum(letters: list[str], lengths: list[int], seed: int) -> None:
    """Batch, inner, row and column groups of any length in any axis order, as matrix products and
    as loops.
    """
    generator = np.random.default_rng(seed)
    sizes = dict(zip("abcdef", lengths, strict=True))
    left = "".join(x for x in letters if x in "abcd")
    right = "".join(x for x in reversed(letters) if x in "abef")
    a = generator.random([sizes[x] for x in left])
    b = generator.random([sizes[x] for x in right])
    groups = group_letters(left, right, "acdef")
    assert groups is not None
    for make in (make_gemm, make_loop):
        kernel = make(left, right, groups, sizes)
        expected = np.einsum(f"{left},{right}->{kernel.subscripts}", a, b)
        np.testing.assert_allclose(kernel.run(a, b), expected, rtol=1e-12)


def test_large_products_get_kernels() -> None:
    sizes = dict.fromkeys("abcdefghijklmnop", 2)
    assert isinstance(choose_kernel("abcdefgh", "efghijkl", "abcdijkl", sizes), Gemm)
    assert isinstance(
        choose_kernel("abcdefghijklm", "mlkjihgfedcbn", "abcdefghijkln", sizes), EinsumLoop
    )
    assert choose_kernel("abc", "abc", "abc", sizes) is None


def test_blocks_of_rows_divide_them() -> None:
    assert block_rows(120, 1) == 120
    assert block_rows(4096, 1 << 12) == 64
    assert block_rows(7, 1 << 17) == 1
    assert block_rows(7, 1 << 20) == 7

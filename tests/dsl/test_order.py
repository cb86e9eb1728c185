"""Recurrences against brute force: unroll every index and look for a real cycle."""

from __future__ import annotations

from itertools import product

import pytest
from helpers import codes, graph
from hypothesis import given
from hypothesis import strategies as st

from dpc.dsl.graph.dependence import Edge, components, find_recurrences
from dpc.dsl.source import Span

NAMES = "abcd"
SIZE = 4
edges_in = {
    axes: st.lists(
        st.builds(
            lambda user, used, lags: Edge(user, used, Span(0, 0), tuple(lags)),
            st.sampled_from(NAMES),
            st.sampled_from(NAMES),
            st.lists(st.integers(-1, 2), min_size=axes, max_size=axes),
        ),
        max_size=6,
    )
    for axes in (1, 2)
}


def step_back(place: tuple[int, ...], edge: Edge) -> tuple[int, ...]:
    return tuple(p - (lag or 0) for p, lag in zip(place, edge.lags, strict=True))


def has_cycle_when_unrolled(edges: list[Edge], axes: int) -> bool:
    """Depth-first search over (name, place) for places inside a box of side SIZE."""
    places = list(product(range(SIZE), repeat=axes))
    after = {
        (name, place): [
            (edge.used, step)
            for edge in edges
            if edge.user == name
            and (step := tuple(p - (lag or 0) for p, lag in zip(place, edge.lags, strict=True)))
            in places
        ]
        for name in NAMES
        for place in places
    }
    state: dict[object, int] = {}

    def visit(node: tuple[str, tuple[int, ...]]) -> bool:
        if state.get(node) == 1:
            return True
        if node in state:
            return False
        state[node] = 1
        found = any(visit(following) for following in after[node])
        state[node] = 2
        return found

    return any(visit(node) for node in after)


@pytest.mark.parametrize("axes", [1, 2])
@given(st.data())
def test_accepted_recurrences_have_no_cycle(axes: int, data: st.DataObject) -> None:
    edges = data.draw(edges_in[axes])
    _, cycles = find_recurrences(NAMES, edges)
    if not cycles:
        assert not has_cycle_when_unrolled(edges, axes)


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=6))
def test_without_lags_every_cycle_is_reported(pairs: list[tuple[str, str]]) -> None:
    edges = [Edge(user, used, Span(0, 0), (0,)) for user, used in pairs]
    _, cycles = find_recurrences(NAMES, edges)
    assert bool(cycles) == has_cycle_when_unrolled(edges, 1)


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=10))
def test_components_come_used_before_user(pairs: list[tuple[str, str]]) -> None:
    edges = [Edge(user, used, Span(0, 0)) for user, used in pairs]
    groups = components(NAMES, edges)
    place = {name: k for k, group in enumerate(groups) for name in group}
    assert sorted(place) == sorted(NAMES)
    assert all(place[edge.used] <= place[edge.user] for edge in edges)


def test_second_order_chain() -> None:
    text = (
        "dim T\nz[0] ~ Normal(0, 1)\nz[1] ~ Normal(z[0], 1)\nz[t in T[2..]] ~ Normal(z[t-1] + "
        "z[t-2], 1)\n"
    )
    assert [(r.members, r.order, r.reverse) for r in graph(text).recurrences] == [
        (("z",), 2, False)
    ]


def test_backward_chain() -> None:
    text = "dim T\nz[-1] ~ Normal(0, 1)\nz[t in T[..-1]] ~ Normal(z[t+1], 1)\n"
    assert [(r.order, r.reverse) for r in graph(text).recurrences] == [(1, True)]


def test_two_axes() -> None:
    text = """
dim I = 4
dim J = 5
a[0, j in J] = 1.0
a[i in I[1..], 0] = 1.0
a[i in I[1..], j in J[1..]] = a[i-1, j] + a[i, j-1]
b := a[-1, -1]
"""
    (found,) = graph(text).recurrences
    assert (found.axis, [inner.axis for inner in found.inner]) == (0, [1])


@pytest.mark.parametrize(
    "text",
    [
        "a := b\nb = a\n",
        "a := a + 1\n",
        "dim T\nz[t in T] ~ Normal(z[t], 1)\n",
        "dim T\nz[0] ~ Normal(0, 1)\nz[t in T[1..]] ~ Normal(sum(z), 1)\n",
        (
            "dim T\nz[0] ~ Normal(0, 1)\nz[t in T[1..-1]] ~ Normal(z[t-1] + z[t+1], 1)\nz[-1] ~ "
            "Normal(0, 1)\n"
        ),
    ],
)
def test_true_cycles_are_errors(text: str) -> None:
    assert codes(text) == ["E0503"]

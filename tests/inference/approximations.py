"""Small graphs for the tests of approximate inference, and belief propagation written the naive
way.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from dpc.inference.factors.factor_graph import Factor, FactorGraph, Floats, Name


def grid(side: int, coupling: float, seed: int = 0) -> FactorGraph:
    """An Ising grid with couplings of both signs and fields of order one."""
    generator = np.random.default_rng(seed)
    cells = list(product(range(side), repeat=2))
    edges = [
        ((i, j), (i + di, j + dj))
        for i, j in cells
        for di, dj in ((0, 1), (1, 0))
        if max(i + di, j + dj) < side
    ]
    spins = np.array([[1.0, -1.0], [-1.0, 1.0]])
    pairs = [Factor(edge, coupling * generator.normal() * spins) for edge in edges]
    fields = [Factor((cell,), generator.normal() * spins[0]) for cell in cells]
    return FactorGraph(dict.fromkeys(cells, 2), tuple(pairs + fields))


def tree(seed: int, zeros: float = 0.0) -> FactorGraph:
    """Two trees: 1 to 4 states, factors of arity 0 to 3, a lonely variable, two factors on one
    variable.
    """
    generator = np.random.default_rng(seed)
    sizes: dict[Name, int] = {"a": 3, "b": 2, "c": 4, "d": 1, "e": 2, "f": 3, "g": 2, "lonely": 3}
    scopes = [(), ("a",), ("a",), ("a", "b"), ("c", "b", "d"), ("e", "c"), ("f", "g"), ("g",)]

    def values(scope: tuple[str, ...]) -> np.ndarray:
        logs = generator.normal(size=[sizes[v] for v in scope])
        logs = np.where(generator.random(logs.shape) < zeros, -np.inf, logs)
        logs.reshape(-1)[0] = 0.0
        return logs

    return FactorGraph(sizes, tuple([Factor(scope, values(scope)) for scope in scopes]))


def loopy(seed: int, zeros: float = 0.0) -> FactorGraph:
    """Six variables, cycles, two factors on one pair, a factor on three; state 0 everywhere is
    never a zero.
    """
    generator = np.random.default_rng(seed)
    sizes: dict[Name, int] = {"a": 2, "b": 3, "c": 2, "d": 2, "e": 3, "f": 2}
    scopes = [
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
        ("b", "a"),
        ("c", "d", "e"),
        ("e", "f"),
        ("f", "d"),
        ("a",),
        ("e",),
    ]

    def values(scope: tuple[str, ...]) -> np.ndarray:
        logs = generator.normal(size=[sizes[v] for v in scope])
        logs = np.where(generator.random(logs.shape) < zeros, -np.inf, logs)
        logs.reshape(-1)[0] = 0.0
        return logs

    return FactorGraph(sizes, tuple([Factor(scope, values(scope)) for scope in scopes]))


def naive_propagation(graph: FactorGraph, rounds: int) -> dict[Name, np.ndarray]:
    """Beliefs after some rounds of the two defining equations; messages start uniform, those of
    unary factors right.
    """
    tables = [np.exp(f.log_values) for f in graph.factors]
    edges = [(i, v) for i, f in enumerate(graph.factors) for v in f.variables]
    to_variable = {
        (i, v): tables[i] if tables[i].ndim == 1 else np.ones(graph.sizes[v]) for i, v in edges
    }
    for _ in range(rounds):
        to_factor = {(i, v): others(to_variable, i, v, graph.sizes[v]) for i, v in edges}
        sent = {
            (i, v): marginal(tables[i], graph.factors[i].variables, to_factor, i, v)
            for i, v in edges
        }
        to_variable = {edge: message / message.sum() for edge, message in sent.items()}
    beliefs = {v: others(to_variable, -1, v, size) for v, size in graph.sizes.items()}
    return {v: belief / belief.sum() for v, belief in beliefs.items()}


def others(
    messages: dict[tuple[int, Name], np.ndarray], without: int, v: Name, size: int
) -> np.ndarray:
    return np.prod(
        [np.ones(size), *[m for (i, u), m in messages.items() if u == v and i != without]], axis=0
    )


def marginal(
    table: np.ndarray,
    scope: tuple[Name, ...],
    messages: dict[tuple[int, Name], np.ndarray],
    factor: int,
    v: Name,
) -> np.ndarray:
    out = np.zeros(table.shape[scope.index(v)])
    for states in np.ndindex(table.shape):
        weight = [messages[factor, u][s] for u, s in zip(scope, states, strict=True) if u != v]
        out[states[scope.index(v)]] += table[states] * np.prod(weight)
    return out


def largest_error(found: Mapping[Name, Floats], other: Mapping[Name, Floats]) -> float:
    """The largest difference of two sets of marginals."""
    return max((float(np.abs(found[v] - other[v]).max()) for v in found), default=0.0)

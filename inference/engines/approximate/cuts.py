"""The exact mode of a binary pairwise model whose pairs prefer to agree, by minimum cut (GM19).

min_x const + sum_v c_v x_v + sum_uv w_uv [x_u = 0, x_v = 1] with w >= 0 is the smallest cut of a
network with an edge u -> v of capacity w_uv and edges from the source or to the sink for the c_v.
Variables are flipped first where that makes pairs agree. SciPy's flows are 32-bit integers, so
capacities are rounded down and what is left of them is rounded again, at a finer scale, until the
flow shows the cut to be the smallest to 1e-12: a flow is a lower bound of every cut.
"""

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from ...factors.factor_graph import FactorGraph, Floats, Given, impossible
from .feasible import find_feasible
from .layout import FactorLayout, lay_out
from .results import Approximation, NotSubmodularError

LARGEST = 2**29  # of a flow; capacities reach twice that, which a 32-bit number can hold
PRECISION = 1e-12
ROUNDS = 12
Pair = tuple[int, int]


class Quadratic(NamedTuple):
    """sum_v linear_v x_v + sum_e weight_e [x_tail = 0, x_head = 1]; infinite = a constraint."""

    linear: Floats
    tails: NDArray[np.intp]
    heads: NDArray[np.intp]
    weights: Floats


def infer_mode_by_cut(graph: FactorGraph, given: Given = None) -> Approximation:
    """argmax_x of a binary pairwise model, if some flips make every pair prefer to agree."""
    layout = lay_out(graph, given)
    for name, size in zip(layout.names, layout.sizes, strict=True):
        if size > 2:
            why = f"variable {name!r} has {size} states; minimum cuts are for two"
            raise NotSubmodularError(f"{why}; use bp")
    for scope in layout.scopes:
        if len(scope) > 2:
            why = f"the factor on {name_of(layout, scope)} is not pairwise"
            raise NotSubmodularError(f"{why}; use bp")
    sums = sum_pairs(layout)
    fixed = propagate_zeros(layout, sums)
    pairs = {pair: table for pair, table in sums.items() if fixed.keys().isdisjoint(pair)}
    flips = find_flips(layout, pairs)
    energy = energy_of(layout, fixed, sums, flips)
    side, rounds, gap = minimum_cut(energy)
    states = np.where(flips, 1 - side, side)
    states[list(fixed)] = list(fixed.values())
    mode = layout.named_configuration(states)
    if mode.log_score == -np.inf:
        # Zeros are costs of finite size to the cut: a search knows them as they are.
        beliefs = np.where(np.arange(2)[:, None] == states, 1.0, 0.0)
        mode = layout.named_configuration(find_feasible(layout, beliefs))
        gap = np.inf
    close = gap <= PRECISION * (1.0 + np.abs(energy.linear).sum())
    return Approximation(
        method="minimum cut",
        guarantee="the mode, exact to the gap" if close else "within the gap of the mode",
        converged=bool(close),
        iterations=rounds,
        residual=gap,
        measure="gap of the score",
        mode=mode,
        is_exact=bool(close),
    )


def sum_pairs(layout: FactorLayout) -> dict[Pair, Floats]:
    """The log-potential of each pair of variables, all its factors together."""
    sums: dict[Pair, Floats] = {}
    for group in layout.groups:
        tables = np.moveaxis(group.logs, -1, 0)
        for (u, v), table in zip(group.members.T.tolist(), tables, strict=True):
            pair, oriented = ((u, v), table) if u < v else ((v, u), table.T)
            sums[pair] = sums[pair] + oriented if pair in sums else oriented
    return sums


def name_of(layout: FactorLayout, scope: Pair | tuple[int, ...]) -> str:
    return "(" + ", ".join(str(layout.names[v]) for v in scope) + ")"


def propagate_zeros(layout: FactorLayout, sums: dict[Pair, Floats]) -> dict[int, int]:
    """Variables with one state left, by unary zeros and by zeros of pairs, propagated."""
    alive = -np.inf < layout.unary.T
    near: dict[int, list[tuple[int, Floats]]] = {}
    zeros = {pair: table for pair, table in sums.items() if table.min() == -np.inf}
    for (u, v), table in zeros.items():
        near.setdefault(u, []).append((v, table))
        near.setdefault(v, []).append((u, table.T))
    queue = deque(range(layout.count))
    while queue:
        u = queue.popleft()
        for v, table in near.get(u, ()):
            supported = alive[v] & (table[alive[u]] > -np.inf).any(axis=0)
            if not supported.any():
                raise impossible(layout.bound.evidence)
            if (supported != alive[v]).any():
                alive[v] = supported
                queue.append(v)
    return {int(v): int(alive[v].argmax()) for v in np.flatnonzero(alive.sum(axis=1) == 1)}


def find_flips(layout: FactorLayout, pairs: dict[Pair, Floats]) -> NDArray[np.bool_]:
    """Which variables to flip: both or none of a pair that prefers to agree, else one."""
    near: dict[int, list[tuple[int, bool, Pair]]] = {}
    for pair, table in pairs.items():
        same, other = table[0, 0] + table[1, 1], table[0, 1] + table[1, 0]  # logs, may be infinite
        if same != other:
            for u, v in (pair, pair[::-1]):
                near.setdefault(u, []).append((v, bool(same < other), pair))
    flips: dict[int, bool] = {}
    for first in near:
        flips.setdefault(first, False)
        queue = deque([first])
        while queue:
            u = queue.popleft()
            for v, differ, pair in near[u]:
                if v not in flips:
                    flips[v] = flips[u] ^ differ
                    queue.append(v)
                elif flips[v] != flips[u] ^ differ:
                    raise NotSubmodularError(
                        f"the factor on {name_of(layout, pair)} prefers its variables to "
                        f"{'differ' if differ else 'agree'} against a cycle of others, and no "
                        "flips mend it: the model is not submodular; use bp"
                    )
    return np.array([flips.get(v, False) for v in range(layout.count)], dtype=bool)


def energy_of(
    layout: FactorLayout, fixed: dict[int, int], sums: dict[Pair, Floats], flips: NDArray[np.bool_]
) -> Quadratic:
    """Minus the log-potentials of the variables that are not fixed, flipped, up to a constant."""
    unary = unary_energies(layout, fixed, sums)
    unary = np.where(flips[:, None], unary[:, ::-1], unary)
    linear = unary[:, 1] - unary[:, 0]
    edges: list[tuple[int, int, float]] = []
    for (u, v), table in sums.items():
        if u not in fixed and v not in fixed:
            (a, b), (c, d) = -(table[::-1] if flips[u] else table)[:, :: -1 if flips[v] else 1]
            if c < np.inf:
                linear[u] += c - a
                linear[v] += d - c
                edges.append((u, v, b + c - a - d))
            elif b < np.inf:
                linear[v] += b - a
                linear[u] += d - b
                edges.append((v, u, np.inf))
            else:
                linear[u] += d - a
                edges += [(v, u, np.inf), (u, v, np.inf)]
    tails, heads, weights = np.array(edges, dtype=np.float64).reshape(-1, 3).T
    return Quadratic(linear, tails.astype(int), heads.astype(int), np.maximum(weights, 0.0))


def unary_energies(layout: FactorLayout, fixed: dict[int, int], sums: dict[Pair, Floats]) -> Floats:
    """Of each variable, and of its pairs with fixed ones; nothing for those that are fixed."""
    unary = np.zeros((layout.count, 2))
    unary[:, : layout.states] = -layout.unary.T
    for (u, v), table in sums.items() if fixed else ():
        if u in fixed and v not in fixed:
            unary[v] -= table[fixed[u]]
        elif v in fixed and u not in fixed:
            unary[u] -= table[:, fixed[v]]
    unary[list(fixed)] = 0.0
    return unary


def capacities(energy: Quadratic) -> csr_array:
    """The network: variables, then the source (the side of 0), then the sink (the side of 1)."""
    count = energy.linear.size
    finite = energy.weights[energy.weights < np.inf]
    uncut = 1.0 + np.abs(energy.linear).sum() + finite.sum()
    up, down = np.flatnonzero(energy.linear > 0), np.flatnonzero(energy.linear < 0)
    tails = np.concatenate([energy.tails, np.full(up.size, count), down])
    heads = np.concatenate([energy.heads, up, np.full(down.size, count + 1)])
    weights = np.minimum(energy.weights, uncut)
    values = np.concatenate([weights, energy.linear[up], -energy.linear[down]])
    return coo_array((values, (tails, heads)), shape=(count + 2, count + 2)).tocsr()


def minimum_cut(energy: Quadratic) -> tuple[NDArray[np.intp], int, float]:
    """The state of each variable, the rounds, and how far above the least energy it may be."""
    count = energy.linear.size
    left = capacities(energy)
    goal = PRECISION * (1.0 + np.abs(energy.linear).sum())
    uphill = np.maximum(energy.linear, 0.0).sum()
    downhill = np.maximum(-energy.linear, 0.0).sum()
    side, rounds = np.full(count, int(uphill < downhill)), 0
    gap = bound = min(uphill, downhill)
    while gap > goal and bound > 0 and rounds < ROUNDS:
        rounds += 1
        # twice all that can still flow is enough for an edge never to be full
        scaled = np.floor(np.minimum(left.data, 2 * bound) * (LARGEST / bound))
        whole = positive(csr_array((scaled, left.indices, left.indptr), left.shape))
        flow = maximum_flow(whole, count, count + 1)
        left = csr_array(left - flow.flow.astype(np.float64) * (bound / LARGEST))
        left.data = np.maximum(left.data, 0.0)
        reached = breadth_first_order(positive(whole - flow.flow), count, return_predecessors=False)
        side = np.ones(count + 2, dtype=int)
        side[reached] = 0
        # what could still flow across: zero shows that the cut is the smallest
        edges = left.tocoo()
        across = (side[edges.row] == 0) & (side[edges.col] == 1)
        gap = bound = float(edges.data[across].sum())
        side = side[:count]
    return side, rounds, float(gap)


def positive(values: csr_array) -> csr_array:
    whole = csr_array(values).astype(np.int32)
    whole.eliminate_zeros()
    return whole

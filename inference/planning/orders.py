"""Elimination orders: greedy choices on the interaction graph, updated incrementally.

Eliminating v joins its neighbours into a clique. Each heuristic takes next the variable with the
smallest score; all are cheap, none wins everywhere, so several are tried, cheapest first, for as
long as a better order could pay for the search.
"""

import random
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import exp, inf, log
from typing import NamedTuple

Mask = int
Scopes = Sequence[Sequence[int]]
Near = list[set[int]]
PairPath = Scopes
SEED = 20140807
RESTARTS = 8


class Candidate(NamedTuple):
    """An elimination order, the entries of its cliques in all, and the heuristic that found it."""

    order: list[int]
    cost: float
    method: str = ""


@lru_cache(maxsize=1 << 14)
def bits(mask: Mask) -> tuple[int, ...]:
    """Positions of the ones, lowest first; cached, as scopes are read many times."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)


def mask_of(positions: Sequence[int]) -> Mask:
    mask = 0
    for position in positions:
        mask |= 1 << position
    return mask


def neighbours_of(count: int, scopes: Scopes) -> Near:
    """Who shares a scope with whom (nobody with itself)."""
    near: Near = [set() for _ in range(count)]
    for scope in scopes:
        for v in scope:
            near[v].update(scope)
    for v, members in enumerate(near):
        members.discard(v)
    return near


def order_by_fill(
    near: Near,
    sizes: Sequence[int],
    late: Mask = 0,
    weighted: bool = False,
    noise: random.Random | None = None,
) -> Candidate:
    """min-fill: next is the variable whose elimination adds the fewest edges (or end sizes).

    Adding the edge a-b lowers the fill of their common neighbours by its weight and raises that of
    a and b by the pairs it opens; then v is simplicial, and leaving lowers the fill of each
    neighbour u by its pairs (v, w), w not near v.
    """
    near = [set(members) for members in near]
    weight = [float(s) for s in sizes] if weighted else [1.0] * len(near)
    around_weight = [sum([weight[u] for u in members]) for members in near]
    logs = [log(s) for s in sizes]
    score = fill_scores(near, logs, weight, around_weight, weighted, noise)
    for v in bits(late):
        score[v] += 1e18
    simplicial = [v for v, s in enumerate(score) if s < 1.0]
    order = []
    cost = 0.0
    for _ in near:
        v = simplicial.pop() if simplicial else score.index(min(score))
        order.append(v)
        clique = near[v]
        cost += entries(logs[v] + sum([logs[u] for u in clique]))
        if score[v] >= 1.0:
            connect(near, clique, score, weight, around_weight)
        score[v] = inf
        leaving, inside = weight[v], around_weight[v]
        for u in clique:
            near[u].remove(v)
            around_weight[u] -= leaving
            score[u] -= leaving * (around_weight[u] - inside + weight[u])
            if score[u] < 1.0 and u not in simplicial:
                simplicial.append(u)
    return Candidate(order, cost)


def entries(log_entries: float) -> float:
    return exp(min(log_entries, 700.0))


def fill_scores(
    near: Near,
    logs: list[float],
    weight: list[float],
    around_weight: list[float],
    weighted: bool,
    noise: random.Random | None,
) -> list[float]:
    """Weighted missing edges among neighbours; ties (below one) by clique size or chance."""
    scores = []
    for v, members in enumerate(near):
        twice = sum([weight[u] * (around_weight[v] - weight[u]) for u in members])
        for u in members:
            joined = near[u] & members
            if joined:
                twice -= weight[u] * (sum([weight[w] for w in joined]) if weighted else len(joined))
        ties = noise.random() if noise else 1e-3 * sum([logs[u] for u in members])
        scores.append(twice / 2 + min(ties, 0.9))
    return scores


def connect(
    near: Near,
    clique: set[int],
    score: list[float],
    weight: list[float],
    around_weight: list[float],
) -> None:
    """Makes the clique one, edge by edge, and keeps the scores true."""
    for a in clique:
        near_a = near[a]
        for b in clique - near_a:
            if b <= a:
                continue
            edge = weight[a] * weight[b]
            shared = 0.0
            for w in near_a & near[b]:
                score[w] -= edge
                shared += weight[w]
            score[a] += weight[b] * (around_weight[a] - shared)
            score[b] += weight[a] * (around_weight[b] - shared)
            around_weight[a] += weight[b]
            around_weight[b] += weight[a]
            near_a.add(b)
            near[b].add(a)


def order_by_weight(
    near: Near,
    sizes: Sequence[int],
    late: Mask = 0,
    by_degree: bool = False,
    noise: random.Random | None = None,
) -> Candidate:
    """min-weight (or min-degree): next is the clique of the fewest entries (or members)."""
    near = [set(members) for members in near]
    logs = [log(s) for s in sizes]
    weight = [1.0] * len(near) if by_degree else logs
    score = [weight[v] + sum([weight[u] for u in members]) for v, members in enumerate(near)]
    for v in bits(late):
        score[v] += 1e6
    if noise:
        score = [s + 0.3 * noise.random() for s in score]
    order = []
    cost = 0.0
    for _ in near:
        v = score.index(min(score))
        score[v] = inf
        order.append(v)
        clique = near[v]
        cost += entries(logs[v] + sum([logs[u] for u in clique]))
        for u in clique:
            members = near[u]
            members.remove(v)
            gained = clique - members
            gained.remove(u)
            members |= gained
            score[u] += sum([weight[w] for w in gained]) - weight[v]
    return Candidate(order, cost)


class Heuristic(NamedTuple):
    """Tried only while the best order so far costs more than `above` entries per variable: an entry
    costs about three nanoseconds in all passes, a heuristic 20 to 60 microseconds per variable.
    """

    name: str
    above: float
    find: Callable[[Near, Sequence[int], Mask], Candidate]


HEURISTICS = (
    Heuristic("min-fill", -1, order_by_fill),
    Heuristic("min-weight", 1e4, order_by_weight),
    Heuristic("weighted min-fill", 3e4, partial(order_by_fill, weighted=True)),
    Heuristic("min-degree", 3e4, partial(order_by_weight, by_degree=True)),
)
RESTART_ABOVE = 3e4


def best_order(scopes: Scopes, sizes: Sequence[int], keep: Mask = 0, late: Mask = 0) -> Candidate:
    """The cheapest of the portfolio; kept variables come last, or else the `late` ones do."""
    near = neighbours_of(len(sizes), scopes)
    if keep:
        together = set(bits(keep))
        whole = [others | together for others in near]
        near = [whole[v] - {v} if v in together else own for v, own in enumerate(near)]
    after = keep or late
    best = Candidate([], inf)
    for heuristic in HEURISTICS:
        if best.cost > heuristic.above * len(sizes):
            best = better(best, heuristic.name, heuristic.find(near, sizes, after))
    noise = random.Random(SEED)
    tried = 0
    while tried < RESTARTS and best.cost > RESTART_ABOVE * len(sizes) * (1 + tried):
        tried += 1
        found = order_by_fill(near, sizes, after, weighted=tried % 2 == 0, noise=noise)
        best = better(best, f"min-fill, random restart {tried}", found)
    return best


def better(best: Candidate, method: str, found: Candidate) -> Candidate:
    return found._replace(method=method) if found.cost < best.cost else best


def greedy_path(scopes: Scopes, sizes: Sequence[int], keep: Mask) -> PairPath:
    """opt_einsum's greedy pairs of tensors, numbered as they are made."""
    from opt_einsum.paths import ssa_greedy_optimize

    path: PairPath = ssa_greedy_optimize(
        [frozenset(s) for s in scopes], frozenset(bits(keep)), dict(enumerate(sizes))
    )
    return path

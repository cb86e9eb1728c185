"""Several heuristics, cheapest first, for as long as a better order could pay for the search."""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .orders import Mask, Near, Ordered, bits, neighbours_of, order_by_fill, order_by_weight

PairPath = Sequence[Sequence[int]]
SEED = 20140807
RESTARTS = 8


class Candidate(NamedTuple):
    """An elimination order, the heuristic that found it and the entries of its cliques in all."""

    method: str
    order: list[int]
    cost: float


class Heuristic(NamedTuple):
    """Tried only while the best order so far costs more than `above` entries per variable.

    An entry costs about three nanoseconds in all passes and a heuristic 20 to 60 microseconds per
    variable: a search that takes longer than what it could save is not worth making.
    """

    name: str
    above: float
    find: Callable[[Near, Sequence[int], Mask], Ordered]


HEURISTICS = (
    Heuristic("min-fill", -1, order_by_fill),
    Heuristic("min-weight", 1e4, order_by_weight),
    Heuristic(
        "weighted min-fill",
        3e4,
        lambda near, sizes, late: order_by_fill(near, sizes, late, weighted=True),
    ),
    Heuristic(
        "min-degree",
        3e4,
        lambda near, sizes, late: order_by_weight(near, sizes, late, by_degree=True),
    ),
)
RESTART_ABOVE = 3e4


def best_order(
    scopes: Sequence[Sequence[int]], sizes: Sequence[int], keep: Mask = 0, late: Mask = 0
) -> Candidate:
    """The cheapest of the portfolio; kept variables come last, or else the `late` ones do."""
    near = neighbours_of(len(sizes), scopes)
    if keep:
        near = with_clique(near, keep)
    after = keep or late
    best = Candidate("", [], float("inf"))
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


def better(best: Candidate, method: str, found: Ordered) -> Candidate:
    return Candidate(method, found.order, found.cost) if found.cost < best.cost else best


def with_clique(near: Near, members: Mask) -> Near:
    together = set(bits(members))
    return [(others | together) - {v} if v in together else others for v, others in enumerate(near)]


def greedy_path(scopes: Sequence[Sequence[int]], sizes: Sequence[int], keep: Mask) -> PairPath:
    """opt_einsum's greedy pairs of tensors, numbered as they are made."""
    from opt_einsum.paths import ssa_greedy_optimize

    path: PairPath = ssa_greedy_optimize(
        [frozenset(s) for s in scopes], frozenset(bits(keep)), dict(enumerate(sizes))
    )
    return path

"""How wide a graph is, so that exact inference is not planned where it is far from fitting."""

import heapq
from collections.abc import Sequence

from .layout import FactorLayout, neighbours

FAR = (
    2**12
)  # how much a full search for an order may gain on this one; a factor of ten is much in practice


def far_too_wide(layout: FactorLayout, limit: float) -> bool:
    """Whether elimination by least degree meets a clique of over FAR * `limit` entries."""
    near = neighbours(layout.count, layout.scopes)
    heap = [(len(members), v) for v, members in enumerate(near)]
    heapq.heapify(heap)
    gone: set[int] = set()
    while heap:
        degree, v = heapq.heappop(heap)
        if v not in gone and degree == len(near[v]):
            if entries_of(layout, near[v]) * layout.sizes[v] > FAR * limit:
                return True
            gone.add(v)
            eliminate(near, v, heap)
    return False


def entries_of(layout: FactorLayout, members: set[int]) -> int:
    entries = 1
    for v in members:
        entries *= layout.sizes[v]
    return entries


def eliminate(near: Sequence[set[int]], v: int, heap: list[tuple[int, int]]) -> None:
    """Joins the neighbours of v into a clique without it."""
    around = near[v]
    for u in around:
        near[u] |= around
        near[u] -= {u, v}
        heapq.heappush(heap, (len(near[u]), u))

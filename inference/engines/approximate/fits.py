"""Whether exact inference fits: elimination by least degree, then the plan itself."""

import heapq
from collections.abc import Callable
from math import prod

from ...factors.factor_graph import FactorGraph, Given
from ...planning.orders import neighbours_of
from ...planning.plan import FLOAT, Plan, format_bytes
from .layout import FactorLayout, lay_out

OPERATIONS = 10**11  # some minutes; beyond, exact inference is not chosen by itself
MANY_VARIABLES = 500  # from which a plan that does not fit takes long to make


def plan_if_it_fits(
    graph: FactorGraph, given: Given, make_plan: Callable[[], Plan], limit: int
) -> tuple[Plan | None, str]:
    """The plan of exact inference, or none, and why."""
    many = len(graph.sizes) > MANY_VARIABLES
    if many and far_too_wide(lay_out(graph, given), limit / FLOAT):
        return None, f"exact inference needs far more than {format_bytes(limit)}"
    plan = make_plan()
    if plan.bytes > limit:
        needed = format_bytes(plan.bytes)
        return None, f"exact inference needs {needed}, the limit is {format_bytes(limit)}"
    if plan.operations > OPERATIONS:
        needed = f"{plan.operations:.2g} operations"
        return None, f"exact inference needs {needed}, the limit is {OPERATIONS:.2g}"
    return plan, "it fits"


def cost_of(plan: Plan) -> str:
    return f"{plan.operations:,} operations a pass, {format_bytes(plan.bytes)}"


FAR = 2**12  # what a full search for an order may gain on this one; ten is much in practice


def far_too_wide(layout: FactorLayout, limit: float) -> bool:
    """Whether elimination by least degree meets a clique of over FAR * `limit` entries."""
    near = neighbours_of(layout.count, layout.scopes)
    heap = [(len(members), v) for v, members in enumerate(near)]
    heapq.heapify(heap)
    gone: set[int] = set()
    while heap:
        degree, v = heapq.heappop(heap)
        if v not in gone and degree == len(near[v]):
            around = near[v]
            if prod([layout.sizes[u] for u in (v, *around)]) > FAR * limit:
                return True
            gone.add(v)
            for u in around:
                near[u] |= around
                near[u] -= {u, v}
                heapq.heappush(heap, (len(near[u]), u))
    return False

"""Whether exact inference fits: a look at the width, then the plan itself."""

from collections.abc import Callable

from ...factors.evidence import Given
from ...factors.factor_graph import FactorGraph
from ...planning.memory import format_bytes
from ...planning.plan import FLOAT, Plan
from .layout import lay_out
from .width import far_too_wide

OPERATIONS = 10**11  # some minutes; beyond, exact inference is not chosen by itself
MANY_VARIABLES = 500  # from which a plan that does not fit takes long to make


def plan_if_it_fits(
    graph: FactorGraph, given: Given | None, make_plan: Callable[[], Plan], limit: int
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

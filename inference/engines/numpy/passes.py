"""Up and down a plan: the log-partition, and the gradient of the partition in any node.

P(scope) is proportional to values * gradient at every node. The real domain is used while it is
provably safe: each tensor has bounds on the logarithms of its non-zero entries, found from those of
its inputs; when they leave the range of a float the tensor is scaled and measured, and when its
true range is too wide the pass starts again in logarithms.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import exp, log

import numpy as np

from ...factors.factor_graph import Floats, Name, impossible
from ...factors.semirings import LOG
from ...planning.contraction import ALONE
from ...planning.plan import Plan
from .binding import LeafSource
from .kernels import einsum
from .program import Descent, contract, descent_of, program_of, run_upward, smallest_holders

SAFE = 340.0  # exp(-2 * 340) is still a normal float


class RangeTooWideError(Exception):
    """A tensor spans more than exp(340): only logarithms hold it."""


@dataclass(frozen=True, eq=False)
class Upward:
    """Values of all nodes with bounds of their logarithms, or where `logs` their logarithms.
    `scales` multiplied some products; the roots were divided by exp(log_scale) in all.
    """

    values: list[Floats]
    lows: list[float]
    highs: list[float]
    log_partition: float
    log_scale: float
    logs: bool
    scales: dict[int, float] = field(default_factory=dict)


def scale(values: Floats) -> tuple[Floats, float, float]:
    """Values over their maximum, its logarithm, and the measured lower bound."""
    top = float(values.max())
    if top == 0.0:
        return values, -np.inf, 0.0
    scaled = values / top
    smallest = float(scaled.min())
    if smallest == 0.0:
        smallest = float(scaled[scaled > 0.0].min())
    low = log(smallest)
    if low < -SAFE:
        raise RangeTooWideError
    return scaled, log(top), low


def collect(plan: Plan, bound: LeafSource) -> Upward:
    """log Z and the value of every node; raises ImpossibleEvidenceError where Z is zero."""
    try:
        upward = collect_scaled(plan, bound)
    except RangeTooWideError:
        upward = collect_logs(plan, bound)
    if upward.log_partition == -np.inf:
        raise impossible(bound.evidence)
    return upward


def collect_scaled(plan: Plan, bound: LeafSource) -> Upward:
    values, log_scale, lows = bound.real_leaves()
    if lows and min(lows) < -SAFE:
        raise RangeTooWideError
    highs = [0.0] * len(values)
    scales: dict[int, float] = {}
    for left, right, node, expression, kernel, log_terms in program_of(plan).products:
        low, high = lows[left], highs[left] + log_terms
        if right == ALONE:
            out = einsum(expression, values[left])
        else:
            low += lows[right]
            high += highs[right]
            if kernel is None:
                out = einsum(expression, values[left], values[right])
            else:
                out = kernel.run(values[left], values[right])
        if low < -SAFE or high > SAFE:
            out, shift, low = scale(out)
            log_scale += shift
            scales[node] = exp(-shift)
            high = 0.0
        values.append(out)
        lows.append(low)
        highs.append(high)
    log_partition = log_scale
    for root in plan.tree.roots:
        value = float(values[root].sum())
        log_partition += log(value) if value > 0.0 else -np.inf
    return Upward(values, lows, highs, log_partition, log_scale, False, scales)


def collect_logs(plan: Plan, bound: LeafSource) -> Upward:
    values = run_upward(plan, bound.log_leaves(), lambda product: LOG, np)
    roots = [
        float(contract(LOG, f"{program_of(plan).subscripts[r]}->", [values[r]], np))
        for r in plan.tree.roots
    ]
    return Upward(values, [], [], sum(roots), 0.0, True)


@dataclass(frozen=True, eq=False)
class Downward:
    """Gradients of the wanted nodes and their ancestors, each up to a factor."""

    gradients: list[Floats | None]
    descent: Descent


def distribute(
    plan: Plan, bound: LeafSource, upward: Upward, wanted: Collection[int]
) -> tuple[Upward, Downward]:
    """gradient[node] = sum of gradient[parent] * values[sibling]: backpropagation (GM32). Returns
    the upward pass too, made again in logarithms where the gradients need them.
    """
    descent = descent_of(plan, wanted)
    gradients: list[Floats | None] = [None] * len(upward.values)
    if not upward.logs:
        try:
            start(plan, gradients, np.ones(()))
            descend_scaled(descent, upward, gradients)
            return upward, Downward(gradients, descent)
        except RangeTooWideError:
            upward = collect_logs(plan, bound)
    start(plan, gradients, np.zeros(()))
    for move in descent.moves:
        above = gradients[move.parent]
        inputs = [above, upward.values[move.other]]
        gradients[move.node] = (
            above if move.other == ALONE else contract(LOG, move.expression, inputs, np)
        )
    return upward, Downward(gradients, descent)


def start(plan: Plan, gradients: list[Floats | None], unit: Floats) -> None:
    for root in plan.tree.roots:
        gradients[root] = unit


def descend_scaled(descent: Descent, upward: Upward, gradients: list[Floats | None]) -> None:
    values, lows, highs = upward.values, upward.lows, upward.highs
    low_of = [0.0] * len(values)
    high_of = [0.0] * len(values)
    for node, parent, other, expression, kernel, log_terms in descent.moves:
        above = gradients[parent]
        assert above is not None
        low, high = low_of[parent], high_of[parent]
        if other == ALONE:
            out = above
        else:
            if kernel is None:
                out = einsum(expression, above, values[other])
            else:
                out = kernel.run(above, values[other])
            low += lows[other]
            high += highs[other] + log_terms
            if low < -SAFE or high > SAFE:
                out, _, low = scale(out)
                high = 0.0
        gradients[node] = out
        low_of[node] = low
        high_of[node] = high


def node_marginal(plan: Plan, upward: Upward, downward: Downward, node: int, out: str) -> Floats:
    """The marginal of the letters `out`, proportional to values * gradient summed over others."""
    expression = f"{program_of(plan).subscripts[node]},{downward.descent.varies[node]}->{out}"
    operands = [upward.values[node], downward.gradients[node]]
    if upward.logs:
        logs = contract(LOG, expression, operands, np)
        product: Floats = np.exp(logs - logs.max())
    else:
        product = einsum(expression, *operands)
    marginal: Floats = product / product.sum()
    return marginal


def unary_marginals(
    plan: Plan, bound: LeafSource, upward: Upward, wanted: Sequence[Name] | None = None
) -> dict[Name, Floats]:
    """P(v) for all variables of the plan, or those wanted, each from its smallest tensor."""
    ranks = (1 << len(plan.names)) - 1
    if wanted is not None:
        position = {name: i for i, name in enumerate(plan.names)}
        ranks = sum({1 << position[name] for name in wanted})
    holders = smallest_holders(plan.tree, ranks)
    upward, downward = distribute(plan, bound, upward, list(holders.values()))
    letters = program_of(plan).letters
    if upward.logs or not holders:
        return {
            plan.names[v]: node_marginal(plan, upward, downward, n, letters[v])
            for v, n in holders.items()
        }
    return read_unary(plan, upward, downward, holders)


def read_unary(
    plan: Plan, upward: Upward, downward: Downward, holders: dict[int, int]
) -> dict[Name, Floats]:
    """All unary marginals at once: normalised together in one flat buffer."""
    program = program_of(plan)
    subscripts, letters = program.subscripts, program.letters
    varies, values, gradients = downward.descent.varies, upward.values, downward.gradients
    products = [
        einsum(f"{subscripts[node]},{varies[node]}->{letters[v]}", values[node], gradients[node])
        for v, node in holders.items()
    ]
    flat = np.concatenate(products)
    lengths = [plan.sizes[v] for v in holders]
    starts = np.cumsum([0, *lengths[:-1]])
    flat /= np.repeat(np.add.reduceat(flat, starts), lengths)
    ends = (starts + lengths).tolist()
    return {
        plan.names[v]: flat[a:b] for v, a, b in zip(holders, starts.tolist(), ends, strict=True)
    }


def kept_marginal(plan: Plan, upward: Upward) -> Floats:
    """The normalised tensor on the kept variables, axes in the order of `plan.keep`."""
    root = plan.tree.roots[0]
    rank = {name: i for i, name in enumerate(plan.names)}
    letters = program_of(plan).letters
    kept = "".join([letters[rank[name]] for name in plan.keep])
    expression = f"{program_of(plan).subscripts[root]}->{kept}"
    values = upward.values[root]
    if upward.logs:
        values = np.exp(values - values.max())
    marginal = einsum(expression, values)
    total: Floats = marginal / marginal.sum()
    return total

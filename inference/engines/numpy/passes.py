"""Up and down a plan: the log-partition, and the gradient of the partition in any node.

P(scope) is proportional to values * gradient at every node. The real domain is used while it is
provably safe: each tensor has bounds on the logarithms of its non-zero entries, found from those of
its inputs; when they leave the range of a float the tensor is scaled and measured, and when its
true range is too wide the pass starts again in logarithms.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import exp, log
from typing import Any

import numpy as np

from ...factors import factor_graph
from ...factors.factor_graph import Factor, FactorGraph, Floats, Given, Name, ScaledTable
from ...factors.semirings import LOG
from ...planning.plan import ALONE, Plan
from .kernels import einsum
from .program import Descent, contract, descent_of, program_of, run_upward, smallest_holders

ALL = slice(None)
SAFE = 340.0  # exp(-2 * 340) is still a normal float


# ---- A graph with its evidence put in: the leaves of a plan, in the real or the log domain


@dataclass(frozen=True, eq=False)
class BoundGraph:
    """Factors that matter (`positions`, then `extras`), what is fixed, the scopes left;
    `evidence` is named where it is impossible.
    """

    graph: FactorGraph
    evidence: Any
    fixed: dict[Name, int]
    positions: Sequence[int]
    extras: tuple[Factor, ...]
    scopes: list[tuple[Name, ...]]

    def index(self, variables: tuple[Name, ...]) -> tuple[int | slice, ...]:
        fixed = self.fixed
        return tuple([fixed.get(v, ALL) for v in variables])

    def certain(self, name: Name) -> Floats:
        """The marginal of a fixed variable."""
        return self.widened([name], np.ones(()))

    def widened(self, variables: Sequence[Name], marginal: Floats) -> Floats:
        """A marginal on the free variables, with axes for the fixed ones: zero off their states."""
        if self.fixed.keys().isdisjoint(variables):
            return marginal
        full = np.zeros([self.graph.sizes[v] for v in variables])
        full[self.index(tuple(variables))] = marginal
        return full

    def completed(self, states: dict[Name, int]) -> dict[Name, int]:
        """All variables in the order of the graph, with those that evidence fixed."""
        merged = self.fixed | states
        return {v: merged[v] for v in self.graph.sizes}

    def with_fixed(self, samples: dict[Name, Any], count: int) -> dict[Name, Any]:
        """`count` states of all variables in the order of the graph."""
        fixed = {v: np.full(count, state, np.intp) for v, state in self.fixed.items()}
        return {v: samples[v] if v in samples else fixed[v] for v in self.graph.sizes}

    @property
    def factors(self) -> list[Factor]:
        return [*[self.graph.factors[i] for i in self.positions], *self.extras]

    @property
    def tables(self) -> list[ScaledTable]:
        return [*[self.graph.tables[i] for i in self.positions], *map(table_of, self.extras)]

    def real_leaves(self) -> tuple[list[Floats], float, list[float]]:
        """Scaled potentials, the log of their scale in all, and lower bounds of their logs."""
        leaves, lows, log_scale = [], [], 0.0
        untouched = self.fixed.keys().isdisjoint
        for factor, (values, scale, low) in zip(self.factors, self.tables, strict=True):
            variables = factor.variables
            leaves.append(values if untouched(variables) else values[self.index(variables)])
            lows.append(low)
            log_scale += scale
        return leaves, log_scale, lows

    def log_leaves(self) -> list[Floats]:
        leaves = [(np.asarray(f.log_values, np.float64), f.variables) for f in self.factors]
        return [logs[self.index(variables)] for logs, variables in leaves]


def table_of(factor: Factor) -> ScaledTable:
    """One factor scaled by its largest entry."""
    logs = np.asarray(factor.log_values, dtype=np.float64)
    scale = float(logs.max())
    scale = scale if scale > -np.inf else 0.0
    finite = logs[logs > -np.inf]
    low = float(finite.min()) - scale if finite.size else 0.0
    return ScaledTable(np.exp(logs - scale), scale, low)


def bind(
    graph: FactorGraph,
    given: Given,
    needed: Collection[Name] | None = None,
    extras: tuple[Factor, ...] = (),
) -> BoundGraph:
    """Evidence sliced away, likelihoods as factors, a constant one for a variable without any;
    barren tables left out of a sum where only `needed` variables matter.
    """
    evidence = factor_graph.check_evidence(graph.sizes, given)
    fixed = evidence.hard
    if graph.single_states:
        fixed = fixed | dict.fromkeys(graph.single_states, 0)
    extras = (
        *extras,
        *[factor_graph.factor_of_values((name,), v) for name, v in evidence.soft.items()],
    )
    positions: Sequence[int] = range(len(graph.factors))
    pruned: set[Name] = set()
    if needed is not None and graph.conditionals:
        held = {*needed, *fixed, *chain.from_iterable([f.variables for f in extras])}
        positions, pruned = prune(graph, held)
    scopes = [graph.factors[i].variables for i in positions] + [f.variables for f in extras]
    lonely = graph.sizes.keys() - set(chain.from_iterable(scopes)) - fixed.keys() - pruned
    if lonely:
        free = [v for v in graph.sizes if v in lonely]
        extras += tuple([Factor((v,), np.zeros(graph.sizes[v])) for v in free])
        scopes += [(v,) for v in free]
    if fixed:
        untouched = fixed.keys().isdisjoint
        scopes = [s if untouched(s) else tuple([v for v in s if v not in fixed]) for s in scopes]
    return BoundGraph(graph, evidence, fixed, positions, extras, scopes)


def prune(graph: FactorGraph, held: Collection[Name]) -> tuple[list[int], set[Name]]:
    """Positions that stay, and the children that go: only in their own table, and not held."""
    children = {i: graph.factors[i].child for i in graph.conditionals}
    holders: dict[Name, set[int]] = {}
    for i, factor in enumerate(graph.factors):
        for name in factor.variables:
            holders.setdefault(name, set()).add(i)
    waiting = list(children)
    gone: set[int] = set()
    while waiting:
        i = waiting.pop()
        child = children[i]
        if i in gone or child in held or holders[child] != {i}:
            continue
        gone.add(i)
        for name in graph.factors[i].variables:
            holders[name].discard(i)
            if len(holders[name]) == 1:
                waiting.extend(j for j in holders[name] if children.get(j) == name)
    stay = [i for i in range(len(graph.factors)) if i not in gone]
    return stay, {children[i] for i in gone}


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


def collect(plan: Plan, bound: BoundGraph) -> Upward:
    """log Z and the value of every node; raises ImpossibleEvidenceError where Z is zero."""
    try:
        upward = collect_scaled(plan, bound)
    except RangeTooWideError:
        upward = collect_logs(plan, bound)
    if upward.log_partition == -np.inf:
        raise factor_graph.impossible(bound.evidence)
    return upward


def collect_scaled(plan: Plan, bound: BoundGraph) -> Upward:
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


def collect_logs(plan: Plan, bound: BoundGraph) -> Upward:
    values = run_upward(plan, bound.log_leaves(), lambda product: LOG, np)
    names = program_of(plan).subscripts
    roots = [float(contract(LOG, f"{names[r]}->", [values[r]], np)) for r in plan.tree.roots]
    return Upward(values, [], [], sum(roots), 0.0, True)


@dataclass(frozen=True, eq=False)
class Downward:
    """Gradients of the wanted nodes and their ancestors, each up to a factor."""

    gradients: list[Floats | None]
    descent: Descent


def distribute(
    plan: Plan, bound: BoundGraph, upward: Upward, wanted: Collection[int]
) -> tuple[Upward, Downward]:
    """gradient[node] = sum of gradient[parent] * values[sibling]: backpropagation (GM32). Returns
    the upward pass too, made again in logarithms where the gradients need them.
    """
    descent = descent_of(plan, wanted)
    gradients: list[Floats | None] = [None] * len(upward.values)
    if not upward.logs:
        try:
            for root in plan.tree.roots:
                gradients[root] = np.ones(())
            descend_scaled(descent, upward, gradients)
            return upward, Downward(gradients, descent)
        except RangeTooWideError:
            upward = collect_logs(plan, bound)
    for root in plan.tree.roots:
        gradients[root] = np.zeros(())
    for move in descent.moves:
        above = gradients[move.left]
        if move.right == ALONE:
            gradients[move.out] = above
        else:
            inputs = [above, upward.values[move.right]]
            gradients[move.out] = contract(LOG, move.expression, inputs, np)
    return upward, Downward(gradients, descent)


def descend_scaled(descent: Descent, upward: Upward, gradients: list[Floats | None]) -> None:
    values, lows, highs = upward.values, upward.lows, upward.highs
    low_of = [0.0] * len(values)
    high_of = [0.0] * len(values)
    for parent, other, node, expression, kernel, log_terms in descent.moves:
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


def node_marginal(
    plan: Plan, upward: Upward, downward: Downward, node: int, out: str, each: str = ""
) -> Floats:
    """The marginal of the letters `out`, proportional to values * gradient summed over others, for
    each entry along the letters `each`.
    """
    value, gradient = program_of(plan).subscripts[node], downward.descent.varies[node]
    expression = f"{value},{gradient}->{each}{out}"
    operands = [upward.values[node], downward.gradients[node]]
    axes = tuple(range(len(each), len(each) + len(out)))
    if upward.logs:
        logs = contract(LOG, expression, operands, np)
        product: Floats = np.exp(logs - logs.max(axis=axes, keepdims=True))
    else:
        product = einsum(expression, *operands)
    return np.asarray(product / product.sum(axis=axes, keepdims=True))


def unary_marginals(
    plan: Plan, bound: BoundGraph, upward: Upward, wanted: Sequence[Name] | None = None
) -> dict[Name, Floats]:
    """P(v) for all variables of the plan, or those wanted, each from its smallest tensor."""
    ranks = (1 << len(plan.names)) - 1
    if wanted is not None:
        position = {name: i for i, name in enumerate(plan.names)}
        ranks = sum({1 << position[name] for name in wanted})
    holders = smallest_holders(plan.tree, ranks)
    upward, downward = distribute(plan, bound, upward, list(holders.values()))
    subscripts, letters = program_of(plan).subscripts, program_of(plan).letters
    if upward.logs or not holders:
        found = {}
        for v, node in holders.items():
            found[plan.names[v]] = node_marginal(plan, upward, downward, node, letters[v])
        return found
    # all at once: normalised together in one flat buffer
    varies, values, gradients = downward.descent.varies, upward.values, downward.gradients
    products = [
        einsum(f"{subscripts[node]},{varies[node]}->{letters[v]}", values[node], gradients[node])
        for v, node in holders.items()
    ]
    flat = np.concatenate(products)
    lengths = [plan.sizes[v] for v in holders]
    starts = np.cumsum([0, *lengths[:-1]])
    flat /= np.repeat(np.add.reduceat(flat, starts), lengths)
    ranges = zip(holders, starts.tolist(), (starts + lengths).tolist(), strict=True)
    return {plan.names[v]: flat[a:b] for v, a, b in ranges}


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

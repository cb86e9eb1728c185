"""Functions of a configuration: entropy, cross-entropy, divergence, mean and variance.

The variance of f(x) = sum_i f_i(x_i) is the second-order expectation semiring, scaled: a node
carries (p, r, t), the sums of p, p f and p f^2 over what lies below it. Products give (p q, p s +
r q, p w + 2 r s + t q), each term one contraction; parts without f are left out. f is centred
first, so that t / p is the variance itself and not a difference of large numbers.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...errors import InferenceError
from ...factors import factor_graph
from ...factors.factor_graph import Array, Evidence, Factor, FactorGraph, Floats, Given, Name
from ...planning.plan import ALONE, Memory, Plan, plan_contraction
from .kernels import einsum
from .passes import BoundGraph, Upward, bind, collect
from .program import Product, program_of
from .sums import bind_on, marginals_on, ready_plan


class NodeMoments(NamedTuple):
    """Sums of p f and p f^2; both absent where nothing of f lies below."""

    first: Floats
    second: Floats


def moment_of_product(
    upward: Upward, moments: list[NodeMoments | None], product: Product
) -> NodeMoments | None:
    left, right = moments[product.left], moments[product.right] if product.right != ALONE else None
    if left is None and right is None:
        return None
    expression, p = product.expression, upward.values[product.left]
    others = [upward.values[product.right]] if product.right != ALONE else []
    first: Floats = np.zeros(())
    second: Floats = np.zeros(())
    if left is not None:
        first = first + einsum(expression, left.first, *others)
        second = second + einsum(expression, left.second, *others)
    if right is not None:
        first = first + einsum(expression, p, right.first)
        second = second + einsum(expression, p, right.second)
    if left is not None and right is not None:
        second = second + 2 * einsum(expression, left.first, right.first)
    scale = upward.scales.get(product.out, 1.0)  # what the upward pass multiplied it by
    return NodeMoments(first * scale, second * scale)


def variance_of(plan: Plan, upward: Upward, leaf_values: Sequence[Floats | None]) -> float:
    """The variance of a centred f: parts that share no variable are independent, and add."""
    moments: list[NodeMoments | None] = [
        None if f is None else NodeMoments(upward.values[i] * f, upward.values[i] * f * f)
        for i, f in enumerate(leaf_values)
    ]
    for product in program_of(plan).products:
        moments.append(moment_of_product(upward, moments, product))
    variance = 0.0
    for root in plan.tree.roots:
        moment = moments[root]
        if moment is not None:
            p = upward.values[root]
            variance += float(moment.second / p - (moment.first / p) ** 2)
    return variance


class Term(NamedTuple):
    """One summand of an additive function: its value at each state of a few variables."""

    variables: tuple[Name, ...]
    values: Array


class Moments(NamedTuple):
    mean: float
    variance: float


def verify_terms(graph: FactorGraph, terms: Sequence[Term]) -> None:
    for term in terms:
        factor = Factor(tuple(term.variables), np.asarray(term.values))
        factor_graph.verify_factor(graph.sizes, factor)


def expected_score(marginals: Sequence[Floats], bound: BoundGraph) -> float:
    """sum_f sum_x p(x) log f(x), where 0 log 0 is 0 and p log 0 is minus infinity."""
    total = 0.0
    for p, logs in zip(marginals, bound.log_leaves(), strict=True):
        possible = p > 0
        total += float(np.where(possible, p * np.where(possible, logs, 0.0), 0.0).sum())
    return total


def infer_entropy(
    graph: FactorGraph, given: Given = None, *, plan: Plan | None = None, memory: Memory = None
) -> float:
    """H = log Z - E[score], in nats; a plan of all marginals serves."""
    scopes = bind(graph, given).scopes
    bound, _, upward, _, marginals = marginals_on(graph, given, scopes, memory, plan)
    return upward.log_partition - expected_score(marginals, bound)


def infer_cross_entropy(
    graph: FactorGraph, other: FactorGraph, given: Given = None, *, memory: Memory = None
) -> float:
    """-E_p[log q(x)] given the evidence; infinite where q excludes what p allows."""
    if dict(graph.sizes) != dict(other.sizes):
        different = set(graph.sizes.items()) ^ set(other.sizes.items())
        names = sorted({str(name) for name, _ in different})
        raise InferenceError(
            f"two models are compared on the same variables; these differ: {', '.join(names)}"
        )
    scored = bind(other, given)
    log_z = collect(ready_plan(scored, None, memory), scored).log_partition
    *_, marginals = marginals_on(graph, given, scored.scopes, memory)
    return log_z - expected_score(marginals, scored)


def infer_divergence(
    graph: FactorGraph, other: FactorGraph, given: Given = None, *, memory: Memory = None
) -> float:
    """KL(p || q) = cross-entropy - entropy, in nats."""
    cross = infer_cross_entropy(graph, other, given, memory=memory)
    return cross - infer_entropy(graph, given, memory=memory)


def infer_mean(
    graph: FactorGraph, terms: Sequence[Term], given: Given = None, *, memory: Memory = None
) -> float:
    """E[sum_i f_i(x_i) | given], from the marginals on the scopes of the terms (GM06)."""
    return float(means_of(graph, terms, given, memory).sum())


def plan_moments(graph: FactorGraph, terms: Sequence[Term], given: Given = None) -> Plan:
    """The plan of `infer_moments`: the variables of each term stay together."""
    scopes, _ = sliced(graph, given, terms)
    return plan_contraction(graph.sizes, bind_on(graph, given, scopes).scopes)


def infer_moments(
    graph: FactorGraph,
    terms: Sequence[Term],
    given: Given = None,
    *,
    plan: Plan | None = None,
    memory: Memory = None,
) -> Moments:
    """Mean and variance of sum_i f_i(x_i) given the evidence."""
    scopes, values = sliced(graph, given, terms)
    bound, plan, upward, hosts, marginals = marginals_on(graph, given, scopes, memory, plan)
    means = expectations(marginals, values)
    if upward.logs:
        covariance = infer_covariance(graph, terms, given, memory=memory)
        return Moments(sum(means), float(covariance.sum()))
    if not np.isfinite(means).all():
        # A mean that is not defined has no variance; the squares about an infinite one are, too.
        return Moments(sum(means), abs(sum(means)))
    centred = [f - mean for f, mean in zip(values, means, strict=True)]
    leaf_values: list[Floats | None] = [None] * len(bound.scopes)
    for host, scope, f in zip(hosts, scopes, centred, strict=True):
        axes = bound.scopes[host]
        order = [scope.index(v) for v in axes if v in scope]
        sizes = dict(zip(scope, f.shape, strict=True))
        placed = f.transpose(order).reshape([sizes.get(v, 1) for v in axes])
        present = leaf_values[host]
        leaf_values[host] = placed if present is None else present + placed
    return Moments(sum(means), variance_of(plan, upward, leaf_values))


def sliced(
    graph: FactorGraph, given: Given, terms: Sequence[Term]
) -> tuple[list[tuple[Name, ...]], list[Floats]]:
    """Scopes and values of the terms at the observed states."""
    verify_terms(graph, terms)
    bound = bind(graph, given)
    scopes = [tuple([v for v in t.variables if v not in bound.fixed]) for t in terms]
    places = [bound.index(tuple(t.variables)) for t in terms]
    tables = [np.asarray(t.values, dtype=np.float64) for t in terms]
    return scopes, [table[at] for table, at in zip(tables, places, strict=True)]


def infer_covariance(
    graph: FactorGraph, terms: Sequence[Term], given: Given = None, *, memory: Memory = None
) -> Floats:
    """Cov(f_i, f_j) = sum_s P(x_i = s) f_i(s) (E[f_j | x_i = s] - E[f_j]), a Hessian of log Z: a
    pass for each state of each term; no pair of terms has to share a clique.
    """
    evidence = factor_graph.check_evidence(graph.sizes, given)
    scopes, values = sliced(graph, evidence, terms)
    *_, marginals = marginals_on(graph, evidence, scopes, memory)
    means = expectations(marginals, values)
    covariance = np.zeros((len(terms), len(terms)))
    for i, (scope, marginal, f) in enumerate(zip(scopes, marginals, values, strict=True)):
        for states in np.argwhere(marginal > 0):
            here = tuple(states)
            hard = evidence.hard | dict(zip(scope, map(int, here), strict=True))
            shift = means_of(graph, terms, Evidence(hard, evidence.soft), memory) - means
            covariance[i] += marginal[here] * (f[here] - means[i]) * shift
    return covariance


def means_of(graph: FactorGraph, terms: Sequence[Term], given: Given, memory: Memory) -> Floats:
    scopes, values = sliced(graph, given, terms)
    *_, marginals = marginals_on(graph, given, scopes, memory)
    return np.array(expectations(marginals, values))


def expectations(marginals: Sequence[Floats], values: Sequence[Floats]) -> list[float]:
    return [float((m * f).sum()) for m, f in zip(marginals, values, strict=True)]

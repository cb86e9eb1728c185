"""The naive twin: every configuration written out (GM08)."""

from collections.abc import Sequence

import numpy as np

from dpc.inference.engines.numpy.decisions import Configuration
from dpc.inference.engines.numpy.functionals import Moments, Term
from dpc.inference.factors.factor_graph import (
    Array,
    FactorGraph,
    Floats,
    Given,
    Name,
    check_evidence,
    impossible,
)
from dpc.inference.factors.semirings import log_sum_exp

LIMIT = 1 << 22


def brute_scores(graph: FactorGraph, given: Given = None) -> Floats:
    """log prod_i f_i(x) for all x, an axis per variable; -inf where the evidence excludes x."""
    evidence = check_evidence(graph.sizes, given)
    if np.prod([float(s) for s in graph.sizes.values()]) > LIMIT:
        raise ValueError(f"brute force stops at {LIMIT:,} configurations")
    scores = np.zeros(tuple(graph.sizes.values()))
    for factor in graph.factors:
        scores = scores + on_all_axes(graph, factor.variables, np.asarray(factor.log_values))
    with np.errstate(divide="ignore"):
        soft = {v: np.log(likelihood) for v, likelihood in evidence.soft.items()}
        hard = {v: np.log(np.arange(graph.sizes[v]) == state) for v, state in evidence.hard.items()}
    for v, logs in [*soft.items(), *hard.items()]:
        scores = scores + on_all_axes(graph, (v,), logs)
    return scores


def on_all_axes(graph: FactorGraph, variables: Sequence[Name], values: Array) -> Floats:
    """Values on some variables as an array that broadcasts over all of them."""
    order = [list(variables).index(v) for v in graph.sizes if v in variables]
    shape = [size if v in variables else 1 for v, size in graph.sizes.items()]
    return np.asarray(values).transpose(order).reshape(shape)


def brute_log_partition(graph: FactorGraph, given: Given = None) -> float:
    scores = brute_scores(graph, given)
    log_z = float(log_sum_exp(scores.reshape(-1), (0,)))
    if log_z == -np.inf:
        raise impossible(check_evidence(graph.sizes, given))
    return log_z


def brute_distribution(graph: FactorGraph, given: Given = None) -> Floats:
    return np.exp(brute_scores(graph, given) - brute_log_partition(graph, given))


def brute_joint(graph: FactorGraph, variables: Sequence[Name], given: Given = None) -> Floats:
    others = tuple([i for i, v in enumerate(graph.sizes) if v not in variables])
    left = [v for v in graph.sizes if v in variables]
    joint: Floats = brute_distribution(graph, given).sum(axis=others)
    return joint.transpose([left.index(v) for v in variables])


def brute_marginals(graph: FactorGraph, given: Given = None) -> dict[Name, Floats]:
    return {v: brute_joint(graph, [v], given) for v in graph.sizes}


def brute_factor_marginals(graph: FactorGraph, given: Given = None) -> tuple[Floats, ...]:
    return tuple([brute_joint(graph, f.variables, given) for f in graph.factors])


def brute_kbest(graph: FactorGraph, k: int, given: Given = None) -> list[Configuration]:
    scores = brute_scores(graph, given)
    flat = scores.reshape(-1)
    best = [i for i in np.argsort(-flat, kind="stable")[:k] if flat[i] > -np.inf]
    rows = [np.unravel_index(i, scores.shape) for i in best]
    named = [{v: int(s) for v, s in zip(graph.sizes, row, strict=True)} for row in rows]
    return [Configuration(states, float(flat[i])) for states, i in zip(named, best, strict=True)]


def brute_mode(graph: FactorGraph, given: Given = None) -> Configuration:
    return brute_kbest(graph, 1, given)[0]


def brute_marginal_mode(
    graph: FactorGraph, variables: Sequence[Name], given: Given = None
) -> Configuration:
    joint = brute_joint(graph, variables, given)
    best = np.unravel_index(int(joint.argmax()), joint.shape)
    score = float(np.log(joint[best])) + brute_log_partition(graph, given)
    return Configuration({v: int(s) for v, s in zip(variables, best, strict=True)}, score)


def brute_entropy(graph: FactorGraph, given: Given = None) -> float:
    p = brute_distribution(graph, given)
    return -float((p * np.log(np.where(p > 0, p, 1.0))).sum())


def brute_divergence(graph: FactorGraph, other: FactorGraph, given: Given = None) -> float:
    p = brute_distribution(graph, given)
    q = brute_distribution(other, given)
    if ((p > 0) & (q == 0)).any():
        return np.inf
    alive = p > 0
    return float((p[alive] * (np.log(p[alive]) - np.log(q[alive]))).sum())


def brute_moments(graph: FactorGraph, terms: Sequence[Term], given: Given = None) -> Moments:
    p = brute_distribution(graph, given)
    values = np.zeros(p.shape)
    for term in terms:
        values = values + on_all_axes(graph, term.variables, term.values)
    mean = float((p * values).sum())
    return Moments(mean, float((p * (values - mean) ** 2).sum()))


def brute_covariance(graph: FactorGraph, terms: Sequence[Term], given: Given = None) -> Floats:
    p = brute_distribution(graph, given)
    values = [
        np.broadcast_to(on_all_axes(graph, t.variables, t.values), p.shape).ravel() for t in terms
    ]
    return np.atleast_2d(np.cov(np.array(values), aweights=p.ravel(), ddof=0))


def brute_probability(
    graph: FactorGraph, event: tuple[Sequence[Name], Array], given: Given = None
) -> float:
    variables, truth = event
    return float((brute_distribution(graph, given) * on_all_axes(graph, variables, truth)).sum())


def brute_count(graph: FactorGraph, given: Given = None) -> int:
    return int((brute_scores(graph, given) > -np.inf).sum())

"""Perturb-and-MAP: log Z <= E[max_x log f(x) + sum_v G_v(x_v)], G Gumbel (CV20, CV21).

For one variable both sides are equal and the maximiser is an exact sample (CV19). For more, noise
on single variables makes the mean an upper bound and the maximiser an approximate sample. The bound
needs an exact solver: a configuration that is not the best makes the mean too small.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ...errors import InferenceError
from ...factors.factor_graph import Factor, FactorGraph, Given
from ...planning.plan import Memory, default_memory_limit
from ..numpy.decisions import Configuration, infer_mode
from ..numpy.passes import bind
from ..numpy.sums import plan_marginals
from .cuts import infer_mode_by_cut
from .layout import plan_if_it_fits
from .results import Approximation, NotSubmodularError

PERTURBED = "approximate: modes of noise on single variables, independent but not exact draws"
Solver = Callable[[FactorGraph, Given], Configuration]


def perturb(graph: FactorGraph, given: Given, generator: np.random.Generator) -> FactorGraph:
    """The graph with Gumbel noise of mean zero on every state of the free variables."""
    fixed = bind(graph, given).fixed
    free = {v: size for v, size in graph.sizes.items() if v not in fixed}
    noise = [Factor((v,), generator.gumbel(size=size) - np.euler_gamma) for v, size in free.items()]
    return FactorGraph(graph.sizes, (*graph.factors, *noise))


def infer_perturbed(
    graph: FactorGraph,
    solve: Solver,
    given: Given = None,
    *,
    count: int = 100,
    seed: int = 0,
    exact_solver: bool = False,
) -> Approximation:
    """Frequencies of states among the modes of perturbed graphs, and the mean of their scores: with
    an `exact_solver` an upper bound of the log-partition, up to its standard error.
    """
    if count < 2:
        raise InferenceError(
            f"{count} perturbations were asked for; a standard error needs two or more"
        )
    generator = np.random.default_rng(seed)
    found = [solve(perturb(graph, given, generator), given) for _ in range(count)]
    scores = np.array([c.log_score for c in found])
    samples = {v: np.array([c.states[v] for c in found]) for v in graph.sizes}
    means = {v: np.bincount(own, minlength=graph.sizes[v]) / count for v, own in samples.items()}
    error = float(scores.std(ddof=1) / np.sqrt(count))
    return Approximation(
        method=f"perturb-and-MAP ({count} perturbations)",
        guarantee=PERTURBED,
        converged=True,
        iterations=count,
        residual=error,
        measure="standard error",
        marginals=means,
        samples=samples,
        errors={v: np.sqrt(p * (1 - p) / count) for v, p in means.items()},
        log_partition=float(scores.mean()),
        log_partition_is="upper bound" if exact_solver else "estimate",
        log_partition_error=error,
    )


def certain_solver(graph: FactorGraph, given: Given, memory: Memory = None) -> Solver:
    """A solver whose modes are certain: along one plan where it fits, else by minimum cut."""
    noisy = perturb(graph, given, np.random.default_rng(0))
    limit = default_memory_limit() if memory is None else memory
    plan, reason = plan_if_it_fits(noisy, given, partial(plan_marginals, noisy, given), limit)
    if plan is not None:
        return partial(infer_mode, plan=plan, memory=limit)
    try:
        infer_mode_by_cut(noisy, given)
    except NotSubmodularError as refusal:
        raise InferenceError(
            f"perturb-and-MAP needs modes that are certain, but {reason}, and minimum cuts do not "
            f"apply ({refusal}): use gibbs"
        ) from None
    return mode_by_cut


def mode_by_cut(graph: FactorGraph, given: Given) -> Configuration:
    found = infer_mode_by_cut(graph, given).mode
    assert found is not None
    return found


def infer_marginals_perturbed(
    graph: FactorGraph,
    given: Given = None,
    *,
    count: int = 100,
    seed: int = 0,
    memory: Memory = None,
) -> Approximation:
    """Frequencies among perturbed modes that are certain, and a bound of the log-partition."""
    solve = certain_solver(graph, given, memory)
    return infer_perturbed(graph, solve, given, count=count, seed=seed, exact_solver=True)


def infer_samples_perturbed(
    graph: FactorGraph, count: int, given: Given = None, *, seed: int = 0, memory: Memory = None
) -> Approximation:
    """`count` perturbed modes that are certain."""
    found = infer_marginals_perturbed(graph, given, count=max(2, count), seed=seed, memory=memory)
    assert found.samples is not None
    return replace(found, samples={v: states[:count] for v, states in found.samples.items()})

"""Perturb-and-MAP: log Z <= E[max_x log f(x) + sum_v G_v(x_v)] with independent Gumbel noise of mean zero (CV20, CV21).

For one variable both sides are equal and the maximiser is an exact sample (CV19). For more, noise on single variables
instead of whole configurations makes the mean an upper bound and the law of the maximiser an approximation. The bound
needs an exact solver: a configuration that is not the best makes the mean too small.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import InferenceError
from ..evidence import Given, check_evidence
from ..exact.binding import bind
from ..exact.decisions import Configuration
from ..factors import Factor, FactorGraph, Floats
from .results import Approximation

Solver = Callable[[FactorGraph, Given | None], Configuration]


def perturb(graph: FactorGraph, given: Given | None, generator: np.random.Generator) -> FactorGraph:
    """The graph with Gumbel noise of mean zero on every state of every variable that is not observed."""
    fixed = bind(graph, check_evidence(graph.sizes, given)).fixed
    free = {v: size for v, size in graph.sizes.items() if v not in fixed}
    noise = [Factor((v,), generator.gumbel(size=size) - np.euler_gamma) for v, size in free.items()]
    return FactorGraph(graph.sizes, (*graph.factors, *noise))


def infer_perturbed(
    graph: FactorGraph,
    solve: Solver,
    given: Given | None = None,
    *,
    count: int = 100,
    seed: int = 0,
    exact_solver: bool = False,
) -> Approximation:
    """Frequencies of states among the modes of perturbed graphs, and the mean of their scores.

    `solve` finds a mode (`infer_mode`, or the mode of `infer_mode_bp`); with `exact_solver` the mean is reported as the
    upper bound of the log-partition that it then is, up to its standard error.
    """
    if count < 2:
        raise InferenceError(f"{count} perturbations were asked for; a standard error needs two or more")
    generator = np.random.default_rng(seed)
    found = [solve(perturb(graph, given, generator), given) for _ in range(count)]
    scores = np.array([c.log_score for c in found])
    means = {v: frequencies([c.states[v] for c in found], size) for v, size in graph.sizes.items()}
    error = float(scores.std(ddof=1) / np.sqrt(count))
    return Approximation(
        method=f"perturb-and-MAP ({count} perturbations)",
        guarantee="approximate, sampled, by noise on single variables",
        converged=True,
        iterations=count,
        residual=error,
        measure="standard error",
        marginals=means,
        errors={v: np.sqrt(p * (1 - p) / count) for v, p in means.items()},
        log_partition=float(scores.mean()),
        log_partition_is="upper bound" if exact_solver else "estimate",
        log_partition_error=error,
    )


def frequencies(states: list[int], size: int) -> Floats:
    return np.bincount(states, minlength=size) / len(states)

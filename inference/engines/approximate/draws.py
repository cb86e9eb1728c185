"""Joint draws by Gibbs sampling, so many sweeps apart that they are worth independent ones."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError
from ...factors.evidence import Given
from ...factors.factor_graph import FactorGraph, Name
from .gibbs import (
    BURN_IN,
    SWEEPS,
    GibbsRun,
    advance_gibbs,
    advance_to,
    diagnose_gibbs,
    effective_draws,
    report_gibbs,
    start_gibbs,
)
from .results import Approximation

MOST_SWEEPS = (
    50_000  # of each chain; more draws than fit in it are taken less far apart, and said to be
)


def infer_samples_gibbs(
    graph: FactorGraph, count: int, given: Given | None = None, *, chains: int = 4, seed: int = 0
) -> Approximation:
    """`count` states of each variable, chain after chain, thinned by the slowest correlation."""
    if count < 1:
        raise InferenceError(f"{count} draws were asked for; ask for one or more")
    run = advance_to(start_gibbs(graph, given, chains=chains, seed=seed), BURN_IN + SWEEPS)
    diagnoses = diagnose_gibbs(run, BURN_IN).values()
    kept = run.sweeps - BURN_IN
    memory = max(1.0, kept * chains / effective_draws(diagnoses))
    of_each = -(-count // chains)
    apart = max(kept // of_each, min(int(np.ceil(memory)), MOST_SWEEPS // of_each), 1)
    run, states = thinned(run, BURN_IN, apart, of_each)
    worth = count if apart >= memory else count * apart / memory
    guarantee = f"approximate draws, {apart} sweeps apart, worth about {worth:.0f} independent ones"
    rows = states.reshape(-1, states.shape[-1])[:count]
    return replace(report_gibbs(run, diagnoses, guarantee), samples=named_states(run, rows))


def thinned(
    run: GibbsRun, burn_in: int, apart: int, count: int
) -> tuple[GibbsRun, NDArray[np.int32]]:
    """Every `apart`-th state after `burn_in`, `count` of each chain; runs on until there are."""
    picked = [run.visited[burn_in::apart]]
    while sum(map(len, picked)) < count:
        before = run.sweeps
        run = advance_gibbs(run.forget())
        picked.append(run.visited[(burn_in - before) % apart :: apart])
    return run, np.concatenate(picked)[:count]


def named_states(run: GibbsRun, rows: NDArray[np.int32]) -> dict[Name, NDArray[np.intp]]:
    """`rows[draw, free variable]` as the states of every variable, in the order of the graph."""
    bound = run.layout.bound
    free = dict(zip(run.layout.names, rows.T.astype(np.intp), strict=True))
    return {
        v: free[v] if v in free else np.full(len(rows), bound.fixed[v], np.intp)
        for v in bound.graph.sizes
    }

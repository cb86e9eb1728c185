"""Averages over Gibbs sampling with their standard errors: joint frequencies, and moments of sums
of terms.

What was never seen is not impossible: no probability is told with an error below one over the
effective draws of the variables that it is about.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError
from ...factors.evidence import Given
from ...factors.factor_graph import Factor, FactorGraph, Floats, Name, verify_factor, verify_known
from ..numpy.functionals import Moments, Term
from .diagnostics import Diagnosis, diagnose
from .gibbs import (
    BURN_IN,
    SWEEPS,
    GibbsRun,
    advance_to,
    diagnose_gibbs,
    effective_draws,
    report_gibbs,
    start_gibbs,
)
from .results import Approximation

AT_ONCE = 256  # states of a joint whose series are held together


def infer_joint_gibbs(
    graph: FactorGraph, variables: Sequence[Name], given: Given | None = None, *, seed: int = 0
) -> Approximation:
    """P(v1, v2, ... | given) as frequencies, axes in the order asked."""
    verify_known(graph.sizes, variables)
    if len(set(variables)) < len(variables):
        raise InferenceError(f"joint of {list(variables)}: a variable is named twice")
    shape = tuple([graph.sizes[v] for v in variables])
    run = advance_to(start_gibbs(graph, given, seed=seed), BURN_IN + SWEEPS)
    codes = np.zeros((run.sweeps - BURN_IN, run.states.shape[0]), np.intp)
    for v, visited in visits(run, variables).items():
        codes = codes * graph.sizes[v] + visited
    seen = np.unique(codes)
    parts = np.split(seen, range(AT_ONCE, seen.size, AT_ONCE))
    found = [diagnose((codes[:, :, None] == part).astype(float)) for part in parts]
    table, errors = np.zeros(prod(shape)), np.zeros(prod(shape))
    table[seen] = np.concatenate([d.mean for d in found])
    errors[seen] = np.concatenate([d.standard_error for d in found])
    report, least = averaged(run, variables, found)
    return replace(
        report, joint=table.reshape(shape), joint_errors=np.maximum(errors, least).reshape(shape)
    )


def infer_moments_gibbs(
    graph: FactorGraph, terms: Sequence[Term], given: Given | None = None, *, seed: int = 0
) -> Approximation:
    """Mean and variance of sum_i f_i(x_i) over visited states, and the mean's standard error."""
    for term in terms:
        verify_factor(graph.sizes, Factor(tuple(term.variables), np.asarray(term.values)))
    run = advance_to(start_gibbs(graph, given, seed=seed), BURN_IN + SWEEPS)
    values: Floats = np.zeros((run.sweeps - BURN_IN, run.states.shape[0]))
    visited = visits(run, [v for term in terms for v in term.variables])
    for term in terms:
        values = (
            values + np.asarray(term.values, float)[tuple([visited[v] for v in term.variables])]
        )
    found = diagnose(values[:, :, None])
    report, least = averaged(run, list(visited), [found])
    spread = max((float(np.ptp(term.values)) for term in terms), default=0.0)
    error = max(float(found.standard_error[0]), least * spread)
    return replace(
        report, moments=Moments(float(found.mean[0]), float(values.var())), mean_error=error
    )


def visits(run: GibbsRun, names: Sequence[Name]) -> dict[Name, NDArray[np.intp]]:
    """`[sweep, chain]` after the burn-in by variable; constant for what evidence fixed."""
    kept, fixed = run.visited[BURN_IN:].astype(np.intp), run.layout.bound.fixed
    column = {name: i for i, name in enumerate(run.layout.names)}
    return {
        v: np.full(kept.shape[:2], fixed[v]) if v in fixed else kept[:, :, column[v]] for v in names
    }


def averaged(
    run: GibbsRun, names: Sequence[Name], found: Sequence[Diagnosis]
) -> tuple[Approximation, float]:
    """The report of averages about these variables, and the least error that they may claim."""
    free = diagnose_gibbs(run, BURN_IN, set(names)).values()
    size = effective_draws([*found, *free])
    guarantee = f"approximate, sampled, at least {size:.0f} effective draws of what was asked"
    return report_gibbs(run, [*found, *free], guarantee), 1 / size if free else 0.0

"""Gibbs sampling: x_B ~ p(x_B | x_rest), one block B after another (GM21).

Blocks are forests that cover the variables, each drawn exactly given the rest, or colour classes
(single variables, whole colours at once). Chains run side by side. A run is a value: it can be
stopped, kept, and continued, with the same result as an unbroken one. With zeros about, chains may
not reach everything that is possible; R-hat compares them.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Self, get_args

import jax
import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError
from ...factors.evidence import Given
from ...factors.factor_graph import FactorGraph, Floats, Name
from .blocks import Blocking, FlatTables, ForestBlock, blocks_of, tables_of
from .diagnostics import Diagnosis, diagnose
from .layout import FactorLayout, lay_out
from .results import Approximation
from .starts import find_start, segment_keys, sweep_many

R_HAT = 1.01
SWEEPS, BURN_IN = 1000, 200
FEWEST = 4


@dataclass(frozen=True, eq=False)
class GibbsRun:
    """Chains as they are and `visited[sweep, chain, variable]`, but the `forgotten` sweeps."""

    layout: FactorLayout
    blocking: Blocking
    tables: FlatTables
    blocks: ForestBlock
    seed: int
    states: NDArray[np.int32]
    visited: NDArray[np.int32]
    forgotten: int = 0

    @property
    def sweeps(self) -> int:
        return self.forgotten + int(self.visited.shape[0])

    def forget(self) -> Self:
        """The same run without what it visited."""
        return replace(self, visited=self.visited[:0], forgotten=self.sweeps)


def start_gibbs(
    graph: FactorGraph,
    given: Given | None = None,
    *,
    chains: int = 4,
    blocking: Blocking = "forests",
    seed: int = 0,
) -> GibbsRun:
    """Chains at configurations of non-zero potential, with nothing sampled yet."""
    if chains < 1:
        raise InferenceError(f"{chains} chains were asked for; ask for one or more")
    if blocking not in get_args(Blocking):
        raise InferenceError(
            f"blocking is one of {', '.join(get_args(Blocking))}, not {blocking!r}"
        )
    with jax.enable_x64(True):
        layout = lay_out(graph, given)
        states = find_start(layout, chains, seed)
    nothing = np.zeros((0, *states.shape), np.int32)
    return GibbsRun(
        layout, blocking, tables_of(layout), blocks_of(layout, blocking), seed, states, nothing
    )


def advance_gibbs(run: GibbsRun) -> GibbsRun:
    """SEGMENT more sweeps, whose randomness depends on the seed and the sweeps before alone."""
    with jax.enable_x64(True):
        keys = segment_keys(run.blocks, run.seed, run.sweeps, 1)
        padded = np.pad(run.states, ((0, 0), (0, 1)))
        states, visited = sweep_many(run.tables, run.blocks, padded, keys)
        seen = np.concatenate([run.visited, np.asarray(visited)])
        return replace(run, states=np.asarray(states)[:, :-1], visited=seen)


def diagnose_gibbs(
    run: GibbsRun, burn_in: int, names: Collection[Name] | None = None
) -> dict[Name, Diagnosis]:
    """The diagnosis of the indicators of all states of the free variables."""
    kept = run.visited[burn_in:]
    if kept.shape[0] < FEWEST:
        raise InferenceError(
            f"{run.sweeps} sweeps with {burn_in} of burn-in leave too few to say anything"
        )
    found = {}
    for i, (name, size) in enumerate(zip(run.layout.names, run.layout.sizes, strict=True)):
        if names is None or name in names:
            found[name] = diagnose((kept[:, :, i, None] == np.arange(size)).astype(np.float64))
    return found


def effective_draws(found: Iterable[Diagnosis]) -> float:
    """The fewest that any quantity is worth."""
    return min((float(d.effective_size.min(initial=np.inf)) for d in found), default=np.inf)


def report_gibbs(run: GibbsRun, found: Iterable[Diagnosis], guarantee: str) -> Approximation:
    """What is to be said of a run; converged if every R-hat is at most 1.01."""
    worst = max((float(d.r_hat.max(initial=1.0)) for d in found), default=1.0)
    return Approximation(
        method=(
            f"Gibbs sampling ({run.states.shape[0]} chains, {run.blocks.rows.shape[0]} "
            f"{run.blocking})"
        ),
        guarantee=guarantee,
        converged=worst <= R_HAT,
        iterations=run.sweeps,
        residual=worst - 1,
        measure="largest R-hat - 1",
    )


def summarise_gibbs(run: GibbsRun, burn_in: int) -> Approximation:
    """Frequencies of states with standard errors."""
    found = diagnose_gibbs(run, burn_in)
    size = effective_draws(found.values())
    return replace(
        report_gibbs(
            run, found.values(), f"approximate, sampled, at least {size:.0f} effective draws"
        ),
        marginals=run.layout.named_marginals(
            columns(run.layout, {v: d.mean for v, d in found.items()})
        ),
        errors={v: d.standard_error for v, d in found.items()},
    )


def columns(layout: FactorLayout, means: dict[Name, Floats]) -> Floats:
    wide = np.zeros((layout.states, layout.count))
    for i, name in enumerate(layout.names):
        wide[: layout.sizes[i], i] = means[name]
    return wide


def infer_marginals_gibbs(
    graph: FactorGraph,
    given: Given | None = None,
    *,
    sweeps: int = SWEEPS,
    burn_in: int = BURN_IN,
    chains: int = 4,
    blocking: Blocking = "forests",
    seed: int = 0,
) -> Approximation:
    """Marginals from `sweeps` sweeps of each chain after `burn_in`, up to whole segments."""
    run = start_gibbs(graph, given, chains=chains, blocking=blocking, seed=seed)
    return summarise_gibbs(advance_to(run, burn_in + sweeps), burn_in)


def advance_to(run: GibbsRun, sweeps: int) -> GibbsRun:
    """The run when it has made at least so many sweeps."""
    while run.sweeps < sweeps:
        run = advance_gibbs(run)
    return run

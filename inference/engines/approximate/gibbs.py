"""Gibbs sampling: x_B ~ p(x_B | x_rest), one block B after another (GM21).

Blocks are forests that cover the variables, each drawn exactly given the rest, or colour classes.
Chains run side by side from configurations of non-zero potential, which are searched for with the
zeros made unlikely. A run is a value: it can be stopped, kept, and continued, with the same result
as an unbroken one. With zeros about, chains may not reach everything that is possible; R-hat
compares them. What was never seen is not impossible: no probability has an error below one over
the effective draws of the variables that it is about.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Self, get_args

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError
from ...factors import factor_graph
from ...factors.factor_graph import Array, FactorGraph, Floats, Given, Name
from ..numpy.functionals import Moments, Term, verify_terms
from .blocks import Blocking, FlatTables, ForestBlock, blocks_of, resample, score, soften, tables_of
from .layout import FactorLayout, lay_out
from .results import Approximation, Diagnosis, diagnose

SEGMENT = 50  # sweeps that are compiled as one program
TRIES, CANDIDATES, KEY_WORDS = 6, 4, 4
R_HAT = 1.01
SWEEPS, BURN_IN = 1000, 200
FEWEST = 4
MOST_SWEEPS = 50_000  # of each chain; more draws are taken less far apart, and said to be
AT_ONCE = 256  # states of a joint whose series are held together


def segment_keys(blocks: ForestBlock, *seeds: int) -> Array:
    """A key for each sweep and block, made on the host; this kind compiles ten times faster."""
    shape = (SEGMENT, blocks.rows.shape[0], KEY_WORDS)
    words = np.random.SeedSequence(seeds).generate_state(int(np.prod(shape))).reshape(shape)
    return jax.random.wrap_key_data(jnp.asarray(words), impl="rbg")


@jax.jit
def sweep_many(
    tables: FlatTables, blocks: ForestBlock, states: Array, keys: Array
) -> tuple[Array, Array]:
    """SEGMENT sweeps of each chain: its last states, and all `[sweep, chain, variable]`."""

    def draw(states: Array, drawn: tuple[ForestBlock, Array]) -> tuple[Array, None]:
        block, key = drawn
        shape = (states.shape[0], *tables.unary.shape)
        noise = jax.random.gumbel(key, shape, dtype=tables.unary.dtype)
        return jax.vmap(lambda x, g: resample(tables, block, x, g, False))(states, noise), None

    def sweep(states: Array, keys: Array) -> tuple[Array, Array]:
        new, _ = jax.lax.scan(draw, states, (blocks, keys))
        return new, new[:, :-1]

    return jax.lax.scan(sweep, states, keys)


def find_start(layout: FactorLayout, chains: int, seed: int) -> NDArray[np.int32]:
    """Random states for each chain, sampled on until none meets a zero; raises if none is found.
    With zeros about, several candidates are tried, and chains may start from the same one.
    """
    wanted, chains = chains, max(chains, CANDIDATES) if layout.has_zeros else chains
    tables, blocks = tables_of(layout), blocks_of(layout)
    generator = np.random.default_rng(seed)
    sizes = np.array([*layout.sizes, 1])
    uniform = generator.random((chains, layout.count + 1))
    states = jnp.asarray((uniform * sizes[None]).astype(np.int32))
    is_dead = dead_chains(tables, states)
    for attempt in range(TRIES):
        if not is_dead.any():
            return np.asarray(states)[:wanted, :-1]
        keys = segment_keys(blocks, seed, attempt, 0)
        moved, _ = sweep_many(soften(tables), blocks, states, keys)
        states = jnp.where(is_dead[:, None], moved, states)
        is_dead = dead_chains(tables, states)
    if is_dead.all():
        raise InferenceError(
            f"no configuration of non-zero potential was found in {SEGMENT * TRIES} sweeps of "
            f"{chains} chains: the evidence may be impossible, or too constrained to be sampled; "
            "use exact inference or belief propagation"
        )
    alive = np.flatnonzero(~np.asarray(is_dead))
    return np.asarray(states)[np.resize(alive, wanted), :-1]


@jax.jit
def dead_chains(tables: FlatTables, states: Array) -> Array:
    return jnp.isneginf(jax.vmap(score, in_axes=(None, 0))(tables, states))


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
    given: Given = None,
    *,
    chains: int = 4,
    blocking: Blocking = "forests",
    seed: int = 0,
) -> GibbsRun:
    """Chains at configurations of non-zero potential, with nothing sampled yet."""
    if chains < 1:
        raise InferenceError(f"{chains} chains were asked for; ask for one or more")
    if blocking not in get_args(Blocking):
        known = ", ".join(get_args(Blocking))
        raise InferenceError(f"blocking is one of {known}, not {blocking!r}")
    with jax.enable_x64(True):
        layout = lay_out(graph, given)
        states = find_start(layout, chains, seed)
    nothing = np.zeros((0, *states.shape), np.int32)
    tables, blocks = tables_of(layout), blocks_of(layout, blocking)
    return GibbsRun(layout, blocking, tables, blocks, seed, states, nothing)


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
    guarantee = f"approximate, sampled, at least {size:.0f} effective draws"
    bound = run.layout.bound
    return replace(
        report_gibbs(run, found.values(), guarantee),
        marginals={v: found[v].mean if v in found else bound.certain(v) for v in bound.graph.sizes},
        errors={v: d.standard_error for v, d in found.items()},
    )


def infer_marginals_gibbs(
    graph: FactorGraph,
    given: Given = None,
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


def infer_samples_gibbs(
    graph: FactorGraph, count: int, given: Given = None, *, chains: int = 4, seed: int = 0
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
    free = dict(zip(run.layout.names, rows.T.astype(np.intp), strict=True))
    samples = run.layout.bound.with_fixed(free, len(rows))
    return replace(report_gibbs(run, diagnoses, guarantee), samples=samples)


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


def infer_joint_gibbs(
    graph: FactorGraph, variables: Sequence[Name], given: Given = None, *, seed: int = 0
) -> Approximation:
    """P(v1, v2, ... | given) as frequencies, axes in the order asked."""
    factor_graph.verify_known(graph.sizes, variables)
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
    errors = np.maximum(errors, least).reshape(shape)
    return replace(report, joint=table.reshape(shape), joint_errors=errors)


def infer_moments_gibbs(
    graph: FactorGraph, terms: Sequence[Term], given: Given = None, *, seed: int = 0
) -> Approximation:
    """Mean and variance of sum_i f_i(x_i) over visited states, and the mean's standard error."""
    verify_terms(graph, terms)
    run = advance_to(start_gibbs(graph, given, seed=seed), BURN_IN + SWEEPS)
    values: Floats = np.zeros((run.sweeps - BURN_IN, run.states.shape[0]))
    visited = visits(run, [v for term in terms for v in term.variables])
    for term in terms:
        states = tuple([visited[v] for v in term.variables])
        values = values + np.asarray(term.values, float)[states]
    found = diagnose(values[:, :, None])
    report, least = averaged(run, list(visited), [found])
    widest = max((float(np.ptp(term.values)) for term in terms), default=0.0)
    error = max(float(found.standard_error[0]), least * widest)
    moments = Moments(float(found.mean[0]), float(values.var()))
    return replace(report, moments=moments, mean_error=error)


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

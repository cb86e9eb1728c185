"""Losses of random fields that are too wide for a likelihood: scalar functions of their tables.

score(x) = sum over groups and factors of tables[group][factor, x of its scope]: tables are
log-potentials, one array for each group of a structure; states are `[variables]` or `[rows,
variables]`. The gradient of a score is the indicator of the entries that were read.

Pseudo-likelihood is minus the sum over rows and variables of log p(x_v | rest), each normalised
over the states of one variable: its minimum tends to that of minus the log-likelihood as rows grow.
Contrastive divergence takes the expectation in the gradient of the log-likelihood after a few Gibbs
sweeps; its value is no likelihood and falls to nothing in particular. Perturb-and-MAP bounds log Z
<= E[max_x score(x) + sum_v G_v(x_v)], G Gumbel noise of mean zero (CV20, CV21), if modes are
certain; noise enters as evidence, so that any engine serves, or minimum cuts (GM19). Bethe's
log-partition has the beliefs for gradient, and is exact on trees (GM26): at a fixed point it does
not change with the messages to first order, so that they are held while it is differentiated.
"""

from collections.abc import Callable, Collection
from math import prod
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..engines.approximate import propagation
from ..engines.approximate.layout import FactorBatch, greedy_colours
from ..engines.approximate.messages import MessageSetting, Potentials, totals_of
from ..engines.approximate.perturb import mode_by_cut
from ..engines.approximate.propagation import DEFAULT, PropagationOptions
from ..engines.engine import Tables
from ..engines.tree.structure import Structure
from ..errors import InferenceError
from ..factors.factor_graph import Factor, FactorGraph
from ..optimise.method import Array

Ints = NDArray[np.intp]
Solve = Callable[[Tables, Array], Array]


def score(structure: Structure, tables: Tables, states: Array) -> Array:
    """One number for each row of states."""
    verify_tables(structure, tables)
    verify_states(structure, states)
    total = jnp.zeros(states.shape[:-1], jnp.result_type(*tables))
    for group, table in zip(structure.groups, tables, strict=True):
        read = table.reshape(-1)[places(group.scopes, table.shape, states)]
        total = total + jnp.sum(read, axis=-1)
    return total


def strides_of(shape: tuple[int, ...]) -> list[int]:
    """Of the axes of one table, the first axis of the array being factors."""
    return [prod(shape[axis + 1 :]) for axis in range(1, len(shape))]


def places(scopes: Ints, shape: tuple[int, ...], states: Array, skip: int | None = None) -> Array:
    """Where each table of a group is read, `[..., factors]`; axis `skip` at its first state."""
    starts = np.arange(len(scopes), dtype=np.int32) * np.int32(prod(shape[1:]))
    total = jnp.broadcast_to(starts, (*states.shape[:-1], len(scopes)))
    for axis, stride in enumerate(strides_of(shape)):
        if axis != skip:
            total = total + states[..., scopes[:, axis]].astype(jnp.int32) * np.int32(stride)
    return total


def verify_tables(structure: Structure, tables: Tables) -> None:
    found = tuple([jnp.shape(table) for table in tables])
    if found != structure.shapes:
        raise InferenceError(
            f"tables have the shapes {found}, the structure needs {structure.shapes}"
        )


def verify_states(structure: Structure, states: Array) -> None:
    if jnp.ndim(states) < 1 or jnp.shape(states)[-1] != len(structure.sizes):
        raise InferenceError(
            f"states have the shape {jnp.shape(states)}: the last axis needs {len(structure.sizes)}"
        )
    if not jnp.issubdtype(jnp.result_type(states), jnp.integer):
        raise InferenceError(
            f"states are numbers from 0, of an integer type, not {jnp.result_type(states)}"
        )


def conditional_logits(
    structure: Structure, tables: Tables, states: Array, wanted: NDArray[np.bool_] | None = None
) -> Array:
    """`[..., variables, most states]`, -inf beyond their states; zeros for those not wanted."""
    chosen = np.ones(len(structure.sizes), bool) if wanted is None else wanted
    dtype = jnp.result_type(*tables)
    sizes = np.array(structure.sizes, int)[:, None]
    exists = np.where(np.arange(structure.most_states)[None] < sizes, 0.0, -np.inf).astype(dtype)
    logits = jnp.broadcast_to(exists, (*states.shape[:-1], *exists.shape))
    for group, table in zip(structure.groups, tables, strict=True):
        for axis, stride in enumerate(strides_of(table.shape)):
            factors = np.flatnonzero(chosen[group.scopes[:, axis]])
            if factors.size:
                first = places(group.scopes, table.shape, states, skip=axis)[..., factors, None]
                steps = np.arange(table.shape[axis + 1], dtype=np.int32) * np.int32(stride)
                offsets = jnp.broadcast_to(steps, (*first.shape[:-1], len(steps)))
                read = table.reshape(-1)[first + offsets]
                logits = logits.at[..., group.scopes[factors, axis], : len(steps)].add(read)
    return logits


def pseudo_likelihood(
    structure: Structure,
    tables: Tables,
    states: Array,
    weights: Array | None = None,
    predicted: Collection[int] | None = None,
) -> Array:
    """`weights` of the rows; `predicted` are the variables not always given, or all."""
    verify_tables(structure, tables)
    verify_states(structure, states)
    chosen = np.array(range(len(structure.sizes)) if predicted is None else sorted(predicted), int)
    wanted = np.isin(np.arange(len(structure.sizes)), chosen)
    logits = conditional_logits(structure, tables, states, wanted)[..., chosen, :]
    own = jnp.take_along_axis(logits, states[..., chosen, None], axis=-1)[..., 0]
    losses = jnp.sum(jax.nn.logsumexp(logits, axis=-1) - own, axis=-1)
    return jnp.sum(losses if weights is None else weights * losses)


def contrastive_loss(
    structure: Structure,
    tables: Tables,
    states: Array,
    key: Array,
    sweeps: int = 1,
    weights: Array | None = None,
) -> Array:
    """sum over rows of score(after `sweeps` sweeps) - score(row), the sweeps held constant."""
    held = [jax.lax.stop_gradient(table) for table in tables]
    after = sweep_gibbs(structure, held, states, key, sweeps)
    losses = score(structure, tables, after) - score(structure, tables, states)
    return jnp.sum(losses if weights is None else weights * losses)


def sweep_gibbs(
    structure: Structure, tables: Tables, states: Array, key: Array, sweeps: int
) -> Array:
    """Sweeps of Gibbs sampling from each row; a colour shares no factor, so is drawn at once."""
    scopes = [scope for group in structure.groups for scope in group.scopes.tolist()]
    colours = greedy_colours(len(structure.sizes), scopes)
    classes = [colours == c for c in range(colours.max(initial=-1) + 1)]

    def sweep(number: int, states: Array) -> Array:
        for c, members in enumerate(classes):
            own = jax.random.fold_in(jax.random.fold_in(key, number), c)
            chosen = np.flatnonzero(members)
            logits = conditional_logits(structure, tables, states, members)[..., chosen, :]
            drawn = jax.random.categorical(own, logits).astype(states.dtype)
            states = states.at[..., chosen].set(drawn)
        return states

    return jax.lax.fori_loop(0, sweeps, sweep, states)


def perturbed_log_partition(
    structure: Structure, solve: Solve, tables: Tables, key: Array, samples: int = 10
) -> Array:
    """The mean of `samples` perturbed maxima; `solve(tables, log_evidence)` gives a mode."""
    verify_tables(structure, tables)
    held = [jax.lax.stop_gradient(table) for table in tables]
    shape = samples, len(structure.sizes), structure.most_states
    noise = jax.random.gumbel(key, shape, jnp.result_type(*tables)) - np.euler_gamma
    modes = jax.lax.map(lambda own: solve(held, own), noise)
    extra = jnp.sum(jnp.take_along_axis(noise, modes[..., None], axis=-1), axis=(-2, -1))
    return jnp.mean(score(structure, tables, modes) + extra)


def perturbed_loss(
    structure: Structure,
    solve: Solve,
    tables: Tables,
    states: Array,
    key: Array,
    samples: int = 10,
    weights: Array | None = None,
) -> Array:
    """sum over rows of the bound of log Z - score(row), above -log-likelihood on average."""
    value = perturbed_log_partition(structure, solve, tables, key, samples)
    losses = value - score(structure, tables, states)
    return jnp.sum(losses if weights is None else weights * losses)


def solve_by_cuts(structure: Structure) -> Solve:
    """`solve(tables, log_evidence)` by minimum cut."""
    shape = jax.ShapeDtypeStruct((len(structure.sizes),), np.int32)

    def on_host(log_evidence: Array, *tables: Array) -> np.ndarray:
        found = mode_by_cut(graph_of(structure, tables, np.asarray(log_evidence)), None)
        return np.array([found.states[v] for v in range(len(structure.sizes))], np.int32)

    def solve(tables: Tables, log_evidence: Array) -> Array:
        return jax.pure_callback(on_host, shape, log_evidence, *tables, vmap_method="sequential")

    return solve


def graph_of(structure: Structure, tables: Tables, log_evidence: np.ndarray) -> FactorGraph:
    """Variables are named by their numbers; evidence is a factor of each."""
    factors = []
    for group, table in zip(structure.groups, tables, strict=True):
        logs = np.asarray(table, np.float64)
        factors += [Factor(tuple(s), logs[f]) for f, s in enumerate(group.scopes.tolist())]
    for v, size in enumerate(structure.sizes):
        factors.append(Factor((v,), np.asarray(log_evidence[v, :size], np.float64)))
    return FactorGraph(dict(enumerate(structure.sizes)), tuple(factors))


class Bethe(NamedTuple):
    """The value, and the largest change of a message in the last round."""

    log_partition: Array
    residual: Array


def bethe_loss(
    structure: Structure,
    tables: Tables,
    states: Array,
    weights: Array | None = None,
    options: PropagationOptions = DEFAULT,
) -> Array:
    """sum over rows of Bethe's log Z - score(row)."""
    value = bethe_log_partition(structure, tables, options=options).log_partition
    losses = value - score(structure, tables, states)
    return jnp.sum(losses if weights is None else weights * losses)


def bethe_log_partition(
    structure: Structure,
    tables: Tables,
    log_evidence: Array | None = None,
    options: PropagationOptions = DEFAULT,
) -> Bethe:
    """`log_evidence` is `[variables, most states]`, as for the exact engines."""
    verify_tables(structure, tables)
    propagation.verify_options(options)
    setting = MessageSetting("sum", options.schedule, scaled=False, zeros=True)
    potentials, constant = potentials_of(structure, tables, log_evidence)
    held = jax.tree.map(jax.lax.stop_gradient, potentials)
    dtype = potentials.unary.dtype
    limits = [jnp.asarray(limit, dtype) for limit in (options.damping, options.tolerance)]
    rounds = jnp.asarray(options.max_iterations, jnp.int32)
    fixed = propagation.propagate(held, *limits, rounds, setting=setting)
    messages = jax.tree.map(jax.lax.stop_gradient, fixed.messages)
    totals = totals_of(potentials, messages, setting)
    value = propagation.bethe(potentials, messages, totals, setting)
    return Bethe(constant + value, jax.lax.stop_gradient(fixed.residual))


def potentials_of(
    structure: Structure, tables: Tables, log_evidence: Array | None
) -> tuple[Potentials, Array]:
    """Factors of one variable join its unary potential, those of none the constant."""
    dtype = jnp.result_type(float)
    sizes = np.array(structure.sizes, int)[None]
    exists = np.where(np.arange(structure.most_states)[:, None] < sizes, 0.0, -np.inf).astype(dtype)
    unary = jnp.asarray(exists)
    if log_evidence is not None:
        unary = unary + log_evidence.T.astype(dtype)
    constant = jnp.zeros((), dtype)
    groups = []
    for group, table in zip(structure.groups, tables, strict=True):
        logs = jnp.moveaxis(jnp.asarray(table, dtype), 0, -1)
        if logs.ndim == 1:
            constant = constant + jnp.sum(logs)
        elif logs.ndim == 2:
            unary = unary.at[: logs.shape[0], group.scopes[:, 0]].add(logs)
        else:
            groups.append(FactorBatch(logs, group.scopes.T.astype(np.int32)))
    return Potentials(unary, tuple(groups)), constant

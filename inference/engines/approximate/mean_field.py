"""Mean field: log q_v(x_v) = unary_v(x_v) + sum_f E_q[log f | x_v] + const, colour by colour.

It climbs the lower bound log Z >= E_q[log f] + H(q) over products of independent q. Variables of
one colour share no factor, so that updating them together is coordinate ascent, and the bound never
falls. A factor with zeros needs a start that no zero meets, which is searched for.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...factors.factor_graph import Array, FactorGraph, Floats, Given
from .gibbs import find_start
from .layout import FactorBatch, FactorLayout, greedy_colours, lay_out, soft_columns
from .messages import MAX, REAL, add_up, contract_others, take
from .results import Approximation

Batches = tuple[FactorBatch, ...]


class Ascent(NamedTuple):
    """Where coordinate ascent stands: `q[state, variable]`, the bound, what a sweep gained."""

    q: Array
    bound: Array
    gain: Array
    sweeps: Array


def expected_logs(finite: FactorBatch, dead: FactorBatch, q: Array, kept: int) -> Array:
    """E_q[log f | x_kept], -inf where a zero of f is probable: `[states, factors]`."""
    axes = zip(finite.logs.shape, finite.members, strict=False)
    weights = [take(q[:size], members) for size, members in axes]
    mean = contract_others(REAL, finite.logs, weights, kept)
    return jnp.where(contract_others(REAL, dead.logs, weights, kept) > 0, -jnp.inf, mean)


def split_zeros(groups: Batches) -> tuple[Batches, Batches]:
    """log f without zeros, and where the zeros are: 0 times -inf is 0 in an expectation."""
    finite = [FactorBatch(np.where(np.isneginf(g.logs), 0.0, g.logs), g.members) for g in groups]
    dead = [FactorBatch(np.isneginf(g.logs).astype(np.float64), g.members) for g in groups]
    return tuple(finite), tuple(dead)


def lower_bound(unary: Array, finite: Batches, dead: Batches, q: Array) -> Array:
    """E_q[log f] + H(q); minus infinity if q meets a zero."""
    own = jnp.where(q > 0, unary - jnp.log(jnp.where(q > 0, q, 1.0)), 0.0)
    value = jnp.sum(q * own)
    for f, d in zip(finite, dead, strict=True):
        first = take(q[: f.logs.shape[0]], f.members[0])
        value += jnp.sum(jnp.where(first > 0, first * expected_logs(f, d, q, 0), 0.0))
    return value


@partial(jax.jit, static_argnames="colour_count")
def ascend(
    unary: Array,
    finite: Batches,
    dead: Batches,
    start: Array,
    colours: Array,
    tolerance: Array,
    max_iterations: Array,
    *,
    colour_count: int,
) -> Ascent:
    """Sweeps over the colours until one gains at most the tolerance."""

    def update(colour: Array, q: Array) -> Array:
        logits = unary
        for f, d in zip(finite, dead, strict=True):
            for axis, members in enumerate(f.members):
                mean = expected_logs(f, d, q, axis)
                logits = logits.at[: mean.shape[0], members].add(mean, mode="promise_in_bounds")
        weights = jnp.exp(logits - add_up(MAX, logits)[None])
        return jnp.where((colours == colour)[None], weights / add_up(REAL, weights)[None], q)

    def sweep(state: Ascent) -> Ascent:
        q = jax.lax.fori_loop(0, colour_count, update, state.q)
        bound = lower_bound(unary, finite, dead, q)
        return Ascent(q, bound, bound - state.bound, state.sweeps + 1)

    def going(state: Ascent) -> Array:
        return (state.gain > tolerance) & (state.sweeps < max_iterations)

    infinity, nothing = jnp.full((), jnp.inf), jnp.zeros_like(max_iterations)
    return jax.lax.while_loop(going, sweep, Ascent(start, -infinity, infinity, nothing))


def first_q(layout: FactorLayout, seed: int) -> Floats:
    """Near the unary potentials; with zeros about, certain of one possible configuration."""
    if layout.has_zeros:
        states = find_start(layout, 1, seed)[0]
        return np.asarray(np.arange(layout.states)[:, None] == states[None], dtype=np.float64)
    noise = np.random.default_rng(seed).normal(scale=0.1, size=layout.unary.shape)
    return soft_columns(layout.unary + noise)


def infer_marginals_mean_field(
    graph: FactorGraph,
    given: Given = None,
    *,
    tolerance: float = 1e-9,
    max_iterations: int = 1000,
    seed: int = 0,
) -> Approximation:
    """The best product of independent variables found, and its bound of the log-partition."""
    with jax.enable_x64(True):
        layout = lay_out(graph, given)
        colours = greedy_colours(layout.count, layout.scopes)
        found = ascend(
            layout.unary,
            *split_zeros(layout.groups),
            first_q(layout, seed),
            colours.astype(np.int32),
            jnp.float64(tolerance),
            jnp.int32(max_iterations),
            colour_count=int(colours.max(initial=-1)) + 1,
        )
        gain, bound = float(found.gain), float(found.bound)
    q = np.asarray(found.q)
    return Approximation(
        method="mean field",
        guarantee="approximate, a local best among independent variables",
        converged=gain <= tolerance,
        iterations=int(found.sweeps),
        residual=gain,
        measure="gain of the bound",
        marginals=layout.named_marginals(q),
        log_partition=layout.constant + bound,
        log_partition_is="lower bound",
        entropy=float(-np.sum(q * np.log(np.where(q > 0, q, 1.0)))),
    )

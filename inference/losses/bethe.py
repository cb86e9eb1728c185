"""Bethe's log-partition, from loopy belief propagation: its gradient is the beliefs; exact on trees
(GM26).

At a fixed point the value does not change with the messages to first order, so that they are held
while the value is differentiated. Where the messages do not settle, neither value nor gradient
means much: `residual` says so.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..engines.approximate.layout import FactorBatch
from ..engines.approximate.messages import MessageSetting, Potentials, totals_of
from ..engines.approximate.propagation import (
    DEFAULT,
    PropagationOptions,
    bethe,
    propagate,
    verify_options,
)
from ..engines.tree.structure import Structure
from ..optimise.method import Array
from .scores import Tables, score, verify_tables


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
    verify_options(options)
    setting = MessageSetting("sum", options.schedule, scaled=False, zeros=True)
    potentials, constant = potentials_of(structure, tables, log_evidence)
    held = jax.tree.map(jax.lax.stop_gradient, potentials)
    dtype = potentials.unary.dtype
    limits = (
        jnp.asarray(options.damping, dtype),
        jnp.asarray(options.tolerance, dtype),
        jnp.asarray(options.max_iterations, jnp.int32),
    )
    fixed = propagate(held, *limits, setting=setting)
    messages = jax.tree.map(jax.lax.stop_gradient, fixed.messages)
    value = bethe(potentials, messages, totals_of(potentials, messages, setting), setting)
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

"""Running a program: log Z and its gradient, all marginals (GM05, GM27), in one walk."""

from math import prod
from typing import Any, NamedTuple, Protocol

import jax.numpy as jnp
from jax import lax

from .dense import Scaled, run_dense, scaled_of_logs, scaled_of_wide
from .machine import lengthened, read, take, walk
from .numbers import Wide, logs_of_wide, normalised, ratio, sum_of_products, wide_of_logs
from .program import Crown, TreeProgram

Array = Any


class FlatMarginals(NamedTuple):
    """Of the states of each variable (zero-padded), and of all entries of the tables in line."""

    unary: Array
    tables: Array


class Sources(Protocol):
    """Where the entries of the leaves come from, and the evidence added to the first of them."""

    @property
    def sources(self) -> Any: ...
    @property
    def evidence(self) -> Any: ...


def leaf_logs(program: Sources, tables: Array, log_evidence: Array) -> Array:
    """Tables with the evidence they take in, in the order of the buffer."""
    logs = take(with_zero(tables), program.sources)
    taken = jnp.sum(take(with_zero(log_evidence.reshape(-1)), program.evidence), axis=0)
    return jnp.concatenate([logs[: len(taken)] + taken, logs[len(taken) :]])


def with_zero(x: Array) -> Array:
    return lax.pad(x, x.dtype.type(0), [(0, 1, 0)])


def wide_leaves(program: Sources, tables: Array, log_evidence: Array) -> Wide:
    """The beginning of the buffer: one, zero and the leaves."""
    logs = leaf_logs(program, tables, log_evidence)
    return wide_of_logs(jnp.concatenate([jnp.array([0.0, -jnp.inf], logs.dtype), logs]))


def fill(program: TreeProgram, tables: Array, log_evidence: Array) -> Wide:
    """The buffer after all walks."""
    leaves = wide_leaves(program, tables, log_evidence)
    buffer: Wide = walk(program.up, lengthened(leaves, program.lengths.first), sum_of_products)
    if program.crown:
        buffer = lengthened(run_crown(program.crown, buffer, tables), program.lengths.second)
    return walk(program.down, buffer, sum_of_products) if program.down else buffer


def run_crown(crown: Crown, buffer: Wide, tables: Array) -> Wide:
    """The matrix products, and the buffer with their outputs at its end."""
    arrays: dict[int, Scaled] = {}
    for array, place, shape in crown.inputs:
        end = place + prod(shape)
        found = Wide(
            buffer.mantissa[place:end].reshape(shape), buffer.exponent[place:end].reshape(shape)
        )
        arrays[array] = scaled_of_wide(found)
    for array, place, shape in crown.tables:
        arrays[array] = scaled_of_logs(tables[place : place + prod(shape)].reshape(shape))
    for step in crown.steps:
        arrays[step.out] = run_dense(step, arrays[step.left], arrays[step.right])
    outputs = [arrays[array] for array in crown.outputs]
    values = jnp.concatenate([out.values.reshape(-1) for out in outputs])
    exponents = jnp.concatenate([jnp.full(out.values.size, out.exponent) for out in outputs])
    written = normalised(values, exponents)
    joined = [jnp.concatenate(parts) for parts in zip(buffer, written, strict=True)]
    return Wide(*joined)


def log_of_roots(program: TreeProgram, buffer: Wide) -> Array:
    return jnp.sum(logs_of_wide(read(buffer, program.roots)))


def marginals_of(program: TreeProgram, buffer: Wide) -> FlatMarginals:
    """value * gradient / root, all zero where the evidence is impossible."""
    roots: Wide = read(buffer, program.roots)
    possible = jnp.all(roots.mantissa > 0)
    totals = Wide(jnp.where(possible, roots.mantissa, 0.0), roots.exponent)
    unary = ratio(
        read(buffer, program.unary), one_like(buffer), per_row(read(totals, program.unary_roots))
    )
    tables = ratio(
        read(buffer, program.values),
        read(buffer, program.gradients),
        read(totals, program.value_roots),
    )
    return FlatMarginals(unary, tables)


def one_like(buffer: Wide) -> Wide:
    return Wide(jnp.ones((), buffer.mantissa.dtype), jnp.zeros((), jnp.int32))


def per_row(number: Wide) -> Wide:
    return Wide(number.mantissa[:, None], number.exponent[:, None])

"""Running a program: log Z and its gradient, all marginals (GM05, GM27), in one walk.

A walk over the tiles of a circuit is one small program, whatever the network: the indices are its
arguments. The derivative of log Z is its own: d log Z = sum of marginals * d log-potentials.
"""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jax.custom_derivatives import SymbolicZero

from ..engine import Tables
from . import numbers
from .circuit import Tiles
from .lowering import Crown, TreeProgram
from .numbers import Scaled, Wide

Array = Any
Buffer = Any
Combine = Callable[[Buffer, Buffer], Buffer]
ENTRIES = lax.GatherDimensionNumbers(
    offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,)
)


def read(buffer: Buffer, places: Array) -> Buffer:
    """Entries of every array of the buffer; places are in range by construction."""
    return jax.tree.map(lambda x: take(x, places), buffer)


def take(x: Array, places: Array) -> Array:
    """x[places] without the care for negative and large indices that indexing takes."""
    indices = lax.expand_dims(places, (places.ndim,))
    return lax.gather(x, indices, ENTRIES, (1,), mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)


def lengthened(buffer: Buffer, length: int) -> Buffer:
    return jax.tree.map(lambda x: lax.pad(x, x.dtype.type(0), [(0, length - len(x), 0)]), buffer)


def walk(tiles: Tiles, buffer: Buffer, combine: Combine) -> Buffer:
    """buffer[start : start + columns] = combine(buffer[left], buffer[right]), tile after tile."""

    def turn(buffer: Buffer, tile: Tiles) -> tuple[Buffer, None]:
        out = combine(read(buffer, tile.left), read(buffer, tile.right))
        start = (tile.starts,)
        return jax.tree.map(lambda x, y: lax.dynamic_update_slice(x, y, start), buffer, out), None

    return lax.scan(turn, buffer, tiles)[0]


def in_turn(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which a batch runs case after case on a CPU: what one case reads stays in the
    nearest cache, and reading is most of the time. Elsewhere cases run side by side.
    """
    turns: Any = custom_vmap(function)

    def batch(size: int, batched: Any, *arguments: Any) -> tuple[Any, Any]:
        on_cpu = jax.default_backend() == "cpu"
        leaves, tree = jax.tree.flatten(arguments)
        mapped = jax.tree.leaves(batched)

        def one(case: list[Any]) -> Any:
            own = iter(case)
            parts = [next(own) if m else x for x, m in zip(leaves, mapped, strict=True)]
            whole = jax.tree.unflatten(tree, parts)
            return turns(*whole) if on_cpu else function(*whole)

        cases = [x for x, m in zip(leaves, mapped, strict=True) if m]
        out = lax.map(one, cases, batch_size=None if on_cpu else size)
        return out, jax.tree.map(lambda _: True, out)

    turns.def_vmap(batch)
    return lambda *arguments: turns(*arguments)


def flat(tables: Tables, log_evidence: Array) -> tuple[Array, Array]:
    """Tables laid end to end, and the evidence, in one type of float."""
    dtype = jnp.result_type(*tables, log_evidence)
    parts = [lax.convert_element_type(table, dtype).reshape(-1) for table in tables]
    flattened = jnp.concatenate([jnp.zeros(0, dtype), *parts])
    return flattened, lax.convert_element_type(log_evidence, dtype)


class FlatMarginals(NamedTuple):
    """Of the states of each variable (zero-padded), and of all entries of the tables in line."""

    unary: Array
    tables: Array


def leaf_logs(program: Any, tables: Array, log_evidence: Array) -> Array:
    """Tables at the `sources` of a program, the first ones with the `evidence` they take in."""
    logs = take(with_zero(tables), program.sources)
    taken = jnp.sum(take(with_zero(log_evidence.reshape(-1)), program.evidence), axis=0)
    return jnp.concatenate([logs[: len(taken)] + taken, logs[len(taken) :]])


def with_zero(x: Array) -> Array:
    return lax.pad(x, x.dtype.type(0), [(0, 1, 0)])


def wide_leaves(program: Any, tables: Array, log_evidence: Array) -> Wide:
    """The beginning of the buffer: one, zero and the leaves."""
    logs = leaf_logs(program, tables, log_evidence)
    return numbers.wide_of_logs(jnp.concatenate([jnp.array([0.0, -jnp.inf], logs.dtype), logs]))


def fill(program: TreeProgram, tables: Array, log_evidence: Array) -> Wide:
    """The buffer after all walks."""
    leaves = wide_leaves(program, tables, log_evidence)
    start = lengthened(leaves, program.first_length)
    buffer: Wide = walk(program.up, start, numbers.sum_of_products)
    if program.crown:
        buffer = lengthened(run_crown(program.crown, buffer, tables), program.length)
    return walk(program.down, buffer, numbers.sum_of_products) if program.down else buffer


def run_crown(crown: Crown, buffer: Wide, tables: Array) -> Wide:
    """The matrix products, and the buffer with their outputs at its end."""
    arrays: dict[int, Scaled] = {}
    for array, place, shape in crown.inputs:
        parts = [part[place : place + prod(shape)].reshape(shape) for part in buffer]
        arrays[array] = numbers.scaled_of_wide(Wide(*parts))
    for array, place, shape in crown.tables:
        arrays[array] = numbers.scaled_of_logs(tables[place : place + prod(shape)].reshape(shape))
    for step in crown.steps:
        arrays[step.out] = numbers.run_dense(step, arrays[step.left], arrays[step.right])
    outputs = [arrays[array] for array in crown.outputs]
    values = jnp.concatenate([out.values.reshape(-1) for out in outputs])
    exponents = jnp.concatenate([jnp.full(out.values.size, out.exponent) for out in outputs])
    written = numbers.normalised(values, exponents)
    joined = [jnp.concatenate(parts) for parts in zip(buffer, written, strict=True)]
    return Wide(*joined)


def log_of_roots(program: TreeProgram, buffer: Wide) -> Array:
    return jnp.sum(numbers.logs_of_wide(read(buffer, program.roots)))


def marginals_of(program: TreeProgram, buffer: Wide) -> FlatMarginals:
    """value * gradient / root, all zero where the evidence is impossible."""
    roots: Wide = read(buffer, program.roots)
    possible = jnp.all(roots.mantissa > 0)
    totals = Wide(jnp.where(possible, roots.mantissa, 0.0), roots.exponent)
    one = Wide(jnp.ones((), buffer.mantissa.dtype), jnp.zeros((), jnp.int32))
    by_row = Wide(*[part[:, None] for part in read(totals, program.unary_roots)])
    unary = numbers.ratio(read(buffer, program.unary), one, by_row)
    values, gradients = read(buffer, program.values), read(buffer, program.gradients)
    return FlatMarginals(unary, numbers.ratio(values, gradients, read(totals, program.value_roots)))


class Programs(NamedTuple):
    """For the partition alone, with marginals of variables, and with those of factors as well."""

    partition: TreeProgram
    unary: TreeProgram
    all: TreeProgram


@jax.custom_jvp
def log_partition(programs: Programs, tables: Array, log_evidence: Array) -> Array:
    """log sum_x exp(tables + evidence at x); -inf, of gradient zero, if impossible (GM16)."""
    return partition_in_turn(programs.partition, tables, log_evidence)


def derivative(
    primals: tuple[Programs, Array, Array], tangents: tuple[Any, Array, Array]
) -> tuple[Array, Array]:
    """One pass gives the value and the gradient; tables that are constants need no gradient."""
    programs, tables, log_evidence = primals
    _, tables_dot, evidence_dot = tangents
    fixed = isinstance(tables_dot, SymbolicZero)
    program = programs.unary if fixed else programs.all
    log_z, marginals = partition_and_marginals(program, tables, log_evidence)
    change = jnp.zeros((), log_z.dtype)
    if not isinstance(evidence_dot, SymbolicZero):
        change += jnp.vdot(marginals.unary, evidence_dot)
    if not fixed:
        change += jnp.vdot(marginals.tables, tables_dot)
    return log_z, change


log_partition.defjvp(derivative, symbolic_zeros=True)


def plain_marginals(
    program: TreeProgram, tables: Array, log_evidence: Array
) -> tuple[Array, FlatMarginals]:
    buffer = fill(program, tables, log_evidence)
    return log_of_roots(program, buffer), marginals_of(program, buffer)


partition_in_turn = in_turn(lambda program, *given: log_of_roots(program, fill(program, *given)))
marginals_in_turn = in_turn(plain_marginals)


@jax.custom_jvp
def partition_and_marginals(
    program: TreeProgram, tables: Array, log_evidence: Array
) -> tuple[Array, FlatMarginals]:
    """log Z and its gradient, whose derivatives (covariances) are those of the passes."""
    found: tuple[Array, FlatMarginals] = marginals_in_turn(program, tables, log_evidence)
    return found


@partition_and_marginals.defjvp
def derivative_of_marginals(
    primals: tuple[TreeProgram, Array, Array], tangents: tuple[Any, Array, Array]
) -> Any:
    return jax.jvp(partial(plain_marginals, primals[0]), primals[1:], tangents[1:])

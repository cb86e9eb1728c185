"""log Z with a derivative of its own: d log Z = sum of marginals * d logs (GM05, GM27)."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from .machine import in_turn
from .passes import FlatMarginals, fill, log_of_roots, marginals_of
from .program import TreeProgram

Array = Any


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
    log_z, marginals = partition_and_marginals(
        programs.unary if fixed else programs.all, tables, log_evidence
    )
    change = jnp.zeros((), log_z.dtype)
    if not isinstance(evidence_dot, SymbolicZero):
        change += jnp.vdot(marginals.unary, evidence_dot)
    if not fixed:
        change += jnp.vdot(marginals.tables, tables_dot)
    return log_z, change


log_partition.defjvp(derivative, symbolic_zeros=True)


def plain_partition(program: TreeProgram, tables: Array, log_evidence: Array) -> Array:
    return log_of_roots(program, fill(program, tables, log_evidence))


def plain_marginals(
    program: TreeProgram, tables: Array, log_evidence: Array
) -> tuple[Array, FlatMarginals]:
    buffer = fill(program, tables, log_evidence)
    return log_of_roots(program, buffer), marginals_of(program, buffer)


partition_in_turn = in_turn(plain_partition)
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

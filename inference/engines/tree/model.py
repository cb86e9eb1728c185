"""A compiled structure: every question is a pure function of tables and evidence.

Tables are log-potentials, one array (factors, states...) for each group of the structure, with one
table where all its factors share it. Evidence is an array (variables, most states) of
log-likelihoods: zeros where nothing is known, -inf for states that are excluded; entries beyond a
variable's states are ignored. Neither new tables nor new evidence compile anything again.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from math import inf
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from ...errors import InferenceError
from ...planning.plan import Plan, verify_memory
from ..engine import Decoded, Engine, Tables
from .crown import Outputs, TreeProgram
from .decode import Trail, draw_samples, infer_mode, lower_trail
from .leaves import Leaves
from .levels import Levels, log_partition_by_levels, lower_levels
from .lowering import lower_plan, plan_structure
from .passes import Programs, log_partition, partition_and_marginals
from .structure import Structure

Array = Any
DENSE_FROM = 8192
FEW_TERMS = 1_000_000  # in all: compiling matrix products would take longer than they save


@dataclass(frozen=True, eq=False)
class Compiled(Engine):
    """Pure functions that jit, vmap and grad accept; each lowers its program when first asked."""

    structure: Structure
    leaves: Leaves
    plan: Plan
    dense_from: float
    levels: Levels | None

    @cached_property
    def programs(self) -> Programs:
        return Programs(self.lower(Outputs.PARTITION), self.unary, self.lower(Outputs.ALL))

    @cached_property
    def unary(self) -> TreeProgram:
        return self.lower(Outputs.UNARY)

    @cached_property
    def trail(self) -> Trail:
        return on_device(lower_trail(self.structure, self.leaves, self.plan))

    def lower(self, wanted: Outputs) -> TreeProgram:
        return on_device(
            lower_plan(self.structure, self.leaves, self.plan, wanted, self.dense_from)
        )

    def log_partition(self, tables: Tables, log_evidence: Array) -> Array:
        """log Z; its gradient is the marginals of factors and variables, its Hessian covariance."""
        whole = check_shapes(self.structure, tables, log_evidence)
        if self.levels is not None:
            return run_levels(self, whole, log_evidence)
        return run_log_partition(self.programs, whole, log_evidence)

    def marginals(self, tables: Tables, log_evidence: Array) -> Array:
        """As derived, but always by tiles: the gradient of levels takes longer to compile."""
        whole = check_shapes(self.structure, tables, log_evidence)
        return run_marginals(self.unary, whole, log_evidence)

    def mode(self, tables: Tables, log_evidence: Array) -> Decoded:
        """One most probable configuration and its log-score; of equals the first everywhere."""
        whole = check_shapes(self.structure, tables, log_evidence)
        found: Decoded = run_mode(self.trail, whole, log_evidence)
        return found

    def sample(self, key: Array, count: int, tables: Tables, log_evidence: Array) -> Array:
        """Exact joint samples (sample, variable), meaningless where log Z is -infinity."""
        whole = check_shapes(self.structure, tables, log_evidence)
        return run_sample(self.trail, key, count, whole, log_evidence)


def compile_structure(
    structure: Structure, *, dense_from: float | None = None, memory: int | None = None
) -> Compiled:
    """Plans a structure. Products of at least `dense_from` terms become matrix products, fast but
    of limited range; with `dense_from=math.inf` no range of potentials is lost. Small networks are
    run so anyway, and the log-partition of the smallest is written out. Raises MemoryLimitError
    where the plan needs more than `memory` bytes.
    """
    leaves, plan = plan_structure(structure)
    verify_memory(plan, memory)
    if dense_from is not None:
        return Compiled(structure, leaves, plan, dense_from, None)
    levels = lower_levels(structure, leaves, plan)
    return Compiled(
        structure, leaves, plan, inf if plan.operations < FEW_TERMS else DENSE_FROM, levels
    )


Held = TypeVar("Held", TreeProgram, Trail)


def on_device(held: Held) -> Held:
    """Index arrays as arrays of JAX, even when first asked for while a function is traced."""
    with jax.ensure_compile_time_eval():
        moved: Held = jax.device_put(held)
        return moved


def flat(tables: Tables, log_evidence: Array) -> tuple[Array, Array]:
    """Tables laid end to end, and the evidence, in one type of float."""
    dtype = jnp.result_type(*tables, log_evidence)
    parts = [lax.convert_element_type(table, dtype).reshape(-1) for table in tables]
    return jnp.concatenate([jnp.zeros(0, dtype), *parts]), lax.convert_element_type(
        log_evidence, dtype
    )


@partial(jax.jit, static_argnums=0)
def run_levels(compiled: Compiled, tables: Tables, log_evidence: Array) -> Array:
    assert compiled.levels is not None
    return log_partition_by_levels(compiled.levels, compiled.structure, tables, log_evidence)


@jax.jit
def run_log_partition(programs: Programs, tables: Tables, log_evidence: Array) -> Array:
    return log_partition(programs, *flat(tables, log_evidence))


@jax.jit
def run_marginals(program: TreeProgram, tables: Tables, log_evidence: Array) -> Array:
    return partition_and_marginals(program, *flat(tables, log_evidence))[1].unary


@jax.jit
def run_mode(trail: Trail, tables: Tables, log_evidence: Array) -> Decoded:
    return infer_mode(trail, *flat(tables, log_evidence))


@partial(jax.jit, static_argnames="count")
def run_sample(trail: Trail, key: Array, count: int, tables: Tables, log_evidence: Array) -> Array:
    return draw_samples(trail, key, count, *flat(tables, log_evidence))


def check_shapes(structure: Structure, tables: Tables, log_evidence: Array) -> tuple[Array, ...]:
    """A table for each factor, where one may serve all of its group."""
    found = tuple([jnp.shape(table) for table in tables])
    fits = [
        own in (whole, (1, *whole[1:])) for own, whole in zip(found, structure.shapes, strict=False)
    ]
    if len(found) != len(structure.shapes) or not all(fits):
        raise InferenceError(
            f"tables have the shapes {found}, the structure needs {structure.shapes}"
        )
    needed = (len(structure.sizes), structure.most_states)
    if jnp.shape(log_evidence) != needed:
        raise InferenceError(
            f"log_evidence has the shape {jnp.shape(log_evidence)}, needs {needed}: variables, "
            "states"
        )
    return each_table(structure, tables)


def each_table(structure: Structure, tables: Tables) -> tuple[Array, ...]:
    return tuple(
        [
            jnp.broadcast_to(table, shape)
            for table, shape in zip(tables, structure.shapes, strict=True)
        ]
    )

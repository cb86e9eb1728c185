"""A compiled structure: every question is a pure function of tables and evidence.

Tables are log-potentials, one array (factors, states...) for each group of the structure, with one
table where all its factors share it. Evidence is an array (variables, most states) of
log-likelihoods: zeros where nothing is known, -inf for states that are excluded; entries beyond a
variable's states are ignored. Neither new tables nor new evidence compile anything again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import InferenceError
from ...factors.semirings import log_sum_exp
from ...planning.orders import bits
from ...planning.plan import ALONE, Memory, Plan, verify_memory
from ..engine import Decoded, Engine, Tables
from .decode import Trail, draw_samples, infer_mode, lower_trail
from .lowering import Outputs, TreeProgram, lower_plan, plan_structure
from .passes import Programs, flat, log_partition, partition_and_marginals
from .structure import Leaves, Structure

Array = Any
Scope = tuple[int, ...]
ArrayRow = tuple[int, int]  # the number of an array, and a row of it
Held = TypeVar("Held", TreeProgram, Trail)
MOST_BATCHES = 64
MOST_TERMS = 100_000
DENSE_FROM = 8192
FEW_TERMS = 1_000_000  # in all: compiling matrix products would take longer than they save


# ---- Small plans written out: all products of one shape and level are one operation, in logarithms
#
# A program of a few operations out = log sum exp (left + right) runs tens of times faster than
# the walk over tiles that large plans need; JAX derives its gradient, the marginals.


class ProductShape(NamedTuple):
    """Products of tensors with these axes, numbered along (kept..., summed...), of `sizes`."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    kept: int
    sizes: tuple[int, ...]


class Batch(NamedTuple):
    """Products of one shape: where their factors lie; without a right one, sums alone."""

    shape: ProductShape
    left: tuple[ArrayRow, ...]
    right: tuple[ArrayRow, ...]


class Levels(NamedTuple):
    """Arrays of leaves, one for each group of tables and each list of `alone`, then the batches'.
    `takes` tells for each group and axis which factors take in the evidence of their variable;
    `alone` are variables of one size each whose evidence no factor takes in.
    """

    batches: tuple[Batch, ...]
    roots: tuple[ArrayRow, ...]
    takes: tuple[tuple[np.ndarray[Any, Any], ...], ...]
    alone: tuple[list[int], ...]


def lower_levels(structure: Structure, leaves: Leaves, plan: Plan) -> Levels | None:
    """None where the plan is too large for it."""
    if plan.operations > MOST_TERMS:
        return None
    found: dict[int, list[int]] = {}
    for leaf in leaves.leaves[len(structure.factors) :]:
        found.setdefault(structure.sizes[leaf.scope[0]], []).append(leaf.scope[0])
    alone = tuple(found.values())
    places = leaf_places(structure, leaves, alone)
    scopes = [leaf.scope for leaf in leaves.leaves]
    count = len(structure.groups) + len(alone)
    levels = [0] * len(scopes)
    waiting: dict[tuple[int, ProductShape], list[tuple[int, int, int]]] = {}
    for number, step in enumerate(plan.tree.steps, plan.tree.leaf_count):
        scope: Scope = tuple([int(plan.names[v]) for v in bits(step.scope)])  # type: ignore[call-overload]
        scopes.append(scope)
        inner = [child for child in (step.left, step.right) if child != ALONE]
        levels.append(1 + max(levels[child] for child in inner))
        below = scopes[step.right] if step.right != ALONE else ()
        shape = shape_of(structure, scope, scopes[step.left], below)
        waiting.setdefault((levels[-1], shape), []).append((number, step.left, step.right))
    if len(waiting) > MOST_BATCHES:
        return None
    batches = []
    for _, shape in sorted(waiting, key=lambda key: key[0]):
        members = sorted(waiting[_, shape], key=lambda member: places[member[1]])
        right = tuple([places[other] for _, _, other in members if other != ALONE])
        batches.append(Batch(shape, tuple([places[one] for _, one, _ in members]), right))
        places |= {node: (count, row) for row, (node, _, _) in enumerate(members)}
        count += 1
    roots = tuple([places[root] for root in plan.tree.roots])
    hosts, takes, start = np.array(leaves.hosts, np.intp), [], 0
    for group in structure.groups:
        factors = np.arange(start, start + len(group.scopes))
        takes.append(tuple([hosts[variables] == factors for variables in group.scopes.T]))
        start += len(factors)
    return Levels(tuple(batches), roots, tuple(takes), alone)


def leaf_places(
    structure: Structure, leaves: Leaves, alone: tuple[list[int], ...]
) -> dict[int, ArrayRow]:
    """Factors in the order of their groups, then the variables that have a leaf of their own."""
    places: list[ArrayRow] = []
    for g, group in enumerate(structure.groups):
        places += [(g, row) for row in range(len(group.scopes))]
    by_variable: dict[int, ArrayRow] = {}
    for k, own in enumerate(alone, len(structure.groups)):
        by_variable |= {v: (k, row) for row, v in enumerate(own)}
    places += [by_variable[leaf.scope[0]] for leaf in leaves.leaves[len(places) :]]
    return dict(enumerate(places))


def shape_of(structure: Structure, out: Scope, left: Scope, right: Scope) -> ProductShape:
    axes = {v: axis for axis, v in enumerate(dict.fromkeys([*out, *left, *right]))}
    sizes = tuple([structure.sizes[v] for v in axes])
    lefts, rights = tuple([axes[v] for v in left]), tuple([axes[v] for v in right])
    return ProductShape(lefts, rights, len(out), sizes)


@partial(jax.jit, static_argnums=0)
def log_partition_by_levels(compiled: "Compiled", tables: Tables, log_evidence: Array) -> Array:
    """log Z; minus infinity, with gradient zero, where nothing is possible."""
    levels = compiled.levels
    assert levels is not None
    arrays = leaf_arrays(levels, compiled.structure, tables, log_evidence)
    for batch in levels.batches:
        shape = batch.shape
        product = aligned(rows(arrays, batch.left), shape.left, shape)
        if batch.right:
            product = product + aligned(rows(arrays, batch.right), shape.right, shape)
        axes = tuple(range(1 + shape.kept, 1 + len(shape.sizes)))
        arrays.append(log_sum_exp(product, axes, jnp) if axes else product)
    sums = [jnp.sum(rows(arrays, [root])) for root in levels.roots]
    total = sum(sums, jnp.zeros((), log_evidence.dtype))
    return jnp.where(jnp.isneginf(total), -jnp.inf, total)


def leaf_arrays(
    levels: Levels, structure: Structure, tables: Tables, log_evidence: Array
) -> list[Array]:
    """Tables with the evidence that they take in, and the evidence itself."""
    arrays = []
    for group, takes, table in zip(structure.groups, levels.takes, tables, strict=True):
        whole = table
        for axis, (own, variables) in enumerate(zip(takes, group.scopes.T, strict=True), 1):
            if own.any():
                size = table.shape[axis]
                evidence = jnp.where(own[:, None], log_evidence[variables, :size], 0.0)
                shape = [size if k == axis else 1 for k in range(1, table.ndim)]
                whole = whole + evidence.reshape(-1, *shape)
        arrays.append(whole)
    for alike in levels.alone:
        arrays.append(log_evidence[np.array(alike), : structure.sizes[alike[0]]])
    return arrays


def aligned(stacked: Array, axes: tuple[int, ...], shape: ProductShape) -> Array:
    """[rows, axes...] as [rows, all axes...], of length one where it has none."""
    order = sorted(range(len(axes)), key=axes.__getitem__)
    moved = jnp.transpose(stacked, (0, *[1 + k for k in order]))
    lengths = [size if axis in axes else 1 for axis, size in enumerate(shape.sizes)]
    return moved.reshape(-1, *lengths)


def rows(arrays: list[Array], places: Sequence[ArrayRow]) -> Array:
    """These rows one after the other."""
    used = sorted({array for array, _ in places})
    offsets = dict(zip(used, np.cumsum([0, *[len(arrays[k]) for k in used[:-1]]]), strict=True))
    whole = arrays[used[0]] if len(used) == 1 else jnp.concatenate([arrays[k] for k in used])
    wanted = np.array([offsets[array] + row for array, row in places])
    first, step = int(wanted[0]), int(wanted[1] - wanted[0]) if len(wanted) > 1 else 1
    if step > 0 and (np.diff(wanted) == step).all():
        return jax.lax.slice_in_dim(whole, first, int(wanted[-1]) + 1, stride=step)
    return whole.at[wanted].get(mode="promise_in_bounds")


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
        lowered = lower_plan(self.structure, self.leaves, self.plan, wanted, self.dense_from)
        return on_device(lowered)

    def log_partition(self, tables: Tables, log_evidence: Array) -> Array:
        """log Z; its gradient is the marginals of factors and variables, its Hessian covariance."""
        whole = check_shapes(self.structure, tables, log_evidence)
        if self.levels is not None:
            return log_partition_by_levels(self, whole, log_evidence)
        return run_log_partition(self.programs, whole, log_evidence)

    def marginals(self, tables: Tables, log_evidence: Array) -> Array:
        """As derived, but always by tiles: the gradient of levels takes longer to compile."""
        whole = check_shapes(self.structure, tables, log_evidence)
        return run_marginals(self.unary, whole, log_evidence)

    def mode(self, tables: Tables, log_evidence: Array) -> Decoded:
        whole = check_shapes(self.structure, tables, log_evidence)
        found: Decoded = infer_mode(self.trail, whole, log_evidence)
        return found

    def sample(self, key: Array, count: int, tables: Tables, log_evidence: Array) -> Array:
        whole = check_shapes(self.structure, tables, log_evidence)
        return draw_samples(self.trail, key, count, whole, log_evidence)


def compile_structure(
    structure: Structure, *, dense_from: float | None = None, memory: Memory = None
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
    dense_from = inf if plan.operations < FEW_TERMS else DENSE_FROM
    return Compiled(structure, leaves, plan, dense_from, levels)


def on_device(held: Held) -> Held:
    """Index arrays as arrays of JAX, even when first asked for while a function is traced."""
    with jax.ensure_compile_time_eval():
        moved: Held = jax.device_put(held)
        return moved


@jax.jit
def run_log_partition(programs: Programs, tables: Tables, log_evidence: Array) -> Array:
    return log_partition(programs, *flat(tables, log_evidence))


@jax.jit
def run_marginals(program: TreeProgram, tables: Tables, log_evidence: Array) -> Array:
    return partition_and_marginals(program, *flat(tables, log_evidence))[1].unary


def check_shapes(structure: Structure, tables: Tables, log_evidence: Array) -> tuple[Array, ...]:
    """A table for each factor, where one may serve all of its group."""
    found = tuple([jnp.shape(table) for table in tables])
    pairs = zip(found, structure.shapes, strict=False)
    fits = [own in (whole, (1, *whole[1:])) for own, whole in pairs]
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
    pairs = zip(tables, structure.shapes, strict=True)
    return tuple([jnp.broadcast_to(table, shape) for table, shape in pairs])

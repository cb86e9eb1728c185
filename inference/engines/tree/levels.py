"""Small plans written out: all products of one shape and level are one operation, in logarithms.

A program of a few operations out = log sum exp (left + right) runs tens of times faster than the
walk over tiles that large plans need; JAX derives its gradient, the marginals.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...factors.semirings import log_sum_exp
from ...planning.contraction import ALONE
from ...planning.orders import bits
from ...planning.plan import Plan
from .leaves import Leaves
from .structure import Structure

Array = Any
Scope = tuple[int, ...]
MOST_BATCHES = 64
MOST_TERMS = 100_000


class ArrayRow(NamedTuple):
    """Row `row` of array `array`."""

    array: int
    row: int


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
        shape = shape_of(
            structure, scope, scopes[step.left], scopes[step.right] if step.right != ALONE else ()
        )
        waiting.setdefault((levels[-1], shape), []).append((number, step.left, step.right))
    if len(waiting) > MOST_BATCHES:
        return None
    batches = []
    for _, shape in sorted(waiting, key=lambda key: key[0]):
        members = sorted(waiting[_, shape], key=lambda member: places[member[1]])
        right = tuple([places[other] for _, _, other in members if other != ALONE])
        batches.append(Batch(shape, tuple([places[one] for _, one, _ in members]), right))
        places |= {node: ArrayRow(count, row) for row, (node, _, _) in enumerate(members)}
        count += 1
    roots = tuple([places[root] for root in plan.tree.roots])
    return Levels(tuple(batches), roots, taken(structure, leaves), alone)


def leaf_places(
    structure: Structure, leaves: Leaves, alone: tuple[list[int], ...]
) -> dict[int, ArrayRow]:
    """Factors in the order of their groups, then the variables that have a leaf of their own."""
    places = [
        ArrayRow(g, row)
        for g, group in enumerate(structure.groups)
        for row in range(len(group.scopes))
    ]
    start = len(structure.groups)
    by_variable = {
        v: ArrayRow(start + k, row) for k, own in enumerate(alone) for row, v in enumerate(own)
    }
    places += [by_variable[leaf.scope[0]] for leaf in leaves.leaves[len(places) :]]
    return dict(enumerate(places))


def shape_of(structure: Structure, out: Scope, left: Scope, right: Scope) -> ProductShape:
    axes = {v: axis for axis, v in enumerate(dict.fromkeys([*out, *left, *right]))}
    sizes = tuple([structure.sizes[v] for v in axes])
    return ProductShape(
        tuple([axes[v] for v in left]), tuple([axes[v] for v in right]), len(out), sizes
    )


def taken(structure: Structure, leaves: Leaves) -> tuple[tuple[np.ndarray[Any, Any], ...], ...]:
    hosts = np.array(leaves.hosts, np.intp)
    found, start = [], 0
    for group in structure.groups:
        factors = np.arange(start, start + len(group.scopes))
        found.append(tuple([hosts[variables] == factors for variables in group.scopes.T]))
        start += len(factors)
    return tuple(found)


# ---- running


def log_partition_by_levels(
    levels: Levels, structure: Structure, tables: Sequence[Array], log_evidence: Array
) -> Array:
    """log Z; minus infinity, with gradient zero, where nothing is possible."""
    arrays = leaf_arrays(levels, structure, tables, log_evidence)
    for batch in levels.batches:
        shape = batch.shape
        product = aligned(rows(arrays, batch.left), shape.left, shape)
        if batch.right:
            product = product + aligned(rows(arrays, batch.right), shape.right, shape)
        axes = tuple(range(1 + shape.kept, 1 + len(shape.sizes)))
        arrays.append(log_sum_exp(product, axes, jnp) if axes else product)
    total = sum(
        [jnp.sum(rows(arrays, [root])) for root in levels.roots], jnp.zeros((), log_evidence.dtype)
    )
    return jnp.where(jnp.isneginf(total), -jnp.inf, total)


def leaf_arrays(
    levels: Levels, structure: Structure, tables: Sequence[Array], log_evidence: Array
) -> list[Array]:
    """Tables with the evidence that they take in, and the evidence itself."""
    arrays = []
    for group, takes, table in zip(structure.groups, levels.takes, tables, strict=True):
        whole = table
        for axis, (own, variables) in enumerate(zip(takes, group.scopes.T, strict=True), 1):
            if own.any():
                size = table.shape[axis]
                evidence = jnp.where(own[:, None], log_evidence[variables, :size], 0.0)
                whole = whole + evidence.reshape(
                    -1, *[size if k == axis else 1 for k in range(1, table.ndim)]
                )
        arrays.append(whole)
    return [
        *arrays,
        *[log_evidence[np.array(own), : structure.sizes[own[0]]] for own in levels.alone],
    ]


def aligned(stacked: Array, axes: tuple[int, ...], shape: ProductShape) -> Array:
    """[rows, axes...] as [rows, all axes...], of length one where it has none."""
    order = sorted(range(len(axes)), key=axes.__getitem__)
    moved = jnp.transpose(stacked, (0, *[1 + k for k in order]))
    return moved.reshape(
        -1, *[size if axis in axes else 1 for axis, size in enumerate(shape.sizes)]
    )


def rows(arrays: list[Array], places: Sequence[ArrayRow]) -> Array:
    """These rows one after the other."""
    used = sorted({place.array for place in places})
    offsets = dict(zip(used, np.cumsum([0, *[len(arrays[k]) for k in used[:-1]]]), strict=True))
    whole = arrays[used[0]] if len(used) == 1 else jnp.concatenate([arrays[k] for k in used])
    return take(whole, np.array([offsets[place.array] + place.row for place in places]))


def take(array: Array, wanted: np.ndarray[Any, Any]) -> Array:
    """array[wanted], as a slice where rows are evenly spaced: its gradient is no scatter."""
    first, step = int(wanted[0]), int(wanted[1] - wanted[0]) if len(wanted) > 1 else 1
    if step > 0 and (np.diff(wanted) == step).all():
        return jax.lax.slice_in_dim(array, first, int(wanted[-1]) + 1, stride=step)
    return array.at[wanted].get(mode="promise_in_bounds")

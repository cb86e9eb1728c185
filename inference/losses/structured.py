"""Fenchel-Young losses over the configurations of a structure: CRF, perceptron, SparseMAP.

theta are the tables laid end to end and y the indicator of the entries that a configuration reads,
so that <theta, y> is its score; Omega is minus the entropy of the joint distribution (CRF), nothing
(perceptron), or |mu|^2 / 2 over the marginals of the factors (SparseMAP).

SparseMAP projects theta onto the hull of the y, the marginal polytope, by Wolfe's active sets: the
mode at theta - mu joins the configurations that mu mixes, weights are solved for on their affine
hull, and those that would turn negative leave. The gap, the largest of <theta - mu, y - mu>, bounds
the distance to the optimum and ends it. For one variable it is sparsemax.
"""

from collections.abc import Callable
from itertools import accumulate
from math import prod
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..engines.engine import Tables
from ..engines.tree.structure import Structure
from ..optimise.method import Array, eps_of
from .fields import places, score, verify_tables

Solve = Callable[[Tables], Array]
CLOSE = 1e3  # roundings of theta that the gap may be
ROUNDS = 8  # for each configuration of the limit


def crf_loss(
    structure: Structure, log_partition: Callable[[Tables], Array], tables: Tables, states: Array
) -> Array:
    """log Z - score of each row: minus the log-likelihood."""
    return log_partition(tables) - score(structure, tables, states)


def perceptron_loss(structure: Structure, mode: Solve, tables: Tables, states: Array) -> Array:
    """max_x score(x) - score of each row; `mode` gives the states of a maximum."""
    best = jax.lax.stop_gradient(mode([jax.lax.stop_gradient(table) for table in tables]))
    return score(structure, tables, best) - score(structure, tables, states)


class SparseMap(NamedTuple):
    """Marginals like the tables, the configurations that they mix, their weights, the gap."""

    marginals: tuple[Array, ...]
    states: Array
    weights: Array
    gap: Array
    value: Array


class Active(NamedTuple):
    """Configurations and their weights; those not in use have weight zero."""

    states: Array
    atoms: Array
    used: Array
    weights: Array
    gap: Array
    count: Array


def sparsemap_loss(
    structure: Structure, mode: Solve, tables: Tables, states: Array, limit: int = 32
) -> Array:
    """max_mu <theta, mu> - |mu|^2 / 2, plus |y|^2 / 2 - <theta, y> of each row."""
    found = sparsemap(structure, mode, tables, limit)
    factors = sum([len(group.scopes) for group in structure.groups])  # |y|^2: an entry of each
    return found.value + factors / 2 - score(structure, tables, states)


def sparsemap(structure: Structure, mode: Solve, tables: Tables, limit: int = 32) -> SparseMap:
    """argmax over the marginal polytope of <theta, mu> - |mu|^2 / 2, of at most `limit`
    configurations; its derivative, a projection onto their affine hull, is exact where they do not
    change.
    """
    verify_tables(structure, tables)
    theta = jnp.concatenate([jnp.reshape(table, -1) for table in tables])
    found = find_active(structure, mode, jax.lax.stop_gradient(theta), limit)
    weights = affine_weights(found.atoms, found.used, theta)
    mu = weights @ found.atoms
    value = theta @ mu - mu @ mu / 2
    return SparseMap(shaped(mu, structure), found.states, weights, found.gap, value)


def find_active(structure: Structure, mode: Solve, theta: Array, limit: int) -> Active:
    """The configurations whose mixture is the nearest point of the polytope to theta."""
    enough = CLOSE * eps_of(theta) * (1 + jnp.max(jnp.abs(theta)))

    def best(direction: Array) -> tuple[Array, Array]:
        states = mode(shaped(direction, structure)).astype(jnp.int32)
        parts = []
        for group, shape in zip(structure.groups, structure.shapes, strict=True):
            read = places(group.scopes, shape, states)
            parts.append(jnp.zeros(shape, theta.dtype).reshape(-1).at[read].set(1))
        return states, jnp.concatenate(parts)

    def going(active: Active) -> Array:
        return (active.gap > enough) & (active.count < ROUNDS * limit) & ~active.used.all()

    def add(active: Active) -> Active:
        """The mode at the residual joins, unless it shows that nothing is left to gain."""
        mu = active.weights @ active.atoms
        states, atom = best(theta - mu)
        gap = (theta - mu) @ (atom - mu)
        seen = active._replace(gap=gap, count=active.count + 1)
        after: Active = jax.lax.cond(
            gap > enough, lambda: settle(join(seen, states, atom), theta), lambda: seen
        )
        return after

    first = jnp.arange(limit) == 0
    start = Active(
        jnp.zeros((limit, len(structure.sizes)), jnp.int32),
        jnp.zeros((limit, theta.size), theta.dtype),
        first & False,
        first.astype(theta.dtype),
        jnp.full((), jnp.inf, theta.dtype),
        jnp.zeros((), jnp.int32),
    )
    found: Active = jax.lax.while_loop(going, add, join(start, *best(theta)))
    return found


def join(active: Active, states: Array, atom: Array) -> Active:
    """At the first place that is not in use."""
    place = jnp.argmin(active.used)
    return active._replace(
        states=active.states.at[place].set(states),
        atoms=active.atoms.at[place].set(atom),
        used=active.used.at[place].set(True),
    )


def settle(active: Active, theta: Array) -> Active:
    """Towards the best weights on the affine hull; one that reaches zero leaves."""

    def move(carried: tuple[Active, Array]) -> tuple[Active, Array]:
        active, _ = carried
        wanted = affine_weights(active.atoms, active.used, theta)
        falls = active.used & (wanted <= 0)
        share = jnp.where(falls, active.weights / jnp.where(falls, active.weights - wanted, 1), 1)
        size = jnp.minimum(1, jnp.min(share))
        weights = active.weights + size * (wanted - active.weights)
        leaves = falls & (share <= size)
        used = active.used & ~leaves
        weights = jnp.where(used, weights, 0)
        return active._replace(used=used, weights=weights), leaves.any()

    return jax.lax.while_loop(lambda c: c[1], move, (active, jnp.asarray(True)))[0]


def affine_weights(atoms: Array, used: Array, theta: Array) -> Array:
    """argmin_w |theta - w @ atoms|^2 with weights that sum to one; zero where not used."""
    both = (used[:, None] & used[None, :]).astype(atoms.dtype)
    spare = jnp.diag((~used).astype(atoms.dtype))
    ones = used.astype(atoms.dtype)
    gram, corner = both * (atoms @ atoms.T) + spare, jnp.zeros((1, 1), atoms.dtype)
    system = jnp.block([[gram, ones[:, None]], [ones[None], corner]])
    right = jnp.concatenate([ones * (atoms @ theta), jnp.ones(1, atoms.dtype)])
    return jnp.linalg.solve(system, right)[:-1] * ones


def shaped(values: Array, structure: Structure) -> tuple[Array, ...]:
    lengths = [prod(shape) for shape in structure.shapes]
    parts = jnp.split(values, list(accumulate(lengths))[:-1])
    return tuple([part.reshape(shape) for part, shape in zip(parts, structure.shapes, strict=True)])

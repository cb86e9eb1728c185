"""The way back down a circuit: one term is chosen at every sum, so one entry of every table.

Upwards the circuit is maximised (for the mode) or summed (for samples). Downwards the chosen entry
of a product says which entries of its two factors were multiplied; a choice is the largest term,
the first of equals (GM25), or a term with probability in proportion to it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...planning.plan import ALONE, Plan
from ..engine import Decoded, Tables
from .circuit import STATIC, Schedule, Tiles, layers_of, schedule
from .lowering import Lowering
from .numbers import Wide, power_of_two, sum_of_products
from .passes import flat, leaf_logs, lengthened, read, take, walk, wide_leaves
from .structure import Leaves, Structure

Array = Any
Pick = Callable[[Array, Array, Array], Array]


class Products(NamedTuple):
    """From the roots down: a node, its two factors, and how many sums of sums it is made of."""

    node: Array
    left: Array
    right: Array
    depth: Array


class Reading(NamedTuple):
    """The state of each variable is (chosen place of its host - start) // stride % size."""

    host: Array
    start: Array
    stride: Array
    size: Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Trail:
    """A circuit without a crown and the way down; `terms[place]` says where its terms are."""

    sources: Any
    evidence: Any
    tiles: Tiles
    terms: Any
    products: Products
    roots: Any
    root_places: Any
    reading: Reading
    length: int = field(metadata=STATIC)
    nodes: int = field(metadata=STATIC)
    depth: int = field(metadata=STATIC)


def lower_trail(structure: Structure, leaves: Leaves, plan: Plan) -> Trail:
    lowering = Lowering(structure, leaves, plan, crown=set())
    up = schedule(lowering.circuit, lowering.end)
    products = products_of(lowering, up)
    roots = plan.tree.roots
    _, terms, columns = up.tiles.left.shape
    places = np.zeros(up.length, np.int32)
    for i, start in enumerate(up.tiles.starts.tolist()):
        places[start : start + columns] = i * terms * columns + np.arange(columns)
    rows = []
    for v, host in enumerate(leaves.hosts):
        leaf = leaves.leaves[host]
        after = leaf.scope[leaf.scope.index(v) + 1 :]
        stride = int(np.prod([structure.sizes[u] for u in after], dtype=np.int64))
        assert leaf.place is not None
        rows.append((host, leaf.place, stride, structure.sizes[v]))
    return Trail(
        sources=leaves.sources,
        evidence=leaves.evidence,
        tiles=up.tiles,
        terms=places,
        products=products,
        roots=np.array(roots, np.int32),
        root_places=np.array([up.starts[lowering.values[root]] for root in roots], np.int32),
        reading=Reading(*np.array(rows, np.int32).reshape(-1, 4).T),
        length=up.length,
        nodes=len(plan.tree.scopes),
        depth=int(products.depth.max(initial=0)),
    )


def products_of(lowering: Lowering, up: Schedule) -> Products:
    """Of a node summed alone, the second factor is nobody: the place after all nodes."""
    circuit, nobody = lowering.circuit, len(lowering.tree.scopes)
    terms = up.tiles.left.shape[1]
    depths = {
        item.out: len(layers_of(circuit.entries(item.summed), terms)) for item in circuit.sums
    }
    rows = []
    for node, step in reversed(lowering.numbered):
        right = nobody if step.right == ALONE else step.right
        rows.append((node, step.left, right, depths[lowering.values[node]]))
    return Products(*np.array(rows, np.int32).reshape(-1, 4).T)


@jax.jit
def infer_mode(trail: Trail, tables: Tables, log_evidence: Array) -> Decoded:
    """argmax_x of the log-potentials: the circuit in (max, +), then its terms (GM04, GM25)."""
    logs = leaf_logs(trail, *flat(tables, log_evidence))
    start = jnp.concatenate([jnp.array([0.0, -jnp.inf], logs.dtype), logs])
    buffer = walk(trail.tiles, lengthened(start, trail.length), lambda a, b: jnp.max(a + b, axis=0))

    def largest(left: Array, right: Array, chance: Array) -> Array:
        return jnp.argmax(take(buffer, left) + take(buffer, right))

    states = descend(trail, largest, jnp.zeros((len(trail.products.node), trail.depth)))
    return Decoded(states, jnp.sum(take(buffer, trail.root_places)))


@partial(jax.jit, static_argnames="count")
def draw_samples(
    trail: Trail, key: Array, count: int, tables: Tables, log_evidence: Array
) -> Array:
    """Exact joint samples (sample, variable): a term at every sum, in proportion (GM15)."""
    leaves = wide_leaves(trail, *flat(tables, log_evidence))
    buffer: Wide = walk(trail.tiles, lengthened(leaves, trail.length), sum_of_products)

    def in_proportion(first: Array, second: Array, chance: Array) -> Array:
        """The first term up to which the sum exceeds chance * total; never one that is zero."""
        left, right = read(buffer, first), read(buffer, second)
        exponents = left.exponent + right.exponent
        products = left.mantissa * right.mantissa
        weights = products * power_of_two(exponents - jnp.max(exponents), products.dtype)
        sums = jnp.cumsum(weights)
        last = len(weights) - 1 - jnp.argmax(weights[::-1] > 0)
        return jnp.minimum(jnp.sum(sums <= chance * sums[-1]), last)

    dtype = buffer.mantissa.dtype
    chances = jax.random.uniform(key, (count, len(trail.products.node), trail.depth), dtype)
    return jax.vmap(lambda chance: descend(trail, in_proportion, chance))(chances)


def descend(trail: Trail, pick: Pick, chances: Array) -> Array:
    """The states of all variables, from the roots down; `chances` has a row a product."""
    tiles = trail.tiles
    _, terms, columns = tiles.left.shape
    lefts, rights = tiles.left.reshape(-1), tiles.right.reshape(-1)
    rows = jnp.arange(terms, dtype=jnp.int32) * columns

    def turn(chosen: Array, here: tuple[Products, Array]) -> tuple[Array, None]:
        product, chance = here
        left = right = take(chosen, product.node)
        for layer in reversed(range(trail.depth)):
            at = take(trail.terms, left) + rows
            first, second = take(lefts, at), take(rights, at)
            best = pick(first, second, chance[layer])
            active = product.depth > layer
            left = jnp.where(active, first[best], left)
            right = jnp.where(active, second[best], right)
        return chosen.at[product.left].set(left).at[product.right].set(right), None

    start = jnp.zeros(trail.nodes + 1, jnp.int32).at[trail.roots].set(trail.root_places)
    chosen = lax.scan(turn, start, (trail.products, chances))[0]
    host, place, stride, size = trail.reading
    return (take(chosen, host) - place) // stride % size

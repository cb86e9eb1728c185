"""Blocks that are forests once the rest is held: one exact pass up and down resamples a block.

Up: phi_p(x_p) += sum over x_c of edge_pc(x_p, x_c) phi_c(x_c); down: each x_c is chosen from
edge_pc(x_p, .) phi_c. Choosing with Gumbel noise after log-sum-exp draws the block from its
conditional (GM21); choosing without noise after max finds its best states. A colour class is a
block without edges.
"""

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ...factors.factor_graph import Array
from .layout import FactorLayout, greedy_colours
from .messages import LOG, MAX

Blocking = Literal["forests", "colours"]
SOFT_ZERO = -1e5  # for minus infinity, while a possible configuration is searched for
IMPROVEMENTS = 100


class FlatTables(NamedTuple):
    """f at x is flat[start[f] + strides[f] . x[members[f]]]; pads point at a last, constant one."""

    unary: Array
    flat: Array
    start: Array
    strides: Array
    lengths: Array
    members: Array


class ForestBlock(NamedTuple):
    """One block, or several stacked: padded to one size with the variable that does not exist. A
    `single` is an axis of a factor whose other variables are held; a `pair` two axes, parent and
    child, listed for each child. `rows` lists the variables from the roots down.
    """

    single_factor: Array
    single_axis: Array
    single_variable: Array
    pair_factor: Array
    pair_parent: Array
    pair_child: Array
    parent: Array
    rows: Array


def tables_of(layout: FactorLayout) -> FlatTables:
    """The factors of all groups, flat; axes that a factor lacks have stride zero."""
    arity = max([group.arity for group in layout.groups], default=1)
    flat, start, strides, lengths, members = [], [], [], [], []
    used = 0
    for group in layout.groups:
        shape, count = group.logs.shape[:-1], group.logs.shape[-1]
        entries = int(np.prod(shape))
        flat.append(np.moveaxis(group.logs, -1, 0).ravel())
        start.append(used + entries * np.arange(count))
        own = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
        pad = (0, 0), (0, arity - group.arity)
        strides.append(np.pad(np.tile(own, (count, 1)), pad))
        lengths.append(np.pad(np.tile(shape, (count, 1)), pad))
        members.append(np.pad(group.members.T, pad))
        used += entries * count
    unary = np.concatenate([layout.unary.T, np.zeros((1, layout.states))])
    last = np.zeros((1, arity), int)
    columns = strides, lengths, members
    wide = [np.concatenate([*parts, last]).astype(np.int32) for parts in columns]
    starts = np.concatenate([*start, np.array([used])]).astype(np.int32)
    return FlatTables(unary, np.concatenate([*flat, np.zeros(1)]), starts, *wide)


def blocks_of(layout: FactorLayout, blocking: Blocking = "forests") -> ForestBlock:
    """Blocks that cover all variables, stacked."""
    if blocking == "colours":
        colours = greedy_colours(layout.count, layout.scopes)
        chosen = [np.flatnonzero(colours == c).tolist() for c in range(colours.max(initial=0) + 1)]
    else:
        chosen = cover_by_forests(layout)
    blocks = [block_of(layout, members) for members in chosen]
    constant = len(layout.scopes)
    pads = ForestBlock(constant, 0, layout.count, constant, 0, 0, layout.count, layout.count)
    stacked = []
    for parts, fill in zip(zip(*blocks, strict=True), pads, strict=True):
        shape = np.max([part.shape for part in parts], axis=0)
        missing = [[(0, int(n)) for n in shape - part.shape] for part in parts]
        padded = zip(parts, missing, strict=True)
        stacked.append(np.stack([np.pad(p, m, constant_values=fill) for p, m in padded]))
    return ForestBlock._make(stacked)


def cover_by_forests(layout: FactorLayout) -> list[list[int]]:
    """Forests, each grown first from what no other covers, until all is covered."""
    around: list[list[int]] = [[] for _ in range(layout.count)]
    for f, scope in enumerate(layout.scopes):
        for v in scope:
            around[v].append(f)
    found: dict[int, None] = {}  # in breadth-first order
    for first in range(layout.count):
        queue = deque([] if first in found else [first])
        found.setdefault(first)
        while queue:
            for f in around[queue.popleft()]:
                for u in layout.scopes[f]:
                    if u not in found:
                        found[u] = None
                        queue.append(u)

    covered: set[int] = set()
    forests: list[list[int]] = []
    while len(covered) < layout.count or not forests:
        forest = grow_forest(layout, around, sorted(found, key=covered.__contains__))
        covered.update(forest)
        forests.append(forest)
    return forests


def grow_forest(layout: FactorLayout, around: list[list[int]], order: Sequence[int]) -> list[int]:
    """Takes each variable that closes no cycle and is at most the second of each of its factors."""
    component: dict[int, int] = {}
    taken = [0] * len(layout.scopes)

    def root(v: int) -> int:
        while component[v] != v:
            component[v] = component[component[v]]
            v = component[v]
        return v

    for v in order:
        near = {u for f in around[v] for u in layout.scopes[f] if u in component}
        roots = {root(u) for u in near}
        if len(roots) == len(near) and all(taken[f] < 2 for f in around[v]):
            component[v] = v
            component.update(dict.fromkeys(roots, v))
            for f in around[v]:
                taken[f] += 1
    return list(component)


def block_of(layout: FactorLayout, members: Sequence[int]) -> ForestBlock:
    inside = set(members)
    singles: list[tuple[int, int, int]] = []
    pairs: list[tuple[int, int, int]] = []
    for f, scope in enumerate(layout.scopes):
        held = [axis for axis, v in enumerate(scope) if v in inside]
        if len(held) == 1:
            singles.append((f, held[0], scope[held[0]]))
        elif held:
            pairs.append((f, held[0], held[1]))
    near: dict[int, set[int]] = {v: set() for v in members}
    for f, a, b in pairs:
        u, v = layout.scopes[f][a], layout.scopes[f][b]
        near[u].add(v)
        near[v].add(u)
    parent, levels = root_forest(near, layout.count)
    # levels are cut into rows of equal width, so that one long level does not widen them all
    width = max(1, -(-len(members) // max(1, len(levels))))
    cut = [level[i : i + width] for level in levels for i in range(0, len(level), width)]
    filled = [row + [layout.count] * (width - len(row)) for row in cut]
    rows = np.array(filled, np.int32).reshape(-1, width)
    single = np.array(singles, np.int32).reshape(-1, 3).T
    pair = by_child(layout, pairs, parent)
    return ForestBlock._make([*single, *pair, parent.astype(np.int32), rows])


def by_child(
    layout: FactorLayout, pairs: Sequence[tuple[int, int, int]], parent: NDArray[np.intp]
) -> NDArray[np.int32]:
    """Factor and the axes of parent and child, `[variable, position]`; padded by the constant."""
    found: list[list[tuple[int, int, int]]] = [[] for _ in range(layout.count + 1)]
    for f, a, b in pairs:
        u, v = layout.scopes[f][a], layout.scopes[f][b]
        child, triple = (v, (f, a, b)) if parent[v] == u else (u, (f, b, a))
        found[child].append(triple)
    most = max([len(own) for own in found])
    filled = [own + [(len(layout.scopes), 0, 0)] * (most - len(own)) for own in found]
    return np.moveaxis(np.array(filled, np.int32).reshape(layout.count + 1, most, 3), -1, 0)


def root_forest(near: dict[int, set[int]], none: int) -> tuple[NDArray[np.intp], list[list[int]]]:
    """The parent of each variable (`none` for roots), and the variables by depth."""
    parent = np.full(none + 1, none)
    seen: set[int] = set()
    levels: list[list[int]] = []
    for first in near:
        level = [] if first in seen else [first]
        seen.add(first)
        depth = 0
        while level:
            if depth == len(levels):
                levels.append([])
            levels[depth] += level
            below = []
            for v in level:
                children = [u for u in near[v] if u not in seen]
                parent[children] = v
                seen.update(children)
                below += children
            level, depth = below, depth + 1
    return parent, levels


def entries_along(tables: FlatTables, factor: Array, axis: Array) -> Array:
    """Offsets of the states of an axis; states beyond its length are read at the last."""
    states = tables.unary.shape[1]
    steps = jnp.broadcast_to(jnp.arange(states, dtype=jnp.int32), (*factor.shape, states))
    lengths = tables.lengths[factor, axis][..., None]
    return tables.strides[factor, axis][..., None] * jnp.minimum(steps, lengths - 1)


def resample(
    tables: FlatTables, block: ForestBlock, states: Array, noise: Array, best: bool
) -> Array:
    """New states of a block given the rest; `states` ends with the variable that does not exist."""
    arithmetic = MAX if best else LOG
    here = tables.strides * states[tables.members]
    base = tables.start + jnp.sum(here, axis=1, dtype=jnp.int32)
    f, a = block.single_factor, block.single_axis
    held = (base[f] - here[f, a])[:, None] + entries_along(tables, f, a)
    phi = tables.unary.at[block.single_variable].add(tables.flat[held])

    def edges(row: Array) -> Array:
        """The factors between a row's variables and their parents: `[row, parent's state, own]`."""
        f, p, c = block.pair_factor[row], block.pair_parent[row], block.pair_child[row]
        first = (base[f] - here[f, p] - here[f, c])[..., None, None]
        parents, children = entries_along(tables, f, p), entries_along(tables, f, c)
        offsets = parents[..., :, None] + children[..., None, :]
        return jnp.sum(tables.flat[first + offsets], axis=1)

    def up(phi: Array, row: Array) -> tuple[Array, Array]:
        between = edges(row)
        message = arithmetic.add_axis(between + phi[row][:, None, :], 2)
        return phi.at[block.parent[row]].add(message), between

    def down(states: Array, step: tuple[Array, Array]) -> tuple[Array, None]:
        row, between = step
        chosen = states[block.parent[row]][:, None, None]
        terms = phi[row] + jnp.take_along_axis(between, chosen, axis=1)[:, 0] + noise[row]
        return states.at[row].set(jnp.argmax(terms, axis=1).astype(states.dtype)), None

    phi, between = jax.lax.scan(up, phi, block.rows, reverse=True)
    return jax.lax.scan(down, states.at[-1].set(0), (block.rows, between))[0]


def soften(tables: FlatTables) -> FlatTables:
    """Zeros of factors made very unlikely; states that do not exist stay impossible."""
    return tables._replace(flat=np.where(np.isneginf(tables.flat), SOFT_ZERO, tables.flat))


def score(tables: FlatTables, states: Array) -> Array:
    """The sum of log-potentials, unary ones included."""
    offsets = tables.strides * states[tables.members]
    entries = tables.start + jnp.sum(offsets, axis=1, dtype=jnp.int32)
    own = jnp.take_along_axis(tables.unary[:-1], states[:-1, None], axis=1)
    return jnp.sum(tables.flat[entries]) + jnp.sum(own)


@partial(jax.jit, static_argnames="limit")
def ascend(tables: FlatTables, blocks: ForestBlock, states: Array, *, limit: int) -> Array:
    """The best states of one block after another, until a sweep gains nothing."""
    silent = jnp.zeros(tables.unary.shape)

    def sweep(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        before, count, _ = carry
        after, _ = jax.lax.scan(
            lambda x, b: (resample(tables, b, x, silent, True), None), before, blocks
        )
        return after, count + 1, score(tables, after) - score(tables, before)

    def going(carry: tuple[Array, Array, Array]) -> Array:
        return (carry[1] < limit) & (carry[2] > 0)

    return jax.lax.while_loop(going, sweep, (states, jnp.zeros((), jnp.int32), jnp.ones(())))[0]


def improve(layout: FactorLayout, states: Array) -> NDArray[np.int32]:
    """Block coordinate ascent from a configuration; zeros count as very bad, so it can leave."""
    start = np.append(states, 0).astype(np.int32)
    found = ascend(soften(tables_of(layout)), blocks_of(layout), start, limit=IMPROVEMENTS)
    return np.asarray(found)[:-1]

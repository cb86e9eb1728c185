"""Block updates: each unknown is set to its best value given the others; the score never falls.

Sums over the data are read off derivatives of the score at two fixed points: what is
a / p - b / (1 - p) for every p is known for all p from its values at two.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import reads_any
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.library.rows import Update

from ..model.constraints import constrain_nodes, unconstrain_nodes
from .roles import Roles


def find_updates(roles: Roles) -> dict[str, Update]:
    """The update of each unknown, by name: a closed form where it enters laws in one way only.

    The rows of the library say which (`dpc.dsl.library.rows.Update`). All else takes a step of
    Newton's method, exact where the log density is quadratic: in weights of linear regressions.
    """
    return {node.name: _update(node, roles.graph) for node in roles.unknowns}


def _update(node: Node, graph: Graph) -> Update:
    uses = set(_uses(node, graph))
    if node.kind is Kind.DRAW:
        uses |= {law.facts.prior for law in node.laws}
        if any(piece.settings or piece.where is not None for piece in node.pieces):
            uses.add(Update.NEWTON)
    return uses.pop() if len(uses) == 1 else Update.NEWTON


def _uses(node: Node, graph: Graph) -> Iterator[Update]:
    """What every mention of the unknown allows."""
    for other in graph.nodes:
        for piece in other.pieces:
            if isinstance(piece.body, c.Law):
                for name, argument in piece.body.arguments:
                    update = piece.body.facts.updates.get(name, Update.NEWTON)
                    yield from _argument_uses(node, update, argument)
            elif mentions(piece.body, node.name):
                yield Update.NEWTON
            if piece.where is not None and mentions(piece.where, node.name):
                yield Update.NEWTON


def _argument_uses(node: Node, found: Update, core: c.Core) -> Iterator[Update]:
    if not mentions(core, node.name):
        return
    is_rows = found is Update.PROBABILITIES
    whole_rows = is_rows == (node.type.constraint == "simplex")
    direct = entry_of(core, node.name) and len(core.type.shape) == int(is_rows)
    yield found if direct and whole_rows else Update.NEWTON


def entry_of(core: c.Core, name: str) -> bool:
    """The unknown itself, or an entry or row of it."""
    if isinstance(core, c.At) and not any(mentions(index, name) for index in core.indices):
        core = core.base
    return isinstance(core, c.Ref) and core.name == name


def mentions(core: c.Core | c.Law, name: str) -> bool:
    return reads_any(core, (name,))


# ---- which closed form an unknown has


Values = dict[str, Any]
Score = Callable[[Values], Any]

DENSE = 400
HALVINGS = 40
PROBES = {Update.CHANCE: (0.5, 0.25), Update.MEAN: (0.0, 1.0)}


def sweep(
    score: Score, params: Values, nodes: Mapping[str, Node], updates: Mapping[str, Update]
) -> Values:
    """Newton's step for all that has no closed form together, then every closed form."""
    free = [nodes[name] for name, update in updates.items() if update is Update.NEWTON]
    if free:
        params = params | newton_step(score, params, free)
    scales = {name: update for name, update in updates.items() if update is Update.SPREAD}
    others = updates.keys() - scales.keys() - {node.name for node in free}
    params = _closed(score, params, {n: u for n, u in updates.items() if n in others})
    return _closed(score, params, scales)


def _closed(score: Score, params: Values, updates: Mapping[str, Update]) -> Values:
    """All at once: the derivative in one does not depend on others of its kind."""
    if not updates:
        return params
    gradient = jax.grad(lambda own: score(params | own))
    points = [{name: probe(params[name], updates[name], k) for name in updates} for k in (0, 1)]
    first, second = map(gradient, points)
    found = {n: best(u, params[n], first[n], second[n]) for n, u in updates.items()}
    return params | found


def probe(value: Any, update: Update, number: int) -> Any:
    """The two points at which derivatives are taken."""
    if update is Update.PROBABILITIES:
        return jnp.full_like(value, 1 / value.shape[-1])
    return jnp.full_like(value, PROBES.get(update, (1.0, 2.0))[number])


def best(update: Update, value: Any, first: Any, second: Any) -> Any:
    """From the derivatives at the two points; where the data say nothing, the value stays.

    No probability is quite zero, so that the density of a flat prior is there a number too.
    """
    if update is Update.PROBABILITIES:
        counts = jnp.maximum(first, np.finfo(first.dtype).tiny ** 0.5)
        total = jnp.sum(counts, axis=-1, keepdims=True)
        return jnp.where(jnp.sum(first, axis=-1, keepdims=True) > 0, counts / total, value)
    if update is Update.CHANCE:
        misses = 3 * (second - 2 * first) / 8
        hits = misses + first / 2
        return _ratio(hits, hits + misses, value)
    if update is Update.RATE:
        total = 2 * (first - second)
        return _ratio(total, total - first, value)
    if update is Update.MEAN:
        return _ratio(first, first - second, value)
    squares = 8 / 3 * (first / 2 - second)
    return jnp.sqrt(_ratio(squares, squares - first, value**2))


def _ratio(a: Any, b: Any, otherwise: Any) -> Any:
    return jnp.where(b > 0, a / jnp.where(b > 0, b, 1), otherwise)


# ---- what has no closed form


def newton_step(score: Score, params: Values, nodes: list[Node]) -> Values:
    """One damped step in unconstrained space; exact where the score is quadratic."""
    raw = unconstrain_nodes(nodes, params)
    flat, unravel = ravel_pytree(raw)

    def loss(point: Any) -> Any:
        return -score(params | constrain_nodes(nodes, unravel(point)))

    value, slope = jax.value_and_grad(loss)(flat)
    direction = -_solve(loss, flat, slope)
    downhill = jnp.vdot(direction, slope) < 0
    direction = jnp.where(downhill & jnp.isfinite(direction).all(), direction, -slope)

    def too_long(size: Any) -> Any:
        there = loss(flat + size * direction)
        return ~(there <= value) & (size > 2.0**-HALVINGS)

    size = jax.lax.while_loop(too_long, lambda size: size / 2, jnp.ones(()))
    size = jnp.where(size > 2.0**-HALVINGS, size, 0)
    return constrain_nodes(nodes, unravel(flat + size * direction))


def _solve(loss: Callable[[Any], Any], flat: Any, slope: Any) -> Any:
    """H^-1 g: by the matrix where it is small, by conjugate gradients otherwise."""
    if flat.size <= DENSE:
        return jnp.linalg.solve(jax.hessian(loss)(flat), slope)
    product = lambda v: jax.jvp(jax.grad(loss), (flat,), (v,))[1]  # noqa: E731
    return jax.scipy.sparse.linalg.cg(product, slope, maxiter=flat.size)[0]

"""What learning does with each unknown: estimate parameters and free draws, sum finite draws."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import nodes_read, reads, reads_any
from dpc.dsl.graph.finite import finite_draws
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.parts import without_objective
from dpc.dsl.graph.passes.tables import tables_as_parameters
from dpc.dsl.graph.types import Type
from dpc.dsl.library.rows import Update
from dpc.dsl.record import Record
from dpc.inference.optimise.newton import curve

from ..exits import UsageError
from ..model.constraints import constrain_nodes, unconstrain_nodes

# ---- draws that can be integrated out exactly: normal given the others, with means affine in them
#
# The joint density is then exp of a quadratic, with first and second derivatives g and -A at zero:
#
#     log integral exp f(h) dh = f(0) + g' A^-1 g / 2 + n log(2 pi) / 2 - log det(A) / 2.


Values = dict[str, Any]

NORMAL = frozenset({"Normal", "MultivariateNormal"})
"""Families whose log density is quadratic in the mean and in the draw together."""
PRODUCTS = frozenset({"multiply", "dot", "matmul"})
SUMS = frozenset({"add", "subtract", "negate", "sum"})
NOT_AFFINE = 2
LARGEST = 3000
"""Numbers that are integrated over together; their matrix has its square of entries."""


def integrable_draws(
    graph: Graph, given: Collection[str], local: Callable[[Node], bool]
) -> tuple[Node, ...]:
    """The continuous draws, local to a case or row, that can be integrated out: all or none."""
    names = {n.name for n in graph.of_kind(Kind.DRAW) if n.name not in given and local(n)}
    degree = Degree(graph, names)
    for node in graph.of_kind(Kind.DRAW, Kind.FACTOR):
        normal = not node.settings and all(law.facts.family in NORMAL for law in node.laws)
        if node.name in names and node.laws and not normal:
            return ()
        if not all(degree.fits(piece.body) for piece in node.pieces):
            return ()
    return tuple(graph[name] for name in sorted(names))


class Degree:
    """The degree of an expression in some draws: 0, 1, or NOT_AFFINE for all else."""

    def __init__(self, graph: Graph, names: Collection[str]):
        self.graph = graph
        self.names = names

    def fits(self, body: c.Core | c.Law) -> bool:
        """Whether it is normal with an affine mean, or does not depend on the draws."""
        if not isinstance(body, c.Law):
            return self.of(body) == 0
        mean = body.facts.location_scale[:1] if body.facts.family in NORMAL else ()
        return all(self.of(core) <= (name in mean) for name, core in body.arguments)

    def highest(self, body: c.Core | c.Law) -> int:
        """The degree of an expression, or the highest of those of a law's arguments."""
        if isinstance(body, c.Law):
            return max(map(self.of, c.parts(body)), default=0)
        return self.of(body)

    def of(self, core: c.Core) -> int:
        if isinstance(core, c.Ref):
            return self._of_node(core.name)
        inner = [self.of(part) for part in c.parts(core) if isinstance(part, c.Core)]
        if not any(inner):
            return 0
        return self._combined(core)

    def _combined(self, core: c.Core) -> int:
        if isinstance(core, c.At):
            return self.of(core.base) if not any(map(self.of, core.indices)) else NOT_AFFINE
        if isinstance(core, c.Apply):
            degrees = [self.of(argument) for _, argument in core.arguments]
            if core.function in PRODUCTS:
                return min(sum(degrees), NOT_AFFINE)
            if core.function == "divide":
                return degrees[0] if degrees[1] == 0 else NOT_AFFINE
            return max(degrees) if core.function in SUMS else NOT_AFFINE
        if isinstance(core, c.Reduce) and core.operator == "sum":
            return self.of(core.body)
        if isinstance(core, c.Build | c.Stack):
            return max(self.of(part) for part in c.parts(core))
        if isinstance(core, c.Lookup) and not any(map(self.of, core.parents)):
            return max(map(self.of, core.entries))
        if isinstance(core, c.If) and self.of(core.condition) == 0:
            return max(self.of(core.then), self.of(core.otherwise))
        return NOT_AFFINE

    def _of_node(self, name: str) -> int:
        if name in self.names:
            return 1
        node = self.graph[name]
        if node.kind is not Kind.FUNCTION or not self.graph.ancestors([name]) & set(self.names):
            return 0
        return max(self.of(piece.body) for piece in node.pieces if isinstance(piece.body, c.Core))


class Blocks(Record):
    """Values as [blocks, entries]: blocks do not interact. `rows` is their number, or 1."""

    rows: int
    shapes: dict[str, tuple[int, ...]]

    @property
    def entries(self) -> int:
        """Of one block."""
        return sum(map(prod, self.shapes.values())) // self.rows

    def shaped(self, flat: Any) -> Values:
        cuts = np.cumsum([prod(shape) // self.rows for shape in self.shapes.values()])
        parts = zip(self.shapes.items(), jnp.split(flat, cuts[:-1], axis=1), strict=True)
        return {name: jnp.reshape(part, shape) for (name, shape), part in parts}


def log_integral(log_density: Callable[[Values], Any], blocks: Blocks) -> Any:
    """log of the integral of exp(log_density), which is quadratic in the blocks."""

    def at(flat: Any) -> Any:
        return log_density(blocks.shaped(flat))

    zero = jnp.zeros((blocks.rows, blocks.entries))
    value, slope = jax.value_and_grad(at)(zero)

    def column(direction: Any) -> Any:
        along = jnp.broadcast_to(direction, zero.shape)
        return -jax.jvp(jax.grad(at), (zero,), (along,))[1]

    precision = jax.vmap(column, out_axes=2)(jnp.eye(blocks.entries))
    factor = jnp.linalg.cholesky(precision)
    half = jax.scipy.linalg.solve_triangular(factor, slope[..., None], lower=True)[..., 0]
    log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(factor, axis1=1, axis2=2)))
    return value + jnp.sum(half**2) / 2 + zero.size * jnp.log(2 * jnp.pi) / 2 - log_det / 2


def verify_priors(graph: Graph, estimated: Iterable[Node]) -> None:
    """A mode of draws together with the spread of their own law is no estimate: their joint density
    grows without bound as the spread falls to zero.
    """
    parameters = {node.name for node in graph.parameters}
    for node in estimated:
        for law in node.laws:
            spread = [
                core for name, core in law.arguments if name not in law.facts.location_scale[:1]
            ]
            if unknown := sorted(graph.ancestors(set(nodes_read(*spread))) & parameters):
                what = f"`{node.name}` is hidden, its law has the unknown `{unknown[0]}`"
                why = f"{what}, and it cannot be integrated out: it is not normal, or not affine in"
                where = f"{why} the means of what depends on it, or finite draws are hidden, too"
                help = f"give `{unknown[0]}` a value, or use `dpc posterior`"
                raise UsageError(f"{where}. Estimated together they have no maximum: {help}")


def verify_block(entries: int, nodes: Iterable[Node]) -> None:
    if entries > LARGEST:
        names = ", ".join(f"`{node.name}`" for node in nodes)
        what = f"{names} hold {entries} numbers to integrate over together"
        help = "use `dpc posterior`, or a `guide` with `maximize elbo()`"
        raise UsageError(f"{what}, and at most {LARGEST} are: {help}")


def block_dim(graph: Graph, nodes: Sequence[Node]) -> str:
    """The dim over which the draws are independent given all else; empty if none."""
    firsts = {str(node.type.shape[0]) if node.type.shape else "" for node in nodes}
    dim = firsts.pop() if len(firsts) == 1 else ""
    # The draws, and the functions that depend on them.
    reached = {node.name for node in nodes}
    for node in graph.of_kind(Kind.FUNCTION):
        reached |= {node.name} if set(node.parents) & reached else set()
    dependents = [node for node in graph.nodes if set(node.parents) & reached]
    return dim if dim and all(_keeps_to(node, reached, dim) for node in dependents) else ""


def _keeps_to(node: Node, names: set[str], dim: str) -> bool:
    """Whether every mention of the draws is of the row that the statement is about."""
    for piece in node.pieces:
        first = piece.indices[0] if piece.indices else None
        if not isinstance(first, c.Bind) or first.dim.name != dim:
            return False
        for read, at in reads(piece.body):
            row = at.indices[0] if isinstance(at, c.At) else None
            is_row = isinstance(row, c.Var) and row.name == first.name
            if read.name in names and not is_row:
                return False
    return True


class Roles(Record):
    """`estimated`: continuous draws at the mode of their posterior; `summed`: finite draws that no
    data give; `integrated`: continuous draws of a row or case, integrated out exactly; `prior`: the
    draws and factors whose density is about what is estimated alone.
    """

    graph: Graph
    parameters: tuple[Node, ...]
    estimated: tuple[Node, ...]
    summed: tuple[Node, ...]
    integrated: tuple[Node, ...]
    prior: frozenset[str]

    @property
    def unknowns(self) -> tuple[Node, ...]:
        return (*self.parameters, *self.estimated)

    @property
    def is_normalised(self) -> bool:
        """Whether no factor speaks about what the data give or what is summed over."""
        return not any(
            node.kind is Kind.FACTOR and node.name not in self.prior for node in self.graph.nodes
        )


def find_roles(graph: Graph, given: Collection[str], rows_are_cases: bool = False) -> Roles:
    """Where rows are cases and there are parameters, all draws are of a case."""
    graph = without_objective(graph)
    finite = {node.name for node in finite_draws(graph)}
    open_draws = [node for node in graph.of_kind(Kind.DRAW) if node.name not in given]
    summed = tuple(node for node in open_draws if node.name in finite)
    every = rows_are_cases and bool(graph.parameters)
    dims = {str(axis) for name in given for axis in graph[name].type.shape}

    def is_local(node: Node) -> bool:
        along = any(str(axis) in dims for axis in node.type.shape)
        return node.name not in finite and (every or along)

    unknown = {node.name for node in graph.parameters}

    def is_effect(node: Node) -> bool:
        """A law with unknown arguments says what the draws have in common: random effects."""
        own = {name for law in node.laws for name in nodes_read(law)}
        return node.name not in finite and bool(graph.ancestors(own) & unknown)

    integrated: tuple[Node, ...] = ()
    if not summed:
        both = integrable_draws(graph, given, lambda node: is_local(node) or is_effect(node))
        integrated = both or integrable_draws(graph, given, is_local)
    free = [node for node in open_draws if node.name not in finite and node not in integrated]
    estimated = tuple(map(_as_estimated, free))
    verify_priors(graph, estimated)
    if not estimated and not integrated and not graph.parameters:
        graph = tables_as_parameters(graph)
    # The estimated draws, and factors that mention nothing random but them.
    names = {node.name for node in estimated}
    others = {node.name for node in graph.of_kind(Kind.DRAW)} - names
    factors = {node.name for node in graph.of_kind(Kind.FACTOR)}
    own = {name for name in factors if not graph.ancestors([name]) & others}
    prior = frozenset(names | own)
    return Roles(graph, graph.parameters, estimated, summed, integrated, prior)


def _as_estimated(node: Node) -> Node:
    """Draws in order are estimated in order."""
    if not any(setting.name == "ordered" for setting in node.settings):
        return node
    word = "positive_ordered" if node.type.bounds[0] == 0 else "ordered"
    return node.replace(type=node.type.replace(constraint=word))


# ---- block updates: each unknown is set to its best value given the others; the score never falls
#
# Sums over the data are read off derivatives of the score at two fixed points: what is
# a / p - b / (1 - p) for every p is known for all p from its values at two.


def find_updates(roles: Roles) -> dict[str, Update]:
    """The update of each unknown, by name: a closed form where it enters laws in one way only. The
    rows of the library say which (`dpc.dsl.library.rows.Update`). All else takes a step of Newton's
    method, exact where the log density is quadratic: in weights of linear regressions.
    """
    return {node.name: _update(node, roles.graph) for node in roles.unknowns}


def _update(node: Node, graph: Graph) -> Update:
    """The one that every mention of the unknown allows, and its own law."""
    uses: set[Update] = set()
    for piece in (piece for other in graph.nodes for piece in other.pieces):
        parts: list[tuple[Update, Any]] = [(Update.NEWTON, piece.where)]
        if isinstance(piece.body, c.Law):
            known = piece.body.facts.updates
            parts += [(known.get(n, Update.NEWTON), core) for n, core in piece.body.arguments]
        else:
            parts.append((Update.NEWTON, piece.body))
        for update, core in parts:
            if core is not None and mentions(core, node.name):
                is_rows = update is Update.PROBABILITIES
                whole_rows = is_rows == (node.type.constraint == "simplex")
                whole_rows &= node.type.constraint in ("", "simplex", *ORDERED)
                direct = entry_of(core, node.name) and len(core.type.shape) == int(is_rows)
                uses.add(update if direct and whole_rows else Update.NEWTON)
    if node.kind is Kind.DRAW:
        uses |= {law.facts.prior for law in node.laws}
        if any(piece.settings or piece.where is not None for piece in node.pieces):
            uses.add(Update.NEWTON)
    return uses.pop() if len(uses) == 1 else Update.NEWTON


def entry_of(core: c.Core, name: str) -> bool:
    """The unknown itself, or an entry or row of it."""
    if isinstance(core, c.At) and not any(mentions(index, name) for index in core.indices):
        core = core.base
    return isinstance(core, c.Ref) and core.name == name


def mentions(core: c.Core | c.Law, name: str) -> bool:
    return reads_any(core, (name,))


Score = Callable[[Values], Any]

DENSE = 400
HALVINGS = 40
CHANCES = 0.5, 0.25
"""Where the derivative in a probability is looked at."""
LEAST = 1e-75
"""Of what is positive, so that its third power is a number."""
NEAR = 8 * float(np.finfo(float).eps)
"""How far from a bound, relative to it, the best value is kept where it lies beyond."""
ORDERED = ("ordered", "positive_ordered")


def sweep(
    score: Score, params: Values, nodes: Mapping[str, Node], updates: Mapping[str, Update]
) -> Values:
    """Newton's step for all that has no closed form together, then every closed form."""
    free = [nodes[name] for name, update in updates.items() if update is Update.NEWTON]
    if free:
        params = params | newton_step(score, params, free)
    scales = {name: update for name, update in updates.items() if update is Update.SPREAD}
    others = updates.keys() - scales.keys() - {node.name for node in free}
    params = _closed(score, params, nodes, {n: u for n, u in updates.items() if n in others})
    return _closed(score, params, nodes, scales)


def _closed(
    score: Score, params: Values, nodes: Mapping[str, Node], updates: Mapping[str, Update]
) -> Values:
    """All at once: the derivative in one does not depend on others of its kind."""
    if not updates:
        return params
    gradient = jax.grad(lambda own: score(params | own))
    points = [{name: probe(params[name], updates[name], k) for name in updates} for k in (0, 1)]
    first, second = map(gradient, points)
    found = {}
    for name, update in updates.items():
        value = points[0][name] if update is Update.SPREAD else params[name]
        found[name] = best(update, value, first[name], second[name], nodes[name].type)
    return params | found


def probe(value: Any, update: Update, number: int) -> Any:
    """The two points at which derivatives are taken, in the units of the value."""
    if update is Update.PROBABILITIES:
        return jnp.full_like(value, 1 / value.shape[-1])
    if update is Update.CHANCE:
        return jnp.full_like(value, CHANCES[number])
    if update is Update.MEAN:
        return value + number * _length(value)
    return _positive(value) * (1 + number)


def _length(value: Any) -> Any:
    return jnp.maximum(jnp.abs(value), 1)


def _positive(value: Any) -> Any:
    return jnp.where(value > LEAST, value, 1)


def best(update: Update, value: Any, first: Any, second: Any, type_: Type) -> Any:
    """From two derivatives; without data the value stays. No probability is quite zero."""
    if update is Update.PROBABILITIES:
        counts = jnp.maximum(first, np.finfo(first.dtype).tiny ** 0.5)
        total = jnp.sum(counts, axis=-1, keepdims=True)
        return jnp.where(jnp.sum(first, axis=-1, keepdims=True) > 0, counts / total, value)
    above, below = fraction(update, value, first, second)
    # Without data any weight will do, and the smallest leaves the neighbours of an order alone.
    kept = value**2 if update is Update.SPREAD else value
    above = jnp.where(below > 0, above, kept * LEAST)
    below = jnp.where(below > 0, below, LEAST)
    ratio = isotonic(above, below) if type_.constraint in ORDERED else above / below
    if update is not Update.SPREAD:
        return within(ratio, type_)
    return within(jnp.sqrt(jnp.maximum(ratio, 0)), type_)


def fraction(update: Update, value: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """The best value, or its square for a standard deviation, as a fraction: those of entries that
    have to be equal add up.
    """
    if update is Update.CHANCE:
        misses = 3 * (second - 2 * first) / 8
        hits = misses + first / 2
        return hits, hits + misses
    if update is Update.MEAN:
        weight = (first - second) / _length(value)
        return value * weight + first, weight
    at = _positive(value)
    if update is Update.RATE:
        total = 2 * at * (first - second)
        return total, total / at - first
    squares = 8 / 3 * at * (first / 2 - second)
    return at**2 * squares, squares - at * first


def isotonic(above: Any, below: Any) -> Any:
    """max over i <= k of min over j >= k of sum(above[i..j]) / sum(below[i..j]): pooled where the
    fractions do not increase (Barlow and others 1972), and a hair apart.
    """
    size = above.shape[-1]
    sums = [
        jnp.concatenate([jnp.zeros_like(a[..., :1]), jnp.cumsum(a, axis=-1)], axis=-1)
        for a in (above, below)
    ]
    tops, bottoms = (s[..., None, 1:] - s[..., :-1, None] for s in sums)
    first, last = np.arange(size)[:, None], np.arange(size)
    pooled = jnp.where(first <= last, tops / jnp.where(first <= last, bottoms, 1), jnp.inf)
    # lowest[i, k]: the least over j >= k.
    lowest = jax.lax.cummin(pooled, axis=pooled.ndim - 1, reverse=True)
    level = jnp.max(jnp.where(first <= last, lowest, -jnp.inf), axis=-2)
    gap = NEAR * jnp.max(jnp.abs(level), axis=-1, keepdims=True) + LEAST
    return level + gap * jnp.arange(size)


def within(value: Any, type_: Type) -> Any:
    """The nearest value inside the bounds, where a score with one hill is highest."""
    lower, upper = type_.bounds
    if type_.constraint == "positive_ordered":
        lower = 0.0
    if lower > -np.inf:
        value = jnp.maximum(value, lower + max(NEAR * abs(lower), LEAST))
    if upper < np.inf:
        value = jnp.minimum(value, upper - max(NEAR * abs(upper), LEAST))
    return value


def newton_step(score: Score, params: Values, nodes: list[Node]) -> Values:
    """One damped step in unconstrained space; exact where the score is quadratic."""
    raw = unconstrain_nodes(nodes, params)
    flat, unravel = ravel_pytree(raw)

    def loss(point: Any) -> Any:
        return -score(params | constrain_nodes(nodes, unravel(point)))

    value, slope = jax.value_and_grad(loss)(flat)
    direction = _direction(loss, flat, slope)
    downhill = jnp.vdot(direction, slope) < 0
    direction = jnp.where(downhill & jnp.isfinite(direction).all(), direction, -slope)

    def too_long(size: Any) -> Any:
        there = loss(flat + size * direction)
        return ~(there <= value) & (size > 2.0**-HALVINGS)

    size = jax.lax.while_loop(too_long, lambda size: size / 2, jnp.ones(()))
    size = jnp.where(size > 2.0**-HALVINGS, size, 0)
    return constrain_nodes(nodes, unravel(flat + size * direction))


def _direction(loss: Callable[[Any], Any], flat: Any, slope: Any) -> Any:
    """-|H|^-1 g: by the matrix where it is small, -H^-1 g by conjugate gradients otherwise."""
    if flat.size <= DENSE:
        return curve(jax.hessian(loss)(flat), slope, flat)[0]
    product = lambda v: jax.jvp(jax.grad(loss), (flat,), (v,))[1]  # noqa: E731
    return -jax.scipy.sparse.linalg.cg(product, slope, maxiter=flat.size)[0]

"""What learning does with each unknown: estimate parameters and free draws, sum finite draws."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import reads, reads_any
from dpc.dsl.graph.finite import finite_draws
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.parts import without_objective
from dpc.dsl.graph.passes.tables import tables_as_parameters
from dpc.dsl.library.rows import Update
from dpc.dsl.record import Record

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

    integrated = () if summed else integrable_draws(graph, given, is_local)
    free = [node for node in open_draws if node.name not in finite and node not in integrated]
    estimated = tuple(map(_as_estimated, free))
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
    """From two derivatives; without data the value stays. No probability is quite zero."""
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

"""Draws that can be integrated out exactly: normal given the others, with means affine in them.

The joint density is then exp of a quadratic, with first and second derivatives g and -A at zero:

    log integral exp f(h) dh = f(0) + g' A^-1 g / 2 + n log(2 pi) / 2 - log det(A) / 2.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import reads
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.record import Record

from ..exits import UsageError

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


# ---- the integral


class Blocks(Record):
    """Values as [blocks, entries]: blocks do not interact. `rows` is their number, or 1."""

    rows: int
    shapes: dict[str, tuple[int, ...]]

    def flat(self, values: Values) -> Any:
        return jnp.concatenate(
            [jnp.reshape(values[name], (self.rows, -1)) for name in self.shapes], axis=1
        )

    def shaped(self, flat: Any) -> Values:
        found, start = {}, 0
        for name, shape in self.shapes.items():
            stop = start + jnp.zeros(shape).size // self.rows
            found[name] = jnp.reshape(flat[:, start:stop], shape)
            start = stop
        return found


def log_integral(log_density: Callable[[Values], Any], blocks: Blocks) -> Any:
    """log of the integral of exp(log_density), which is quadratic in the blocks."""

    def at(flat: Any) -> Any:
        return log_density(blocks.shaped(flat))

    zero = blocks.flat({name: jnp.zeros(shape) for name, shape in blocks.shapes.items()})
    entries = zero.shape[1]
    value, slope = jax.value_and_grad(at)(zero)

    def column(direction: Any) -> Any:
        along = jnp.broadcast_to(direction, zero.shape)
        return -jax.jvp(jax.grad(at), (zero,), (along,))[1]

    precision = jax.vmap(column, out_axes=2)(jnp.eye(entries))
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

"""eta = offset + X b, where eta is affine in the weights b: X a piece of the rows at a time.

Column k of X is eta where b[k] is one and all else zero, less the offset, which is eta where all
are zero. Pieces are kept for the next pass unless there is too much of them.
"""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import nodes_read
from dpc.dsl.graph.evaluate import Array, Evaluator, NeedsJax, Sizes
from dpc.dsl.graph.graph import Kind, Node
from dpc.dsl.graph.types import FIRST, LAST, Dim
from dpc.dsl.source import Span

from .cases import CASE, shape_of
from .counts import as_variables
from .likelihood import Likelihood

WAY = "way"
PIECE = 4096
"""Most entries of eta in a piece: what is computed from them stays in the cache."""
SINGLE = 1 << 19
"""Multiplications that BLAS does in one thread; few rows are not worth a second one."""
FEWEST = 1024
MOST_KEPT = 2**24
"""Entries of all pieces up to which they are made once; of more they are made anew on each pass."""
LARGEST = 50_000_000
"""Entries of an X that cannot be cut."""

Parts = tuple[Array, Array, Array]
"""The offset [entries], X' [weights, entries] and the data [entries]."""


class TooLarge(ValueError):
    """An X that can neither be cut nor kept."""


class Design:
    """`predictor` is eta of each entry; raises NeedsJax for what NumPy does not evaluate."""

    def __init__(
        self, likelihood: Likelihood, draw: Node, predictor: c.Core, weights: tuple[Node, ...]
    ):
        self.graph, self.group = likelihood.roles.graph, likelihood.cases.groups[0]
        self.draw = draw
        shapes = {node.name: shape_of(node, self.group.sizes) for node in weights}
        self.ways = 1 + sum(map(prod, shapes.values()))
        self.units = self._units(shapes)
        varied = {*shapes, *self.group.stacked}
        self.functions: list[tuple[Node, c.Core]] = []
        for node in self._needed_functions(predictor):
            self.functions.append((node, as_variables(_body(node), varied)))
            varied.add(node.name)
        self.predictor = as_variables(predictor, varied)
        self.dim = CASE if self.group.stacked else self._row_dim(predictor)
        stacked = self.group.stacked if draw.name in self.group.stacked else self.group.shared
        values = np.asarray(stacked[draw.name], float)
        self.rows = values.shape[0] if self.dim else 1
        self.y = values.reshape(self.rows, -1) if self.dim else values.reshape(1, -1)
        self.kept: dict[int, Parts] = {}
        if not self.dim and self.ways * self.y.size > LARGEST:
            raise TooLarge(draw.name)

    def _units(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
        """The weights, along a first axis of ways: none of them is one, then each in turn."""
        cuts = np.cumsum([prod(shape) for shape in shapes.values()])[:-1]
        parts = np.split(np.eye(self.ways)[:, 1:], cuts, axis=1)
        lead = (self.ways, 1) if self.group.stacked else (self.ways,)
        return {
            name: part.reshape(lead + shape)
            for (name, shape), part in zip(shapes.items(), parts, strict=True)
        }

    def _needed_functions(self, predictor: c.Core) -> list[Node]:
        """Functions of the model that the predictor is computed from, in the order of the graph."""
        needed = self.graph.ancestors(set(nodes_read(predictor)))
        found = [node for node in self.graph.of_kind(Kind.FUNCTION) if node.name in needed]
        for node in found:
            if (
                len(node.pieces) != 1
                or not is_plain(node)
                or not isinstance(node.pieces[0].body, c.Core)
            ):
                raise NeedsJax(node.name)
        return found

    def _row_dim(self, predictor: c.Core) -> str:
        """The dim along which rows can be cut; empty if an expression reads several of them."""
        dim = str(next(iter(self.draw.type.shape), ""))
        own = {node.name for node in self.graph.nodes if dim in map(str, node.type.shape)}
        late = any(dim in map(str, self.graph[name].type.shape[1:]) for name in own)
        if not dim or late or own & self.units.keys():
            return ""
        for node, core in [(self.draw, predictor), *((n, _body(n)) for n, _ in self.functions)]:
            row = next((bind.name for bind in _binders(node) if bind.dim.name == dim), "")
            if not _looks_at_one(core, row, dim, own):
                return ""
        return dim

    # ---- pieces

    @property
    def length(self) -> int:
        """Rows of a piece: so few that products take one thread, or enough to be worth several."""
        single = SINGLE // self.ways**2
        return max(1, (min(PIECE, single) if single >= FEWEST else PIECE) // self.y.shape[1])

    @property
    def count(self) -> int:
        return -(-self.rows // self.length)

    def pieces(self, share: int = 1) -> Iterator[Parts]:
        """All of the data, or every `share`-th piece."""
        for start in range(0, self.rows, share * self.length):
            parts = self.kept.get(start)
            if parts is None:
                rows = slice(start, start + self.length)
                eta = self._predict(rows, len(self.y[rows]))
                x = eta[1:] - eta[0] if eta[0].any() else eta[1:]
                parts = eta[0], x, self.y[rows].ravel()
            if self.ways * self.y.size <= MOST_KEPT:
                self.kept[start] = parts
            yield parts

    def _predict(self, rows: slice, count: int) -> Array:
        """eta of these rows, [ways, entries]."""
        group = self.group
        sizes = {**group.sizes, WAY: self.ways, CASE: group.count}
        if self.dim:
            sizes[self.dim] = count
        shared = {name: self._cut(name, array, rows) for name, array in group.shared.items()}
        columns = self.units | {name: array[rows][None] for name, array in group.stacked.items()}
        evaluator = Evaluator(shared, Sizes(sizes), {})
        lead: tuple[c.Bind, ...] = (_axis(WAY, self.ways),)
        if group.stacked:
            lead = (*lead, _axis(CASE, count))

        def evaluate(core: c.Core, node: Node) -> Array:
            binders = _binders(node)
            value = evaluator.value(core, (*lead, *binders), columns)
            lengths = [len(evaluator.sizes.places(bind)) for bind in binders]
            first, last = value.shape[: len(lead)], value.shape[len(lead) + len(binders) :]
            return np.broadcast_to(value, (*first, *lengths, *last))

        for node, body in self.functions:
            columns[node.name] = evaluate(body, node)
        eta = evaluate(self.predictor, self.draw)
        full = (self.ways, count, *eta.shape[2:]) if group.stacked else (self.ways, *eta.shape[1:])
        return np.broadcast_to(eta, full).reshape(self.ways, -1)

    def _cut(self, name: str, array: Array, rows: slice) -> Array:
        node = self.graph.by_name.get(name)
        along = node is not None and str(next(iter(node.type.shape), "")) == self.dim
        return array[rows] if along else array


def is_plain(node: Node) -> bool:
    """One statement for all entries."""
    piece = node.pieces[0]
    whole = all(bind.low == FIRST and bind.high == LAST for bind in _binders(node))
    every = len(_binders(node)) == len(piece.indices)
    return whole and every and piece.where is None and not piece.settings


def _body(node: Node) -> c.Core:
    body: Any = node.pieces[0].body
    assert isinstance(body, c.Core)
    return body


def _binders(node: Node) -> tuple[c.Bind, ...]:
    return tuple(index for index in node.pieces[0].indices if isinstance(index, c.Bind))


def _looks_at_one(core: c.Core | c.Law, row: str, dim: str, own: set[str]) -> bool:
    """Whether arrays with the dim, `own`, are read in this row alone, and its index nowhere."""
    if isinstance(core, c.At) and isinstance(core.base, c.Ref) and core.base.name in own:
        first, *rest = core.indices
        is_here = isinstance(first, c.Var) and first.name == row
        return is_here and all(_looks_at_one(index, row, dim, own) for index in rest)
    if isinstance(core, c.Ref | c.Var):
        return core.name not in own and core.name != row
    if isinstance(core, c.DimRef):
        return core.dim.name != dim
    if isinstance(core, c.Reduce | c.Build) and any(bind.dim.name == dim for bind in core.binders):
        return False
    return all(_looks_at_one(part, row, dim, own) for part in c.parts(core))


def _axis(name: str, size: int) -> c.Bind:
    return c.Bind(Span(0, 0), f"{name}.number", Dim(name, size, (), Span(0, 0)), FIRST, LAST)

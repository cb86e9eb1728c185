"""Generalised linear models with canonical links, in NumPy: nothing is compiled.

With eta = offset + X b affine in all unknowns, minus the log-likelihood is sum A(eta) - y eta up to
a constant, and

    b' = b - (X' A''(eta) X)^-1 X' (A'(eta) - y)

is Newton's method, iteratively reweighted least squares and the natural gradient, all in one. A fit
is given only with its certificate: where there is none, the general methods find out why.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import log, pi, prod, sqrt
from typing import Any

import numpy as np

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import nodes_read
from dpc.dsl.graph.evaluate import Array, Evaluator, NeedsJax, Sizes
from dpc.dsl.graph.graph import Kind, Node
from dpc.dsl.graph.types import FIRST, LAST, Dim
from dpc.dsl.record import Record
from dpc.dsl.source import Span
from dpc.inference.families.links import LINKS, Link

from .cases import CASE, about_cases, first_dim, shape_of
from .counts import as_variables
from .likelihood import Likelihood
from .result import Fit
from .roles import Degree

# ---- eta = offset + X b, where eta is affine in the weights b: X a piece of the rows at a time
#
# Column k of X is eta where b[k] is one and all else zero, less the offset, which is eta where all
# are zero. Pieces are kept for the next pass unless there is too much of them.


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
        # The weights, along a first axis of ways: none of them is one, then each in turn.
        cuts = np.cumsum([prod(shape) for shape in shapes.values()])[:-1]
        parts = np.split(np.eye(self.ways)[:, 1:], cuts, axis=1)
        lead = (self.ways, 1) if self.group.stacked else (self.ways,)
        self.units = {
            name: part.reshape(lead + shape)
            for (name, shape), part in zip(shapes.items(), parts, strict=True)
        }
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

    def _needed_functions(self, predictor: c.Core) -> list[Node]:
        """Functions of the model that the predictor is computed from, in the order of the graph."""
        needed = self.graph.ancestors(set(nodes_read(predictor)))
        found = [node for node in self.graph.of_kind(Kind.FUNCTION) if node.name in needed]
        for node in found:
            plain = len(node.pieces) == 1 and is_plain(node)
            if not plain or not isinstance(node.pieces[0].body, c.Core):
                raise NeedsJax(node.name)
        return found

    def _row_dim(self, predictor: c.Core) -> str:
        """The dim along which rows can be cut; empty if an expression reads several of them."""
        dim = first_dim(self.draw)
        own = {node.name for node in self.graph.nodes if dim in map(str, node.type.shape)}
        late = any(dim in map(str, self.graph[name].type.shape[1:]) for name in own)
        if not dim or late or own & self.units.keys():
            return ""
        for node, core in [(self.draw, predictor), *((n, _body(n)) for n, _ in self.functions)]:
            row = next((bind.name for bind in _binders(node) if bind.dim.name == dim), "")
            if not _looks_at_one(core, row, dim, own):
                return ""
        return dim

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
        shared = {}
        for name, array in group.shared.items():
            own = self.graph.by_name.get(name)
            shared[name] = array[rows] if own and first_dim(own) == self.dim else array
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


HALVINGS = 40
SHORT = 1e-3
BLOCK = 1 << 17
"""Multiplications in a block of a product."""
MANY, SHARE = 16, 8
"""Of so many pieces of data or more, one in so many is looked at first, to start near the maximum.
"""
ROUGH, FEW_STEPS = 1e-4, 10
NO_SCALE, NOTHING, LEAST = 1e-7, 1e-13, 1e-100
"""What a linear regression leaves, relative to the data: below it, rounding rules."""

Pieces = Callable[[], Iterator[Parts]]


class Regression(Record):
    """`weights` are the unknowns that eta is affine in, `scale` the sd of a linear regression."""

    draw: Node
    link: Link
    predictor: c.Core
    weights: tuple[Node, ...]
    scale: Node | None

    def count(self, likelihood: Likelihood) -> int:
        """How many numbers are unknown."""
        sizes = likelihood.cases.groups[0].sizes
        counts = [prod(shape_of(node, sizes)) for node in self.weights]
        return sum(counts) + (self.scale is not None)


class Point(Record):
    """Minus the log-likelihood at some b, up to a constant, and its derivatives."""

    b: Array
    value: float
    gradient: Array
    gram: Array
    steps: int = 0


def find_regression(likelihood: Likelihood) -> Regression | None:
    """The model as a regression: complete data of one draw with a known link."""
    roles, graph = likelihood.roles, likelihood.roles.graph
    draws = graph.of_kind(Kind.DRAW)
    if roles.prior or roles.estimated or likelihood.masked or not likelihood.is_complete:
        return None
    if len(draws) != 1 or len(likelihood.cases.groups) > 1 or graph.of_kind(Kind.FACTOR):
        return None
    draw = draws[0]
    if len(draw.pieces) != 1 or not is_plain(draw):
        return None
    law = draw.pieces[0].body
    assert isinstance(law, c.Law)
    is_canonical = law.facts.natural or law.facts.location_scale
    link = LINKS.get(law.facts.family) if is_canonical else None
    if link is None:
        return None
    (_, predictor), *rest = law.arguments
    scale = None
    if rest:
        core = rest[0][1]
        named = [n for n in roles.unknowns if isinstance(core, c.Ref) and n.name == core.name]
        if not named or named[0].type.shape or named[0].type.bounds != (0, np.inf):
            return None
        scale = named[0]
        if scale.name in graph.ancestors(set(nodes_read(predictor))):
            return None
    weights = tuple(node for node in roles.unknowns if node is not scale)
    free = all(n.type.bounds == (-np.inf, np.inf) and not n.type.constraint for n in weights)
    if not free or Degree(graph, {node.name for node in weights}).of(predictor) != 1:
        return None
    return Regression(draw, link, predictor, weights, scale)


def estimate(
    found: Regression,
    likelihood: Likelihood,
    start: Mapping[str, Any],
    steps: int,
    tolerance: float | None,
) -> Fit | None:
    """None without a certificate: no maximum, flat directions, or too few steps."""
    sizes = likelihood.cases.groups[0].sizes
    shapes = {node.name: shape_of(node, sizes) for node in found.weights}
    given = [np.broadcast_to(start.get(name, 0.0), shape) for name, shape in shapes.items()]
    b = np.concatenate([np.ravel(values) for values in given]).astype(float)
    asked = sqrt(np.finfo(float).eps) if tolerance is None else tolerance
    try:
        design = Design(likelihood, found.draw, found.predictor, found.weights)
        if design.count >= MANY:
            few = _newton(found.link, partial(design.pieces, SHARE), b, FEW_STEPS, ROUGH)
            b = few.b if few else b
        if found.scale is not None and design.y.size <= b.size:
            last = _pass_through(found.link, design, b)
        else:
            last = _newton(found.link, design.pieces, b, steps, asked)
        return _estimate(found, likelihood, shapes, last, design, asked) if last else None
    except (NeedsJax, TooLarge):
        return None


def _newton(link: Link, pieces: Pieces, b: Array, steps: int, tolerance: float) -> Point | None:
    here = _look(link, pieces(), b)
    for step in range(steps + 1):
        direction = _solve(here.gram, here.gradient)
        if direction is None:
            return None
        is_short = _largest(direction) <= SHORT * (1 + _largest(here.b))
        if _largest(here.gradient) <= tolerance * max(1.0, abs(here.value)) and is_short:
            return here.replace(steps=step)
        # No higher, to rounding.
        highest = here.value + 8 * float(np.finfo(float).eps) * max(1.0, abs(here.value))
        size = 1.0
        while not (there := _look(link, pieces(), here.b - size * direction)).value <= highest:
            size /= 2
            if size < 2.0**-HALVINGS:
                return None
        here = there
    return None


def _pass_through(link: Link, design: Design, b: Array) -> Point | None:
    """Weighted linear regression: the b of least norm that leaves least."""
    offset, x, y = (np.concatenate(parts, axis=-1) for parts in zip(*design.pieces(), strict=True))
    left = y - offset - b @ x
    if not np.isfinite(x).all() or not np.isfinite(left).all():
        return None
    b = b + np.linalg.lstsq(x.T, left)[0]
    return _look(link, design.pieces(), b).replace(steps=1)


def _largest(values: Array) -> float:
    return float(np.abs(values).max())


def _look(link: Link, pieces: Iterator[Parts], b: Array) -> Point:
    """One pass over the data."""
    value, gradient, gram = 0.0, np.zeros(b.size), np.zeros((b.size, b.size))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for offset, x, y in pieces:
            eta = offset + b @ x
            mean = link.mean(eta)
            value += float(np.sum(link.value(eta, mean)) - y @ eta)
            gradient += x @ (mean - y)
            gram += _square(x * np.sqrt(link.variance(mean)))
    return Point(b, value, gradient, gram)


def _square(a: Array) -> Array:
    """A A' in blocks that BLAS keeps in one thread: on a busy machine threads wait."""
    size = max(16, BLOCK // len(a) ** 2)
    whole = a.shape[1] - a.shape[1] % size
    blocks = a[:, :whole].reshape(len(a), -1, size).swapaxes(0, 1)
    rest = a[:, whole:]
    return np.asarray((blocks @ blocks.swapaxes(1, 2)).sum(axis=0) + rest @ rest.T)


def _solve(gram: Array, gradient: Array) -> Array | None:
    """Cholesky after scaling to a unit diagonal; None where it is singular to rounding."""
    diagonal = np.diag(gram)
    if not np.isfinite(gram).all() or (diagonal <= 0).any():
        return None
    scale = 1 / np.sqrt(diagonal)
    scaled = gram * scale * scale[:, None]
    if np.linalg.cond(scaled) > 1e10:
        return None
    return np.asarray(scale * np.linalg.solve(scaled, scale * gradient))


def _estimate(
    found: Regression,
    likelihood: Likelihood,
    shapes: Mapping[str, tuple[int, ...]],
    last: Point,
    design: Design,
    tolerance: float,
) -> Fit | None:
    """With the sd of a linear regression, which is the root mean square of what is left."""
    b, y = last.b, design.y
    value, scale, exact = -last.value - float(np.sum(found.link.base(y))), 1.0, False
    params: dict[str, Array] = {}
    errors: dict[str, Array] = {}
    if found.scale is not None:
        left = [float(np.sum((own - offset - b @ x) ** 2)) for offset, x, own in design.pieces()]
        scale = sqrt(sum(left) / y.size)
        exact = not scale > NOTHING * np.abs(y).max()
        if not exact and (y.size <= b.size or not scale > NO_SCALE * np.abs(y).max()):
            return None
        scale = max(scale, LEAST)
        value = -y.size * (log(scale) + log(2 * pi) / 2 + 0.5)
        params[found.scale.name] = np.asarray(scale)
        errors[found.scale.name] = np.asarray(scale / sqrt(2 * y.size))
    cuts = np.cumsum([prod(shape) for shape in shapes.values()])[:-1]
    variances = np.full(b.size, np.nan) if exact else np.diag(np.linalg.inv(last.gram))
    for own, array in ((params, b), (errors, scale * np.sqrt(variances))):
        for (name, shape), part in zip(shapes.items(), np.split(array, cuts), strict=True):
            own[name] = part.reshape(shape)
    names = [node.name for node in likelihood.roles.unknowns]
    params, errors = ({name: own[name] for name in names} for own in (params, errors))
    norm, asked = _largest(last.gradient) / scale**2, tolerance * max(1.0, abs(value))
    if not exact and not (norm <= asked and np.isfinite(value)):
        return None
    reason = f"the largest entry of the gradient is {norm:.2g}, at most {asked:.2g} was asked"
    if exact and found.scale:
        reason = f"the data are fitted exactly, `{found.scale.name}` goes to zero"
        if y.size <= b.size:
            counts = f"{b.size + 1} unknown numbers and {y.size} of `{found.draw.name}`"
            reason = f"there are {counts}: {reason}"
        reason += ", and the likelihood grows for ever"
    how = ("newton", "", not exact, reason, last.steps)
    about = about_cases(likelihood.roles.unknowns, likelihood.cases)
    return Fit(params, errors, value, *how, gradient_norm=norm, **about)

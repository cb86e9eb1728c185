"""Generalised linear models with canonical links, in NumPy: nothing is compiled.

With eta = offset + X b affine in all unknowns, minus the log-likelihood is sum A(eta) - y eta up to
a constant, and

    b' = b - (X' A''(eta) X)^-1 X' (A'(eta) - y)

is Newton's method, iteratively reweighted least squares and the natural gradient, all in one. A fit
is given only with its certificate: where there is none, the general methods find out why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import log, pi, prod, sqrt
from typing import Any

import numpy as np

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import nodes_read
from dpc.dsl.graph.evaluate import Array, NeedsJax
from dpc.dsl.graph.graph import Kind, Node
from dpc.dsl.record import Record
from dpc.inference.families.links import LINKS, Link

from .cases import shape_of
from .design import Design, Parts, TooLarge, is_plain
from .likelihood import Likelihood
from .linear import Degree

HALVINGS = 40
SHORT = 1e-3
BLOCK = 1 << 17
"""Multiplications in a block of a product."""
MANY, SHARE = 16, 8
"""Of so many pieces of data or more, one in so many is looked at first, to start near the maximum.
"""
ROUGH, FEW_STEPS = 1e-4, 10
NO_SPREAD, NOTHING, LEAST = 1e-7, 1e-13, 1e-100
"""What a linear regression leaves, relative to the data: below it, rounding rules."""

Pieces = Callable[[], Iterator[Parts]]


class Regression(Record):
    """`weights` are the unknowns that eta is affine in, `spread` the sd of a linear regression."""

    draw: Node
    link: Link
    predictor: c.Core
    weights: tuple[Node, ...]
    spread: Node | None
    names: tuple[str, ...]
    """All unknowns, in the order of the file."""

    def count(self, likelihood: Likelihood) -> int:
        """How many numbers are unknown."""
        sizes = likelihood.cases.groups[0].sizes
        return sum([prod(shape_of(node, sizes)) for node in self.weights]) + (
            self.spread is not None
        )


class RegressionRow(Record):
    """Minus the log-likelihood at some b, up to a constant, and its derivatives."""

    value: float
    slope: Array
    gram: Array


class RegressionFit(Record):
    """At the maximum: unknowns, standard errors, log-likelihood, the largest of the gradient."""

    params: dict[str, Array]
    errors: dict[str, Array]
    value: float
    gradient_norm: float
    asked: float
    steps: int
    exactly: str = ""
    """Why there is no maximum: a linear regression that leaves nothing."""

    @property
    def reason(self) -> str:
        if self.exactly:
            return f"{self.exactly}, and the likelihood grows for ever"
        return (
            f"the largest entry of the gradient is {self.gradient_norm:.2g}, at most "
            f"{self.asked:.2g} was asked"
        )


def find_regression(likelihood: Likelihood) -> Regression | None:
    """The model as a regression: complete data of one draw with a known link."""
    roles, graph = likelihood.roles, likelihood.roles.graph
    draws = graph.of_kind(Kind.DRAW)
    if (
        not likelihood.is_complete
        or roles.prior
        or roles.estimated
        or likelihood.masked
        or len(draws) != 1
    ):
        return None
    draw, several = draws[0], len(likelihood.cases.groups) > 1
    if several or len(draw.pieces) != 1 or graph.of_kind(Kind.FACTOR) or not is_plain(draw):
        return None
    law = draw.pieces[0].body
    assert isinstance(law, c.Law)
    is_canonical = law.facts.natural or law.facts.location_scale
    link = LINKS.get(law.facts.family) if is_canonical else None
    if link is None:
        return None
    (_, predictor), *rest = law.arguments
    spread = _spread(rest, roles.unknowns)
    weights = tuple(node for node in roles.unknowns if node is not spread)
    free = all(
        node.type.bounds == (-np.inf, np.inf) and not node.type.constraint for node in weights
    )
    affine = Degree(graph, {node.name for node in weights}).of(predictor) == 1
    alone = spread is None or (bool(rest) and not _mentions(likelihood, predictor, spread))
    fits = free and affine and alone and bool(rest) == (spread is not None)
    names = tuple(node.name for node in roles.unknowns)
    return Regression(draw, link, predictor, weights, spread, names) if fits else None


def _spread(rest: list[tuple[str, c.Core]], unknowns: tuple[Node, ...]) -> Node | None:
    core = rest[0][1] if rest else None
    found = [node for node in unknowns if isinstance(core, c.Ref) and node.name == core.name]
    return (
        found[0]
        if found and not found[0].type.shape and found[0].type.bounds == (0, np.inf)
        else None
    )


def _mentions(likelihood: Likelihood, core: c.Core, node: Node) -> bool:
    names = set(nodes_read(core))
    return node.name in likelihood.roles.graph.ancestors(names)


# ---- the maximum


def estimate(
    found: Regression,
    likelihood: Likelihood,
    start: Mapping[str, Any],
    steps: int,
    tolerance: float | None,
) -> RegressionFit | None:
    """None without a certificate: no maximum, flat directions, or too few steps."""
    shapes = [shape_of(node, likelihood.cases.groups[0].sizes) for node in found.weights]
    given = [
        np.broadcast_to(start.get(node.name, 0.0), s)
        for node, s in zip(found.weights, shapes, strict=True)
    ]
    b = np.concatenate([np.ravel(values) for values in given]).astype(float)
    asked = sqrt(np.finfo(float).eps) if tolerance is None else tolerance
    try:
        design = Design(likelihood, found.draw, found.predictor, found.weights)
        if design.count >= MANY:
            few = _newton(found.link, partial(design.pieces, SHARE), b, FEW_STEPS, ROUGH)
            b = few.b if few else b
        if found.spread is not None and design.y.size <= b.size:
            last = _pass_through(found.link, design, b)
        else:
            last = _newton(found.link, design.pieces, b, steps, asked)
        return _estimate(found, shapes, last, design, asked) if last else None
    except (NeedsJax, TooLarge):
        return None


class Last(Record):
    """Where Newton's method ended, what it saw there, and after how many steps."""

    b: Array
    look: RegressionRow
    steps: int


def _newton(link: Link, pieces: Pieces, b: Array, steps: int, asked: float) -> Last | None:
    here = _look(link, pieces(), b)
    for step in range(steps + 1):
        direction = _solve(here.gram, here.slope)
        if direction is None:
            return None
        is_short = _largest(direction) <= SHORT * (1 + _largest(b))
        if _largest(here.slope) <= _asked(here.value, asked) and is_short:
            return Last(b, here, step)
        size = 1.0
        while not (there := _look(link, pieces(), b - size * direction)).value <= _about(
            here.value
        ):
            size /= 2
            if size < 2.0**-HALVINGS:
                return None
        b, here = b - size * direction, there
    return None


def _pass_through(link: Link, design: Design, b: Array) -> Last | None:
    """Weighted linear regression: the b of least norm that leaves least."""
    offset, x, y = (np.concatenate(parts, axis=-1) for parts in zip(*design.pieces(), strict=True))
    left = y - offset - b @ x
    if not np.isfinite(x).all() or not np.isfinite(left).all():
        return None
    b = b + np.linalg.lstsq(x.T, left)[0]
    return Last(b, _look(link, design.pieces(), b), 1)


def _largest(values: Array) -> float:
    return float(np.abs(values).max())


def _asked(value: float, tolerance: float) -> float:
    return tolerance * max(1.0, abs(value))


def _about(value: float) -> float:
    """What a value may be that is no higher, to rounding."""
    return value + 8 * float(np.finfo(float).eps) * max(1.0, abs(value))


def _look(link: Link, pieces: Iterator[Parts], b: Array) -> RegressionRow:
    """One pass over the data."""
    value, slope, gram = 0.0, np.zeros(b.size), np.zeros((b.size, b.size))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for offset, x, y in pieces:
            eta = offset + b @ x
            mean = link.mean(eta)
            value += float(np.sum(link.value(eta, mean)) - y @ eta)
            slope += x @ (mean - y)
            gram += _square(x * np.sqrt(link.variance(mean)))
    return RegressionRow(value, slope, gram)


def _square(a: Array) -> Array:
    """A A' in blocks that BLAS keeps in one thread: on a busy machine threads wait."""
    size = max(16, BLOCK // len(a) ** 2)
    whole = a.shape[1] - a.shape[1] % size
    blocks = a[:, :whole].reshape(len(a), -1, size).swapaxes(0, 1)
    rest = a[:, whole:]
    return np.asarray((blocks @ blocks.swapaxes(1, 2)).sum(axis=0) + rest @ rest.T)


def _solve(gram: Array, slope: Array) -> Array | None:
    """Cholesky after scaling to a unit diagonal; None where it is singular to rounding."""
    diagonal = np.diag(gram)
    if not np.isfinite(gram).all() or (diagonal <= 0).any():
        return None
    scale = 1 / np.sqrt(diagonal)
    scaled = gram * scale * scale[:, None]
    if np.linalg.cond(scaled) > 1e10:
        return None
    return np.asarray(scale * np.linalg.solve(scaled, scale * slope))


def _estimate(
    found: Regression, shapes: list[tuple[int, ...]], last: Last, design: Design, tolerance: float
) -> RegressionFit | None:
    """With the sd of a linear regression, which is the root mean square of what is left."""
    b, y = last.b, design.y
    value, spread, exact = -last.look.value - float(np.sum(found.link.base(y))), 1.0, False
    params: dict[str, Array] = {}
    errors: dict[str, Array] = {}
    if found.spread is not None:
        left = [float(np.sum((own - offset - b @ x) ** 2)) for offset, x, own in design.pieces()]
        spread = sqrt(sum(left) / y.size)
        exact = not spread > NOTHING * np.abs(y).max()
        if not exact and (y.size <= b.size or not spread > NO_SPREAD * np.abs(y).max()):
            return None
        spread = max(spread, LEAST)
        value = -y.size * (log(spread) + log(2 * pi) / 2 + 0.5)
        params[found.spread.name] = np.asarray(spread)
        errors[found.spread.name] = np.asarray(spread / sqrt(2 * y.size))
    cuts = np.cumsum([prod(shape) for shape in shapes])[:-1]
    variances = np.full(b.size, np.nan) if exact else np.diag(np.linalg.inv(last.look.gram))
    for own, array in ((params, b), (errors, spread * np.sqrt(variances))):
        split = np.split(array, cuts)
        own |= {
            node.name: part.reshape(s)
            for node, part, s in zip(found.weights, split, shapes, strict=True)
        }
    params, errors = ({name: own[name] for name in found.names} for own in (params, errors))
    norm, asked = _largest(last.look.slope) / spread**2, _asked(value, tolerance)
    certain = exact or (norm <= asked and np.isfinite(value))
    few = (
        f"there are {b.size + 1} unknown numbers and {y.size} of `{found.draw.name}`: "
        if y.size <= b.size
        else ""
    )
    exactly = (
        f"{few}the data are fitted exactly, `{found.spread.name}` goes to zero"
        if exact and found.spread
        else ""
    )
    return (
        RegressionFit(params, errors, value, norm, asked, last.steps, exactly) if certain else None
    )

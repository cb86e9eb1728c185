"""Generalised linear models with canonical links, in NumPy: nothing is compiled.

With eta = offset + X b affine in all unknowns, minus the log-likelihood is sum A(eta) - y eta up to a constant, and

    b' = b - (X' A''(eta) X)^-1 X' (A'(eta) - y)

is Newton's method, iteratively reweighted least squares and the natural gradient, all in one. A fit is given only with
its certificate: where there is none, the general methods find out why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log, pi, prod, sqrt
from typing import Any

import numpy as np
from scipy.special import expit, gammaln  # type: ignore[import-untyped]

from .. import core as c
from ..graph import Kind, Node
from ..record import Record
from ..source import Span
from ..tabulate.evaluate import Array, Evaluator, NeedsJax
from ..tabulate.slots import Sizes
from ..types import FIRST, LAST, Dim
from .cases import CASE
from .likelihood import Likelihood
from .linear import Degree

WAY = "way"
HALVINGS = 40
SHORT = 1e-3
LARGEST = 50_000_000
"""Entries of X that are worth keeping."""
PIECE = 8192
NO_SPREAD = 1e-7
"""Of a linear regression that leaves nothing, relative to the data: there is no maximum, or rounding rules."""

Parts = tuple[Array, Array, Array]


class Link(Record):
    """A and A' of eta, A'' as a function of A', and what does not depend on eta: -log h(y)."""

    value: Callable[[Array], Array]
    mean: Callable[[Array], Array]
    variance: Callable[[Array], Array]
    base: Callable[[Array], Array]


def _softplus(eta: Array) -> Array:
    return np.asarray(np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta))))


LINKS = {
    ("Bernoulli", ("logits",)): Link(_softplus, expit, lambda p: p * (1 - p), np.zeros_like),
    ("Poisson", ("log_rate",)): Link(np.exp, np.exp, lambda mean: mean, lambda y: gammaln(y + 1)),
    ("Normal", ("mean", "sd")): Link(lambda e: e**2 / 2, lambda e: e, np.ones_like, lambda y: y**2 / 2),
}


class Regression(Record):
    """`weights` are the unknowns that eta is affine in, `spread` the sd of a linear regression."""

    draw: Node
    link: Link
    predictor: c.Core
    weights: tuple[Node, ...]
    spread: Node | None

    def count(self, likelihood: Likelihood) -> int:
        """How many numbers are unknown."""
        sizes = likelihood.cases.groups[0].sizes
        return sum([prod(_shape(node, sizes)) for node in self.weights]) + (self.spread is not None)


class Look(Record):
    """Minus the log-likelihood at some b, but for what does not depend on it, and its derivatives."""

    value: float
    slope: Array
    gram: Array


class Estimate(Record):
    """At the maximum: the unknowns, their standard errors, the log-likelihood, the gradient's largest entry."""

    params: dict[str, Array]
    errors: dict[str, Array]
    value: float
    gradient_norm: float
    asked: float
    steps: int

    @property
    def reason(self) -> str:
        return f"the largest entry of the gradient is {self.gradient_norm:.2g}, at most {self.asked:.2g} was asked"


def find_regression(likelihood: Likelihood) -> Regression | None:
    """The model as a regression: complete data of one draw, whose law speaks of the unknowns in a known way."""
    roles, graph = likelihood.roles, likelihood.roles.graph
    draws = graph.of_kind(Kind.DRAW)
    if not likelihood.is_complete or roles.prior or roles.estimated or likelihood.masked or len(draws) != 1:
        return None
    draw, several = draws[0], len(likelihood.cases.groups) > 1
    if several or len(draw.pieces) != 1 or graph.of_kind(Kind.FACTOR) or not _is_plain(draw):
        return None
    law = draw.pieces[0].body
    assert isinstance(law, c.Law)
    link = LINKS.get((law.name, tuple(name for name, _ in law.arguments)))
    if link is None:
        return None
    (_, predictor), *rest = law.arguments
    spread = _spread(rest, roles.unknowns)
    weights = tuple(node for node in roles.unknowns if node is not spread)
    free = all(node.type.bounds == (-np.inf, np.inf) and not node.type.constraint for node in weights)
    affine = Degree(graph, {node.name for node in weights}).of(predictor) == 1
    alone = spread is None or (bool(rest) and not _mentions(likelihood, predictor, spread))
    fits = free and affine and alone and bool(rest) == (spread is not None)
    return Regression(draw, link, predictor, weights, spread) if fits else None


def _is_plain(node: Node) -> bool:
    """One statement for all entries."""
    piece = node.pieces[0]
    binders = [index for index in piece.indices if isinstance(index, c.Bind)]
    whole = all(bind.low == FIRST and bind.high == LAST for bind in binders)
    return whole and len(binders) == len(piece.indices) and piece.where is None and not piece.settings


def _spread(rest: list[tuple[str, c.Core]], unknowns: tuple[Node, ...]) -> Node | None:
    core = rest[0][1] if rest else None
    found = [node for node in unknowns if isinstance(core, c.Ref) and node.name == core.name]
    return found[0] if found and not found[0].type.shape and found[0].type.bounds == (0, np.inf) else None


def _mentions(likelihood: Likelihood, core: c.Core, node: Node) -> bool:
    names = {part.name for part in c.walk(core) if isinstance(part, c.Ref)}
    return node.name in likelihood.roles.graph.ancestors(names)


# ---- eta as offset + X b


def design(found: Regression, likelihood: Likelihood) -> Parts | None:
    """The offset, X' and the data, laid flat: eta where all unknowns are zero, and where one is one."""
    group = likelihood.cases.groups[0]
    shapes = [_shape(node, group.sizes) for node in found.weights]
    sizes = [prod(shape) for shape in shapes]
    ways = 1 + sum(sizes)
    y = np.asarray(group.stacked.get(found.draw.name, group.shared.get(found.draw.name)), float).ravel()
    if ways * y.size > LARGEST:
        return None
    units = np.split(np.eye(ways)[:, 1:], np.cumsum(sizes)[:-1], axis=1)
    lead = (ways, 1) if group.stacked else (ways,)
    columns = {
        node.name: unit.reshape(lead + shape) for node, unit, shape in zip(found.weights, units, shapes, strict=True)
    }
    columns |= {name: array[None] for name, array in group.stacked.items()}
    try:
        eta = _predict(found, likelihood, columns, ways)
    except NeedsJax:
        return None
    return eta[0], eta[1:] - eta[0] if eta[0].any() else eta[1:], y


def _shape(node: Node, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(axis.size or sizes[str(axis)] for axis in node.type.shape)


def _predict(found: Regression, likelihood: Likelihood, columns: dict[str, Array], ways: int) -> Array:
    """eta, [ways, entries]: functions of the model first, in the order of the graph."""
    graph, group = likelihood.roles.graph, likelihood.cases.groups[0]
    evaluator = Evaluator(group.shared, Sizes({**group.sizes, WAY: ways, CASE: group.count}), {})
    lead = (_axis(WAY, ways), _axis(CASE, group.count)) if group.stacked else (_axis(WAY, ways),)
    names = {part.name for part in c.walk(found.predictor) if isinstance(part, c.Ref)}
    needed = graph.ancestors(names)

    def evaluate(core: c.Core, binders: tuple[c.Bind, ...]) -> Array:
        axes = (*lead, *binders)
        value = evaluator.value(_by_way(core, columns), axes, columns)
        lengths = [len(evaluator.sizes.places(bind)) for bind in binders]
        return np.broadcast_to(value, (*value.shape[: len(lead)], *lengths, *value.shape[len(axes) :]))

    for node in graph.of_kind(Kind.FUNCTION):
        if node.name in needed:
            if len(node.pieces) != 1 or not _is_plain(node) or not isinstance(node.pieces[0].body, c.Core):
                raise NeedsJax(node.name)
            columns[node.name] = evaluate(node.pieces[0].body, _binders(node))
    eta = evaluate(found.predictor, _binders(found.draw))
    full = (ways, group.count, *eta.shape[2:]) if group.stacked else (ways, *eta.shape[1:])
    return np.broadcast_to(eta, full).reshape(ways, -1)


def _binders(node: Node) -> tuple[c.Bind, ...]:
    return tuple(index for index in node.pieces[0].indices if isinstance(index, c.Bind))


def _axis(name: str, size: int) -> c.Bind:
    return c.Bind(Span(0, 0), f"{name}.number", Dim(name, size, (), Span(0, 0)), FIRST, LAST)


def _by_way(core: c.Core, columns: Mapping[str, Array]) -> c.Core:
    """The same expression, where what differs by way or case is a variable."""
    if isinstance(core, c.Ref) and core.name in columns:
        return c.Var(core.span, core.type, core.name)
    return c.map_parts(core, lambda part: _by_way(part, columns))


# ---- the maximum


def estimate(
    found: Regression, likelihood: Likelihood, start: Mapping[str, Any], steps: int, tolerance: float | None
) -> Estimate | None:
    """None without a certificate: no maximum, directions that are not identified, or too few steps."""
    parts = design(found, likelihood)
    if parts is None:
        return None
    shapes = [_shape(node, likelihood.cases.groups[0].sizes) for node in found.weights]
    given = [np.broadcast_to(start.get(node.name, 0.0), s) for node, s in zip(found.weights, shapes, strict=True)]
    b = np.concatenate([np.ravel(values) for values in given]).astype(float)
    here = _look(found.link, parts, b)
    asked = sqrt(np.finfo(float).eps) if tolerance is None else tolerance
    for step in range(steps + 1):
        direction = _solve(here.gram, here.slope)
        if direction is None:
            return None
        is_short = _largest(direction) <= SHORT * (1 + _largest(b))
        if _largest(here.slope) <= _asked(here.value, asked) and is_short:
            return _estimate(found, shapes, b, here, parts, step, asked)
        size = 1.0
        while not (there := _look(found.link, parts, b - size * direction)).value <= _about(here.value):
            size /= 2
            if size < 2.0**-HALVINGS:
                return None
        b, here = b - size * direction, there
    return None


def _largest(values: Array) -> float:
    return float(np.abs(values).max())


def _asked(value: float, tolerance: float) -> float:
    return tolerance * max(1.0, abs(value))


def _about(value: float) -> float:
    """What a value may be that is no higher, to rounding."""
    return value + 8 * float(np.finfo(float).eps) * max(1.0, abs(value))


def _look(link: Link, parts: Parts, b: Array) -> Look:
    """One pass over the data, in pieces that stay in the cache."""
    (offset, rows, y), value = parts, 0.0
    slope, gram = np.zeros(b.size), np.zeros((b.size, b.size))
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, y.size, PIECE):
            x, own = rows[:, start : start + PIECE], y[start : start + PIECE]
            eta = offset[start : start + PIECE] + b @ x
            mean = link.mean(eta)
            value += float(np.sum(link.value(eta)) - own @ eta)
            slope += x @ (mean - own)
            gram += (x * link.variance(mean)) @ x.T
    return Look(value, slope, gram)


def _solve(gram: Array, slope: Array) -> Array | None:
    """By Cholesky after scaling to a unit diagonal; None where the matrix is singular to rounding."""
    diagonal = np.diag(gram)
    if not np.isfinite(gram).all() or (diagonal <= 0).any():
        return None
    scale = 1 / np.sqrt(diagonal)
    scaled = gram * scale * scale[:, None]
    if np.linalg.cond(scaled) > 1e10:
        return None
    return np.asarray(scale * np.linalg.solve(scaled, scale * slope))


def _estimate(
    found: Regression, shapes: list[tuple[int, ...]], b: Array, here: Look, parts: Parts, steps: int, tolerance: float
) -> Estimate | None:
    """With the sd of a linear regression, which is the root mean square of what is left."""
    offset, rows, y = parts
    value, spread = -here.value - float(np.sum(found.link.base(y))), 1.0
    params: dict[str, Array] = {}
    errors: dict[str, Array] = {}
    if found.spread is not None:
        spread = sqrt(np.mean((y - offset - b @ rows) ** 2))
        if not spread > NO_SPREAD * np.abs(y).max():
            return None
        value = -y.size * (log(spread) + log(2 * pi) / 2 + 0.5)
        params[found.spread.name] = np.asarray(spread)
        errors[found.spread.name] = np.asarray(spread / sqrt(2 * y.size))
    cuts = np.cumsum([prod(shape) for shape in shapes])[:-1]
    for own, array in ((params, b), (errors, spread * np.sqrt(np.diag(np.linalg.inv(here.gram))))):
        split = np.split(array, cuts)
        own |= {node.name: part.reshape(s) for node, part, s in zip(found.weights, split, shapes, strict=True)}
    norm, asked = _largest(here.slope) / spread**2, _asked(value, tolerance)
    certain = norm <= asked and np.isfinite(value)
    return Estimate(params, errors, value, norm, asked, steps) if certain else None

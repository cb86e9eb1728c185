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
    names: tuple[str, ...]
    """All unknowns, in the order of the file."""

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


class RegressionFit(Record):
    """At the maximum: unknowns, standard errors, log-likelihood, the largest of the gradient."""

    params: dict[str, Array]
    errors: dict[str, Array]
    value: float
    gradient_norm: float
    steps: int
    reason: str
    exactly: bool
    """Whether there is no maximum: a linear regression that leaves nothing."""


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
    scale = _scale(rest, roles.unknowns)
    if bool(rest) != (scale is not None):
        return None
    if scale is not None and scale.name in graph.ancestors(set(nodes_read(predictor))):
        return None
    weights = tuple(node for node in roles.unknowns if node is not scale)
    free = all(n.type.bounds == (-np.inf, np.inf) and not n.type.constraint for n in weights)
    if not free or Degree(graph, {node.name for node in weights}).of(predictor) != 1:
        return None
    names = tuple(node.name for node in roles.unknowns)
    return Regression(draw, link, predictor, weights, scale, names)


def _scale(rest: list[tuple[str, c.Core]], unknowns: tuple[Node, ...]) -> Node | None:
    core = rest[0][1] if rest else None
    found = [node for node in unknowns if isinstance(core, c.Ref) and node.name == core.name]
    if found and not found[0].type.shape and found[0].type.bounds == (0, np.inf):
        return found[0]
    return None


# ---- the maximum


def estimate(
    found: Regression,
    likelihood: Likelihood,
    start: Mapping[str, Any],
    steps: int,
    tolerance: float | None,
) -> RegressionFit | None:
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
        return _estimate(found, shapes, last, design, asked) if last else None
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
    shapes: Mapping[str, tuple[int, ...]],
    last: Point,
    design: Design,
    tolerance: float,
) -> RegressionFit | None:
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
    params, errors = ({name: own[name] for name in found.names} for own in (params, errors))
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
    return RegressionFit(params, errors, value, norm, last.steps, reason, exact)

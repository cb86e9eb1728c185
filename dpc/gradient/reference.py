"""The gradient of an expectation without sampling: what estimators are measured against.

d E[f] = d sum_x w(x) p(x) f(x) over all values of finite draws and an even grid for real ones. On
the line such sums converge faster than any power of the step where p f is smooth. Whether it is,
two grids that interleave say.
"""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from dpc.dsl.graph.graph import Kind, Node
from dpc.dsl.graph.types import Bool, IndexOf, Real
from dpc.dsl.record import Record

MOST_POINTS = 2**18
TOGETHER = 4096
STEPS, REACH, PILOT = 160, 10.0, 512
TOLERANCE = 1e-6


class Reference(Record):
    """`error` is the standard error of each entry, 0 where exact; `about` says how."""

    gradient: dict[str, np.ndarray]
    error: dict[str, np.ndarray]
    about: str


def exact_reference(model: Any, params: Any, data: Any) -> Reference | None:
    """By a grid over all draws, where that is small and fine enough."""
    if model.objective(data).bound is not None:
        return None
    axes = _axes(model, params, data)
    if axes is None or _count(axes) > MOST_POINTS:
        return None
    is_real = any(axis.step for axis in _entries(axes))
    shifts = (0.0, 0.5) if is_real else (0.0,)
    found = [_derive(model, params, data, axes, shift) for shift in shifts]
    normal = all(_is_normal(total) for total, _ in found)
    if not normal or not all(map(_agree, found[0], found[-1])):
        return None
    gradient = {name: np.mean([np.asarray(g[name]) for _, (_, g) in found], 0) for name in params}
    about = f"a sum over {_count(axes) * len(found)} points"
    return Reference(gradient, {name: np.zeros_like(g) for name, g in gradient.items()}, about)


# ---- the grid


class Axis(Record):
    """The values of one entry of a draw, `step` apart; finite ones have a step of 0."""

    values: np.ndarray
    step: float = 0.0


class Entries(Record):
    """An Axis for every entry of a draw of this shape."""

    shape: tuple[int, ...]
    axes: tuple[Axis, ...]


Axes = Mapping[str, Entries]


def _axes(model: Any, params: Any, data: Any) -> Axes | None:
    """The entries of every draw; None where one has no such grid."""
    import jax

    pilot = model.sample(jax.random.key(0), params, data, n=PILOT)
    found = {}
    for node in model.graph.of_kind(Kind.DRAW):
        drawn = np.asarray(pilot[node.name], float)
        axes = [_axis(node, column, data) for column in drawn.reshape(PILOT, -1).T]
        known = tuple(axis for axis in axes if axis is not None)
        if len(known) < len(axes):
            return None
        found[node.name] = Entries(drawn.shape[1:], known)
    return found


def _axis(node: Node, drawn: np.ndarray, data: Mapping[str, Any]) -> Axis | None:
    domain = node.type.domain
    if isinstance(domain, Bool):
        return Axis(np.array([False, True]))
    if isinstance(domain, IndexOf):
        size = getattr(domain.dim, "size", None)
        return Axis(np.arange(size if size is not None else data[str(domain.dim)]))
    if isinstance(domain, Real) and drawn.std() > 0:
        step = 2 * REACH * float(drawn.std()) / STEPS
        return Axis(drawn.mean() + step * (np.arange(STEPS) - STEPS / 2), step)
    return None


def _entries(axes: Axes) -> Iterator[Axis]:
    return (axis for entries in axes.values() for axis in entries.axes)


def _count(axes: Axes) -> int:
    return prod(len(axis.values) for axis in _entries(axes))


def _points(axes: Axes, shift: float) -> tuple[dict[str, np.ndarray], float]:
    """All combinations, and their weights; real values move by this share of their step."""
    entries = list(_entries(axes))
    lines = [axis.values + shift * axis.step if axis.step else axis.values for axis in entries]
    columns = iter(np.meshgrid(*lines, indexing="ij"))
    points = {}
    for name, own in axes.items():
        flat = np.stack([next(columns).ravel() for _ in own.axes], -1)
        points[name] = flat.reshape(-1, *own.shape)
    return points, prod(axis.step or 1.0 for axis in entries)


# ---- the sum


def _derive(model: Any, params: Any, data: Any, axes: Axes, shift: float) -> Any:
    """sum w p and sum w p f, each with its gradient."""
    import jax
    import jax.numpy as jnp

    points, weight = _points(axes, shift)

    def mass(params: Any, draws: Any) -> Any:
        return weight * jnp.exp(model.log_prob(params, draws, data))

    def cost(params: Any, draws: Any) -> Any:
        return mass(params, draws) * model.value(params, data, draws)

    def one(draws: Any) -> Any:
        return jax.value_and_grad(mass)(params, draws), jax.value_and_grad(cost)(params, draws)

    terms = jax.jit(lambda points: jax.lax.map(one, points, batch_size=TOGETHER))(points)
    return jax.tree.map(lambda term: np.asarray(term).sum(0), terms)


def _is_normal(total: Any) -> bool:
    """The probabilities are 1 together, and stay so."""
    mass, gradient = total
    still = all(np.all(np.abs(g) < TOLERANCE) for g in gradient.values())
    return still and abs(mass - 1) < TOLERANCE


def _agree(one: Any, other: Any) -> bool:
    pairs = [(one[0], other[0]), *((one[1][name], other[1][name]) for name in one[1])]
    return all(np.all(np.abs(a - b) <= TOLERANCE * (1 + np.abs(a))) for a, b in pairs)

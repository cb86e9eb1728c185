"""The gradient of an expectation by differences of its mean: what estimators are measured against.

(E[f](p + h) - E[f](p - h)) / 2h, and the same at h / 2, by which the error of order h^2 goes. No
derivative is taken anywhere, so a jump, an edge or a biased score cannot hide here as it does in
the estimators. The mean is a sum over all values of finite draws and an even grid for real ones.
On the line such sums converge faster than any power of the step where the integrand is smooth;
whether it is, grids that interleave say. Elsewhere it is one over draws of the program, with the
same key at all ends of a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpc.dsl.graph.graph import Kind, Node
from dpc.dsl.graph.types import Bool, IndexOf, Real
from dpc.dsl.record import Record

from ..exits import UsageError
from ..model.constraints import constraint_of
from .plain import PlainObjective, plain_objective

MOST_POINTS = 2**18
MOST_TERMS = 2**24
MOST_RUNS = 2**20
MOST_ENTRIES = 64
TOGETHER = 4096
STEPS, REACH, PILOT = 160, 10.0, 512
SHIFTS = (0.0, 0.5, 0.29)
TOLERANCE = 1e-6
FINE, COARSE = 1e-3, 0.1
"""Steps for means without noise, and for those where a jump adds a variance of order 1 / h."""
LONGER, HALVINGS = 64, 6


class Reference(Record):
    """`error` is the standard error of each entry, 0 where exact; `about` says how.

    Entries that were not looked at are NaN.
    """

    gradient: dict[str, np.ndarray]
    error: dict[str, np.ndarray]
    about: str


def find_reference(model: Any, params: Any, data: Any, samples: int, seed: int) -> Reference:
    """By sums where they are small and fine enough, by many draws elsewhere."""
    with jax.enable_x64(True):
        params = {name: np.asarray(value, float) for name, value in params.items()}
        return exact_reference(model, params, data) or sampled_reference(
            model, params, data, samples, seed
        )


# ---- differences


class Move(Record):
    """One entry of a parameter, the direction in which it moves, and how far at most."""

    name: str
    place: tuple[int, ...]
    direction: np.ndarray
    reach: float

    def moved(self, params: Mapping[str, Any], step: float) -> dict[str, Any]:
        own = params[self.name] + step * self.reach * self.direction
        return {**params, self.name: own}


ENDS = np.array([1.0, -1.0, 0.5, -0.5])


def find_moves(model: Any, params: Mapping[str, Any]) -> list[Move]:
    """All entries of all parameters, or as many as can be afforded, chosen at random."""
    places = [(name, place) for name, value in params.items() for place in np.ndindex(value.shape)]
    if len(places) > MOST_ENTRIES:
        chosen = np.random.default_rng(0).choice(len(places), MOST_ENTRIES, replace=False)
        places = [places[k] for k in np.sort(chosen)]
    found = []
    for name, place in places:
        one = np.zeros(params[name].shape)
        one[place] = 1.0
        direction = tangent(model.graph[name], params[name], one)
        found.append(Move(name, place, direction, _reach(model.graph[name], params, direction)))
    return found


def tangent(node: Node, at: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The part of a direction that stays where the parameter is allowed to be."""
    word = node.type.constraint
    if word == "simplex":
        direction = direction - direction.mean(-1, keepdims=True)
    if word in ("covariance", "correlation"):
        direction = (direction + np.swapaxes(direction, -1, -2)) / 2
    if word == "correlation":
        direction = direction * (1 - np.eye(at.shape[-1]))
    if word in ("cholesky", "corr_cholesky"):
        direction = np.tril(direction)
    if word in ("unit_vector", "corr_cholesky"):
        direction = direction - (direction * at).sum(-1, keepdims=True) * at
    return direction


def _reach(node: Node, params: Mapping[str, np.ndarray], direction: np.ndarray) -> float:
    """A power of 1/2 times the size of the parameter: twice as far is still allowed."""
    if node.type.constraint in ("unit_vector", "corr_cholesky"):
        return 1.0  # curved: every step leaves it, by an order that the difference does not see
    at, allowed = params[node.name], constraint_of(node.type)
    reach = 1.0
    for _ in range(40):
        ends = (at + sign * 2 * COARSE * reach * direction for sign in (1, -1))
        if all(np.all(allowed(end)) for end in ends):
            return reach
        reach /= 2
    what = f"`{node.name}` starts at the edge of what it may be, and has no differences there"
    raise UsageError(f"{what}: give it another value with --set")


Evaluate = Callable[[Mapping[str, Any]], np.ndarray]
"""Values of the objective, or means, along the last axis, for parameters along the first."""


class Difference(Record):
    """For each move, in each value: the derivative, and what the smaller step has added to it."""

    derivative: np.ndarray
    correction: np.ndarray
    step: float

    def is_fine(self, tolerance: float) -> bool:
        """The step is small enough: halving it changes little, or nothing but by chance."""
        added, error = mean_and_error(self.correction)
        size = np.abs(mean_and_error(self.derivative)[0]).max(initial=0.0)
        return bool(np.all(np.abs(added) <= np.maximum(4 * error, tolerance * size)))


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    count = values.shape[-1]
    error = values.std(-1, ddof=1) / np.sqrt(count) if count > 1 else np.zeros(values.shape[:-1])
    return values.mean(-1), error


def ends_of(params: Mapping[str, Any], moves: list[Move], step: float) -> dict[str, np.ndarray]:
    """The parameters as they are, and at the four ends of every move."""
    ends = [params, *(move.moved(params, step * end) for move in moves for end in ENDS)]
    return {name: np.stack([end[name] for end in ends]) for name in params}


def difference(values: np.ndarray, moves: list[Move], step: float) -> Difference:
    """Central ones of both steps; (4 D(h/2) - D(h)) / 3 has an error of order h^4."""
    ends = values[1:].reshape(len(moves), len(ENDS), -1)
    width = 2 * step * np.array([move.reach for move in moves])[:, None]
    wide, narrow = (ends[:, 0] - ends[:, 1]) / width, (ends[:, 2] - ends[:, 3]) / (width / 2)
    correction = (narrow - wide) / 3
    return Difference(narrow + correction, correction, step)


def finest(
    evaluate: Evaluate, params: Any, moves: list[Move], step: float, tolerance: float
) -> Difference:
    """With steps halved until they are small enough."""
    for _ in range(HALVINGS):
        found = difference(evaluate(ends_of(params, moves, step)), moves, step)
        if found.is_fine(tolerance):
            break
        step /= 2
    return found


def as_reference(
    found: Difference, params: Mapping[str, np.ndarray], moves: list[Move], about: str
) -> Reference:
    mean, error = mean_and_error(found.derivative)
    gradient = {name: np.full(value.shape, np.nan) for name, value in params.items()}
    errors = {name: np.zeros(value.shape) for name, value in params.items()}
    for move, own, chance in zip(moves, mean, error, strict=True):
        gradient[move.name][move.place] = own
        errors[move.name][move.place] = chance
    entries = sum(value.size for value in params.values())
    if entries > len(moves):
        about += f", in {len(moves)} of {entries} entries"
    return Reference(gradient, errors, about)


# ---- by draws


def sampled_reference(
    model: Any, params: Mapping[str, Any], data: Any, samples: int, seed: int
) -> Reference:
    """Differences of the plain program at the same keys; their error is that over other keys."""
    plain, moves = plain_objective(model, data), find_moves(model, params)
    runs = 1 + len(ENDS) * len(moves)
    count = max(min(LONGER * samples, MOST_RUNS // runs), samples)
    key = jax.random.fold_in(jax.random.key(seed), 1)

    @jax.jit
    def batch(keys: Any, ends: Any) -> Any:
        return jax.lax.map(lambda end: jax.vmap(lambda k: plain.once(k, end))(keys), ends)

    def values(ends: Any, key: Any, count: int) -> np.ndarray:
        together = min(count, TOGETHER)
        batches = jax.random.split(key, (-(-count // together), together))
        return np.concatenate([np.asarray(batch(keys, ends)) for keys in batches], -1)[:, :count]

    pilot = min(count, TOGETHER)
    step = finest(lambda ends: values(ends, key, pilot), params, moves, COARSE, 0.05).step
    whole = values(ends_of(params, moves, step), jax.random.fold_in(key, 1), count)
    steps = f"steps of {step:g} and {step / 2:g}"
    about = f"differences of {count} runs of the program with the same noise, {steps}"
    return as_reference(difference(whole, moves, step), params, moves, about)


# ---- by sums


def exact_reference(model: Any, params: Mapping[str, Any], data: Any) -> Reference | None:
    """By a grid over all draws, where that is small and fine enough."""
    plain, moves = plain_objective(model, data), find_moves(model, params)
    axes = _axes(plain, params, data)
    if axes is None or _count(axes) > MOST_POINTS:
        return None
    shifts = SHIFTS if any(axis.step for axis in _entries(axes)) else SHIFTS[:1]
    runs = len(shifts) * (1 + len(ENDS) * len(moves))
    if runs * _count(axes) > MOST_TERMS:
        return None
    found: list[tuple[np.ndarray, Difference]] = []
    for shift in shifts:
        total = _sum_over(plain, axes, shift)
        means, masses = total(ends_of(params, moves, FINE))
        if not np.all(np.abs(masses - 1) < TOLERANCE):
            return None
        own = finest(partial(_first, total), params, moves, FINE, 1e-3)
        if found and not _agree(found[0][0], means):
            return None
        if found and not _agree(found[0][1].derivative, own.derivative):
            return None
        found.append((means, own))
    about = f"differences of a sum over {_count(axes) * len(found)} points"
    return as_reference(found[0][1], params, moves, about)


def _first(total: Callable[[Any], Any], ends: Any) -> np.ndarray:
    means: np.ndarray = total(ends)[0]
    return means


def _agree(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.all(np.abs(one - other) <= TOLERANCE * (1 + np.abs(one))))


def _sum_over(plain: PlainObjective, axes: Axes, shift: float) -> Callable[[Any], Any]:
    """sum w p f and sum w p, for each of these parameters."""
    points, weight = _points(axes, shift)
    points = jax.tree.map(jnp.asarray, points)

    def term(params: Any, draws: Any) -> Any:
        assert plain.log_prob is not None
        assert plain.value is not None
        mass = weight * jnp.exp(plain.log_prob(params, draws))
        return jnp.where(mass > 0, mass * plain.value(params, draws), 0.0), mass

    def total(params: Any) -> Any:
        terms = jax.lax.map(lambda draws: term(params, draws), points, batch_size=TOGETHER)
        return jax.tree.map(jnp.sum, terms)

    compiled = jax.jit(lambda ends: jax.lax.map(total, ends))

    def means(ends: Any) -> Any:
        value, mass = compiled(ends)
        return np.asarray(value)[:, None], np.asarray(mass)

    return means


class Axis(Record):
    """The values of one entry of a draw, `step` apart; finite ones have a step of 0."""

    values: np.ndarray
    step: float = 0.0


class Entries(Record):
    """An Axis for every entry of a draw of this shape."""

    shape: tuple[int, ...]
    axes: tuple[Axis, ...]


Axes = Mapping[str, Entries]


def _axes(plain: PlainObjective, params: Any, data: Any) -> Axes | None:
    """The entries of every draw; None where one has no such grid."""
    if plain.sample is None:
        return None
    keys = jax.random.split(jax.random.key(0), PILOT)
    pilot = jax.jit(jax.vmap(plain.sample, in_axes=(0, None)))(keys, params)
    found = {}
    for node in plain.graph.of_kind(Kind.DRAW):
        drawn = np.asarray(pilot[node.name], float)
        axes = [_axis(node, column, data) for column in drawn.reshape(PILOT, -1).T]
        known = tuple(axis for axis in axes if axis is not None)
        if len(known) < len(axes):
            return None
        found[node.name] = Entries(drawn.shape[1:], known)
    return found


def _axis(node: Node, drawn: np.ndarray, data: Any) -> Axis | None:
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

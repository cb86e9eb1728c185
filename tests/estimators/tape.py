"""All the noise of a program, written down: an expectation over it is a sum over the nodes of a
quadrature.

While a tape plays, `jax.random` reads it. The keys of a step are numbers that count its samples;
`fold_in` tells which step it is. A dry run finds out which noise a program asks for, and in which
shapes; then each number of that noise gets the nodes of its law: uniform noise between the breaks
at which a draw changes (two nodes a piece, which is right for what is linear in it; one where there
is other noise, so that it only chooses), normal noise Gauss-Hermite, and so on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import continuous, discrete

KINDS = ("uniform", "normal", "logistic", "gumbel", "exponential", "poisson", "gamma")
Slot = tuple[int, str, int]
Shapes = dict[Slot, tuple[int, ...]]
Rule = tuple[np.ndarray, np.ndarray]
Rules = Mapping[str, Rule]
Breaks = Callable[[Slot, Mapping[Slot, np.ndarray]], np.ndarray]


class Nodes(NamedTuple):
    """`values[slot]` is (nodes, samples, *shape)."""

    values: dict[Slot, np.ndarray]
    weights: np.ndarray


class _Player:
    def __init__(self, tape: Mapping[Slot, jax.Array] | None):
        self.tape = tape
        self.step = 0
        self.samples = 1
        self.calls: dict[str, int] = {}
        self.shapes: Shapes = {}

    def fold_in(self, key: jax.Array, step: int) -> jax.Array:
        self.step, self.samples, self.calls = step, 1, {}
        return key

    def split(self, key: jax.Array, num: int | tuple[int, ...] = 2) -> jax.Array:
        if isinstance(num, int):
            return jnp.broadcast_to(key, (num, *jnp.shape(key)))
        self.samples = math.prod(num)
        return jnp.reshape(jnp.arange(self.samples), num)

    def noise(
        self, kind: str, key: jax.Array, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> jax.Array:
        shape = keywords.get("shape", next((arg for arg in args if isinstance(arg, tuple)), ()))
        call = self.calls[kind] = self.calls.get(kind, -1) + 1
        slot = (self.step, kind, call)
        self.shapes[slot] = (self.samples, *shape)
        return jnp.full(shape, 0.5) if self.tape is None else self.tape[slot][key]


@contextmanager
def playing(tape: Mapping[Slot, jax.Array] | None) -> Iterator[_Player]:
    player = _Player(tape)

    def reader(kind: str) -> Callable[..., jax.Array]:
        return lambda key, *args, **keywords: player.noise(kind, key, args, keywords)

    patches = {kind: reader(kind) for kind in KINDS}
    with (
        mock.patch.multiple(jax.random, fold_in=player.fold_in, split=player.split, **patches),
        mock.patch.object(discrete, "binomial", reader("binomial")),
        mock.patch.object(discrete, "is_prng_key", return_value=True),
        mock.patch.object(continuous, "is_prng_key", return_value=True),
    ):
        yield player


def expected(
    value: Callable[[jax.Array, jax.Array], jax.Array],
    of: Callable[..., Any],
    theta: jax.Array,
    breaks: Breaks,
    rules: Rules,
    fineness: int,
) -> Any:
    """E[of(value)(theta, key)] over all the noise of the value; what is made of it may
    differentiate.
    """
    shapes = _asked(value, theta)
    nodes = _nodes(shapes, breaks, rules, fineness)

    def one(tape: list[jax.Array], theta: jax.Array) -> Any:
        with playing(dict(zip(shapes, tape, strict=True))):
            return of(value)(theta, jnp.zeros((), int))

    tape = [jnp.asarray(nodes.values[slot]) for slot in shapes]
    every = (
        jax.vmap(one, (0, None))
        if tape
        else lambda tape, theta: [array[None] for array in one(tape, theta)]
    )
    found = jax.jit(every, compiler_options={"xla_backend_optimization_level": 0})(tape, theta)
    return jax.tree.map(lambda array: np.tensordot(nodes.weights, np.asarray(array), 1), found)


def _asked(function: Callable[[jax.Array, jax.Array], Any], theta: jax.Array) -> Shapes:
    with playing(None) as player:
        jax.eval_shape(function, theta, jnp.zeros((), int))
    return player.shapes


def _nodes(shapes: Shapes, breaks: Breaks, rules: Rules, fineness: int) -> Nodes:
    values: dict[Slot, np.ndarray] = {}
    weights = np.ones(1)
    inside = 2 if {kind for _, kind, _ in shapes} == {"uniform"} else 1
    for slot, (samples, *shape) in shapes.items():
        _, kind, _ = slot
        together = (
            tuple(shape[-1:])
            if kind in ("gumbel", "exponential") and shape and kind not in rules
            else ()
        )
        together = (3,) if kind == "normal" and tuple(shape[:1]) == (3,) else together
        columns = []
        for _ in range(math.prod((samples, *shape)) // math.prod(together)):
            column, weight = _rule(slot, together, breaks, values, rules, fineness, inside)
            if column.shape[0] == 1:
                column, weight = (
                    np.broadcast_to(x, (len(weights), *x.shape[1:])) for x in (column, weight)
                )
            count = weight.shape[1]
            values = {name: np.repeat(array, count, 0) for name, array in values.items()}
            columns = [np.repeat(array, count, 0) for array in columns]
            columns.append(column.reshape(-1, *together))
            weights = np.repeat(weights, count) * weight.reshape(-1)
        assert len(weights) < 400_000, f"{len(weights)} nodes are too many"
        values[slot] = np.stack(columns, 1).reshape(-1, samples, *shape)
    return Nodes(values, weights)


def _rule(
    slot: Slot,
    together: tuple[int, ...],
    breaks: Breaks,
    earlier: Mapping[Slot, np.ndarray],
    rules: Rules,
    fineness: int,
    inside: int,
) -> Rule:
    """Nodes (earlier nodes or 1, nodes, *together) of one number, or of one vector, with their
    weights.
    """
    kind = slot[1]
    if kind in rules:
        return rules[kind][0][None], rules[kind][1][None]
    if kind == "normal":
        nodes, weights = ball(fineness) if together else hermite(fineness)
        return nodes[None], weights[None]
    if kind in ("gumbel", "exponential"):
        nodes, weights = directions(fineness, together[0])
        return (nodes if kind == "exponential" else -np.log(nodes))[None], weights[None]
    if kind == "logistic":
        nodes, weights = legendre(fineness)
        return (np.log(nodes) - np.log1p(-nodes))[None], weights[None]
    return pieces(np.atleast_2d(breaks(slot, earlier)), inside)


def legendre(count: int, low: float = 0.0, high: float = 1.0) -> Rule:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return low + (high - low) * (nodes + 1) / 2, weights * (high - low) / 2


def tanh_sinh(count: int) -> Rule:
    """On (0, 1), for what is not smooth at the ends: the trapezoidal rule in t, u = 1 / (1 +
    exp(-pi sinh t)).
    """
    t = np.linspace(-3.2, 3.2, count)
    s = np.pi * np.sinh(t)
    return 1 / (1 + np.exp(-s)), (t[1] - t[0]) * np.pi * np.cosh(t) / (2 + 2 * np.cosh(s))


def logarithmic(shape: float, count: int = 160) -> Rule:
    """For Gamma laws and what is logarithmic at 0: the trapezoidal rule in log x."""
    t = np.linspace(-28.0 / min(shape, 2.0), 4.6, count)
    density = np.exp(shape * t - np.exp(t))
    return np.exp(t), density / density.sum()


def hermite(count: int) -> Rule:
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, weights / weights.sum()


def pieces(breaks: np.ndarray, count: int) -> Rule:
    """Between 0, the breaks (rows, breaks) and 1."""
    rows = len(breaks)
    ends = np.sort(np.concatenate([np.zeros((rows, 1)), breaks, np.ones((rows, 1))], 1), 1)
    nodes, weights = legendre(count)
    width = np.diff(ends, axis=1)[..., None]
    return (ends[:, :-1, None] + width * nodes).reshape(rows, -1), (width * weights).reshape(
        rows, -1
    )


def directions(count: int, size: int) -> Rule:
    """Exponentials with sum 1 and their law: the uniform one on the simplex. Softargmaxes depend on
    nothing else.
    """
    nodes, weights = tanh_sinh(count)
    points, total, left = np.ones((1, 0)), np.ones(1), np.ones(1)
    for rest in range(size - 1, 0, -1):
        part = np.repeat(left, count) * np.tile(nodes, len(left))
        total = np.repeat(total, count) * np.tile(
            weights * rest * (1 - nodes) ** (rest - 1), len(left)
        )
        points = np.concatenate([np.repeat(points, count, 0), part[:, None]], 1)
        left = np.repeat(left, count) * np.tile(nodes[::-1], len(left))
    return np.concatenate([points, left[:, None]], 1), total


def ball(count: int) -> Rule:
    """Three normal numbers r (cos t, sin t, 0): r is Maxwell and cos t uniform; both halves of t on
    their own.
    """
    r, by_r = legendre(3 * count, 0.0, 12.0)
    by_r = by_r * r * r * np.exp(-r * r / 2) * np.sqrt(2 / np.pi)
    halves = [legendre(count, 0.0, np.pi / 2), legendre(count, np.pi / 2, np.pi)]
    t, by_t = (np.concatenate(part) for part in zip(*halves, strict=True))
    by_t = by_t * np.sin(t) / 2
    points = np.stack(
        [np.outer(r, np.cos(t)), np.outer(r, np.sin(t)), np.zeros((len(r), len(t)))], -1
    )
    return points.reshape(-1, 3), np.outer(by_r, by_t).reshape(-1)

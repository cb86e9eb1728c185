"""How smooth a function from outside is: nobody says, so it is read off its program, and probed.

A function without comparisons and rounding in its traced program is smooth. One that has some may
still be (a guard against overflow is a comparison), so it is followed along random lines: where the
largest step between neighbours does not shrink as they draw nearer, it jumps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpc.dsl.graph.breaks import Smoothness
from dpc.dsl.graph.typed import Function
from dpc.dsl.graph.types import Real, Type

JUMPING = frozenset({"gt", "lt", "ge", "le", "eq", "ne", "floor", "ceil", "round", "sign"})
CHOOSING = frozenset({"argmax", "argmin", "sort", "top_k"})
LINES, POINTS, HALVINGS = 48, 129, 30
REACH = 3.0
LEAST = 1e-3
"""A step that stays above this share of the function's size is a jump."""


def smoothness_of_externs(
    functions: tuple[Function, ...],
    externs: Mapping[str, Callable[..., Any]],
    sizes: Mapping[str, int],
) -> dict[str, Smoothness]:
    own = [f for f in functions if f.body is None and f.name in externs]
    return {f.name: _smoothness(externs[f.name], f, sizes) for f in own}


def _smoothness(
    function: Callable[..., Any], row: Function, sizes: Mapping[str, int]
) -> Smoothness:
    types = [type_ for _, type_ in row.parameters]
    if not any(isinstance(type_.domain, Real) for type_ in types):
        return "smooth"
    random = np.random.default_rng(0)
    start = [_example(type_, sizes, random) for type_ in types]
    try:
        traced = jax.make_jaxpr(function)(*start)
    except Exception:  # whatever the caller's function raises, it raises again where it is used
        return "smooth"
    if not any(name in JUMPING | CHOOSING for name in _primitives(traced.jaxpr)):
        return "smooth"
    return "jump" if _jumps(function, types, sizes, random) else "smooth"


def _example(type_: Type, sizes: Mapping[str, int], random: np.random.Generator) -> Any:
    shape = tuple(getattr(axis, "size", None) or sizes[str(axis)] for axis in type_.shape)
    if isinstance(type_.domain, Real):
        low, high = (np.clip(end, -REACH, REACH) for end in type_.bounds)
        return jnp.asarray(random.uniform(low, high, shape))
    return jnp.zeros(shape, int)


def _primitives(jaxpr: Any) -> Iterator[str]:
    """The names of all operations, inner programs included."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                found = getattr(inner, "jaxpr", inner)
                if hasattr(found, "eqns"):
                    yield from _primitives(found)


def _jumps(
    function: Callable[..., Any],
    types: list[Type],
    sizes: Mapping[str, int],
    random: np.random.Generator,
) -> bool:
    @jax.jit
    def along(start: Any, end: Any, places: Any) -> Any:
        """The values at these places between two inputs, one row each."""

        def at(place: Any) -> Any:
            inputs = [
                a + place * (b - a) if isinstance(type_.domain, Real) else a
                for type_, a, b in zip(types, start, end, strict=True)
            ]
            return jnp.ravel(jnp.asarray(function(*inputs), float))

        return jax.vmap(at)(places)

    for _ in range(LINES):
        start, end = ([_example(t, sizes, random) for t in types] for _ in range(2))
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            places = np.linspace(low, high, POINTS if (low, high) == (0.0, 1.0) else 3)
            values = np.asarray(along(start, end, places))
            steps = np.abs(np.diff(values, axis=0)).max(axis=1, initial=0.0)
            worst = int(np.argmax(steps))
            low, high = places[worst], places[worst + 1]
        if steps.max() > LEAST * (1 + np.abs(values).max()) and np.isfinite(values).all():
            return True
    return False

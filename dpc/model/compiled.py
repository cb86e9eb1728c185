"""Functions of a program, compiled once for every shape. Sizes of dims are never traced."""

from collections.abc import Callable, Mapping
from typing import Any

import jax

from ..data.bound import Data

Sizes = tuple[tuple[str, int], ...]


def compiled(function: Callable[..., Any], **static: Any) -> Callable[..., Any]:
    """A function of data, last, as one of arrays and, by name, of static values."""

    def run(*arguments: Any, sizes: Sizes, **options: Any) -> Any:
        *others, arrays = arguments
        return function(*others, {**arrays, **dict(sizes)}, **options)

    return jax.jit(run, static_argnames=("sizes", *static), inline=True)


def split_data(data: Mapping[str, Any], dims: frozenset[str]) -> tuple[dict[str, Any], Sizes]:
    """Arrays, and the sizes of dims; a size that is traced stays among the arrays."""
    if isinstance(data, Data):
        return data.arrays, data.layout.sizes
    static = {name for name in data if name in dims and not isinstance(data[name], jax.core.Tracer)}
    sizes = tuple((name, int(data[name])) for name in data if name in static)
    return {name: data[name] for name in data if name not in static}, sizes


# ---- transforms of the program's functions


def many(draw: Callable[..., Any]) -> Callable[..., Any]:
    """`n` draws along a new first axis, or one without it."""

    def draws(key: Any, params: Any, data: Any, n: int | None) -> Any:
        if n is None:
            return draw(key, params, data)
        return jax.vmap(lambda k: draw(k, params, data))(jax.random.split(key, n))

    return draws


def _jvp(objective: Callable[..., Any]) -> Callable[..., Any]:
    def along(params: Any, direction: Any, values: Any, data: Any) -> Any:
        return jax.jvp(lambda p: objective(p, values, data), (params,), (direction,))

    return along


def _hvp(objective: Callable[..., Any]) -> Callable[..., Any]:
    def product(params: Any, direction: Any, values: Any, data: Any) -> Any:
        return jax.jvp(lambda p: jax.grad(objective)(p, values, data), (params,), (direction,))[1]

    return product


DERIVATIVES: dict[str, tuple[str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    "gradient": ("objective", jax.grad),
    "hessian": ("objective", jax.hessian),
    "jvp": ("objective", _jvp),
    "hvp": ("objective", _hvp),
}

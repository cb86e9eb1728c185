"""The bodies of functions for NumPy: the same text as for JAX, read with NumPy in its place.

The helpers of this folder use only what `jax.numpy` and NumPy share, and a few names of `jax` and
`lax` that stand below. So a one-shot answer needs no JAX, and no function is written twice.
"""

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

from ...execute import execute
from ..rows import FunctionRow

FILES = ("elementary", "arrays", "smooth", "moreau", "lists", "soft")
Body = Callable[..., Any]


def numpy_body(row: FunctionRow) -> Body | None:
    """What computes a row on NumPy arrays; None where the row has nothing for NumPy."""
    if row.numpy is None or callable(row.numpy):
        return row.numpy
    return None if callable(row.jax) else _resolve(row.numpy or row.body)


@cache
def _resolve(path: str) -> Body:
    head, *rest = path.split(".")
    found: Any = {"jnp": np, "jax": JAX}[head] if rest else _helpers()[head]
    for name in rest:
        found = getattr(found, name)
    body: Body = found
    return body


@cache
def _helpers() -> dict[str, Any]:
    """All helpers by name. Their imports are left out: what they import is given here."""
    space: dict[str, Any] = {"jax": JAX, "jnp": np, "lax": JAX.lax}
    for name in FILES:
        path = Path(__file__).with_name(f"{name}.py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tree.body = [part for part in tree.body if isinstance(part, ast.FunctionDef)]
        execute(tree, str(path), space)
    return space


# ---- what helpers use of JAX


class _Plain:
    """A function with a derivative rule of its own: values need no rule."""

    def __init__(self, function: Body):
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def defjvp(self, rule: Body) -> Body:
        return rule


def _fori_loop(low: int, high: int, step: Body, state: Any) -> Any:
    for i in range(low, high):
        state = step(np.asarray(i), state)
    return state


def _associative_scan(combine: Body, items: Any) -> Any:
    found = [items[:1].reshape(())] if len(items) else []
    for item in items[1:]:
        found.append(combine(found[-1], item))
    return np.array(found, items.dtype)


def _vmap(function: Body, in_axes: Any = 0, out_axes: int = 0) -> Body:
    """Over one axis of the first argument; the others are the same for all."""

    def mapped(first: Any, *others: Any) -> Any:
        axis = in_axes[0] if isinstance(in_axes, tuple) else in_axes
        return np.stack([function(item, *others) for item in np.moveaxis(first, axis, 0)], out_axes)

    return mapped


JAX = SimpleNamespace(
    Array=np.ndarray,
    custom_jvp=_Plain,
    vmap=_vmap,
    scipy=SimpleNamespace(special=scipy.special, linalg=scipy.linalg),
    lax=SimpleNamespace(
        stop_gradient=lambda x: x,
        fori_loop=_fori_loop,
        associative_scan=_associative_scan,
        cummax=np.maximum.accumulate,
        cummin=np.minimum.accumulate,
    ),
    nn=SimpleNamespace(
        relu=lambda x: np.maximum(x, 0.0),
        leaky_relu=lambda x, slope: np.where(x >= 0, x, slope * x),
        elu=lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0.0))),
        silu=lambda x: x * scipy.special.expit(x),
        gelu=lambda x, approximate: x * scipy.special.ndtr(x),
        sigmoid=scipy.special.expit,
        softplus=lambda x: np.logaddexp(x, 0.0),
        sparse_plus=lambda x: np.where(x > 1, x, np.clip(x + 1.0, 0, 2) ** 2 / 4),
        sparse_sigmoid=lambda x: np.clip((x + 1.0) / 2, 0, 1),
        softmax=lambda x: scipy.special.softmax(x, axis=-1),
        one_hot=lambda i, size: np.asarray(np.arange(size) == np.asarray(i)[..., None], float),
    ),
)

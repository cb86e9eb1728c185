"""Helpers by name, and their source text for a program that is to stand alone."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

from ..record import Record
from . import (
    arrays,
    elementary,
    entmax,
    entropies,
    kernels,
    lists,
    loops,
    losses,
    moreau,
    perturb,
    smooth,
    soft,
    special,
)

MODULES: tuple[ModuleType, ...] = (
    elementary, special, arrays, kernels, entropies, smooth, entmax, losses, moreau, lists, soft, loops, perturb,
)  # fmt: skip


class Helper(Record):
    """`text` holds the function and the derivative rules attached to it; `uses` the helpers it calls."""

    name: str
    text: str
    uses: tuple[str, ...]


def resolve(expression: str) -> Callable[..., Any]:
    """What an entry of the table means: a path into JAX, or a helper."""
    head, *rest = expression.split(".")
    found: Any = {"jax": jax, "jnp": jnp}.get(head) if rest else _function(head)
    for name in rest:
        found = getattr(found, name)
    return found  # type: ignore[no-any-return]


def helper_source(names: Iterable[str]) -> str:
    """The helpers and all they use, each after what it uses. It needs only `jax`, `jnp` and `lax`."""
    return "\n\n\n".join(helpers()[name].text for name in _with_uses(names)) + "\n"


@cache
def helpers() -> dict[str, Helper]:
    """All helpers by name."""
    parts: dict[str, list[tuple[ast.FunctionDef, str]]] = {}
    for module in MODULES:
        parts |= _functions(module)
    return {name: _helper(name, functions, parts.keys()) for name, functions in parts.items()}


def _function(name: str) -> Callable[..., Any]:
    module = next(module for module in MODULES if name in _functions(module))
    return getattr(module, name)  # type: ignore[no-any-return]


def _with_uses(names: Iterable[str]) -> tuple[str, ...]:
    ordered: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in ordered:
            for used in helpers()[name].uses:
                visit(used)
            ordered[name] = None

    for name in names:
        visit(name)
    return tuple(ordered)


@cache
def _functions(module: ModuleType) -> dict[str, list[tuple[ast.FunctionDef, str]]]:
    """The top-level functions of a module with their text; derivative rules stand with the function they are for."""
    text = inspect.getsource(module)
    lines = text.splitlines()
    found: dict[str, list[tuple[ast.FunctionDef, str]]] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found.setdefault(_owner(node), []).append((node, "\n".join(lines[first - 1 : node.end_lineno])))
    return found


def _owner(function: ast.FunctionDef) -> str:
    """`betainc` for a function under `@betainc.defjvp`, and its own name for others."""
    for decorator in function.decorator_list:
        if (
            isinstance(decorator, ast.Attribute)
            and decorator.attr == "defjvp"
            and isinstance(decorator.value, ast.Name)
        ):
            return decorator.value.id
    return function.name


def _helper(name: str, functions: list[tuple[ast.FunctionDef, str]], known: Iterable[str]) -> Helper:
    free = {used for function, _ in functions for used in _free_names(function)}
    uses = sorted((free & set(known)) - {name})
    return Helper(name, "\n\n\n".join(text for _, text in functions), tuple(uses))


def _free_names(function: ast.FunctionDef) -> Iterator[str]:
    """The names that a function reads and does not bind."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    return (node.id for node in names if node.id not in bound)

"""Helpers by name, and their source text for a program that is to stand alone."""

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

from ...record import Record
from ..distributions import added_constructor
from ..functions import functions_by_name
from . import (
    arrays,
    densities,
    deviances,
    divergences,
    elementary,
    intervals,
    lists,
    loops,
    mixtures,
    moreau,
    perturb,
    quantiles,
    smooth,
    soft,
    tails,
    truncated,
)

MODULES = (
    elementary,
    arrays,
    smooth,
    moreau,
    lists,
    soft,
    loops,
    perturb,
    intervals,
    quantiles,
    tails,
    truncated,
    mixtures,
    divergences,
    deviances,
    densities,
)

Definition = ast.FunctionDef | ast.ClassDef


class Helper(Record):
    """A function or class with its derivative rules, the names it reads and the helpers it uses."""

    name: str
    text: str
    uses: tuple[str, ...]
    reads: frozenset[str]


def resolve(expression: str) -> Callable[..., Any]:
    """What an entry of the table means: a path into JAX, or a helper."""
    head, *rest = expression.split(".")
    modules = (vars(module) for module in MODULES)
    own = next((module[head] for module in modules if head in module), None)
    found: Any = {"jax": jax, "jnp": jnp}.get(head) if rest else own or _added(head)
    for name in rest:
        found = getattr(found, name)
    return found  # type: ignore[no-any-return]


def helper_source(names: Iterable[str]) -> str:
    """The helpers and all they use, each after what it uses; needs `jax`, `jnp`, `lax`, `dist`."""
    ordered = with_uses(names)
    imports = [_import_line(name) for name in ordered if name not in helpers()]
    texts = [helpers()[name].text for name in ordered if name in helpers()]
    return "\n\n\n".join([*filter(None, ["\n".join(imports)]), *texts]) + "\n"


def _import_line(name: str) -> str:
    """A function that was added from outside is imported from where it is defined."""
    function = _added(name)
    home, own = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if home in (None, "__main__") or not own.isidentifier():
        raise ValueError(
            f"the printed program cannot import `{name}`: define it at the top of a module, not in "
            "a script, a lambda or another function"
        )
    return f"from {home} import {own} as {name}"


def _added(name: str) -> Callable[..., Any]:
    functions = (row.jax for row in functions_by_name().get(name, ()) if callable(row.jax))
    return added_constructor(name) or next(functions)


@cache
def helpers() -> dict[str, Helper]:
    """All helpers by name."""
    parts: dict[str, list[tuple[Definition, str]]] = {}
    for module in MODULES:
        parts |= _functions(module)
    found = {}
    for name, functions in parts.items():
        free = {used for function, _ in functions for used in _free_names(function)}
        uses = sorted((free & parts.keys()) - {name})
        text = "\n\n\n".join(text for _, text in functions)
        found[name] = Helper(name, text, tuple(uses), frozenset(free))
    return found


def with_uses(names: Iterable[str]) -> tuple[str, ...]:
    """The helpers and all they use, each after what it uses."""
    ordered: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in ordered:
            for used in helpers()[name].uses if name in helpers() else ():
                visit(used)
            ordered[name] = None

    for name in names:
        visit(name)
    return tuple(ordered)


def _functions(module: ModuleType) -> dict[str, list[tuple[Definition, str]]]:
    """What a module defines at its top with its text, derivative rules with their function."""
    text = inspect.getsource(module)
    lines = text.splitlines()
    found: dict[str, list[tuple[Definition, str]]] = {}
    for node in ast.parse(text).body:
        if isinstance(node, Definition):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            owner = node.name
            for decorator in node.decorator_list:
                match decorator:  # `betainc` for a function under `@betainc.defjvp`
                    case ast.Attribute(value=ast.Name(id=name), attr="defjvp"):
                        owner = name
            whole = "\n".join(lines[first - 1 : node.end_lineno])
            found.setdefault(owner, []).append((node, whole))
    return found


def _free_names(function: Definition) -> Iterator[str]:
    """The names that a function reads and does not bind; types may be written in quotes."""
    nodes = list(ast.walk(function))
    arguments = [node for node in nodes if isinstance(node, ast.arg)]
    for argument in arguments:
        match argument.annotation:
            case ast.Constant(value=str(quoted)):
                nodes += ast.walk(ast.parse(quoted, mode="eval"))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    bound |= {argument.arg for argument in arguments}
    return (node.id for node in names if node.id not in bound)

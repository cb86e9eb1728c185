"""Calls that are written twice in a function are computed once: `f(x) + f(x)` doubles nothing."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Any

from . import code as py
from .scope import free_name


def shared(
    body: py.Code, functions: frozenset[str], taken: frozenset[str]
) -> tuple[list[py.Statement], py.Code]:
    """Assignments for the calls of these functions that are there more than once, and the rest."""
    calls = Counter(ast.dump(call) for call in _calls(body, functions))
    if all(count == 1 for count in calls.values()):
        return [], body
    sharer = _Sharer({key for key, count in calls.items() if count > 1}, taken)
    rest: Any = sharer.visit(body)
    return sharer.lines, rest


def _calls(body: py.Code, functions: frozenset[str]) -> Iterator[ast.Call]:
    """Those outside of lambdas, whose parameters they might read."""
    waiting: list[ast.AST] = [body]
    while waiting:
        node = waiting.pop()
        is_named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if is_named and node.func.id in functions:  # type: ignore[attr-defined]
            yield node  # type: ignore[misc]
        if not isinstance(node, ast.Lambda):
            waiting += ast.iter_child_nodes(node)


class _Sharer:
    """Replaces repeated calls from inside out; trees are copied, as they may stand elsewhere."""

    def __init__(self, repeated: set[str], taken: frozenset[str]):
        self.repeated = repeated
        self.taken = set(taken)
        self.names: dict[str, str] = {}
        self.lines: list[py.Statement] = []

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Lambda):
            return node
        key = ast.dump(node) if isinstance(node, ast.Call) else ""
        if key in self.names:
            return py.name(self.names[key])
        fields = {name: self._visited(value) for name, value in ast.iter_fields(node)}
        copied: Any = ast.copy_location(type(node)(**fields), node)
        if key not in self.repeated:
            return copied
        self.names[key] = free_name("shared", self.taken)
        self.taken.add(self.names[key])
        self.lines.append(py.assign(self.names[key], copied))
        return py.name(self.names[key])

    def _visited(self, value: object) -> object:
        if isinstance(value, list):
            return [self._visited(item) for item in value]
        return self.visit(value) if isinstance(value, ast.AST) else value

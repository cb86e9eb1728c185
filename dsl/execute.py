"""The one place where code is executed: a tree of code, never a text."""

import ast
from typing import Any


def execute(module: ast.Module, filename: str, space: dict[str, Any]) -> None:
    """Leaves what the module defines in `space`, which holds what it reads."""
    exec(compile(module, filename, "exec"), space)

"""Values of constant expressions in declarations: `data x[D] : real = [1, 2, 3]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import core as c
from ..graph import Node
from .errors import problem
from .raw import Array

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.true_divide,
    "power": np.float_power,
    "negate": np.negative,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "zeros": lambda *sizes: np.zeros(sizes),
    "ones": lambda *sizes: np.ones(sizes),
    "full": lambda value, *sizes: np.full(sizes, value),
    "eye": lambda size: np.eye(size),
    "size": lambda size: size,
}


def is_plain(core: c.Core) -> bool:
    """Can it be evaluated here? Anything else is computed by the compiled program."""
    parts = list(c.walk(core))
    return all(
        isinstance(x, c.Const | c.Stack | c.DimRef) or (isinstance(x, c.Apply) and x.function in FUNCTIONS)
        for x in parts
    )


def evaluate_default(node: Node, sizes: dict[str, int]) -> Array:
    """The default of a node in its declared shape: a scalar fills it, an array has it already."""
    assert node.default is not None
    shape = tuple(sizes[axis.name] if axis.size is None else axis.size for axis in node.type.shape)  # type: ignore[union-attr]
    with np.errstate(all="ignore"):
        value = _evaluate(node.default, node, sizes)
    return np.full(shape, value) if value.ndim == 0 else value


def _evaluate(core: c.Core, node: Node, sizes: dict[str, int]) -> Array:
    match core:
        case c.Const():
            return np.asarray(core.value)
        case c.Stack():
            return np.stack([_evaluate(item, node, sizes) for item in core.items])
        case c.DimRef():
            return np.asarray(sizes[core.dim.name])
        case c.Apply() if core.function in FUNCTIONS:
            return np.asarray(FUNCTIONS[core.function](*(_evaluate(x, node, sizes) for _, x in core.arguments)))
    message = f"the value of `{node.name}` in the model is not a plain constant"
    raise problem(node.name, message, f"give `{node.name}` with the data", node.source.path)

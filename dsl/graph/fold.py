"""Arithmetic on constants is done once, here."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeVar

from . import core as c
from .graph import Graph, Node
from .typed import Piece

Tree = TypeVar("Tree", bound=c.Core | c.Law)

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "negate": operator.neg,
}


def fold_constants(graph: Graph) -> Graph:
    """Every operation on numbers alone becomes a number; nothing else changes."""
    functions = tuple(f.replace(body=f.body and fold(f.body)) for f in graph.functions)
    return graph.replace(functions=functions).map_nodes(_fold_node)


def _fold_node(node: Node) -> Node:
    return node.replace(
        pieces=tuple(map(_fold_piece, node.pieces)), default=node.default and fold(node.default)
    )


def _fold_piece(piece: Piece) -> Piece:
    return piece.replace(body=fold(piece.body), where=piece.where and fold(piece.where))


def fold(tree: Tree) -> Tree:
    """Inside out; what has nothing to fold is returned as it is."""
    folded: Any = c.map_parts(tree, fold)
    if isinstance(folded, c.Apply) and folded.function in OPERATIONS:
        folded = _evaluate(folded) or folded
    result: Tree = folded
    return result


def _evaluate(apply: c.Apply) -> c.Const | None:
    """None where Python's answer is not a finite number: the program keeps the operation and JAX
    decides.
    """
    values = [value.value for _, value in apply.arguments if isinstance(value, c.Const)]
    if len(values) < len(apply.arguments):
        return None
    try:
        result = OPERATIONS[apply.function](*values)
    except (ArithmeticError, ValueError):
        return None
    is_finite = isinstance(result, int | float) and abs(result) < 1e300
    return c.Const(apply.span, apply.type, result) if is_finite else None

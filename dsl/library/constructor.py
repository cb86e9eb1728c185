"""The `numpyro` expression of a row, read once: for JAX (dsl/lower), NumPy densities, families."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from .distributions import row_of
from .rows import Distribution

OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}


def constructor(text: str) -> ast.Call:
    """The expression of the row with this signature."""
    found = ast.parse(row_of(text).numpyro, mode="eval").body
    assert isinstance(found, ast.Call)
    return found


def constructor_name(row: Distribution) -> str:
    """What NumPyro calls the distribution."""
    return row.numpyro.partition("(")[0]


def argument_names(row: Distribution) -> tuple[str, ...]:
    """The names of NumPyro's arguments; empty where one is given by its position."""
    call = constructor(row.text)
    return () if call.args else tuple(str(keyword.arg) for keyword in call.keywords)


def evaluate(part: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of an expression of a row; nothing of it is executed as Python."""
    match part:
        case ast.Constant():
            return part.value
        case ast.Name():
            return names[part.id]
        case ast.Tuple():
            return tuple(evaluate(item, names) for item in part.elts)
        case ast.UnaryOp():
            return OPERATORS[type(part.op)](evaluate(part.operand, names))
        case ast.BinOp():
            left, right = evaluate(part.left, names), evaluate(part.right, names)
            return OPERATORS[type(part.op)](left, right)
        case ast.Call():
            positional = [evaluate(argument, names) for argument in part.args]
            named = {str(k.arg): evaluate(k.value, names) for k in part.keywords}
            return evaluate(part.func, names)(*positional, **named)
    raise ValueError(f"{ast.unparse(part)} cannot stand in the constructor of a distribution")

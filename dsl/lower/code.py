"""A tree of code: Python's own syntax tree, and a short way to build each of its nodes.

Names, labels and paths of a model enter a tree as constants, or as identifiers made by `scope.py`;
there is no text to break out of. Nodes are never changed, so they may stand in several places.
"""

import ast
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, TypeAlias

Code = ast.expr
Statement = ast.stmt
Target: TypeAlias = "str | Sequence[Target]"

# Every node has a place in a file for Python's compiler; ours come from no file.
_AT: dict[str, Any] = {"lineno": 1, "col_offset": 0}
_LOAD, _STORE = ast.Load(), ast.Store()

_SIGNS: dict[str, ast.operator | ast.cmpop] = {
    "+": ast.Add(),
    "-": ast.Sub(),
    "*": ast.Mult(),
    "/": ast.Div(),
    "**": ast.Pow(),
    "&": ast.BitAnd(),
    "|": ast.BitOr(),
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
    "==": ast.Eq(),
    "!=": ast.NotEq(),
    "is": ast.Is(),
}


# ---- leaves


@cache
def name(dotted: str) -> Code:
    """A variable, or a path such as `jax.random.split`."""
    head, *rest = dotted.split(".")
    found: Code = ast.Name(head, _LOAD, **_AT)
    for part in rest:
        found = attribute(found, part)
    return found


def const(value: Any) -> Code:
    """A string, a number, a truth value or None; signs and infinities as Python writes them."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if math.copysign(1, value) < 0:
            return negative(const(-value))
        if not math.isfinite(value):
            return name("jnp.inf" if value == value else "jnp.nan")
    return ast.Constant(value, **_AT)


def nested(numbers: object) -> Code:
    """Numbers in lists in lists."""
    return listing(map(nested, numbers)) if isinstance(numbers, list) else const(numbers)


def number(code: Code) -> bool | int | float | None:
    """The value of a number that is written out; None for anything else."""
    if isinstance(code, ast.Constant) and isinstance(code.value, bool | int | float):
        return code.value
    if isinstance(code, ast.UnaryOp) and isinstance(code.op, ast.USub):
        inner = number(code.operand)
        return None if inner is None else -inner
    return None


# ---- expressions


def attribute(base: Code, part: str) -> Code:
    return ast.Attribute(base, part, _LOAD, **_AT)


def call(function: str | Code, *arguments: Code, **named: Code) -> Code:
    path = name(function) if isinstance(function, str) else function
    return ast.Call(path, list(arguments), _keywords(named), **_AT)


def method(base: Code, part: str, *arguments: Code, **named: Code) -> Code:
    return call(attribute(base, part), *arguments, **named)


def with_keyword(code: Code, **named: Code) -> Code:
    """The same call with one more argument."""
    assert isinstance(code, ast.Call)
    return ast.Call(code.func, code.args, [*code.keywords, *_keywords(named)], **_AT)


def _keywords(named: Mapping[str, Code]) -> list[ast.keyword]:
    return [ast.keyword(key, value, **_AT) for key, value in named.items()]


def index(base: Code, *places: Code) -> Code:
    """`base[a, b]`; the base itself where there are no places."""
    if not places:
        return base
    inner = places[0] if len(places) == 1 else ast.Tuple(list(places), _LOAD, **_AT)
    return ast.Subscript(base, inner, _LOAD, **_AT)


def entry(mapping: str, key: str) -> Code:
    """`data["x"]`: an entry of a dictionary under a name of the model."""
    return index(name(mapping), const(key))


def span(start: int | None = None, stop: int | None = None) -> Code:
    """`start:stop`."""
    ends = (None if end is None else const(end) for end in (start, stop))
    return ast.Slice(*ends, **_AT)


ALL = span()
NEW_AXIS = const(None)


def without_tail(places: Iterable[Code]) -> list[Code]:
    """Places of an index, without those at the end that take all of an axis."""
    kept = list(places)
    while kept and kept[-1] is ALL:
        kept.pop()
    return kept


def infix(left: Code, sign: str, right: Code) -> Code:
    operator = _SIGNS[sign]
    if isinstance(operator, ast.cmpop):
        return ast.Compare(left, [operator], [right], **_AT)
    return ast.BinOp(left, operator, right, **_AT)


def summed(terms: Sequence[Code]) -> Code:
    """a + b + c."""
    found, *rest = terms
    for term in rest:
        found = infix(found, "+", term)
    return found


def negative(operand: Code) -> Code:
    return ast.UnaryOp(ast.USub(), operand, **_AT)


def inverted(operand: Code) -> Code:
    return ast.UnaryOp(ast.Invert(), operand, **_AT)


def pack(items: Iterable[Code]) -> Code:
    """A tuple."""
    return ast.Tuple(list(items), _LOAD, **_AT)


def listing(items: Iterable[Code]) -> Code:
    return ast.List(list(items), _LOAD, **_AT)


def record(pairs: Iterable[tuple[str, Code]]) -> Code:
    """A dictionary under names of the model."""
    entries = list(pairs)
    return ast.Dict([const(key) for key, _ in entries], [value for _, value in entries], **_AT)


def function(parameters: Sequence[str], body: Code, **defaults: Code) -> Code:
    """`lambda a, b: body`; parameters with defaults come last."""
    return ast.Lambda(_arguments([*parameters, *defaults], {}, defaults.values()), body, **_AT)


def choose(condition: Code, then: Code, otherwise: Code) -> Code:
    """`then if condition else otherwise`."""
    return ast.IfExp(condition, then, otherwise, **_AT)


def _arguments(
    names: Sequence[str], types: Mapping[str, Code], defaults: Iterable[Code] = ()
) -> ast.arguments:
    args = [ast.arg(each, types.get(each), **_AT) for each in names]
    none: dict[str, Any] = {"posonlyargs": [], "kwonlyargs": [], "kw_defaults": []}
    return ast.arguments(args=args, defaults=list(defaults), **none)


# ---- statements


def assign(target: Target, value: Code) -> Statement:
    """`x = value`, or `x, (y, z) = value` for several names."""
    return ast.Assign([_target(target)], value, **_AT)


def _target(target: Target) -> Code:
    if isinstance(target, str):
        return ast.Name(target, _STORE, **_AT)
    return ast.Tuple([_target(each) for each in target], _STORE, **_AT)


def add_to(target: str, value: Code) -> Statement:
    return ast.AugAssign(ast.Name(target, _STORE, **_AT), ast.Add(), value, **_AT)


def set_at(target: str, places: Sequence[Code], value: Code, how: str = "set") -> Statement:
    """`x = x.at[places].set(value)`."""
    part = index(attribute(name(target), "at"), *(places or [const(...)]))
    return assign(target, method(part, how, value))


def give_back(value: Code) -> Statement:
    return ast.Return(value, **_AT)


def do(value: Code) -> Statement:
    return ast.Expr(value, **_AT)


def fail(error: str, message: str) -> Statement:
    return ast.Raise(call(error, const(message)), None, **_AT)


def within(context: Code, body: Sequence[Statement]) -> Statement:
    """`with context: body`."""
    return ast.With([ast.withitem(context, None)], list(body), **_AT)


def when_run(body: Sequence[Statement]) -> Statement:
    """`if __name__ == "__main__": body`."""
    return ast.If(infix(name("__name__"), "==", const("__main__")), list(body), [], **_AT)


def define(
    identifier: str,
    parameters: Sequence[str],
    body: Sequence[Statement],
    doc: str = "",
    types: Mapping[str, str] | None = None,
    result: str = "",
    decorators: Sequence[str] = (),
) -> ast.FunctionDef:
    annotations = {key: name(path) for key, path in (types or {}).items()}
    return ast.FunctionDef(
        identifier,
        _arguments(parameters, annotations),
        [*([do(const(doc))] if doc else []), *body],
        [name(each) for each in decorators],
        name(result) if result else None,
        **_AT,
    )


# ---- what is in a tree


def names_read(tree: Iterable[ast.AST]) -> set[str]:
    return {
        node.id for node in chain.from_iterable(map(ast.walk, tree)) if isinstance(node, ast.Name)
    }


def names_bound(tree: Iterable[ast.AST]) -> set[str]:
    """Variables, parameters and functions that the tree makes."""
    found = set()
    for node in chain.from_iterable(map(ast.walk, tree)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
    return found

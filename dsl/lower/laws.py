"""Distributions as NumPyro constructors, with the arguments that the program computes."""

from __future__ import annotations

import ast
from typing import Any

from ..graph import core as c
from ..graph.types import Real, Type
from ..library.constructor import constructor
from ..library.notation import parse_signature
from .code import Code, const, method, name, pack, with_keyword
from .expressions import lower
from .scope import Scope, length_code, size_code
from .shapes import as_number
from .value import Value, align

NUMPY_WORDS = {
    "exp": "jnp.exp",
    "sqrt": "jnp.sqrt",
    "cholesky": "jnp.linalg.cholesky",
    "log": "jnp.log",
}
WHOLE = frozenset({"int", "count"})


def lower_density(law: c.Law, value: Code, axes: tuple[str, ...], scope: Scope) -> Code:
    """The log density at a value; outside the support it is minus infinity."""
    return method(unchecked(lower_law(law, axes, scope), law), "log_prob", value)


def unchecked(code: Code, law: c.Law) -> Code:
    """The constructor without a check of the support, where there is none to check.

    NumPyro's check would cost a dozen operations to trace, and a choice for every element to run.
    """
    return with_keyword(code, validate_args=const(False)) if law.facts.on_the_line else code


def lower_law(law: c.Law, axes: tuple[str, ...], scope: Scope) -> Code:
    """The constructor; every argument is aligned to the axes of the draw."""
    params = {p.name: p.type for p in parse_signature(law.row).params}
    given = {}
    for key, argument in law.arguments:
        if isinstance(argument, c.DimRef):
            given[key] = size_code(argument.dim, scope.names)
            continue
        value = lower(argument, scope)
        if params[key].domain not in WHOLE:
            value = as_number(value, argument.type, Type(Real()))
        given[key] = _aligned(value, axes, len(params[key].axes))
    found: Code = _filled(constructor(law.row), given)
    return found


def expanded(code: Code, axes: tuple[str, ...], scope: Scope) -> Code:
    """A distribution for every place of the axes, independent of each other."""
    lengths = [length_code(scope.bind(axis), scope.names) for axis in axes]
    return method(code, "expand", pack(lengths)) if axes else code


def _aligned(value: Value, axes: tuple[str, ...], rank: int) -> Code:
    """Axes of length one in front where the argument lacks a binder that another one has."""
    return align(value, axes, rank).code if value.axes else value.code


def _filled(part: Any, given: dict[str, Code]) -> Any:
    """The row's expression with the program's code for its names; `dist.` before distributions."""
    if isinstance(part, ast.Name):
        return given.get(part.id) or name(NUMPY_WORDS.get(part.id, f"dist.{part.id}"))
    if isinstance(part, list):
        return [_filled(each, given) for each in part]
    if not isinstance(part, ast.expr | ast.keyword):
        return part
    fields = {key: _filled(field, given) for key, field in ast.iter_fields(part)}
    return ast.copy_location(type(part)(**fields), part)

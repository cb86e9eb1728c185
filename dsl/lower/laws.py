"""Distributions as NumPyro constructors, written with the arguments that the program computes."""

from __future__ import annotations

import ast

from .. import core as c
from ..signatures.distributions import DISTRIBUTIONS
from ..signatures.notation import parse_signature
from ..types import Real, Type
from .expressions import lower
from .scope import Scope, size_text
from .shapes import as_number
from .value import Value, align

NUMPY_WORDS = {"exp": "jnp.exp", "sqrt": "jnp.sqrt", "cholesky": "jnp.linalg.cholesky", "log": "jnp.log"}
WHOLE = frozenset({"int", "count"})

# The density of these holds on the whole line and falls to zero at both ends: there is no support to check.
# NumPyro's check would cost a dozen operations to trace, and a choice for every element to run.
ON_THE_LINE = frozenset({"Normal", "StudentT", "Cauchy", "Laplace", "AsymmetricLaplace"})


def lower_density(law: c.Law, value: str, axes: tuple[str, ...], scope: Scope) -> str:
    """The log density at a value; outside the support it is minus infinity."""
    return f"{unchecked(lower_law(law, axes, scope), law)}.log_prob({value})"


def unchecked(text: str, law: c.Law) -> str:
    """The constructor without a check of the support, for laws that have none to check."""
    return f"{text.removesuffix(')')}, validate_args=False)" if law.name in ON_THE_LINE else text


def lower_law(law: c.Law, axes: tuple[str, ...], scope: Scope) -> str:
    """The constructor's text; every argument is aligned to the axes of the draw."""
    params = {p.name: p.type for p in parse_signature(law.row).params}
    texts = {}
    for name, argument in law.arguments:
        if isinstance(argument, c.DimRef):
            texts[name] = size_text(argument.dim, scope.names)
            continue
        value = lower(argument, scope)
        if params[name].domain not in WHOLE:
            value = as_number(value, argument.type, Type(Real()))
        texts[name] = _aligned(value, axes, len(params[name].axes))
    row = next(row for row in DISTRIBUTIONS if row.text == law.row)
    return _substitute(row.numpyro, texts)


def _aligned(value: Value, axes: tuple[str, ...], rank: int) -> str:
    """Axes of length one in front where the argument does not depend on a binder that another one does."""
    return align(value, axes, rank).text if value.axes else value.text


def _substitute(template: str, texts: dict[str, str]) -> str:
    """The row's expression with the program's texts for its names, and `dist.` before distributions."""

    class Writer(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id in texts:
                return ast.parse(texts[node.id], mode="eval").body
            if node.id in NUMPY_WORDS:
                return ast.parse(NUMPY_WORDS[node.id], mode="eval").body
            return ast.parse(f"dist.{node.id}", mode="eval").body

    return ast.unparse(Writer().visit(ast.parse(template, mode="eval")))

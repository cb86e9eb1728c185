"""Distributions as NumPyro constructors, their log densities, moments and divergences."""

import ast
from typing import Any

from ..graph import core as c
from ..graph.forms import entry
from ..graph.graph import Graph, Kind, Node
from ..graph.typed import Piece
from ..graph.types import Bool, Real, Type
from ..library.constructor import constructor
from ..library.notation import parse_signature
from .code import Code, attribute, call, const, method, name, pack, with_keyword
from .expressions import lower
from .scope import Scope, Value, align, joint_axes, length_code, size_code
from .shapes import as_number, call_aligned, cast

NUMPY_WORDS = {word: f"jnp.{word}" for word in ("exp", "sqrt", "log")}
NUMPY_WORDS["cholesky"] = "jnp.linalg.cholesky"
WHOLE = frozenset({"int", "count"})
CATEGORICAL = "Categorical(p: simplex[N]) -> index[N]"
BERNOULLI = "Bernoulli(p: unit) -> bool"
LOGITS = "Bernoulli(logits: real) -> bool"
POISSON = "Poisson(rate: nonnegative) -> count"
LIMITED = {POISSON: "poisson_limit", "Binomial(n: count, p: unit) -> count": "binomial_limit"}
"""The log masses that know how they become minus infinity."""


def lower_density(law: c.Law, value: Code, axes: tuple[str, ...], scope: Scope) -> Code:
    """The log density at a value; outside the support it is minus infinity."""
    return method(unchecked(lower_distribution(law, axes, scope), law), "log_prob", value)


def unchecked(code: Code, law: c.Law) -> Code:
    """The constructor without NumPyro's check of the support, which costs, where there is none."""
    return with_keyword(code, validate_args=const(False)) if law.facts.on_the_line else code


def lower_distribution(law: c.Law, axes: tuple[str, ...], scope: Scope) -> Code:
    """The constructor; every argument is aligned to the axes of the draw."""
    params = {p.name: p.type for p in parse_signature(law.row).params}
    given = {}
    for key, argument in law.arguments:
        if isinstance(argument, c.DimRef):
            given[key] = size_code(argument.dim, scope.names)
            continue
        if params[key].domain == "unit" and isinstance(argument, c.Const):
            # NumPyro's coins take no whole numbers, not even 0 and 1.
            argument = argument.replace(value=float(argument.value), type=Type(Real()))
        value = lower(argument, scope)
        if params[key].domain not in WHOLE:
            value = as_number(value, argument.type, Type(Real()))
        # Axes of length one in front where the argument lacks a binder that another one has.
        given[key] = align(value, axes, len(params[key].axes)).code if value.axes else value.code
    added = (law.facts.name,) if law.facts.added else ()
    for helper in (*law.facts.helpers, *added):
        given[helper] = name(scope.needs.helper(helper))
    found: Code = _filled(constructor(law.row), given)
    return found


def expanded(code: Code, axes: tuple[str, ...], scope: Scope) -> Code:
    """A distribution for every place of the axes, independent of each other."""
    lengths = [length_code(scope.bind(axis), scope.names) for axis in axes]
    return method(code, "expand", pack(lengths)) if axes else code


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


# ---- the log mass of a draw with few values: one entry of a table of probabilities, one logarithm
#
# NumPyro takes the logarithm of a whole row for every Categorical, and keeps the probabilities of a
# Bernoulli away from zero and one. Here log p[i][x] is log p[i, x]: the value is one more index,
# and what is impossible has no mass.


def has_mass(piece: Piece) -> bool:
    """Under a mask the gradient of log 0 must not count, which NumPyro sees to."""
    known = isinstance(piece.body, c.Law) and piece.body.row in (CATEGORICAL, BERNOULLI, LOGITS)
    return known and piece.where is None


def lower_log_mass(node: Node, piece: Piece, scope: Scope) -> Value:
    assert isinstance(piece.body, c.Law)
    found = log_mass_at(piece.body, entry(node, piece), scope)
    assert found is not None
    return found


def log_mass_at(law: c.Law, value: c.Core, scope: Scope) -> Value | None:
    """log of one entry; for logits x, log P(true) = log sigmoid(x), log P(false) = log sigmoid(-x).

    That of a Poisson has derivatives at rate 0 too, where a finite draw says that nothing is there.
    """
    mass = mass_at(law, value)
    if mass is not None:
        chosen = lower(mass, scope)
        return Value(call("jnp.log", chosen.code), chosen.axes)
    if law.row == POISSON:
        given = [lower(value, scope), lower(law.arguments[0][1], scope)]
        return call_aligned(scope.needs.helper("poisson_log_mass"), given, 0, scope)
    if law.row != LOGITS:
        return None
    ((_, logits),) = law.arguments
    against = c.Apply(law.span, Type(Real()), "negate", (("x", logits),))
    odds = lower(c.If(law.span, Type(Real()), value, logits, against), scope)
    return Value(call(scope.needs.helper("log_sigmoid"), odds.code), odds.axes)


def has_limit(law: c.Law, graph: Graph) -> bool:
    """Whether its log density can be `limited`: an argument may move away from 0."""
    return law.row in LIMITED and any(_may_leave_zero(core, graph) for _, core in law.arguments)


def _may_leave_zero(core: c.Core, graph: Graph) -> bool:
    """Not a number that is written, nor a draw, which is never 0; other branches may."""
    match core:
        case c.If():
            return any(_may_leave_zero(x, graph) for x in (core.then, core.otherwise))
        case c.Lookup():
            return any(_may_leave_zero(x, graph) for x in core.entries)
        case c.Ref():
            return graph[core.name].kind is not Kind.DRAW
        case c.Apply(function="exp") | c.Const():
            return False
    return not core.type.whole


def mass_at(law: c.Law, value: c.Core) -> c.Core | None:
    """The probability of a value as an expression; None where there is no such short one."""
    if law.row not in (CATEGORICAL, BERNOULLI):
        return None
    ((_, probability),) = law.arguments
    if law.row == CATEGORICAL:
        return _entry(probability, value)
    one = c.Const(law.span, Type(Real()), 1.0)
    fails = c.Apply(law.span, Type(Real()), "subtract", (("a", one), ("b", probability)))
    return c.If(law.span, Type(Real()), value, probability, fails)


def _entry(row: c.Core, place: c.Core) -> c.Core:
    """`row[place]`, as one index of the table that the row is taken from."""
    number = Type(Real())
    if isinstance(row, c.At):
        return row.replace(type=number, indices=(*row.indices, place))
    if isinstance(row, c.Stack):
        return c.Lookup(row.span, number, (place,), row.items)
    stacks = [x for x in row.entries if isinstance(x, c.Stack)] if isinstance(row, c.Lookup) else []
    if isinstance(row, c.Lookup) and len(stacks) == len(row.entries):
        items = tuple(item for stack in stacks for item in stack.items)
        return row.replace(type=number, parents=(*row.parents, place), entries=items)
    return c.At(row.span, number, row, (place,))


# ---- densities, moments and divergences as values among others


Question = c.LogDensity | c.Cdf | c.Quantile | c.Moment | c.Divergence


def lower_question(core: Question, scope: Scope) -> Value:
    """One number for every position of the axes that the distribution, or either of two, has."""
    if isinstance(core, c.LogDensity):
        return _lower_log_density(core, scope)
    if isinstance(core, c.Cdf | c.Quantile):
        given = core.value if isinstance(core, c.Cdf) else core.probability
        if isinstance(given, c.Const):
            given = given.replace(value=float(given.value), type=Type(Real()))
        value = as_number(lower(given, scope), given.type, Type(Real()))
        axes = joint_axes([value, *_arguments(core.law, scope)], scope.order)
        distribution, place = lower_distribution(core.law, axes, scope), align(value, axes, 0).code
        facts = core.law.facts
        tails = [name(scope.needs.helper(facts.tails))] if facts.tails else []
        if isinstance(core, c.Cdf) and (core.upper or core.log or facts.discrete):
            asked = (distribution, place, const(core.upper), const(core.log))
            return Value(call(scope.needs.helper("tail_at"), *asked, *tails), axes)
        if isinstance(core, c.Cdf):
            return Value(call(scope.needs.helper("cdf_at"), distribution, place, *tails), axes)
        place = call(scope.needs.helper("within"), place, const(0.0), const(1.0))
        if facts.quantile:
            return Value(method(distribution, "icdf", place), axes)
        return Value(call(scope.needs.helper("quantile_at"), distribution, place, *tails), axes)
    laws = (core.law, core.other) if isinstance(core, c.Divergence) else (core.law,)
    axes = joint_axes([value for law in laws for value in _arguments(law, scope)], scope.order)
    lowered = [lower_distribution(law, axes, scope) for law in laws]
    if isinstance(core, c.Moment):
        if core.name == "entropy":
            return Value(method(lowered[0], "entropy"), axes)
        return Value(attribute(lowered[0], core.name), axes)
    return Value(call(scope.needs.helper("divergence"), *lowered), axes)


def _lower_log_density(core: c.LogDensity, scope: Scope) -> Value:
    if core.limited:
        parts = [core.value, *(argument for _, argument in core.law.arguments)]
        given = [as_number(lower(p, scope), p.type, Type(Real())) for p in parts]
        return call_aligned(scope.needs.helper(LIMITED[core.law.row]), given, 0, scope)
    is_plain = not core.frozen and (not core.asked or core.value.type.whole)
    mass = log_mass_at(core.law, core.value, scope) if is_plain else None
    if mass is not None:
        return mass
    value = lower(core.value, scope)
    if isinstance(core.value.type.domain, Bool):
        value = cast(value, "int")
    axes = joint_axes([value, *_arguments(core.law, scope)], scope.order)
    place = align(value, axes, len(core.law.type.shape))
    law = lower_distribution(core.law, axes, scope)
    if core.asked and not core.law.facts.on_the_line:
        return Value(call(scope.needs.helper("density_at"), law, place.code), axes)
    law = unchecked(law, core.law)
    frozen = call("lax.stop_gradient", law) if core.frozen else law
    return Value(method(frozen, "log_prob", place.code), axes)


def _arguments(law: c.Law, scope: Scope) -> list[Value]:
    values = (argument for _, argument in law.arguments)
    return [lower(value, scope) for value in values if not isinstance(value, c.DimRef)]

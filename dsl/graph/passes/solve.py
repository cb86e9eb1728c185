"""What a comparison says of one draw: breaks as branches, branches around comparisons, lines.

if max(x, a) > b  is  if x > a then x > b else a > b;  2 * x + a > b  is  x > (b - a) / 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from math import log, pi
from typing import Any

from ...library.functions import INVERTED, functions_by_name
from .. import core as c
from ..dependence import reads
from ..forms import arithmetic, compare, element, number, pair
from ..graph import Node
from ..ranges import OPERATORS
from ..substitute import substitute
from ..typed import Setting
from ..types import BOOL, REAL, Real, Type

FLIPPED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}
IS_ABOVE = frozenset({"greater", "greater_equal"})
LOGIC = frozenset({"and", "or", "not"})
LONGEST_LOOP, LONGEST_STATE = 8, 300
"""Loops of no more turns, with no longer states, are written as branches."""


class Unsolved(Exception):
    """A comparison that does not say where a draw lies."""


def is_smoothed(settings: Iterable[Setting]) -> bool:
    return any(setting.name in ("soft", "smooth") for setting in settings)


# ---- what breaks, as branches


def as_branches(core: c.Core, kinks: bool) -> c.Core | None:
    """The same value with a comparison where it breaks."""
    if not isinstance(core, c.Apply):
        return None
    rule = (_JUMPS | _KINKS if kinks else _JUMPS).get(core.function)
    values = [value for _, value in core.arguments]
    if rule is None or any(value.type.shape or value.type.whole for value in values[:1]):
        return None
    return rule(core, *values)


def conditions(branches: c.Core) -> Iterator[c.Core]:
    while isinstance(branches, c.If):
        yield branches.condition
        branches = branches.otherwise
    if branches.type == BOOL:
        yield branches


def _choose(
    core: c.Apply, function: str, left: c.Core, right: c.Core, then: c.Core, otherwise: c.Core
) -> c.Core:
    condition = compare(function, left, right).replace(span=core.span)
    return c.If(core.span, core.type, condition, then, otherwise)


def _sign(core: c.Apply, x: c.Core) -> c.Core:
    """A draw is never 0, but relu of one is."""
    above, at, below = (c.Const(core.span, core.type, value) for value in (1, 0, -1))
    zero = number(core, 0.0)
    return _choose(core, "greater", x, zero, above, _choose(core, "less", x, zero, below, at))


def _step(core: c.Apply, x: c.Core) -> c.Core:
    return compare("greater_equal", x, number(core, 0.0)).replace(span=core.span)


def negated(x: c.Core) -> c.Core:
    return c.Apply(x.span, REAL, "negate", (("a", x),))


def _abs(core: c.Apply, x: c.Core) -> c.Core:
    return _choose(core, "greater", x, number(core, 0.0), x, negated(x))


def _relu(core: c.Apply, x: c.Core) -> c.Core:
    return _choose(core, "greater", x, number(core, 0.0), x, number(core, 0.0))


def _max(core: c.Apply, *values: c.Core) -> c.Core | None:
    return _choose(core, "greater", *values, *values) if len(values) == 2 else None


def _min(core: c.Apply, *values: c.Core) -> c.Core | None:
    return _choose(core, "less", *values, *values) if len(values) == 2 else None


def _clip(core: c.Apply, x: c.Core, lower: c.Core, upper: c.Core) -> c.Core:
    inner = _choose(core, "greater", x, upper, upper, x)
    return _choose(core, "less", x, lower, lower, inner)


def _leaky_relu(core: c.Apply, x: c.Core, slope: c.Core | None = None) -> c.Core:
    below = arithmetic("multiply", slope or number(core, 0.01), x)
    return _choose(core, "greater", x, number(core, 0.0), x, below)


def _hard_threshold(core: c.Apply, x: c.Core, threshold: c.Core | None = None) -> c.Core:
    """x, or 0 within the threshold."""
    end = threshold or number(core, 1.0)
    zero = number(core, 0.0)
    inner = _choose(core, "less", x, negated(end), x, zero)
    return _choose(core, "greater", x, end, x, inner)


def _elu(core: c.Apply, x: c.Core, alpha: c.Core | None = None) -> c.Core:
    below = arithmetic("multiply", alpha or number(core, 1.0), applied("expm1", x))
    return _choose(core, "greater", x, number(core, 0.0), x, below)


def _soft_threshold(core: c.Apply, x: c.Core, threshold: c.Core | None = None) -> c.Core:
    """x moved towards 0 by the threshold, or 0 within it."""
    end = threshold or number(core, 1.0)
    below, above = arithmetic("add", x, end), arithmetic("subtract", x, end)
    inner = _choose(core, "less", x, negated(end), below, number(core, 0.0))
    return _choose(core, "greater", x, end, above, inner)


def _sparsesigmoid(core: c.Apply, x: c.Core) -> c.Core:
    """(x + 1) / 2 from -1 to 1, 0 below, 1 above."""
    rising = arithmetic("multiply", number(core, 0.5), arithmetic("add", x, number(core, 1.0)))
    ends = [number(core, end) for end in (-1.0, 0.0, 1.0)]
    inner = _choose(core, "greater", x, ends[2], ends[2], rising)
    return _choose(core, "less", x, ends[0], ends[1], inner)


Rule = Callable[..., "c.Core | None"]
_JUMPS: dict[str, Rule] = {"sign": _sign, "step": _step, "hard_threshold": _hard_threshold}
_KINKS: dict[str, Rule] = {
    "abs": _abs,
    "relu": _relu,
    "max": _max,
    "min": _min,
    "clip": _clip,
    "leaky_relu": _leaky_relu,
    "elu": _elu,
    "soft_threshold": _soft_threshold,
    "sparsesigmoid": _sparsesigmoid,
}


def unrolled(core: c.Loop) -> c.Core | None:
    """if c(s0) then (if c(s1) then s2 else s1) else s0, where each state is the body of the last.

    None for a loop of many turns, whose text would grow with them.
    """
    if core.limit > LONGEST_LOOP or core.type.shape:
        return None
    states = [core.start]
    for _ in range(core.limit):
        states.append(substitute(core.body, {core.variable: states[-1]}))
        if sum(1 for _ in c.walk(states[-1])) > LONGEST_STATE:
            return None
    found = states.pop()
    for state in reversed(states):
        condition = substitute(core.condition, {core.variable: state})
        found = c.If(core.span, core.type, condition, found, state)
    return found


Branches = tuple[c.Core, c.Core, c.Core]


def lifted(core: c.Core, is_random: Callable[[c.Core], bool]) -> Branches | None:
    """The first branch inside a number: its condition, and the number in either case."""
    if core.type.shape or not is_random(core):
        return None
    if isinstance(core, c.If):
        return core.condition, core.then, core.otherwise
    if not isinstance(core, c.Apply):
        return None
    if core.type == BOOL and (core.function in FLIPPED or core.function in LOGIC):
        return core, number(core, 1.0), number(core, 0.0)
    branches = as_branches(core, kinks=True)
    if isinstance(branches, c.If):
        return branches.condition, branches.then, branches.otherwise
    if branches is not None:
        return branches, number(core, 1.0), number(core, 0.0)
    for place, (name, value) in enumerate(core.arguments):
        inner = lifted(value, is_random)
        if inner is not None:
            before, after = core.arguments[:place], core.arguments[place + 1 :]
            condition, *values = inner
            then, otherwise = (
                core.replace(arguments=(*before, (name, own), *after)) for own in values
            )
            return condition, then, otherwise
    return None


# ---- what an expression says of a draw


def definition_of(node: Node, indices: tuple[c.Core, ...]) -> c.Core:
    """The body of a computed value at these indices."""
    if len(node.pieces) != 1 or node.pieces[0].where is not None:
        raise Unsolved
    (piece,) = node.pieces
    binders = [index for index in piece.indices if isinstance(index, c.Bind)]
    if len(binders) != len(piece.indices) or len(binders) > len(indices):
        raise Unsolved
    if is_smoothed(piece.settings) or len(piece.body.type.shape) != len(indices) - len(binders):
        raise Unsolved
    assert isinstance(piece.body, c.Core)
    names = (binder.name for binder in binders)
    found = substitute(piece.body, dict(zip(names, indices, strict=False)))
    return reduce(element, indices[len(binders) :], found)


def one_read(cores: Iterable[c.Core], name: str) -> c.Core:
    """The one element of a draw that is read, however often."""
    found = dict.fromkeys(read for core in cores for ref, read in reads(core) if ref.name == name)
    if len(found) != 1 or next(iter(found)).type.shape:
        raise Unsolved
    return next(iter(found))


def mentions(core: c.Core, target: c.Core) -> bool:
    return any(part == target for part in c.walk(core))


def affine(core: c.Core, target: c.Core) -> tuple[c.Core | None, c.Core]:
    """slope and offset of core = slope * target + offset; no slope where it is not mentioned."""
    if core == target:
        return number(core, 1.0), number(core, 0.0)
    if not mentions(core, target):
        return None, core
    if not isinstance(core, c.Apply) or core.function not in _LINEAR:
        raise Unsolved
    parts = [affine(value, target) for _, value in core.arguments]
    return _LINEAR[core.function](core, *parts)


Affine = tuple["c.Core | None", c.Core]


def bounds_of(core: c.Core) -> tuple[float, float]:
    return (float(core.value),) * 2 if isinstance(core, c.Const) else core.type.bounds


def typed(function: str, a: c.Core, b: c.Core) -> c.Core:
    """Arithmetic whose range is known: the sign of a slope decides which side is above."""
    ends = OPERATORS[function](bounds_of(a), bounds_of(b))
    return c.Apply(a.span, Type(Real(*ends)), function, pair(a, b))


def _added(core: c.Apply, left: Affine, right: Affine) -> Affine:
    (a, b), (d, e) = left, right
    if core.function == "subtract" and d is not None:
        slope = typed("subtract", a or number(core, 0.0), d)
    else:
        slope = typed("add", a, d) if a is not None and d is not None else (a or d)  # type: ignore[assignment]
    return slope, arithmetic(core.function, b, e)


def _multiplied(core: c.Apply, left: Affine, right: Affine) -> Affine:
    (a, b), (d, e) = left, right
    if a is not None and d is not None:
        raise Unsolved
    slope = typed("multiply", a, e) if a is not None else typed("multiply", b, d)  # type: ignore[arg-type]
    return slope, arithmetic("multiply", b, e)


def _divided(core: c.Apply, left: Affine, right: Affine) -> Affine:
    (a, b), (d, e) = left, right
    if d is not None or a is None:
        raise Unsolved
    return typed("divide", a, e), c.Apply(core.span, REAL, "divide", pair(b, e))


def _minus(core: c.Apply, inner: Affine) -> Affine:
    slope, offset = inner
    minus = None if slope is None else typed("subtract", number(core, 0.0), slope)
    return minus, negated(offset)


_LINEAR: Mapping[str, Callable[..., Affine]] = {
    "add": _added,
    "subtract": _added,
    "multiply": _multiplied,
    "divide": _divided,
    "negate": _minus,
}


def simplified(core: Any) -> Any:
    """Without what a line in a draw leaves behind: x * 1, x + 0, x * 0."""
    found = c.map_parts(core, simplified)
    if not isinstance(found, c.Apply) or found.function not in _NEUTRAL or found.type.shape:
        return found
    (_, a), (_, b) = found.arguments
    is_product = found.function in ("multiply", "divide")
    if _is_constant(b, _NEUTRAL[found.function]):
        return a
    if found.function in ("add", "multiply") and _is_constant(a, _NEUTRAL[found.function]):
        return b
    if is_product and _is_constant(a, 0.0):
        return number(found, 0.0)
    if found.function == "multiply" and _is_constant(b, 0.0):
        return number(found, 0.0)
    return found


_NEUTRAL = {"add": 0.0, "subtract": 0.0, "multiply": 1.0, "divide": 1.0}


def _is_constant(core: c.Core, value: float) -> bool:
    return isinstance(core, c.Const) and core.value == value


# ---- what is around a draw goes to the other side


Comparison = tuple[str, c.Core, c.Core]


def moved(function: str, left: c.Apply, right: c.Core, target: c.Core) -> Comparison:
    """The same comparison with the outermost operation around the draw taken off, if monotone."""
    values = [value for _, value in left.arguments]
    if left.function in INVERSES:
        word = FLIPPED[function] if left.function in FALLING else function
        return word, values[0], applied(INVERSES[left.function], right)
    if left.function in BASES:
        scaled = arithmetic("multiply", right, number(right, log(BASES[left.function])))
        return function, values[0], applied("exp", scaled)
    if left.function == "negate":
        return FLIPPED[function], values[0], negated(right)
    if left.function in INVERTED_ENDS:
        return _without_inverse(function, left, right)
    if left.function in POWERS:
        return _without_power(function, values[0], values[1], right)
    if left.function not in ("add", "subtract"):
        raise Unsolved
    first, second = values
    if mentions(first, target) and mentions(second, target):
        raise Unsolved
    opposite = "subtract" if left.function == "add" else "add"
    if mentions(first, target):
        return function, first, arithmetic(opposite, right, second)
    if left.function == "add":
        return function, second, arithmetic("subtract", right, first)
    return FLIPPED[function], second, arithmetic("subtract", first, right)


INVERSES = {
    **{name: f"inverse_{name}" for name in INVERTED},
    "log": "exp",
    "log1p": "expm1",
    "logit": "logistic",
    "Phi_inverse": "Phi",
    "sinh": "asinh",
    "asinh": "sinh",
    "atanh": "tanh",
    "erfinv": "erf",
}
FALLING = frozenset({"erfc", "acos"})
BASES = {"log2": 2.0, "log10": 10.0}
POWERS = frozenset({"power", "pow"})
INVERTED_ENDS = {
    **dict.fromkeys(("inverse_exp", "inverse_sqrt", "inverse_softplus"), (0.0,)),
    **dict.fromkeys(("inverse_power", "inverse_positive_power"), (0.0,)),
    **dict.fromkeys(("inverse_logistic", "inverse_Phi"), (0.0, 1.0)),
    **dict.fromkeys(("inverse_tanh", "inverse_erf"), (-1.0, 1.0)),
    **dict.fromkeys(("inverse_atan", "inverse_asin"), (-pi / 2, pi / 2)),
    "inverse_expm1": (-1.0,),
    "inverse_erfc": (0.0, 2.0),
    "inverse_acos": (0.0, pi),
}
"""Where an inverse ends, so that it is infinite beyond."""


def applied(name: str, x: c.Core) -> c.Core:
    """A function of one number."""
    if name not in functions_by_name():
        return c.Apply(x.span, REAL, name, (("x", x),), f"{name}(x: real) -> real")
    row = functions_by_name()[name][-1]
    (parameter,) = row.signature.params
    return c.Apply(x.span, REAL, name, ((parameter.name, x),), row.text)


def _not_below_0(x: c.Core) -> c.Core:
    return x if bounds_of(x)[0] >= 0 else applied("relu", x)


def _within_1(x: c.Core) -> c.Core:
    ends = (("x", x), ("lower", number(x, -1.0)), ("upper", number(x, 1.0)))
    return c.Apply(x.span, REAL, "clip", ends, functions_by_name()["clip"][0].text)


_INTO_DOMAIN: dict[str, Callable[[c.Core], c.Core]] = {
    "sqrt": _not_below_0,
    "asin": _within_1,
    "acos": _within_1,
}


def _without_inverse(function: str, left: c.Apply, right: c.Core) -> Comparison:
    """log(y) > c  is  y > exp(c); a root is -infinity below 0, and above all that is."""
    inner = left.arguments[0][1]
    name = left.function.removeprefix("inverse_")
    if name == "positive_power":
        raise Unsolved
    if name != "power":
        word = FLIPPED[function] if name in FALLING else function
        into_domain = _INTO_DOMAIN.get(name)
        return word, inner, applied(name, into_domain(right) if into_domain else right)
    exponent = left.arguments[1][1]
    if not isinstance(exponent, c.Const):
        raise Unsolved
    base = right if exponent.value % 2 == 1 else _not_below_0(right)
    return function, inner, c.Apply(right.span, REAL, "power", pair(base, exponent))


ROOT = "{0}(x: real, exponent: real) -> real"


def _root(name: str, x: c.Core, exponent: c.Core) -> c.Core:
    arguments = (("x", x), ("exponent", exponent))
    return c.Apply(x.span, REAL, name, arguments, ROOT.format(name))


def root(x: c.Core, exponent: c.Core) -> c.Core:
    return _root("inverse_power", x, exponent)


def root_of_positive(x: c.Core, exponent: c.Core) -> c.Core:
    """Of a base that is not below 0, whose exponent may be anything."""
    return _root("inverse_positive_power", x, exponent)


def has_fixed_root(power: c.Apply) -> bool:
    (_, exponent) = power.arguments[1]
    return isinstance(exponent, c.Const) and exponent.value > 0


def _without_power(function: str, base: c.Core, exponent: c.Core, right: c.Core) -> Comparison:
    """x^3 > c  is  x > c^(1/3); of an even power the base must be 0 or above."""
    if not isinstance(exponent, c.Const) or exponent.value <= 0:
        raise Unsolved
    if exponent.value % 2 != 1 and bounds_of(base)[0] < 0:
        raise Unsolved
    return function, base, root(right, exponent)


def is_even_power(core: c.Core) -> bool:
    """x * x, x^2, x^4, ..."""
    if not isinstance(core, c.Apply):
        return False
    values = [value for _, value in core.arguments]
    if core.function == "square":
        return True
    if core.function == "multiply":
        return values[0] == values[1]
    if core.function not in POWERS or not isinstance(values[1], c.Const):
        return False
    return values[1].value > 0 and values[1].value % 2 == 0

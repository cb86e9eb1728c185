"""The mean of a statement over noise in its inputs: `with smooth(...)` (CF17, CV10)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..graph import core as c
from ..graph.breaks import COMPARISONS, jumps, own_break
from ..graph.forms import compare
from ..graph.inputs import noisy_inputs, noisy_names
from ..graph.passes.smoothing import OTHER_RULE, PANELS
from ..graph.passes.solve import as_branches, conditions
from ..graph.substitute import exchange
from ..graph.typed import Setting
from ..graph.types import REAL
from .code import Code, call, const, function, name, pack
from .expressions import lower
from .scope import Scope, Value, free_name, joint_axes
from .shapes import full

ROUNDING = frozenset({"floor", "ceil", "round", "trunc", "mod"})
"""These jump again and again: their jumps are looked for in finer cells."""
BUMPS = {
    **dict.fromkeys(("exp", "logistic", "tanh", "Phi", "erf", "erfc", "atan"), 0),
    "softplus": 0,
    "power": 0,
    "divide": 1,
}
"""By the function, which of its arguments decides where a bump is that has no jump and no kink."""
STEEP = 10.0
CONTINUOUS = frozenset(
    {
        *("add", "subtract", "multiply", "negate", "max", "min", "abs", "relu", "sum", "mean"),
        *("dot", "sin", "cos", "tanh", "exp", "logistic", "softplus", "softmax", "logsumexp"),
    }
)


class _Noise(NamedTuple):
    """All have mean 0. Less than 1e-17 lies beyond `ends`; beyond `far` no number of double
    precision holds the density, beyond `near` none of single precision.
    """

    log_density: str
    ends: tuple[float, float]
    far: tuple[float, float]
    near: tuple[float, float]
    sampler: str


NOISE = {
    "gaussian": _Noise(
        "log_density_gaussian", (-9.0, 9.0), (-38.0, 38.0), (-13.0, 13.0), "jax.random.normal"
    ),
    "logistic": _Noise(
        "log_density_logistic", (-40.0, 40.0), (-700.0, 700.0), (-87.0, 87.0), "jax.random.logistic"
    ),
    "gumbel": _Noise(
        "log_density_gumbel", (-4.5, 40.0), (-7.0, 700.0), (-5.1, 87.0), "centred_gumbel"
    ),
}


class _Input(NamedTuple):
    """One part of a noisy variable: what it is called inside, and its value without noise."""

    core: c.Core
    name: str
    rank: int
    centre: Value


def lower_smooth(body: c.Core, setting: Setting, scope: Scope) -> Value:
    """The mean over noise: an integral over one or two inputs, samples for any number."""
    options = dict(setting.options)
    inputs = list(_inputs(body, setting, scope))
    body = exchange(body, {i.core: c.Var(i.core.span, i.core.type, i.name) for i in inputs})
    rank = len(body.type.shape)

    def inside_of(axes: tuple[str, ...]) -> Scope:
        return scope.with_scalars(**{i.name: Value(name(i.name), axes, i.rank) for i in inputs})

    # All binders that the inputs or the statement depend on: each position is its own mean.
    values = [i.centre for i in inputs]
    values.append(lower(body, inside_of(joint_axes(values, scope.order))))
    axes = joint_axes(values, scope.order)
    inside = inside_of(axes)

    def of_inputs(core: c.Core) -> Code:
        """A function of the inputs, with every axis at its full length."""
        value = full(lower(core, inside), axes, len(core.type.shape), inside, core.type.shape)
        return function([i.name for i in inputs], value.code)

    mean = of_inputs(body)
    centres = pack(full(i.centre, axes, i.rank, scope, i.core.type.shape).code for i in inputs)
    scale = const(options.get("scale", 1.0))
    noise = NOISE[setting.method]
    log_density = name(scope.needs.helper(noise.log_density))
    if "samples" in options:
        path, sampler = (
            scope.needs.helper("mean_of_samples"),
            name(scope.needs.helper(noise.sampler)),
        )
        counts = const(options["samples"]), const(options.get("seed", 0))
        last = const(_is_continuous(body))
        given = [mean, centres, const(len(axes)), scale, log_density, sampler, *counts, last]
    else:
        path = scope.needs.helper("integrated_mean")
        tests = pack(pack(map(of_inputs, own)) for own in _tests(body, inputs, options))
        panels, reach = _rule(options, len(inputs))
        windows = [noise.ends, _window(noise, noise.far, reach), _window(noise, noise.near, reach)]
        ends = [pack(map(const, window)) for window in windows]
        given = [mean, tests, centres, scale, log_density, *ends, const(panels)]
    return Value(call(path, *given), axes, rank)


def _tests(
    body: c.Core, inputs: list[_Input], options: Mapping[str, Any]
) -> Iterator[Iterable[c.Core]]:
    """Operations on the inputs that break: each has its own places, kept apart however close."""
    names = {i.name for i in inputs}

    def own(parts: Iterable[c.Core]) -> list[c.Core]:
        return [x for x in dict.fromkeys(parts) if _reads(x, names)]

    hard, bent = (own(_breaking_parts(body, kind)) for kind in ("jump", "kink"))
    often = [x for x in hard if isinstance(x, c.Apply) and x.function in ROUNDING]
    # Two inputs take the square of all cuts: there they are few where nothing jumps.
    is_one = len(inputs) == 1
    # What is compared may turn back and cross again close by: it is cut where it turns, too.
    curved = own([*hard, *bent]) if is_one else hard
    gaps = {x: gap for x in curved if (gap := _gap(x)) is not None}
    compared = [x for x in own([*hard, *bent]) if jumps(x)]
    yield [x for x in compared if x not in often and x not in gaps]
    yield often
    yield gaps
    yield gaps.values()
    yield [x for x in bent if not jumps(x)]
    yield own(_steep_parts(body, float(options.get("scale", 1.0)))) if is_one else ()


def _rule(options: Mapping[str, Any], inputs: int) -> tuple[int, float]:
    """How many panels, and how much of the way to where numbers end. The other rule has more of
    them, of which few edges are edges of the first, and stops before it: what grows as fast as the
    noise falls shows there.
    """
    panels = int(options.get("panels", PANELS))
    if OTHER_RULE not in options:
        return panels, 1.0
    # Two inputs take the square of it.
    more = panels * 3 if inputs == 1 else panels * 3 // 2
    return more | 1, 0.7


def _window(noise: _Noise, far: tuple[float, float], reach: float) -> list[float]:
    pairs = zip(noise.ends, far, strict=True)
    return [end + reach * (last - end) for end, last in pairs]


def _inputs(body: c.Core, setting: Setting, scope: Scope) -> Iterator[_Input]:
    taken = {*scope.taken, *scope.scalars}
    for core in noisy_inputs(body, noisy_names(body, setting)):
        ref = core.base if isinstance(core, c.At) else core
        assert isinstance(ref, c.Ref)
        own = free_name(f"{ref.name}_", taken)
        taken.add(own)
        centre = lower(core, scope.replace(soft=None))
        yield _Input(core, own, len(core.type.shape), centre)


def _is_continuous(core: c.Core) -> bool:
    """Whether its derivatives say all: real, without a jump or a pole anywhere."""
    if core.type.whole and not isinstance(core, c.Const | c.Var):
        return False
    if isinstance(core, c.Apply) and core.function not in CONTINUOUS:
        return False
    if isinstance(core, c.Reduce) and core.operator not in CONTINUOUS:
        return False
    plain = c.Apply | c.Reduce | c.Build | c.Stack | c.At | c.Ref | c.Var | c.Const
    return isinstance(core, plain) and all(map(_is_continuous, c.parts(core)))


def _gap(core: c.Core) -> c.Core | None:
    """left - right of a comparison, where it is not a straight line, which crosses once."""
    if not (isinstance(core, c.Apply) and core.function in COMPARISONS):
        return None
    (_, left), (_, right) = core.arguments
    if core.type.shape or (_is_straight(left) and _is_straight(right)):
        return None
    return c.Apply(core.span, REAL, "subtract", (("a", left), ("b", right)))


def _is_straight(core: c.Core) -> bool:
    if isinstance(core, c.Apply):
        values = [value for _, value in core.arguments]
        if core.function in ("multiply", "divide"):
            fixed = values if core.function == "multiply" else values[1:]
            is_scaled = any(isinstance(value, c.Const) for value in fixed)
            return is_scaled and all(map(_is_straight, values))
        is_linear = core.function in ("add", "subtract", "negate")
        return is_linear and all(map(_is_straight, values))
    return isinstance(core, c.Var | c.Ref | c.At | c.Const)


def _reads(core: c.Core, names: set[str]) -> bool:
    return any(isinstance(x, c.Var) and x.name in names for x in c.walk(core))


def _breaking_parts(core: c.Core, kind: str) -> Iterator[c.Core]:
    """What jumps, or has a kink, outside of loops and reductions, where every name has one value.

    A kink is where numbers are compared, if it can be written so.
    """
    if isinstance(core, c.Reduce | c.Build | c.Loop):
        return
    found = own_break(core)
    if found and found[0] == kind:
        branches = as_branches(core, kinks=True) if kind == "kink" else None
        for part in conditions(branches) if branches else [core]:
            yield part
            yield from _each_side(part)
    for part in c.parts(core):
        yield from _breaking_parts(part, kind)


def _steep_parts(core: c.Core, scale: float) -> Iterator[c.Core]:
    """What is inside of an exp, a quotient, ...: a narrow bump is where it turns, or crosses 0."""
    if isinstance(core, c.Reduce | c.Build | c.Loop):
        return
    if isinstance(core, c.Apply) and core.function in BUMPS and not core.type.shape:
        inside = core.arguments[BUMPS[core.function]][1]
        if _may_be_steep(inside, scale):
            yield inside
    for part in c.parts(core):
        yield from _steep_parts(part, scale)


def _may_be_steep(core: c.Core, scale: float) -> bool:
    """Whether it may move by much where the noise moves little: a number is large, or not known."""
    parts = list(c.walk(core))
    numbers = [abs(x.value) for x in parts if isinstance(x, c.Const)] + [scale]
    is_known = not any(isinstance(x, c.Ref) for x in parts)
    return not is_known or any(size >= STEEP or 0 < size <= 1 / STEEP for size in numbers)


def _each_side(core: c.Core) -> Iterator[c.Core]:
    """|a| < b jumps where a = b and where -a = b, perhaps close together: each on its own."""
    if not (isinstance(core, c.Apply) and core.function in COMPARISONS):
        return
    (_, left), (_, right) = core.arguments
    for side, other in ((left, right), (right, left)):
        if isinstance(side, c.Apply) and side.function in ("abs", "min", "max"):
            values = [value for _, value in side.arguments if not value.type.shape]
            if side.function == "abs":
                values.append(c.Apply(side.span, REAL, "negate", (("a", values[0]),)))
            for value in values:
                yield from _each_side(one := compare("less", value, other))
                yield one

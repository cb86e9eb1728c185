"""How smooth a function from outside is: nobody says, so it is read off its program, and probed.

Along random lines the decisions of its program are followed. Between neighbours that decide
otherwise every place where a decision changes is bisected, and the results on both sides are
compared there: a step is a jump, a step of the derivative a kink. What cannot be seen is taken as a
jump: a comparison that moves with the inputs and never changes may do so elsewhere, one that goes
on changing, as `floor(x)` and `sin(x) > 0` do, may jump only where nobody looked. An operation that
is continuous itself, as `max`, has a kink there at worst.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpc.dsl.graph.breaks import Smoothness
from dpc.dsl.graph.typed import Function
from dpc.dsl.graph.types import Bool, IndexOf, Real, Type
from dpc.dsl.record import Record

from .sites import (
    BITS,
    CONTINUOUS,
    ORDERS,
    OWN_DERIVATIVES,
    SMOOTH,
    mixed,
    primitives,
    run_with_sites,
    side,
    useful,
)

LINES, HALVINGS = 12, 70
BATCHES, ROUNDS, PIECES = 8, 40, 4
"""How many changes are compared, in batches: where there are more, some are left."""
KINDS: tuple[Smoothness, ...] = ("smooth", "kink", "jump")
FAR = np.geomspace(1e-3, 1e6, 45)
PLACES = np.sort(np.concatenate([-FAR, np.linspace(-4.1, 4.1, 38), FAR]))
CENTRES = (0.1, 1.0, 10.0)
TOGETHER, LARGE = 512, 4096
STEP, RELATIVE, BEND = 1e-6, 1e-9, 1e-5
"""What a step of the value, of its size, and of the derivative may be by rounding."""
OUTER = np.minimum(np.abs(PLACES[1:]), np.abs(PLACES[:-1])) > 1e4
GOES_ON = 0.1
"""What changes between more than a tenth of the outer places is taken to do so for ever."""
TOUCHES = 1e-3
"""Of its median: a number that is never seen to be less does not touch 0."""
FEW = 64
"""A difference with no more values than this was seen at all of them."""
NEAR = 1e-5
SPLIT = 0.4871
"""Not in the middle: between -1 and 1 that is 0, where decisions are neither of both."""


def smoothness_of_externs(
    functions: tuple[Function, ...],
    externs: Mapping[str, Callable[..., Any]],
    sizes: Mapping[str, int],
) -> dict[str, Smoothness]:
    own = [f for f in functions if f.body is None and f.name in externs]
    return {f.name: _smoothness(externs[f.name], f, sizes) for f in own}


def _smoothness(
    function: Callable[..., Any], row: Function, sizes: Mapping[str, int]
) -> Smoothness:
    types = [type_ for _, type_ in row.parameters]
    if not any(isinstance(type_.domain, Real) for type_ in types):
        return "smooth"
    # Asked for while something else is traced, it is to run all the same.
    with (
        jax.ensure_compile_time_eval(),
        jax.enable_x64(True),
        jax.numpy_dtype_promotion("standard"),
    ):
        lines = _Lines(function, types, sizes)
        try:
            program = jax.make_jaxpr(lines.at)(lines.start[0], lines.end[0], 0.5)
        except Exception:  # whatever the caller's function raises, it raises where it is used
            return "jump"
        names = set(primitives(useful(program.jaxpr)))
        if names <= SMOOTH - OWN_DERIVATIVES:
            return "smooth"
        try:
            return _probed(_Probe(lines, program), bool(names & OWN_DERIVATIVES))
        except Exception:  # it cannot be followed: without a derivative, or with a loop that moves
            return "jump"


class _Lines:
    """Inputs from `start` to `end`, one pair a line, and beyond."""

    def __init__(self, function: Callable[..., Any], types: list[Type], sizes: Mapping[str, int]):
        self.function, self.types = function, types
        random = np.random.default_rng(0)
        self.start, self.end = [], []
        for line in range(LINES):
            whole = [_example(type_, sizes, random) for type_ in types]
            centre, reach = (
                CENTRES[line % len(CENTRES)],
                [random.normal(size=x.shape) for x in whole],
            )
            pairs = list(zip(whole, reach, types, strict=True))
            self.start.append([centre * z if _is_real(t) else x for x, z, t in pairs])
            moved = [random.normal(size=x.shape) for x in whole]
            ends = zip(self.start[-1], moved, types, strict=True)
            self.end.append([x + z if _is_real(t) else x for x, z, t in ends])
        self.size = sum(np.size(x) for x in self.start[0])

    def at(self, start: Any, end: Any, place: Any) -> Any:
        """The results at a place of a line, as one vector."""
        inputs = [
            _within(a + place * (b - a), type_) if _is_real(type_) else a
            for type_, a, b in zip(self.types, start, end, strict=True)
        ]
        return jnp.ravel(jnp.asarray(self.function(*inputs), float))


def _is_real(type_: Type) -> bool:
    return isinstance(type_.domain, Real)


def _within(value: Any, type_: Type) -> Any:
    """A number on the line as one within the bounds of the type."""
    low, high = type_.bounds
    if np.isfinite(low) and np.isfinite(high):
        return low + (high - low) * jax.nn.sigmoid(value)
    if np.isfinite(low):
        return low + jax.nn.sigmoid(value) * jnp.sqrt(1 + value**2)
    return high - jax.nn.sigmoid(value) * jnp.sqrt(1 + value**2) if np.isfinite(high) else value


def _example(type_: Type, sizes: Mapping[str, int], random: np.random.Generator) -> Any:
    """Any value of the type; its real numbers are of no interest."""
    shape = tuple(getattr(axis, "size", None) or sizes[str(axis)] for axis in type_.shape)
    if _is_real(type_):
        return np.zeros(shape)
    if isinstance(type_.domain, Bool):
        return jnp.asarray(random.integers(0, 2, shape), bool)
    count = 2
    if isinstance(type_.domain, IndexOf):
        count = getattr(type_.domain.dim, "size", None) or sizes[str(type_.domain.dim)]
    return jnp.asarray(random.integers(0, count, shape), jnp.int32)


class _Seen(Record):
    """At one input each: what is decided, the value and its derivative along the line.

    There are two decisions of each operation: its own, and the direction that `turning` moves in,
    a number that breaks something where it touches 0; `least` is the least of its entries.
    """

    decisions: np.ndarray
    moving: np.ndarray
    least: np.ndarray
    value: np.ndarray
    slope: np.ndarray


class _Probe:
    """A function along lines; what is seen at many places is computed together."""

    def __init__(self, lines: _Lines, program: Any):
        self.lines = lines
        self.together = TOGETHER if lines.size <= LARGE else TOGETHER // 8
        self.names: list[str] = []
        jaxpr = useful(program.jaxpr)

        def sites(start: Any, end: Any, place: Any) -> Any:
            given = jax.tree.leaves((start, end, place))
            _, found = run_with_sites(jaxpr, program.consts, *given)
            self.names = [site.name for site in found]
            return [s.turning for s in found], [(s.decision, s.moving) for s in found]

        def see(start: Any, end: Any, place: Any) -> Any:
            one = jnp.ones_like(place)
            value, slope = _value_and_slope(lambda t: lines.at(start, end, t), place)
            turnings, turns, own = jax.jvp(
                lambda t: sites(start, end, t), (place,), (one,), has_aux=True
            )
            decisions = [jnp.sum(decided) for decided, _ in own]
            decisions += [mixed(side(turn)) for turn in turns]
            moving = [jnp.sum(each) for _, each in own]
            least = [jnp.min(jnp.abs(each)) for each in turnings]
            columns = [jnp.stack([*each, 0]) for each in (decisions, moving, least)]
            return *columns, value, slope

        self._see = jax.jit(jax.vmap(see))

    def see(self, line: np.ndarray, place: np.ndarray) -> _Seen:
        rows = [
            self._some(line[k : k + self.together], place[k : k + self.together])
            for k in range(0, len(line), self.together)
        ]
        return _Seen(*(np.concatenate(each) for each in zip(*rows, strict=True)))

    def _some(self, line: np.ndarray, place: np.ndarray) -> list[np.ndarray]:
        full = np.resize(line, self.together), np.resize(place, self.together)
        starts, ends = (
            [np.stack([x[k] for x in side])[full[0]] for k in range(len(self.lines.types))]
            for side in (self.lines.start, self.lines.end)
        )
        return [np.asarray(each)[: len(line)] for each in self._see(starts, ends, full[1])]


def _value_and_slope(function: Callable[[Any], Any], place: Any) -> Any:
    try:
        return jax.jvp(function, (place,), (jnp.ones_like(place),))
    except TypeError:  # a custom_vjp has no forward derivative
        return function(place), jax.jacrev(function)(place)


# ---- the places where decisions change


def _probed(probe: _Probe, hides: bool) -> Smoothness:
    line = np.repeat(np.arange(LINES), len(PLACES))
    place = np.tile(PLACES, LINES)
    seen = probe.see(line, place)
    if hides and _drops_derivative(probe, line, place, seen):
        return "jump"
    decisions = seen.decisions.reshape(LINES, len(PLACES), -1)
    changed = decisions[:, 1:] != decisions[:, :-1]
    for k, name in enumerate(probe.names):
        moves = len(np.unique(seen.moving[:, k])) > FEW
        if moves and (name in BITS or (name in ORDERS and not changed[:, :, k].any())):
            return "jump"
    own = [KINDS.index("kink" if name in CONTINUOUS else "jump") for name in probe.names]
    worst = np.array([*own, *own, 0])
    unseen = np.array([*own, *np.where(_touch(seen.least[:, :-1]), own, 0), 0])
    goes_on = changed[:, OUTER].mean((0, 1)) > GOES_ON
    found = max(unseen[goes_on], default=0)
    if found < KINDS.index("jump"):
        found = max(found, _across(probe, changed & ~goes_on, worst, unseen))
    return KINDS[found]


def _touch(least: np.ndarray) -> np.ndarray:
    """Which of these numbers may be 0 somewhere."""
    least = np.where(np.isnan(least), np.inf, least)
    stays_away: np.ndarray = np.min(least, 0) > TOUCHES * np.median(least, 0)
    return ~stays_away


class _Bracket(NamedTuple):
    """Changes of decisions, each between two places of a line."""

    decision: np.ndarray
    line: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def where(self, which: Any) -> _Bracket:
        return _Bracket(*(each[which] for each in self))

    def and_also(self, others: _Bracket) -> _Bracket:
        return _Bracket(*map(np.concatenate, zip(self, others, strict=True)))


def _across(probe: _Probe, changed: np.ndarray, worst: np.ndarray, unseen: np.ndarray) -> int:
    """What happens where decisions change, those nearest to 0 first, as one of KINDS.

    `worst` is what each of them can do, `unseen` what it is taken for if some changes are left.
    """
    line, at, decision = np.nonzero(changed)
    left = _Bracket(decision, line, PLACES[at], PLACES[at + 1])
    left = left.where(np.argsort(np.abs(left.low), kind="stable"))
    found = looked = 0
    for _ in range(ROUNDS):
        left = left.where(worst[left.decision] > found)
        if not len(left.line) or looked + len(left.line) > BATCHES * probe.together:
            break
        some, rest = left.where(slice(probe.together)), left.where(slice(probe.together, None))
        kind, further = _looked_at(probe, some)
        found, left = max(found, kind), rest.and_also(further)
        looked += len(some.line)
    return int(max([found, *unseen[left.decision]]))


def _looked_at(probe: _Probe, bracket: _Bracket) -> tuple[int, _Bracket]:
    """What happens at the first change of each, and where their decisions change once more."""
    decision, line, low, high = bracket
    rows = np.arange(len(line))
    start, end = probe.see(line, low), probe.see(line, high)
    first = start.decisions[rows, decision]
    for _ in range(HALVINGS):
        middle = low + SPLIT * (high - low)
        same = probe.see(line, middle).decisions[rows, decision] == first
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    one, other = probe.see(line, low), probe.see(line, high)
    overflows = np.isinf(start.value) | np.isinf(end.value)
    kind = _compared(one, other, high - low, overflows)
    again = other.decisions[rows, decision] != end.decisions[rows, decision]
    rest = bracket._replace(low=high).where(again)
    return KINDS.index(kind), _pieces_that_change(probe, rest)


def _pieces_that_change(probe: _Probe, bracket: _Bracket) -> _Bracket:
    """What is left behind a change, in pieces: so that many changes are not found one by one."""
    if not len(bracket.line):
        return bracket
    ends = np.linspace(bracket.low, bracket.high, PIECES + 1)
    decision, line = (np.tile(each, (PIECES + 1, 1)) for each in bracket[:2])
    seen = probe.see(np.ravel(line), np.ravel(ends)).decisions
    own = seen[np.arange(len(seen)), np.ravel(decision)].reshape(ends.shape)
    pieces = _Bracket(decision[1:], line[1:], ends[:-1], ends[1:])
    return pieces.where(own[1:] != own[:-1])


def _compared(one: _Seen, other: _Seen, width: np.ndarray, overflows: np.ndarray) -> Smoothness:
    """A value that is not defined on one side ends there: in a pole, or with a kink.

    Where it is infinite on both sides and beyond, it is too large for numbers: that says nothing.
    """
    with np.errstate(all="ignore"):
        counts = ~(overflows & np.isinf(one.value) & np.isinf(other.value))
        size = np.fmax(np.abs(one.value), np.abs(other.value))
        ends = np.isnan(one.value) ^ np.isnan(other.value)
        step = np.where(ends, 0, np.abs(one.value - other.value))
        steep = np.fmax(np.abs(one.slope), np.abs(other.slope))
        # An infinite slope is that of a root, whose value goes on.
        step = np.fmax(step, np.where(np.isinf(steep), 0, steep * width[:, None]))
        infinite = np.isinf(size)
        if np.any(counts & (infinite | (step > STEP + RELATIVE * size))):
            return "jump"
        bend = np.abs(one.slope - other.slope) > BEND * (1 + steep)
        endless = np.isnan(one.slope) ^ np.isnan(other.slope)
        return "kink" if np.any(counts & (ends | bend | endless | np.isinf(steep))) else "smooth"


def _drops_derivative(probe: _Probe, line: np.ndarray, place: np.ndarray, seen: _Seen) -> bool:
    """Whether the derivative that it says it has is not that of its values."""
    some = np.abs(place) < 5
    ends = [probe.see(line[some], place[some] + sign * NEAR) for sign in (1, -1)]
    plain = np.all(ends[0].decisions == ends[1].decisions, axis=1)
    found = (ends[0].value - ends[1].value) / (2 * NEAR)
    away = np.abs(found - seen.slope[some]) > 1e-4 * (1 + np.abs(found))
    return bool(np.mean(np.any(away, axis=1) & plain) > 0.02)

"""Recurrences as scans: single steps are written out, every longer range is one `lax.scan`.

x[0] = a; x[t] = f(x[t-1]) for t = 1, 2, ... becomes a carry that holds the last values of every
member, however long the axis: the program and its compile time do not grow with it. Where a member
is given by several ranges, the scans follow one another, each starting from what the one before has
left.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby

from ..graph import core as c
from ..graph.dependence import Edge, Recurrence, components, find_recurrences, lag_along, offset_of
from ..graph.graph import Node
from ..graph.substitute import bound_in
from ..graph.typed import Cut, Piece, cut_axis, interval
from ..graph.types import Axis, Place, Type, anchored
from ..record import NOTHING, Record
from . import code as py
from .nodes import piece_statements
from .scope import Carried, Scope, Value, free_name, size_code

ValueOf = Callable[[Node, Piece, tuple[py.Code, ...], Scope], py.Code]
"""The value of one piece of a node; the third argument are the step numbers, for random keys."""


# ---- the axis of a recurrence, cut where one statement ends, and the steps already done


class StepRange(Record):
    """The places from `low` to before `high`; the same statements hold at all of them."""

    low: Cut
    high: Cut

    @property
    def length(self) -> int | None:
        """None where it depends on the size of the dim."""
        return self.high[1] - self.low[1] if self.low[0] == self.high[0] else None

    @property
    def place(self) -> Place | None:
        """The place, where there is just one."""
        return Place(self.low[1], self.low[0]) if self.length == 1 else None


def cut_code(cut: Cut, axis: Axis, size: py.Code) -> py.Code:
    """The number of a place, along an axis of this size."""
    from_end, offset = cut
    if cut in ((False, axis.size), (True, 0)):
        return size
    return py.infix(size, "-", py.const(-offset)) if from_end else py.const(offset)


class Done(Record):
    """Steps that have their values: one by its own name, or several along an array's first axis."""

    steps: StepRange
    code: py.Code


def back_code(done: Sequence[Done], lag: int, reverse: bool) -> py.Code:
    """The value `lag` steps before the next one."""
    while done[-1].steps.place is not None:
        if lag == 1:
            return done[-1].code
        done, lag = done[:-1], lag - 1
    length = done[-1].steps.length
    array = done[-1].code if length and lag <= length else joined_code(done, reverse)
    return py.index(array, py.const(lag - 1 if reverse else -lag))


def fixed_code(done: Sequence[Done], place: Place, axis: Axis, reverse: bool) -> py.Code:
    """The value at a place that is done. Steps that run backwards have only the end of the axis."""
    for part in done:
        if part.steps.place == place:
            return part.code
    from_end = reverse and not place.from_end and axis.size is not None
    offset = place.offset - (axis.size or 0) if from_end else place.offset
    return py.index(joined_code(done, reverse), py.const(offset))


def joined_code(done: Sequence[Done], reverse: bool) -> py.Code:
    """All steps so far as one array; single ones that follow one another are stacked."""
    parts: list[py.Code] = []
    in_order = done[::-1] if reverse else done
    for is_single, run in groupby(in_order, lambda part: part.steps.place is not None):
        codes = [part.code for part in run]
        parts += [py.call("jnp.stack", py.listing(codes))] if is_single else codes
    return parts[0] if len(parts) == 1 else py.call("jnp.concatenate", py.listing(parts))


# ---- steps along one axis


class Part(Record):
    """A member with the indices still open: outer steps are gone from its pieces and axes."""

    node: Node
    variable: str
    pieces: tuple[Piece, ...]
    axes: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.node.name


class _ScanFrame(Record):
    """The steps along one axis. `outer`: members seen from steps around these, the `numbers`."""

    group: Recurrence
    parts: list[Part]
    scope: Scope
    outer: Mapping[str, Carried] = NOTHING
    numbers: tuple[py.Code, ...] = ()

    @property
    def along(self) -> Axis:
        return self.parts[0].node.type.shape[self.parts[0].axes[self.group.axis]]

    @property
    def size(self) -> py.Code:
        return size_code(self.along, self.scope.names)

    @cached_property
    def counter(self) -> str:
        """The step is called what its binder is called, unless something else has that name."""
        own, others = "t", set(self.scope.scalars) | self.scope.taken
        for piece in (piece for part in self.parts for piece in part.pieces):
            for number, index in enumerate(piece.indices):
                if isinstance(index, c.Bind) and number != self.group.axis:
                    others.add(index.name)
                elif isinstance(index, c.Bind):
                    own = index.name
            others |= bound_in(piece.body)
        return free_name(own, others)


class _ScanStep(Record):
    """One step, or each step of a range: the pieces that hold there, and what they look back to."""

    steps: StepRange
    parts: list[Part]
    lags: dict[str, set[int]]
    fixed: dict[str, set[int]]


Past = dict[str, list[Done]]


def recurrence_statements(
    group: Recurrence, nodes: dict[str, Node], scope: Scope, value_of: ValueOf
) -> list[py.Statement]:
    parts = []
    for node in (nodes[name] for name in group.members):
        axes = tuple(range(len(node.type.shape)))
        parts.append(Part(node, scope.names[node.name], node.pieces, axes))
    return _RecurrenceWriter(value_of, scope).write(_ScanFrame(group, parts, scope))


class _RecurrenceWriter:
    def __init__(self, value_of: ValueOf, scope: Scope):
        self.value_of = value_of
        self.taken = scope.taken

    def fresh(self, *words: object) -> str:
        """A name of the program that no variable of the model has."""
        return free_name("_".join(map(str, words)), self.taken)

    def write(self, frame: _ScanFrame) -> list[py.Statement]:
        """The statements that define every part, whole along the axis of the frame."""
        past: Past = {part.name: [] for part in frame.parts}
        pieces = [piece for part in frame.parts for piece in part.pieces]
        lines: list[py.Statement] = []
        scans = 0
        cuts = cut_axis((interval(p.indices[frame.group.axis]) for p in pieces), frame.along.size)
        ranges = [StepRange(low, high) for low, high in cuts]
        for steps in reversed(ranges) if frame.group.reverse else ranges:
            if steps.place is None:
                scans += 1
                lines += self.scan(frame, steps, past, scans)
            else:
                lines += self.one(frame, steps, past)
        for part in frame.parts:
            whole = joined_code(past[part.name], frame.group.reverse)
            if frame.group.axis:
                whole = py.call("jnp.moveaxis", whole, py.const(0), py.const(frame.group.axis))
            lines.append(py.assign(part.variable, whole))
        return lines

    def one(self, frame: _ScanFrame, steps: StepRange, past: Past) -> list[py.Statement]:
        label = f"{'last' if steps.low[0] else ''}{abs(steps.low[1])}"
        here = {part.name: self.fresh(part.variable, label) for part in frame.parts}
        step = _step(frame, steps, here)
        seen = {
            member: {
                lag: back_code(past[member], lag, frame.group.reverse) for lag in lags if lag > 0
            }
            for member, lags in step.lags.items()
        }
        lines = self.step(frame, step, past, seen)
        for member, variable in here.items():
            past[member] = [*past[member], Done(steps, py.name(variable))]
        return lines

    def scan(
        self, frame: _ScanFrame, steps: StepRange, past: Past, count: int
    ) -> list[py.Statement]:
        suffix = (count,) if count > 1 else ()
        now = {part.name: self.fresh(part.variable, "now") for part in frame.parts}
        step = _step(frame, steps, now)
        back: dict[tuple[str, int], str] = {}
        seen: dict[str, dict[int, py.Code]] = {part.name: {} for part in frame.parts}
        for part in frame.parts:
            for lag in range(1, max(step.lags[part.name], default=0) + 1):
                back[part.name, lag] = self.fresh(part.variable, lag, "back")
                seen[part.name][lag] = py.name(back[part.name, lag])
        body = [py.assign(list(back.values()), py.name("carry"))] if back else []
        body += self.step(frame, step, past, seen)
        following = [now[member] if lag == 1 else back[member, lag - 1] for member, lag in back]
        pairs = [py.pack(map(py.name, names)) for names in (following, now.values())]
        body.append(py.give_back(py.pack(pairs)))
        first = [back_code(past[member], lag, frame.group.reverse) for member, lag in back]
        rests = {part.name: self.fresh(part.variable, "rest", *suffix) for part in frame.parts}
        function = self.fresh("step", frame.counter, *suffix)
        ends = [cut_code(cut, frame.along, frame.size) for cut in (steps.low, steps.high)]
        numbers = py.call("jnp.arange", *(ends[1:] if steps.low == (False, 0) else ends))
        backwards = {"reverse": py.const(True)} if frame.group.reverse else {}
        for member, variable in rests.items():
            past[member] = [*past[member], Done(steps, py.name(variable))]
        scanned = py.call("lax.scan", py.name(function), py.pack(first), numbers, **backwards)
        return [
            py.define(function, ["carry", frame.counter], body),
            py.assign(["_", list(rests.values())], scanned),
        ]

    def step(
        self, frame: _ScanFrame, step: _ScanStep, past: Past, seen: dict[str, dict[int, py.Code]]
    ) -> list[py.Statement]:
        """All members at one step, each after those it uses within the step."""
        place = step.steps.place
        number = py.name(frame.counter)
        if place is not None:
            number = cut_code(step.steps.low, frame.along, frame.size)
        here = {part.name: self.view(frame, step, part, past, seen) for part in step.parts}
        # Within a step of an outer recurrence, the value of this step is found along the inner one.
        outer = dict(frame.outer)
        for name, view in here.items():
            outer[name] = _deepen(outer[name], view) if name in outer else view
        scope = frame.scope.with_scalars(**{frame.counter: Value(number)})
        numbers = (*frame.numbers, number)
        edges = [edge for part in step.parts for edge in _edges(part, frame, outer)]
        inner = {frozenset(group.members): group for group in find_recurrences(here, edges)[0]}
        lines: list[py.Statement] = []
        for names in components(here, edges):
            members = [part for part in step.parts if part.name in names]
            group = inner.get(frozenset(names))
            if group:
                lines += self.write(_ScanFrame(group, members, scope, outer, numbers))
            else:
                lines += self.assign(members[0], scope.replace(carried=outer), numbers)
        return lines

    def view(
        self,
        frame: _ScanFrame,
        step: _ScanStep,
        part: Part,
        past: Past,
        seen: dict[str, dict[int, py.Code]],
    ) -> Carried:
        """A member as the other members see it at this step."""
        fixed = {}
        for value in step.fixed[part.name]:
            place = anchored(value, frame.along.size)
            fixed[value] = fixed_code(past[part.name], place, frame.along, frame.group.reverse)
        back: dict[int, py.Code | Carried] = {0: py.name(part.variable), **seen.get(part.name, {})}
        return Carried(
            frame.group.axis, back, fixed, frame.group.reverse, frame.counter, _number(step.steps)
        )

    def assign(self, part: Part, scope: Scope, numbers: tuple[py.Code, ...]) -> list[py.Statement]:
        values = [self.value_of(part.node, piece, numbers, scope) for piece in part.pieces]
        shape = tuple(part.node.type.shape[k] for k in part.axes)
        type_ = Type(part.node.type.domain, shape)
        return piece_statements(part.variable, type_, part.pieces, values, scope)


def _deepen(around: Carried, inner: Carried) -> Carried:
    below = around.back.get(0)
    deeper = _deepen(below, inner) if isinstance(below, Carried) else inner
    return around.replace(back={**around.back, 0: deeper})


# ---- what a step looks back to


def _step(frame: _ScanFrame, steps: StepRange, here: dict[str, str]) -> _ScanStep:
    parts = [_slice_part(part, frame, steps, here[part.name]) for part in frame.parts]
    lags, fixed = ({part.name: set[int]() for part in parts} for _ in range(2))
    step = _ScanStep(steps, parts, lags, fixed)
    view = Carried(frame.group.axis, {}, {}, frame.group.reverse, frame.counter, _number(steps))
    for member in here:
        for piece in (piece for part in step.parts for piece in part.pieces):
            for indices in _uses(piece, member, frame.outer.get(member)):
                offset = offset_of(indices[frame.group.axis])
                lag = view.lag(offset)
                if lag is not None:
                    step.lags[member].add(lag)
                elif offset is not None:
                    step.fixed[member].add(offset[1])
    return step


def _number(steps: StepRange) -> int | None:
    return steps.place.offset if steps.place is not None else None


def _uses(
    piece: Piece, member: str, around: py.Code | Carried | None
) -> Iterator[tuple[c.Core, ...]]:
    """The open indices of every use of a member within the same outer steps."""
    for use in c.walk(piece.body):
        if isinstance(use, c.At) and isinstance(use.base, c.Ref) and use.base.name == member:
            indices = _open_indices(use.indices, around)
            if indices is not None:
                yield indices


def _open_indices(
    indices: tuple[c.Core, ...], around: py.Code | Carried | None
) -> tuple[c.Core, ...] | None:
    while isinstance(around, Carried):
        if around.lag(offset_of(indices[around.axis])) != 0:
            return None
        indices = indices[: around.axis] + indices[around.axis + 1 :]
        around = around.back.get(0)
    return indices


def _edges(part: Part, frame: _ScanFrame, seen: dict[str, Carried]) -> Iterator[Edge]:
    """Who must come first within one step, with the lags along the axes that are still open."""
    for piece in part.pieces:
        for other in frame.parts:
            for indices in _uses(piece, other.name, seen[other.name]):
                pairs = zip(piece.indices, indices, strict=False)
                lags = tuple(lag_along(own, used) for own, used in pairs)
                yield Edge(part.name, other.name, piece.span, lags)


def _slice_part(part: Part, frame: _ScanFrame, steps: StepRange, variable: str) -> Part:
    """The pieces that hold at these steps, without their index; the step is called the counter."""
    pieces, k = [], frame.group.axis
    for piece in part.pieces:
        index, rest = piece.indices[k], piece.indices[:k] + piece.indices[k + 1 :]
        low, high = interval(index)
        if low <= steps.low and steps.high <= high:
            own = index.name if isinstance(index, c.Bind) else ""
            body = c.rename(piece.body, own, frame.counter) if own else piece.body
            pieces.append(piece.replace(indices=rest, body=body))
    axes = part.axes[:k] + part.axes[k + 1 :]
    return Part(part.node, variable, tuple(pieces), axes)

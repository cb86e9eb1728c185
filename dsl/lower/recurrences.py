"""Recurrences as scans: the first steps are written out, all others are one `lax.scan`.

x[0] = a; x[t] = f(x[t-1]) for t = 1, 2, ... becomes a carry that holds the last values of every member, however
long the axis: the program and its compile time do not grow with it.
"""

from __future__ import annotations

from collections.abc import Callable

from .. import core as c
from ..check.order import Edge, Recurrence, components
from ..check.typed import Piece
from ..diagnostics import InternalError
from ..graph import Node, offset_of
from ..record import Record
from .nodes import dtype_text, place_text
from .scope import Carried, Scope, size_text
from .value import Value

ValueOf = Callable[[Node, Piece, str, Scope], str]
"""The text of one piece of a node; the third argument is the number of the step, for keys of random draws."""


class Part(Record):
    """A member with the indices that are still open: those of outer steps are gone from its pieces and axes."""

    node: Node
    text: str
    pieces: tuple[Piece, ...]
    axes: tuple[int, ...]


def recurrence_statements(group: Recurrence, nodes: dict[str, Node], scope: Scope, value_of: ValueOf) -> list[str]:
    parts = [
        Part(node, scope.names[node.name], node.pieces, tuple(range(len(node.type.shape))))
        for node in (nodes[name] for name in group.members)
    ]
    return _Writer(value_of).write(group, parts, scope, "t", {})


class _Writer:
    """`counter` is what the program calls the step, and `outer` the members as seen from steps around this one."""

    def __init__(self, value_of: ValueOf):
        self.value_of = value_of

    def write(
        self, group: Recurrence, parts: list[Part], scope: Scope, counter: str, outer: dict[str, Carried]
    ) -> list[str]:
        """The statements that define every part, whole along the axis of the group."""
        axis = parts[0].axes.index(group.axis)
        start = max(_first_step(part, axis, group.reverse) for part in parts)
        frame = _Frame(group, parts, axis, counter, scope, outer)
        lines: list[str] = []
        done: list[dict[str, str]] = []
        for k in range(start):
            place = _place(parts[0], axis, k, group.reverse)
            now = {part.node.name: f"{part.text}_{k}" for part in parts}
            lines += self.step(frame, now, done[::-1], place)
            done.append(now)
        return lines + self.scan(frame, start, done)

    def scan(self, frame: _Frame, start: int, done: list[dict[str, str]]) -> list[str]:
        group, parts, axis, counter = frame.group, frame.parts, frame.axis, frame.counter
        depth = {part.node.name: _deepest_lag(part, frame) for part in parts}
        now = {part.node.name: f"{part.text}_now" for part in parts}
        lags = range(1, max([1, *depth.values()]) + 1)
        back = [{p.node.name: f"{p.text}_{lag}_back" for p in parts if lag <= depth[p.node.name]} for lag in lags]
        carried = [(name, lag) for name, deepest in depth.items() for lag in range(1, deepest + 1)]
        body = [f"{_tuple([back[lag - 1][name] for name, lag in carried])} = carry"] if carried else []
        body += self.step(frame, now, back, None)
        following = _tuple([now[name] if lag == 1 else back[lag - 2][name] for name, lag in carried])
        body.append(f"return {following}, {_tuple(list(now.values()))}")
        first = _tuple([done[-lag][name] for name, lag in carried])
        rests = [f"{part.text}_rest" for part in parts]
        steps = _steps(parts[0], axis, start, group.reverse, frame.scope)
        reverse = ", reverse=True" if group.reverse else ""
        lines = ["", f"def step_{counter}(carry, {counter}):", *(f"    {line}".rstrip() for line in body), ""]
        lines.append(f"_, {_tuple(rests)} = lax.scan(step_{counter}, {first}, {steps}{reverse})")
        for part, rest in zip(parts, rests, strict=True):
            firsts = [names[part.node.name] for names in done]
            lines.append(f"{part.text} = {_joined(rest, firsts, axis, group.reverse)}")
        return lines

    def step(self, frame: _Frame, now: dict[str, str], back: list[dict[str, str]], place: int | None) -> list[str]:
        """All members at one step, each after those it uses within the step."""
        group, parts, axis = frame.group, frame.parts, frame.axis
        sliced = {p.node.name: _slice_part(p, axis, place, now[p.node.name], frame.counter) for p in parts}
        seen = {
            name: Carried(axis, {0: now[name], **_by_lag(name, back)}, group.reverse, frame.counter, place)
            for name in now
        }
        number = frame.counter if place is None else str(place)
        scope = frame.scope.with_scalars(**{frame.counter: Value(number)})
        edges = [e for part in parts for e in _edges_within(part, frame, place)]
        lines: list[str] = []
        for names in components(now, edges):
            inner = next((g for g in group.inner if set(g.members) == set(names)), None)
            members = [sliced[name] for name in names]
            if inner and any(_steps_along(member, inner.axis) for member in members):
                lines += self.write(inner, members, scope, f"{frame.counter}_", _nested(frame.outer, seen))
                continue
            inside = scope.replace(carried=_nested(frame.outer, seen))
            for member in members:
                lines += self.assign(member, inside, number)
        return lines

    def assign(self, part: Part, scope: Scope, number: str) -> list[str]:
        texts = [self.value_of(part.node, piece, number, scope) for piece in part.pieces]
        if len(texts) == 1:
            return [f"{part.text} = {texts[0]}"]
        sizes = [size_text(part.node.type.shape[k], scope.names) for k in part.axes]
        lines = [f"{part.text} = jnp.zeros({_tuple(sizes)}, {dtype_text(part.node.type)})"]
        for piece, text in zip(part.pieces, texts, strict=True):
            lines.append(f"{part.text} = {part.text}.at{place_text(piece, scope) or '[...]'}.set({text})")
        return lines


class _Frame(Record):
    group: Recurrence
    parts: list[Part]
    axis: int
    counter: str
    scope: Scope
    outer: dict[str, Carried]


def _nested(outer: dict[str, Carried], inner: dict[str, Carried]) -> dict[str, Carried]:
    """Within a step of an outer recurrence, the value of this very step is found along the inner one."""
    found = {**outer, **inner}
    for name, around in outer.items():
        if name in inner:
            found[name] = around.replace(texts={**around.texts, 0: inner[name]})
    return found


def _steps_along(part: Part, axis: int) -> bool:
    """Does any piece of the part use the part itself along this axis?"""
    place = part.axes.index(axis) if axis in part.axes else None
    return place is not None and len({isinstance(p.indices[place], c.Bind) for p in part.pieces}) > 1


# ---- steps


def _first_step(part: Part, axis: int, reverse: bool) -> int:
    """How many steps must be written out before the general statement of this member applies."""
    ranges = [piece.indices[axis] for piece in part.pieces if isinstance(piece.indices[axis], c.Bind)]
    starts = {
        (b.high.offset if reverse else b.low.offset, b.high.from_end if reverse else b.low.from_end)
        for b in ranges
        if isinstance(b, c.Bind)
    }
    if not starts:
        raise InternalError(f"{part.node.name} has no general step")
    ends = {offset for offset, _ in starts}
    if len(ends) > 1:
        raise InternalError(f"{part.node.name} has several ranges along its recurrence")
    (offset,) = ends
    size = part.node.type.shape[part.axes[axis]].size
    if reverse:
        return -offset - 1 if offset < 0 else (size or 0) - 1 - offset
    return offset


def _place(part: Part, axis: int, step: int, reverse: bool) -> int:
    """The index of a step; from the end it is negative unless the size is known."""
    size = part.node.type.shape[part.axes[axis]].size
    return step if not reverse else (size or 0) - 1 - step


def _by_lag(name: str, back: list[dict[str, str]]) -> dict[int, str | Carried]:
    return {lag + 1: texts[name] for lag, texts in enumerate(back) if name in texts}


def _deepest_lag(part: Part, frame: _Frame) -> int:
    """How many steps back any member looks at this one."""
    found = 0
    for user in frame.parts:
        for piece in user.pieces:
            for lag in _lags(piece, part.node.name, frame, None):
                found = max(found, lag)
    return found


def _lags(piece: Piece, name: str, frame: _Frame, place: int | None) -> list[int]:
    """The steps back along the frame's axis of every use of a member within the same outer step."""
    index = piece.indices[frame.axis]
    if place is None and not isinstance(index, c.Bind):
        return []
    carried = Carried(frame.axis, {}, frame.group.reverse, index.name if isinstance(index, c.Bind) else "", place)
    found = []
    for use in _uses(piece, name):
        around = frame.outer.get(name)
        same_step = around is None or around.lag(offset_of(use.indices[around.axis])) == 0
        lag = carried.lag(offset_of(use.indices[frame.group.axis])) if same_step else None
        if lag is not None:
            found.append(lag)
    return found


def _uses(piece: Piece, name: str) -> list[c.At]:
    return [x for x in c.walk(piece.body) if isinstance(x, c.At) and isinstance(x.base, c.Ref) and x.base.name == name]


def _slice_part(part: Part, axis: int, place: int | None, text: str, counter: str) -> Part:
    """The pieces that speak about this step, without its index; all call the step by the name of the counter."""
    fixed = [p for p in part.pieces if _same_place(p, axis, place)]
    general = [p for p in part.pieces if isinstance(p.indices[axis], c.Bind)]
    pieces = tuple(_slice_piece(p, axis, counter) for p in fixed or general)
    return Part(part.node, text, pieces, part.axes[:axis] + part.axes[axis + 1 :])


def _slice_piece(piece: Piece, axis: int, counter: str) -> Piece:
    index = piece.indices[axis]
    rest = piece.indices[:axis] + piece.indices[axis + 1 :]
    if not isinstance(index, c.Bind):
        return piece.replace(indices=rest)
    return piece.replace(indices=rest, body=c.rename(piece.body, index.name, counter))


def _same_place(piece: Piece, axis: int, place: int | None) -> bool:
    index = piece.indices[axis]
    return isinstance(index, c.Const) and place is not None and int(index.value) == place


def _edges_within(part: Part, frame: _Frame, place: int | None) -> list[Edge]:
    """Who must come first within one step."""
    return [
        Edge(part.node.name, other.node.name, piece.span)
        for piece in part.pieces
        for other in frame.parts
        if 0 in _lags(piece, other.node.name, frame, place)
    ]


def _steps(part: Part, axis: int, start: int, reverse: bool, scope: Scope) -> str:
    size = size_text(part.node.type.shape[part.axes[axis]], scope.names)
    if reverse:
        return f"jnp.arange({size} - {start})" if start else f"jnp.arange({size})"
    return f"jnp.arange({start}, {size})"


def _tuple(texts: list[str]) -> str:
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _joined(rest: str, firsts: list[str], axis: int, reverse: bool) -> str:
    """The steps written out and the scanned ones as one array, its axis back where it belongs."""
    text = rest
    if firsts:
        ordered = firsts[::-1] if reverse else firsts
        head = f"jnp.stack([{', '.join(ordered)}])"
        text = f"jnp.concatenate([{rest}, {head}])" if reverse else f"jnp.concatenate([{head}, {rest}])"
    return f"jnp.moveaxis({text}, 0, {axis})" if axis else text

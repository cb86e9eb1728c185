"""The axis of a recurrence, cut where one statement ends and another begins, and the steps that are already done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from .. import core as c
from ..check.typed import Piece
from ..record import Record
from ..types import Axis, IndexOf, Place
from .value import SUM, Value

Cut = tuple[bool, int]
"""(False, k) is k steps after the start, (True, -k) is k steps before the end: in this order."""


class Stretch(Record):
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


def stretches(pieces: Iterable[Piece], axis: int, size: int | None, reverse: bool) -> list[Stretch]:
    """In the order of the steps."""
    end: Cut = (True, 0) if size is None else (False, size)
    ends = {cut for piece in pieces for cut in _interval(piece.indices[axis])}
    found = [Stretch(low, high) for low, high in pairwise(sorted({(False, 0), end, *ends}))]
    return found[::-1] if reverse else found


def covers(piece: Piece, axis: int, stretch: Stretch) -> bool:
    low, high = _interval(piece.indices[axis])
    return low <= stretch.low and stretch.high <= high


def _interval(index: c.Bind | c.Core) -> tuple[Cut, Cut]:
    if isinstance(index, c.Bind):
        return _cut(index.low), _cut(index.high.shift(1))
    assert isinstance(index.type.domain, IndexOf)
    place = index.type.domain.low
    return _cut(place), _cut(place.shift(1))


def _cut(place: Place) -> Cut:
    return place.from_end, place.offset


# ---- as text


def cut_value(cut: Cut, axis: Axis, size: str) -> Value:
    """The number of a place, along an axis whose size has this name."""
    from_end, offset = cut
    if cut in ((False, axis.size), (True, 0)):
        return Value(size)
    return Value(f"{size} - {-offset}", level=SUM) if from_end else Value(str(offset))


def steps_text(stretch: Stretch, axis: Axis, size: str) -> str:
    low, high = (cut_value(cut, axis, size).text for cut in (stretch.low, stretch.high))
    return f"jnp.arange({high})" if low == "0" else f"jnp.arange({low}, {high})"


class Done(Record):
    """Steps that have their values: one under a name of its own, or several along the first axis of an array."""

    stretch: Stretch
    text: str


def back_text(done: Sequence[Done], lag: int, reverse: bool) -> str:
    """The value `lag` steps before the next one."""
    while done[-1].stretch.place is not None:
        if lag == 1:
            return done[-1].text
        done, lag = done[:-1], lag - 1
    length = done[-1].stretch.length
    array = done[-1].text if length and lag <= length else joined_text(done, reverse)
    return f"{array}[{lag - 1 if reverse else -lag}]"


def fixed_text(done: Sequence[Done], place: Place, axis: Axis, reverse: bool) -> str:
    """The value at a place that is done. Steps that run backwards have only the end of the axis."""
    for part in done:
        if part.stretch.place == place:
            return part.text
    from_end = reverse and not place.from_end and axis.size is not None
    return f"{joined_text(done, reverse)}[{place.offset - (axis.size or 0) if from_end else place.offset}]"


def joined_text(done: Sequence[Done], reverse: bool) -> str:
    """All steps so far as one array."""
    parts: list[str] = []
    ones: list[str] = []
    for part in done[::-1] if reverse else done:
        if part.stretch.place is not None:
            ones.append(part.text)
            continue
        parts += [f"jnp.stack([{', '.join(ones)}])"] if ones else []
        parts.append(part.text)
        ones = []
    parts += [f"jnp.stack([{', '.join(ones)}])"] if ones else []
    return parts[0] if len(parts) == 1 else f"jnp.concatenate([{', '.join(parts)}])"

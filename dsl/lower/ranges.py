"""The axis of a recurrence, cut where one statement ends, and the steps already done."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from ..graph.typed import Cut, Piece, cut_axis, interval
from ..graph.types import Axis, Place
from ..record import Record
from .code import Code, call, const, index, infix, listing


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


def step_ranges(
    pieces: Iterable[Piece], axis: int, size: int | None, reverse: bool
) -> list[StepRange]:
    """In the order of the steps."""
    cuts = cut_axis((interval(piece.indices[axis]) for piece in pieces), size)
    found = [StepRange(low, high) for low, high in cuts]
    return found[::-1] if reverse else found


def covers(piece: Piece, axis: int, steps: StepRange) -> bool:
    low, high = interval(piece.indices[axis])
    return low <= steps.low and steps.high <= high


# ---- as code


def cut_code(cut: Cut, axis: Axis, size: Code) -> Code:
    """The number of a place, along an axis of this size."""
    from_end, offset = cut
    if cut in ((False, axis.size), (True, 0)):
        return size
    return infix(size, "-", const(-offset)) if from_end else const(offset)


def steps_code(steps: StepRange, axis: Axis, size: Code) -> Code:
    low, high = (cut_code(cut, axis, size) for cut in (steps.low, steps.high))
    ends = [high] if steps.low == (False, 0) else [low, high]
    return call("jnp.arange", *ends)


class Done(Record):
    """Steps that have their values: one by its own name, or several along an array's first axis."""

    steps: StepRange
    code: Code


def back_code(done: Sequence[Done], lag: int, reverse: bool) -> Code:
    """The value `lag` steps before the next one."""
    while done[-1].steps.place is not None:
        if lag == 1:
            return done[-1].code
        done, lag = done[:-1], lag - 1
    length = done[-1].steps.length
    array = done[-1].code if length and lag <= length else joined_code(done, reverse)
    return index(array, const(lag - 1 if reverse else -lag))


def fixed_code(done: Sequence[Done], place: Place, axis: Axis, reverse: bool) -> Code:
    """The value at a place that is done. Steps that run backwards have only the end of the axis."""
    for part in done:
        if part.steps.place == place:
            return part.code
    from_end = reverse and not place.from_end and axis.size is not None
    offset = place.offset - (axis.size or 0) if from_end else place.offset
    return index(joined_code(done, reverse), const(offset))


def joined_code(done: Sequence[Done], reverse: bool) -> Code:
    """All steps so far as one array; single ones that follow one another are stacked."""
    parts: list[Code] = []
    in_order = done[::-1] if reverse else done
    for is_single, run in groupby(in_order, lambda part: part.steps.place is not None):
        codes = [part.code for part in run]
        parts += [call("jnp.stack", listing(codes))] if is_single else codes
    return parts[0] if len(parts) == 1 else call("jnp.concatenate", listing(parts))

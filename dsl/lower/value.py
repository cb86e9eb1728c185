"""A Python expression on its way into the program: its code, and what its axes are.

A value computed inside `x[i in D, j in E] = ...` is an array for all i and j at once: `axes` are
the binders that it depends on, outermost first, and after them come the `rank` axes of the value
itself.
"""

from collections.abc import Sequence

from ..record import Record
from .code import ALL, NEW_AXIS, Code, call, const, index, pack, without_tail


class Value(Record):
    code: Code
    axes: tuple[str, ...] = ()
    rank: int = 0

    @property
    def is_number(self) -> bool:
        return not self.axes and not self.rank


def joint_axes(values: Sequence[Value], order: tuple[str, ...]) -> tuple[str, ...]:
    """All axes that any of the values has, in the order of the binders."""
    used = {axis for value in values for axis in value.axes}
    return tuple(axis for axis in order if axis in used)


def align(value: Value, axes: tuple[str, ...], rank: int) -> Value:
    """The value with an axis of length one for each axis that it lacks; plain numbers stay."""
    if value.is_number or (value.axes == axes and value.rank == rank):
        return value
    value = _reorder(value, axes)
    marks = [ALL if axis in value.axes else NEW_AXIS for axis in axes]
    marks += [NEW_AXIS] * (rank - value.rank)
    if NEW_AXIS not in marks:
        return value
    return Value(index(value.code, *without_tail(marks + [ALL] * value.rank)), axes, rank)


def _reorder(value: Value, axes: tuple[str, ...]) -> Value:
    """Axes in the order of the binders."""
    wanted = tuple(axis for axis in axes if axis in value.axes)
    if wanted == value.axes:
        return value
    places = [value.axes.index(axis) for axis in wanted]
    places += range(len(value.axes), len(value.axes) + value.rank)
    order = pack(map(const, places))
    return Value(call("jnp.transpose", value.code, order), wanted, value.rank)

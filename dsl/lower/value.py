"""A Python expression on its way into the program: its text, and what its axes are.

A value computed inside `x[i in D, j in E] = ...` is an array for all i and j at once: `axes` are the binders that it
depends on, outermost first, and after them come the `rank` axes of the value itself.
"""

from __future__ import annotations

from ..record import Record

ATOM, POWER, SIGN, PRODUCT, SUM, COMPARISON, LOOSE = 9, 8, 7, 6, 5, 3, 0


class Value(Record):
    """`level` is how tightly the text's outermost operator binds in Python."""

    text: str
    axes: tuple[str, ...] = ()
    rank: int = 0
    level: int = ATOM

    @property
    def is_number(self) -> bool:
        return not self.axes and not self.rank

    def at_least(self, level: int) -> str:
        """The text, in parentheses unless it binds at least this tightly."""
        return self.text if self.level >= level else f"({self.text})"


def joint_axes(values: list[Value], order: tuple[str, ...]) -> tuple[str, ...]:
    """All axes that any of the values has, in the order of the binders."""
    used = {axis for value in values for axis in value.axes}
    return tuple(axis for axis in order if axis in used)


def align(value: Value, axes: tuple[str, ...], rank: int) -> Value:
    """The same value with an axis of length one for every axis that it lacks; plain numbers stay as they are."""
    if value.is_number or (value.axes == axes and value.rank == rank):
        return value
    value = _reorder(value, axes)
    marks = [":" if axis in value.axes else "None" for axis in axes]
    gap = ["None"] * (rank - value.rank)
    tail = [":"] * value.rank
    if "None" not in marks and not gap:
        return value
    parts = marks + gap + tail
    while parts and parts[-1] == ":":
        parts.pop()
    return Value(f"{value.at_least(ATOM)}[{', '.join(parts)}]", axes, rank)


def _reorder(value: Value, axes: tuple[str, ...]) -> Value:
    """Axes in the order of the binders."""
    wanted = tuple(axis for axis in axes if axis in value.axes)
    if wanted == value.axes:
        return value
    places = [value.axes.index(axis) for axis in wanted]
    places += range(len(value.axes), len(value.axes) + value.rank)
    return Value(f"jnp.transpose({value.text}, ({', '.join(map(str, places))}))", wanted, value.rank)

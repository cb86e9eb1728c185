"""What a drawing shows, before anything is placed: boxes, arrows and the plates around them."""

from __future__ import annotations

from enum import Enum

from dpc.dsl.record import Record


class Kind(Enum):
    """The legend of the book: functions are boxes, draws circles, factors small squares."""

    INPUT = "data"
    PARAM = "parameter"
    FUNCTION = "function"
    DRAW = "draw"
    LATENT = "latent"
    FACTOR = "factor"
    COST = "objective"


class Box(Record):
    """One node. `plates` are the keys of the plates around it, outermost first; `bars` are shares
    with their names.
    """

    name: str
    label: str
    kind: Kind
    observed: bool = False
    detail: str = ""
    plates: tuple[str, ...] = ()
    bars: tuple[tuple[str, float], ...] = ()

    @property
    def is_round(self) -> bool:
        """Draws are circles, unless a chart has to fit in."""
        return self.kind in {Kind.DRAW, Kind.LATENT} and not self.bars


class Arrow(Record):
    """An edge. Factors touch their variables without direction; a recurrence carries its lag
    (`t-1`).
    """

    source: str
    target: str
    directed: bool = True
    lag: str = ""


class Plate(Record):
    """A labelled rectangle around every box that names its key."""

    key: str
    label: str


class Picture(Record):
    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    plates: tuple[Plate, ...] = ()

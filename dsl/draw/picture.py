"""What a drawing shows, before anything is placed: boxes, arrows and the plates around them."""

from __future__ import annotations

from enum import Enum

from ..record import Record


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
    """One node. `plates` are the keys of the plates around it, outermost first."""

    name: str
    label: str
    kind: Kind
    observed: bool = False
    detail: str = ""
    plates: tuple[str, ...] = ()


class Arrow(Record):
    """An edge. Factors touch their variables without direction; a recurrence carries its lag (`t-1`)."""

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

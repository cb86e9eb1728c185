"""What a drawing shows, before anything is placed: boxes, arrows and the plates around them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The legend of the book: functions are boxes, draws circles, factors small squares."""

    INPUT = "data"
    PARAM = "parameter"
    FUNCTION = "function"
    DRAW = "draw"
    LATENT = "latent"
    FACTOR = "factor"
    COST = "objective"


@dataclass(frozen=True, slots=True)
class Box:
    """One node. `plates` are the keys of the plates around it, outermost first."""

    name: str
    label: str
    kind: Kind
    observed: bool = False
    detail: str = ""
    plates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge. Factors touch their variables without direction; a recurrence carries its lag (`t-1`)."""

    source: str
    target: str
    directed: bool = True
    lag: str = ""


@dataclass(frozen=True, slots=True)
class Plate:
    """A labelled rectangle around every box that names its key."""

    key: str
    label: str


@dataclass(frozen=True, slots=True)
class Picture:
    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    plates: tuple[Plate, ...] = ()

"""What a drawing shows, before anything is placed: boxes, arrows and the plates around them."""

from collections.abc import Iterator
from enum import Enum
from functools import cached_property

from dpc.dsl.record import Record

# A rectangle is known by the keys of the plates from the outermost to it; the page is ().
PlatePath = tuple[str, ...]


class BoxKind(Enum):
    """The legend of the book: functions are boxes, draws circles, factors small squares."""

    INPUT = "data"
    PARAM = "parameter"
    FUNCTION = "function"
    DRAW = "draw"
    LATENT = "latent"
    FACTOR = "factor"
    COST = "objective"


class Box(Record):
    """One node; `plates` are the keys around it, outermost first, `bars` are shares with names."""

    name: str
    label: str
    kind: BoxKind
    observed: bool = False
    detail: str = ""
    plates: PlatePath = ()
    bars: tuple[tuple[str, float], ...] = ()

    @property
    def is_round(self) -> bool:
        """Draws are circles, unless a chart has to fit in."""
        return self.kind in {BoxKind.DRAW, BoxKind.LATENT} and not self.bars

    @property
    def is_shaded(self) -> bool:
        """Data is always shaded, and a factor is solid, so being observed changes neither."""
        return self.observed and self.kind not in {BoxKind.INPUT, BoxKind.FACTOR}


class Arrow(Record):
    """Factors touch their variables without direction; a recurrence carries its lag (`t-1`)."""

    source: str
    target: str
    directed: bool = True
    lag: str = ""

    @property
    def is_recurrence(self) -> bool:
        return bool(self.lag) or self.source == self.target


class Plate(Record):
    """A labelled rectangle around every box that names its key."""

    key: str
    label: str


class Picture(Record):
    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    plates: tuple[Plate, ...] = ()

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {box.name: number for number, box in enumerate(self.boxes)}

    def plate_label(self, path: PlatePath) -> str:
        return next((plate.label for plate in self.plates if plate.key == path[-1]), path[-1])

    def paths(self) -> dict[PlatePath, None]:
        """Every rectangle, an outer one before those inside it."""
        return dict.fromkeys(path for box in self.boxes for path in within(box.plates))


def within(home: PlatePath) -> Iterator[PlatePath]:
    """The rectangles around a box, outermost first: every nonempty prefix."""
    return (home[:depth] for depth in range(1, len(home) + 1))


def common_plate(one: PlatePath, other: PlatePath) -> PlatePath:
    return max({(), *within(one)} & {(), *within(other)}, key=len)

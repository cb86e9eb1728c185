"""The page as rows of vertices: boxes, bends of long arrows, and both borders of every plate."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from .picture import PlatePath, common_plate, within
from .rows import Edge


class Role(Enum):
    BOX = "box"
    BEND = "bend"
    LEFT = "left border"
    RIGHT = "right border"


class Vertex(NamedTuple):
    role: Role
    row: int
    home: PlatePath


@dataclass(slots=True)
class Skeleton:
    """Vertices 0, 1, ... are the boxes. Links join vertices of neighbouring rows, upper first.

    A plate that spans a row has a left and a right border vertex there, so that an order of the row
    is a bracketing, and an arrow that runs through a foreign plate crosses two links.
    """

    vertices: list[Vertex]
    links: list[Edge] = field(default_factory=list)
    chains: dict[Edge, tuple[int, ...]] = field(default_factory=dict)
    spans: dict[PlatePath, tuple[int, int]] = field(default_factory=dict)
    borders: dict[PlatePath, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)

    @property
    def row_count(self) -> int:
        return 1 + max((vertex.row for vertex in self.vertices), default=-1)

    def spans_row(self, path: PlatePath, row: int) -> bool:
        return self.spans[path][0] <= row <= self.spans[path][1]

    def border(self, path: PlatePath, row: int) -> Edge:
        lefts, rights = self.borders[path]
        place = row - self.spans[path][0]
        return lefts[place], rights[place]

    def add_chain(self, vertices: Sequence[Vertex]) -> tuple[int, ...]:
        start = len(self.vertices)
        self.vertices.extend(vertices)
        return tuple(range(start, len(self.vertices)))


def build_skeleton(
    homes: Sequence[PlatePath], rows: Sequence[int], edges: Sequence[Edge]
) -> Skeleton:
    """`edges` may point up or down; an edge within one row gets no chain."""
    skeleton = Skeleton([Vertex(Role.BOX, *place) for place in zip(rows, homes, strict=True)])
    for home, row in zip(homes, rows, strict=True):
        for path in within(home):
            first, last = skeleton.spans.get(path, (row, row))
            skeleton.spans[path] = (min(first, row), max(last, row))
    for path, (first, last) in skeleton.spans.items():
        left, right = (
            skeleton.add_chain([Vertex(role, row, path) for row in range(first, last + 1)])
            for role in (Role.LEFT, Role.RIGHT)
        )
        skeleton.borders[path] = left, right
        skeleton.links.extend((*pairwise(left), *pairwise(right)))
    for edge in edges:
        upper, lower = sorted(edge, key=rows.__getitem__)
        if rows[upper] < rows[lower] and (upper, lower) not in skeleton.chains:
            bends = [
                Vertex(Role.BEND, row, _bend_home(skeleton, homes[upper], homes[lower], row))
                for row in range(rows[upper] + 1, rows[lower])
            ]
            chain = (upper, *skeleton.add_chain(bends), lower)
            skeleton.chains[upper, lower] = chain
            skeleton.links.extend(pairwise(chain))
    return skeleton


def _bend_home(skeleton: Skeleton, start: PlatePath, end: PlatePath, row: int) -> PlatePath:
    """A bend stays in its end's plate while that lasts: arrows leave by the top or the bottom."""
    shared = common_plate(start, end)
    inner = [
        max((path for path in within(home) if skeleton.spans_row(path, row)), key=len, default=())
        for home in (start, end)
    ]
    if all(len(path) > len(shared) for path in inner):
        return shared
    return max(inner, key=len)

"""The page as rows of vertices: boxes, the bends of long arrows, and both borders of every
plate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

from dpc.dsl.record import Record

from .orient import Edge
from .plates import Path, common_plate, row_spans


class Role(Enum):
    BOX = "box"
    BEND = "bend"
    LEFT = "left border"
    RIGHT = "right border"


class Vertex(Record):
    role: Role
    row: int
    home: Path


@dataclass(slots=True)
class Skeleton:
    """Vertices 0, 1, ... are the boxes in order. Links join vertices of neighbouring rows, upper
    first.

    A plate that spans a row has a left and a right border vertex there, so that an order of the row
    is a bracketing, and an arrow that runs through a foreign plate crosses two links.
    """

    vertices: list[Vertex]
    links: list[Edge] = field(default_factory=list)
    chains: dict[Edge, tuple[int, ...]] = field(default_factory=dict)
    borders: dict[Path, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)
    spans: dict[Path, tuple[int, int]] = field(default_factory=dict)

    @property
    def row_count(self) -> int:
        return 1 + max((vertex.row for vertex in self.vertices), default=-1)

    def add(self, vertex: Vertex) -> int:
        self.vertices.append(vertex)
        return len(self.vertices) - 1

    def border(self, path: Path, row: int) -> Edge:
        lefts, rights = self.borders[path]
        place = row - self.spans[path][0]
        return lefts[place], rights[place]


def build_skeleton(homes: Sequence[Path], rows: Sequence[int], edges: Sequence[Edge]) -> Skeleton:
    """`edges` may point up or down; an edge within one row gets no chain."""
    boxes = [Vertex(Role.BOX, row, home) for row, home in zip(rows, homes, strict=True)]
    skeleton = Skeleton(boxes, spans=row_spans(homes, rows))
    for path in skeleton.spans:
        skeleton.borders[path] = (
            _border(skeleton, path, Role.LEFT),
            _border(skeleton, path, Role.RIGHT),
        )
    for one, other in edges:
        upper, lower = (one, other) if rows[one] < rows[other] else (other, one)
        if rows[upper] < rows[lower] and (upper, lower) not in skeleton.chains:
            skeleton.chains[upper, lower] = _chain(skeleton, upper, lower)
    return skeleton


def _border(skeleton: Skeleton, path: Path, role: Role) -> tuple[int, ...]:
    first, last = skeleton.spans[path]
    vertices = tuple(skeleton.add(Vertex(role, row, path)) for row in range(first, last + 1))
    skeleton.links.extend(pairwise(vertices))
    return vertices


def _chain(skeleton: Skeleton, upper: int, lower: int) -> tuple[int, ...]:
    start, end = skeleton.vertices[upper], skeleton.vertices[lower]
    bends = [
        skeleton.add(Vertex(Role.BEND, row, _bend_home(skeleton, start.home, end.home, row)))
        for row in range(start.row + 1, end.row)
    ]
    chain = (upper, *bends, lower)
    skeleton.links.extend(pairwise(chain))
    return chain


def _bend_home(skeleton: Skeleton, start: Path, end: Path, row: int) -> Path:
    """A bend stays in its end's plate as far as the plate goes, so arrows leave by the top or the
    bottom.
    """
    shared = common_plate(start, end)
    near_start = _innermost(skeleton, start, row)
    near_end = _innermost(skeleton, end, row)
    if len(near_start) > len(shared) and len(near_end) > len(shared):
        return shared
    return max(near_start, near_end, key=len)


def _innermost(skeleton: Skeleton, home: Path, row: int) -> Path:
    while home and not skeleton.spans[home][0] <= row <= skeleton.spans[home][1]:
        home = home[:-1]
    return home

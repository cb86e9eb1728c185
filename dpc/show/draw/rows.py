"""Which row each box stands on: arrows turned to point down, longest paths, then shorter arrows."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum
from graphlib import TopologicalSorter
from itertools import pairwise
from math import ceil, sqrt
from typing import NamedTuple

from .picture import Arrow, BoxKind, Picture, PlatePath, common_plate, within

Edge = tuple[int, int]

PLATE_SPAN_COST = 1.25
ROUNDS = 24


def oriented_edges(picture: Picture) -> list[Edge]:
    """An acyclic set of edges between box numbers, each from the higher box to the lower one."""
    number = picture.numbers
    arrows = [arrow for arrow in pointing_down(picture) if not arrow.is_recurrence]
    edges = dict.fromkeys((number[arrow.source], number[arrow.target]) for arrow in arrows)
    return acyclic(len(picture.boxes), list(edges))


def pointing_down(picture: Picture) -> list[Arrow]:
    """The distinct arrows, undirected ones turned to run from the higher box to the lower."""
    number = picture.numbers
    levels = _undirected_levels(picture)

    def turned(arrow: Arrow) -> Arrow:
        source, target = number[arrow.source], number[arrow.target]
        upwards = not arrow.directed and (levels[source], source) > (levels[target], target)
        return arrow.replace(source=arrow.target, target=arrow.source) if upwards else arrow

    return list(dict.fromkeys(map(turned, picture.arrows)))


def _undirected_levels(picture: Picture) -> list[int]:
    """Factors hang between the latents they join; parameters and data stand above the factors. A
    latent stands at twice its distance from the first latent of its component, so an unrolled chain
    or grid fans out from one corner. A factor of equally distant latents is just above them.
    """
    kinds = [box.kind for box in picture.boxes]
    touching: list[list[int]] = [[] for _ in kinds]
    for arrow in picture.arrows:
        if not arrow.directed and not arrow.is_recurrence:
            one, other = picture.numbers[arrow.source], picture.numbers[arrow.target]
            touching[one].append(other)
            touching[other].append(one)
    distance = _distances(kinds, touching)
    levels = [2 * distance.get(place, -1) for place in range(len(kinds))]
    for factor, kind in enumerate(kinds):
        if kind is BoxKind.FACTOR:
            reach = [distance[place] for place in touching[factor] if place in distance]
            between = bool(reach) and min(reach) < max(reach)
            levels[factor] = 2 * min(reach) + (1 if between else -1) if reach else 0
    return levels


def _distances(kinds: Sequence[BoxKind], touching: Sequence[Sequence[int]]) -> dict[int, int]:
    """How many latents away the first latent of each one's component is, through factors or not."""
    distance: dict[int, int] = {}
    passed: set[int] = set()
    for start, kind in enumerate(kinds):
        if kind is not BoxKind.LATENT or start in distance:
            continue
        distance[start] = 0
        queue = [start]
        for latent in queue:
            factors = [near for near in touching[latent] if kinds[near] is BoxKind.FACTOR]
            fresh = [touching[factor] for factor in factors if factor not in passed]
            passed.update(factors)
            for near in (near for scope in (touching[latent], *fresh) for near in scope):
                if kinds[near] is BoxKind.LATENT and near not in distance:
                    distance[near] = distance[latent] + 1
                    queue.append(near)
    return distance


def acyclic(count: int, edges: Sequence[Edge]) -> list[Edge]:
    """Turns round the edges that close a cycle in a depth-first walk; the result has no cycle."""
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        after[source].append(target)
    finished = _finishing_order(after, {target for _, target in edges})
    turned = [
        edge if finished[edge[0]] > finished[edge[1]] else (edge[1], edge[0]) for edge in edges
    ]
    return list(dict.fromkeys(turned))


def _finishing_order(after: Sequence[Sequence[int]], entered: Collection[int]) -> dict[int, int]:
    """When a depth-first walk leaves each vertex: decreasing along edges of an acyclic graph."""
    finished: dict[int, int] = {}
    seen: set[int] = set()
    for start in sorted(range(len(after)), key=lambda vertex: vertex in entered):
        stack = [] if start in seen else [(start, iter(after[start]))]
        seen.add(start)
        while stack:
            vertex, rest = stack[-1]
            unseen = next((target for target in rest if target not in seen), None)
            if unseen is None:
                finished[vertex] = len(finished)
                stack.pop()
            else:
                seen.add(unseen)
                stack.append((unseen, iter(after[unseen])))
    return finished


def infer_rows(homes: Sequence[PlatePath], edges: Sequence[Edge]) -> list[int]:
    """row(v) = 1 + max row(u) over edges u -> v, improved; lonely boxes are stacked in a block."""
    ranking = _Ranking(homes, edges)
    for _ in range(ROUNDS):
        moves = [ranking.shift(box, step) for box in range(len(homes)) for step in (+1, -1)]
        if not any(moves):
            break
    ranking.stack_lonely_boxes()
    dense = {row: place for place, row in enumerate(sorted(set(ranking.rows)))}
    return [dense[row] for row in ranking.rows]


class _Ranking:
    def __init__(self, homes: Sequence[PlatePath], edges: Sequence[Edge]) -> None:
        self.homes = homes
        self.above: list[list[int]] = [[] for _ in homes]
        self.below: list[list[int]] = [[] for _ in homes]
        for upper, lower in edges:
            self.above[lower].append(upper)
            self.below[upper].append(lower)
        self.members: dict[PlatePath, list[int]] = {}
        for box, home in enumerate(homes):
            for path in within(home):
                self.members.setdefault(path, []).append(box)
        self.rows = [0] * len(homes)
        for box in TopologicalSorter(dict(enumerate(self.above))).static_order():
            self.rows[box] = max((self.rows[upper] + 1 for upper in self.above[box]), default=0)

    def shift(self, box: int, step: int) -> bool:
        """Moves a box, and what it pushes, as far as that shortens arrows and plates."""
        # What a box pushes would have moved by itself: outside plates only its own arrows can gain.
        if not self.homes[box] and step * (len(self.below[box]) - len(self.above[box])) <= 0:
            return False
        moved = False
        while self._gain(group := self._pushed(box, step), step) > 1e-9:
            for member in group:
                self.rows[member] += step
            moved = True
        return moved

    def _pushed(self, box: int, step: int) -> dict[int, None]:
        """The boxes that must move along: those one row further on, and theirs."""
        onward = self.below if step > 0 else self.above
        group = {box: None}
        queue = [box]
        for member in queue:
            for near in onward[member]:
                if near not in group and self.rows[near] == self.rows[member] + step:
                    group[near] = None
                    queue.append(near)
        return group

    def _gain(self, group: dict[int, None], step: int) -> float:
        shorter = 0
        for member in group:
            shorter += sum(near not in group for near in self.below[member])
            shorter -= sum(near not in group for near in self.above[member])
        touched = {path: None for member in group for path in within(self.homes[member])}
        spared = 0
        for path in touched:
            rows = [self.rows[box] for box in self.members[path]]
            moved = [self.rows[box] + step * (box in group) for box in self.members[path]]
            spared += max(rows) - min(rows) - (max(moved) - min(moved))
        return step * shorter + PLATE_SPAN_COST * spared

    def stack_lonely_boxes(self) -> None:
        lonely: dict[PlatePath, list[int]] = {}
        for box, home in enumerate(self.homes):
            if not self.above[box] and not self.below[box]:
                lonely.setdefault(home, []).append(box)
        for home, boxes in lonely.items():
            across = max(4, ceil(1.5 * sqrt(len(boxes))))
            others = set(self.members.get(home, ())) - set(boxes)
            top = min(self.rows[box] for box in others or boxes)
            for place, box in enumerate(boxes):
                self.rows[box] = top + place // across


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
    """Vertices 0, 1, ... are the boxes. Links join vertices of neighbouring rows, upper first. A
    plate that spans a row has a left and a right border vertex there, so that an order of the row
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

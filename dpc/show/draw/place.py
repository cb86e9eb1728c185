"""Where each vertex stands along its row: quadratic springs under separation constraints.

    minimise  sum w (x_u - x_v)^2  over links,  subject to  x_v - x_u >= gap  for row neighbours

A run of bends, and a plate's border, is one variable, so long arrows run straight and plates are
rectangles. Every round goes a step down the springs' gradient; then all are pushed apart once to
the right and once to the left, and the mean of the two keeps every gap (gaps are convex). Pushing
spreads the page by about a step, so steps shrink.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import pairwise
from math import inf

from .measure import BoxSize
from .picture import PlatePath
from .rows import Role, Skeleton

BOX_GAP = 22.0
BEND_GAP = 13.0
PLATE_PAD = 14.0
PLATE_GAP = 18.0
FIRST_STEP = 0.6
SHRINK = 0.98
STILL = 0.1
PAGE_PULL = 0.05
PLATE_PULL = 0.12
UPRIGHT = 14.0
DETOUR = 150.0

# For each variable those on one side of it with the gap to keep, or those it has springs to.
Beside = list[dict[int, float]]


def infer_places(
    skeleton: Skeleton,
    order: Sequence[Sequence[int]],
    sizes: Sequence[BoxSize],
    plate_widths: Mapping[PlatePath, float],
) -> list[float]:
    """The x of every vertex, about zero."""
    variable = _variables(skeleton, order)
    placing = _Placing(skeleton, order, sizes, plate_widths, variable)
    step = FIRST_STEP
    for _ in range(max(60, min(400, 120_000 // len(placing.x)))) if placing.x else ():
        before, placing.x = placing.x, placing.swung(step)
        if max(abs(new - old) for new, old in zip(placing.x, before, strict=True)) < STILL * step:
            break
        step *= SHRINK
    placing.straighten()
    return [placing.x[number] for number in variable]


def awkwardness(skeleton: Skeleton, x: Sequence[float]) -> float:
    """How far arrows run sideways, and how often one passes under or over a plate to get there."""
    total = sum(abs(x[upper] - x[lower]) for upper, lower in skeleton.links)
    for path, ((left, *_), (right, *_)) in skeleton.borders.items():
        first, last = skeleton.spans[path]
        for upper, lower in skeleton.links:
            if skeleton.vertices[upper].row == last or skeleton.vertices[lower].row == first:
                start, end = sorted((x[upper], x[lower]))
                total += DETOUR * (start < x[left] and end > x[right])
    return total


def _variables(skeleton: Skeleton, order: Sequence[Sequence[int]]) -> list[int]:
    """The number of each vertex's variable: borders, and bends below bends, share one. Rigid links
    between two rows never cross, so the order of rigid runs agrees in all the rows they share and
    the gaps between them can all be kept.
    """
    role = [vertex.role for vertex in skeleton.vertices]
    home = [vertex.home for vertex in skeleton.vertices]
    below = {
        upper: lower
        for upper, lower in skeleton.links
        if role[upper] is role[lower] is not Role.BOX and home[upper] == home[lower]
    }
    place = {vertex: place for row in order for place, vertex in enumerate(row)}
    leader = list(range(len(role)))
    for row in order:
        upper = [vertex for vertex in row if vertex in below]
        border_ends = [place[below[vertex]] for vertex in upper if role[vertex] is not Role.BEND]
        borders_passed, reach = 0, -1
        for vertex in upper:
            end = place[below[vertex]]
            if role[vertex] is not Role.BEND:
                borders_passed += 1
            elif end < reach or bisect_left(border_ends, end) != borders_passed:
                continue
            else:
                reach = end
            leader[below[vertex]] = leader[vertex]
    numbers = {first: number for number, first in enumerate(dict.fromkeys(leader))}
    return [numbers[first] for first in leader]


class _Placing:
    """The variables' springs and gaps; `x` keeps every gap at all times."""

    def __init__(
        self,
        skeleton: Skeleton,
        order: Sequence[Sequence[int]],
        sizes: Sequence[BoxSize],
        plate_widths: Mapping[PlatePath, float],
        variable: Sequence[int],
    ) -> None:
        count = 1 + max(variable, default=-1)
        self.before: Beside = [{} for _ in range(count)]
        self.after: Beside = [{} for _ in range(count)]
        for row in order:
            for left, right in pairwise(row):
                gap = _gap(skeleton, sizes, left, right)
                self._add_gap(variable[left], variable[right], gap)
        self.borders = []
        for path, (lefts, rights) in skeleton.borders.items():
            left, right = variable[lefts[0]], variable[rights[0]]
            self._add_gap(left, right, plate_widths[path])
            self.borders.append((left, right, plate_widths[path]))
        self.springs = _springs(skeleton, variable, count)
        self.groups: dict[PlatePath, list[int]] = {}
        for number, vertex in enumerate(skeleton.vertices):
            if vertex.role is Role.BOX and vertex.home:
                self.groups.setdefault(vertex.home, []).append(variable[number])
        self.components = _components(self.springs)
        self.sequence = list(TopologicalSorter(dict(enumerate(self.before))).static_order())
        self.x = self._apart([0.0] * count)

    def _add_gap(self, left: int, right: int, gap: float) -> None:
        self.after[left][right] = max(gap, self.after[left].get(right, 0.0))
        self.before[right][left] = self.after[left][right]

    def _apart(self, wanted: Sequence[float]) -> list[float]:
        """The mean of pushing everything that is too near to the right, and to the left."""
        low, high = list(wanted), list(wanted)
        for one in self.sequence:
            for other, gap in self.before[one].items():
                low[one] = max(low[one], low[other] + gap)
        for one in reversed(self.sequence):
            for other, gap in self.after[one].items():
                high[one] = min(high[one], high[other] - gap)
        return [(one + other) / 2 for one, other in zip(low, high, strict=True)]

    def swung(self, step: float) -> list[float]:
        """The places after one round."""
        x = self._apart(self._wanted(step))
        self._tighten(x)
        return x

    def _wanted(self, step: float) -> list[float]:
        """A step towards what springs, plate and page ask for; borders hug what they hold."""
        x = self.x
        force = [
            sum(weight * (x[other] - x[one]) for other, weight in springs.items())
            for one, springs in enumerate(self.springs)
        ]
        for group in self.groups.values():
            centre = sum(x[one] for one in group) / len(group)
            for one in group:
                force[one] += PLATE_PULL * (centre - x[one])
        for group in self.components:
            centre = sum(x[one] for one in group) / len(group)
            for one in group:
                force[one] -= PAGE_PULL * centre
        wanted = [place + step * pull for place, pull in zip(x, force, strict=True)]
        for left, right, _ in self.borders:
            wanted[left], wanted[right] = -inf, inf
        self._tighten(wanted)
        return wanted

    def _tighten(self, x: list[float]) -> None:
        """Borders carry no springs: they close on what they hold, inner plates first."""
        for left, right, width in reversed(self.borders):
            inner_left = min(x[one] - gap for one, gap in self.after[left].items() if one != right)
            inner_right = max(
                x[one] + gap for one, gap in self.before[right].items() if one != left
            )
            spare = max(0.0, width - (inner_right - inner_left))
            x[left] = max(x[left], min(inner_left - spare / 2, x[right] - width))
            x[right] = min(x[right], max(inner_right, x[left] + width))

    def straighten(self) -> None:
        """Arrows that are nearly upright become upright, where there is room, the nearest first."""
        x = self.x
        leaning = sorted(
            (abs(x[one] - x[other]), one, other)
            for one, springs in enumerate(self.springs)
            for other in springs
            if one < other and abs(x[one] - x[other]) < UPRIGHT
        )
        group = {one: [one] for one in range(len(x))}
        for _, one, other in leaning:
            for fixed, mover in ((one, other), (other, one)):
                move = x[fixed] - x[mover]
                if group[fixed] is not group[mover] and abs(move) <= self._room(group[mover], move):
                    for moved in group[mover]:
                        x[moved] += move
                    group[fixed] += group[mover]
                    group.update(dict.fromkeys(group[mover], group[fixed]))
                    break

    def _room(self, block: Sequence[int], move: float) -> float:
        """How far variables can go together, in the direction of the move."""
        beside, inside = self.after if move > 0 else self.before, set(block)
        gaps = (
            abs(self.x[other] - self.x[one]) - gap
            for one in block
            for other, gap in beside[one].items()
            if other not in inside
        )
        return min(gaps, default=UPRIGHT)


def _springs(skeleton: Skeleton, variable: Sequence[int], count: int) -> Beside:
    """Stiffer between two bends, whose run should be upright. Weights are shares of the busier
    end's, so that one step suits all: none pulls with more than 1.
    """
    springs: Beside = [{} for _ in range(count)]
    for link in skeleton.links:
        one, other = (variable[end] for end in link)
        is_bent = all(skeleton.vertices[end].role is Role.BEND for end in link)
        if one != other:
            springs[one][other] = springs[one].get(other, 0.0) + (4.0 if is_bent else 1.0)
            springs[other][one] = springs[one][other]
    mass = [sum(own.values()) for own in springs]
    return [
        {other: weight / max(mass[one], mass[other]) for other, weight in own.items()}
        for one, own in enumerate(springs)
    ]


def _components(springs: Beside) -> list[list[int]]:
    """Variables that springs join, directly or not."""
    components: list[list[int]] = []
    seen: set[int] = set()
    for start in range(len(springs)):
        if start not in seen:
            seen.add(start)
            component = [start]
            for one in component:
                fresh = springs[one].keys() - seen
                seen |= fresh
                component += sorted(fresh)
            components.append(component)
    return components


def _gap(skeleton: Skeleton, sizes: Sequence[BoxSize], left: int, right: int) -> float:
    roles = [skeleton.vertices[end].role for end in (left, right)]
    room = sizes[left].right if roles[0] is Role.BOX else 0.0
    room += sizes[right].half_width if roles[1] is Role.BOX else 0.0
    if roles[0] is Role.LEFT or roles[1] is Role.RIGHT:
        return room + PLATE_PAD
    if Role.BEND in roles:
        return room + BEND_GAP
    return room + (BOX_GAP if roles == [Role.BOX, Role.BOX] else PLATE_GAP)

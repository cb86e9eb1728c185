"""Where each vertex stands along its row: quadratic springs under separation constraints.

    minimise  sum w (x_u - x_v)^2  over links,  subject to  x_v - x_u >= gap  for neighbours in a
    row

A run of bends, and a plate's border, is one variable, so long arrows run straight and plates are
rectangles. The method is the pendulum: every variable is pulled towards its links' mean, touching
variables that press on each other move as one block, and a block moves only as far as its
neighbours allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .measure import Size
from .plates import Path
from .segments import infer_segments
from .skeleton import Role, Skeleton

BOX_GAP = 22.0
BEND_GAP = 13.0
PLATE_PAD = 14.0
PLATE_GAP = 18.0
DAMPING = 0.6
STILL = 0.15
TOUCHING = 1e-6
PAGE_PULL = 0.02
PLATE_PULL = 0.12
UPRIGHT = 10.0
DETOUR = 150.0


# The other variable of each gap, and the gap.
Beside = list[tuple[int, float]]


@dataclass(slots=True)
class _Springs:
    """The variables' springs and gaps; `x` holds a feasible placement at all times."""

    count: int
    links: list[list[tuple[int, float]]] = field(default_factory=list)
    gaps: dict[tuple[int, int], float] = field(default_factory=dict)
    before: list[Beside] = field(default_factory=list)
    after: list[Beside] = field(default_factory=list)
    groups: list[list[int]] = field(default_factory=list)
    lefts: list[int] = field(default_factory=list)
    rights: list[int] = field(default_factory=list)
    x: list[float] = field(default_factory=list)


def infer_places(
    skeleton: Skeleton,
    order: Sequence[Sequence[int]],
    sizes: Sequence[Size],
    plate_widths: Mapping[Path, float],
) -> list[float]:
    """The x of every vertex, about zero."""
    variable = infer_segments(skeleton, order)
    springs = _springs(skeleton, order, sizes, plate_widths, variable)
    _start_packed(springs)
    for _ in range(_rounds(springs)):
        moved = _swing(springs)
        _tighten_plates(springs)
        if moved < STILL:
            break
    _straighten(springs)
    return [springs.x[number] for number in variable]


def awkwardness(skeleton: Skeleton, x: Sequence[float]) -> float:
    """How far all arrows run sideways, and how often one runs under or over a plate to get
    there.
    """
    sideways = sum(abs(x[upper] - x[lower]) for upper, lower in skeleton.links)
    return sideways + DETOUR * sum(_passes_plate(skeleton, x, path) for path in skeleton.spans)


def _passes_plate(skeleton: Skeleton, x: Sequence[float], path: Path) -> int:
    """How many links leave the plate's last row, or enter its first, on one side of it and end on
    the other.
    """
    (left, *_), (right, *_) = skeleton.borders[path]
    first, last = skeleton.spans[path]
    return sum(
        min(x[upper], x[lower]) < x[left] and max(x[upper], x[lower]) > x[right]
        for upper, lower in skeleton.links
        if skeleton.vertices[upper].row == last or skeleton.vertices[lower].row == first
    )


def _rounds(springs: _Springs) -> int:
    return max(60, min(400, 120_000 // (springs.count + 1)))


def _springs(
    skeleton: Skeleton,
    order: Sequence[Sequence[int]],
    sizes: Sequence[Size],
    plate_widths: Mapping[Path, float],
    variable: Sequence[int],
) -> _Springs:
    springs = _Springs(count=1 + max(variable, default=-1))
    springs.links = [[] for _ in range(springs.count)]
    for upper, lower in skeleton.links:
        _add_link(springs, skeleton, variable, upper, lower)
    for row in order:
        for left, right in pairwise(row):
            _add_gap(springs, variable[left], variable[right], _gap(skeleton, sizes, left, right))
    for path, (lefts, rights) in skeleton.borders.items():
        left, right = variable[lefts[0]], variable[rights[0]]
        _add_gap(springs, left, right, plate_widths[path])
        springs.lefts.append(left)
        springs.rights.append(right)
    springs.groups = _plate_groups(skeleton, variable)
    _index_gaps(springs)
    return springs


def _add_link(
    springs: _Springs, skeleton: Skeleton, variable: Sequence[int], upper: int, lower: int
) -> None:
    one, other = variable[upper], variable[lower]
    if one == other:
        return
    bends = sum(skeleton.vertices[end].role is Role.BEND for end in (upper, lower))
    weight = (1.0, 1.0, 4.0)[bends]
    springs.links[one].append((other, weight))
    springs.links[other].append((one, weight))


def _add_gap(springs: _Springs, left: int, right: int, gap: float) -> None:
    springs.gaps[left, right] = max(gap, springs.gaps.get((left, right), 0.0))


def _gap(skeleton: Skeleton, sizes: Sequence[Size], left: int, right: int) -> float:
    room = (sizes[left].right if left < len(sizes) else 0.0) + (
        sizes[right].left if right < len(sizes) else 0.0
    )
    return room + _clearance(skeleton.vertices[left].role, skeleton.vertices[right].role)


def _clearance(left: Role, right: Role) -> float:
    if left is Role.LEFT or right is Role.RIGHT:
        return PLATE_PAD
    if Role.BEND in (left, right):
        return BEND_GAP
    if left is Role.BOX and right is Role.BOX:
        return BOX_GAP
    return PLATE_GAP


def _plate_groups(skeleton: Skeleton, variable: Sequence[int]) -> list[list[int]]:
    groups: dict[Path, list[int]] = {}
    for number, vertex in enumerate(skeleton.vertices):
        if vertex.role is Role.BOX and vertex.home:
            groups.setdefault(vertex.home, []).append(variable[number])
    return list(groups.values())


def _index_gaps(springs: _Springs) -> None:
    springs.before = [[] for _ in range(springs.count)]
    springs.after = [[] for _ in range(springs.count)]
    for (left, right), gap in springs.gaps.items():
        springs.after[left].append((right, gap))
        springs.before[right].append((left, gap))


def _start_packed(springs: _Springs) -> None:
    """The mean of packing all to the left and all to the right: feasible, since gaps are convex."""
    sequence = _left_to_right(springs)
    left = [0.0] * springs.count
    for one in sequence:
        left[one] = max((left[other] + gap for other, gap in springs.before[one]), default=0.0)
    right = [max(left, default=0.0)] * springs.count
    for one in reversed(sequence):
        right[one] = min(
            (right[other] - gap for other, gap in springs.after[one]), default=right[one]
        )
    middle = max(left, default=0.0) / 2
    springs.x = [(low + high) / 2 - middle for low, high in zip(left, right, strict=True)]


def _left_to_right(springs: _Springs) -> list[int]:
    waiting = [len(items) for items in springs.before]
    ready = [one for one in range(springs.count) if waiting[one] == 0]
    for one in ready:
        for other, _ in springs.after[one]:
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    assert len(ready) == springs.count, "the rows' orders contradict each other"
    return ready


def _swing(springs: _Springs) -> float:
    """One round; the largest move."""
    blocks = _Blocks(*_pulls(springs))
    x = springs.x
    touching = [
        pair for pair, gap in springs.gaps.items() if x[pair[1]] - x[pair[0]] - gap < TOUCHING
    ]
    blocks.merge_pressing(touching)
    members = blocks.members()
    moves = {root: blocks.move(root) for root in members}
    rightward = sorted(
        (root for root in members if moves[root] > 0),
        key=lambda root: -max(x[one] for one in members[root]),
    )
    leftward = sorted(
        (root for root in members if moves[root] < 0),
        key=lambda root: min(x[one] for one in members[root]),
    )
    largest = 0.0
    for root in rightward:
        room = _room(members[root], springs.after, x)
        largest = max(largest, _shift(members[root], min(moves[root], room), x))
    for root in leftward:
        room = _room(members[root], springs.before, x)
        largest = max(largest, _shift(members[root], -min(-moves[root], room), x))
    return largest


def _room(block: Sequence[int], beside: Sequence[Beside], x: Sequence[float]) -> float:
    inside = set(block)
    return min(
        (
            abs(x[other] - x[one]) - gap
            for one in block
            for other, gap in beside[one]
            if other not in inside
        ),
        default=float("inf"),
    )


def _shift(block: Sequence[int], move: float, x: list[float]) -> float:
    for one in block:
        x[one] += move
    return abs(move)


def _pulls(springs: _Springs) -> tuple[list[float], list[float]]:
    """For each variable the sum of weight times distance over its springs, and the sum of
    weights.
    """
    x = springs.x
    weightless = set(springs.lefts) | set(springs.rights)
    force, mass = [0.0] * springs.count, [1e-6] * springs.count
    for one, links in enumerate(springs.links):
        if one in weightless:
            continue
        force[one] = PAGE_PULL * -x[one] + sum(
            weight * (x[other] - x[one]) for other, weight in links
        )
        mass[one] = PAGE_PULL + sum(weight for _, weight in links)
    for group in springs.groups:
        centre = sum(x[one] for one in group) / len(group)
        for one in group:
            force[one] += PLATE_PULL * (centre - x[one])
            mass[one] += PLATE_PULL
    return force, mass


def _straighten(springs: _Springs) -> None:
    """Arrows that are nearly upright become upright, where there is room, the nearest first."""
    x = springs.x
    leaning = sorted(
        (abs(x[one] - x[other]), one, other)
        for one, links in enumerate(springs.links)
        for other, _ in links
        if one < other and abs(x[one] - x[other]) < UPRIGHT
    )
    group = {one: [one] for one in range(springs.count)}
    for _, one, other in leaning:
        for fixed, mover in ((one, other), (other, one)):
            move = x[fixed] - x[mover]
            room = _room(group[mover], springs.after if move > 0 else springs.before, x)
            if group[fixed] is not group[mover] and abs(move) <= min(room, UPRIGHT):
                _shift(group[mover], move, x)
                group[fixed].extend(group[mover])
                group.update(dict.fromkeys(group[mover], group[fixed]))
                break


class _Blocks:
    """Variables that touch and press on each other, joined; a block wants the weighted mean
    move.
    """

    def __init__(self, force: list[float], mass: list[float]) -> None:
        self.force, self.mass = force, mass
        self.parent = list(range(len(force)))

    def find(self, one: int) -> int:
        while self.parent[one] != one:
            self.parent[one] = self.parent[self.parent[one]]
            one = self.parent[one]
        return one

    def move(self, root: int) -> float:
        return DAMPING * self.force[root] / self.mass[root]

    def merge_pressing(self, touching: Sequence[tuple[int, int]]) -> None:
        merged = True
        while merged:
            merged = False
            for left, right in touching:
                one, other = self.find(left), self.find(right)
                if (
                    one != other
                    and self.force[one] * self.mass[other] > self.force[other] * self.mass[one]
                ):
                    self.parent[other] = one
                    self.force[one] += self.force[other]
                    self.mass[one] += self.mass[other]
                    merged = True

    def members(self) -> dict[int, list[int]]:
        members: dict[int, list[int]] = {}
        for one in range(len(self.parent)):
            members.setdefault(self.find(one), []).append(one)
        return members


def _tighten_plates(springs: _Springs) -> None:
    """Borders carry no springs: after every round they close on what they hold, inner plates
    first.
    """
    x = springs.x
    for left, right in reversed(list(zip(springs.lefts, springs.rights, strict=True))):
        inner_left = min(x[other] - gap for other, gap in springs.after[left] if other != right)
        inner_right = max(x[other] + gap for other, gap in springs.before[right] if other != left)
        spare = max(0.0, springs.gaps[left, right] - (inner_right - inner_left))
        x[left] = max(x[left], min(inner_left - spare / 2, x[right] - springs.gaps[left, right]))
        x[right] = min(x[right], max(inner_right, x[left] + springs.gaps[left, right]))

"""The order along each row: barycentre sweeps with transposition, plates kept whole.

Two plates that share rows stand in the same order in all of them. Sweeping away from a row keeps
the order that row gave, and rows of a plate are consecutive, so the orders of all rows fit together
on one page.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence
from math import inf

from .picture import PlatePath, within
from .skeleton import Role, Skeleton

# An arrow that crosses a plate's border disturbs more than one that crosses another arrow.
BORDER_WEIGHT = 3
ENOUGH_SWEEPS = 24
PATIENCE = 6
LARGE = 1500

Order = tuple[tuple[int, ...], ...]


def infer_orders(skeleton: Skeleton) -> list[Order]:
    """The orders of the rows with the fewest crossings that any start and sweep has met."""
    met: dict[Order, int] = {}
    for mirrored in [False] if len(skeleton.vertices) > LARGE else [False, True]:
        met.update(_Sweeper(skeleton, mirrored).met())
    fewest = min(met.values())
    return [order for order, crossings in met.items() if crossings == fewest]


class _Sweeper:
    """`up` and `down` name a border's neighbours as often as their links weigh."""

    def __init__(self, skeleton: Skeleton, mirrored: bool) -> None:
        self.skeleton = skeleton
        vertices = skeleton.vertices
        self.up: list[list[int]] = [[] for _ in vertices]
        self.down: list[list[int]] = [[] for _ in vertices]
        for upper, lower in skeleton.links:
            weight = BORDER_WEIGHT if vertices[upper].role in (Role.LEFT, Role.RIGHT) else 1
            self.up[lower] += [upper] * weight
            self.down[upper] += [lower] * weight
        self.rows: list[list[int]] = [[] for _ in range(skeleton.row_count)]
        for number, vertex in enumerate(vertices):
            self.rows[vertex.row].append(number)
        self.place = list(range(len(vertices)))
        self._start(mirrored)

    def met(self) -> dict[Order, int]:
        """Every order on the way, with its crossings, until sweeping no longer helps."""
        fewest = self.crossings()
        met = {tuple(map(tuple, self.rows)): fewest}
        stale = 0
        for sweep in range(ENOUGH_SWEEPS):
            self._sweep(downward=sweep % 2 == 0)
            self._transpose(turn_ties=sweep % 4 >= 2)
            crossings = self.crossings()
            met[tuple(map(tuple, self.rows))] = crossings
            stale = 0 if crossings < fewest else stale + 1
            fewest = min(fewest, crossings)
            if stale >= PATIENCE:
                break
        return met

    def crossings(self) -> int:
        return sum(count_crossings(row, self.down, self.place) for row in self.rows)

    def _start(self, mirrored: bool) -> None:
        """In the order in which a depth-first walk over links in either direction meets them."""
        met: dict[int, None] = {}
        starts = range(len(self.place))
        for start in reversed(starts) if mirrored else starts:
            stack = [start]
            while stack:
                vertex = stack.pop()
                if vertex not in met:
                    met[vertex] = None
                    stack.extend(reversed(self.up[vertex] + self.down[vertex]))
        key = {vertex: -time if mirrored else time for time, vertex in enumerate(met)}
        plate_key = dict.fromkeys(self.skeleton.spans, inf)
        for vertex, (_, _, home) in enumerate(self.skeleton.vertices):
            if home:
                plate_key[home] = min(plate_key[home], key[vertex])
        for row in range(len(self.rows)):
            self._sort_row(row, key, plate_key)

    def _sort_row(
        self, row: int, key: Mapping[int, float], plate_key: Mapping[PlatePath, float]
    ) -> None:
        """By the keys of the plates around a vertex, then by its own; equal ones stay in order."""

        def nested_key(number: int) -> list[tuple[float, int]]:
            role, _, home = self.skeleton.vertices[number]
            path_keys = [
                (plate_key[path], self.place[self.skeleton.border(path, row)[0]])
                for path in within(home)
            ]
            own = {Role.LEFT: -inf, Role.RIGHT: inf}.get(role)
            return [*path_keys, (key[number] if own is None else own, self.place[number])]

        self.rows[row].sort(key=nested_key)
        self._number(row)

    def _number(self, row: int) -> None:
        for place, vertex in enumerate(self.rows[row]):
            self.place[vertex] = place

    def _sweep(self, downward: bool) -> None:
        near, step = (self.up, 1) if downward else (self.down, -1)
        for row in range(len(self.rows))[::step][1:]:
            key = self._barycentres(row, near)
            plate_key = {}
            for path in self.skeleton.spans:
                if self.skeleton.spans_row(path, row):
                    plate_key[path] = self._plate_key(path, row, row - step, key)
            self._sort_row(row, key, plate_key)

    def _plate_key(self, path: PlatePath, row: int, fixed: int, key: Mapping[int, float]) -> float:
        """The middle of where the plate stands in the fixed row, or of what it holds in this."""
        if self.skeleton.spans_row(path, fixed):
            return sum(self.place[border] for border in self.skeleton.border(path, fixed)) / 2
        left, right = (self.place[border] for border in self.skeleton.border(path, row))
        inside = self.rows[row][left : right + 1]
        return sum(key[vertex] for vertex in inside) / len(inside)

    def _barycentres(self, row: int, near: Sequence[Sequence[int]]) -> dict[int, float]:
        """A vertex without links stays between its neighbours: the mean of the nearest means."""
        order = self.rows[row]
        means = [
            sum(self.place[other] for other in near[vertex]) / len(near[vertex])
            if near[vertex]
            else None
            for vertex in order
        ]
        before, after = _carried(means), _carried(means[::-1])[::-1]
        filled = [
            mean if mean is not None else (one + other) / 2
            for mean, one, other in zip(means, before, after, strict=True)
        ]
        return dict(zip(order, filled, strict=True))

    def _transpose(self, turn_ties: bool) -> None:
        """Neighbours that cross less the other way round change places; ties open new orders."""
        for attempt in range(4):
            least_gain = 0 if turn_ties and attempt == 0 else 1
            if sum(self._transpose_row(row, least_gain) for row in self.rows) == 0:
                return

    def _transpose_row(self, order: list[int], least_gain: int) -> int:
        """How many neighbouring items changed places; each goes on as far as that helps."""
        changes = start = 0
        while start < len(order):
            middle = self._end(order, start)
            end = self._end(order, middle)
            lefts, rights = order[start:middle], order[middle:end]
            is_free = lefts and rights and not self._bound_together(lefts[0], rights[0])
            if not is_free or self._gain(lefts, rights) < least_gain:
                start += 1
                continue
            order[start:end] = rights + lefts
            for place in range(start, end):
                self.place[order[place]] = place
            start += len(rights)
            changes += 1
        return changes

    def _end(self, order: Sequence[int], start: int) -> int:
        """Where the item that begins there ends: a plate is one item, a right border is none."""
        if start == len(order):
            return start
        role, row, home = self.skeleton.vertices[order[start]]
        if role is Role.LEFT:
            return self.place[self.skeleton.border(home, row)[1]] + 1
        return start + (role is not Role.RIGHT)

    def _bound_together(self, left: int, right: int) -> bool:
        """Plates that share a second row could only change places in all of them at once."""
        one, other = self.skeleton.vertices[left], self.skeleton.vertices[right]
        if not one.role is other.role is Role.LEFT:
            return False
        spans = [self.skeleton.spans[vertex.home] for vertex in (one, other)]
        return max(first for first, _ in spans) < min(last for _, last in spans)

    def _gain(self, lefts: Sequence[int], rights: Sequence[int]) -> int:
        """How many crossings go when two neighbouring items change places."""
        gain = 0
        for near in (self.up, self.down):
            ends = sorted(self.place[other] for vertex in rights for other in near[vertex])
            for vertex in lefts:
                for other in near[vertex]:
                    place = self.place[other]
                    gain += bisect_left(ends, place) + bisect_right(ends, place) - len(ends)
        return gain


def count_crossings(
    upper: Sequence[int], down: Sequence[Sequence[int]], place: Sequence[int]
) -> int:
    """Pairs of links with a's upper end left of b's and its lower end right of b's."""
    crossings = 0
    seen: list[int] = []
    for vertex in upper:
        ends = sorted(place[lower] for lower in down[vertex])
        crossings += sum(len(seen) - bisect_right(seen, end) for end in ends)
        for end in ends:
            insort(seen, end)
    return crossings


def _carried(means: Sequence[float | None]) -> list[float]:
    """Each mean, or where there is none the last before it, or the first of all."""
    last = next((mean for mean in means if mean is not None), 0.0)
    carried = []
    for mean in means:
        last = mean if mean is not None else last
        carried.append(last)
    return carried

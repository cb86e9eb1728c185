"""The order along each row: barycentre sweeps with transposition, plates kept whole.

Two plates that share rows stand in the same order in all of them. Sweeping away from a row keeps
the order that row gave, and rows of a plate are consecutive, so the orders of all rows fit together
on one page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .crossings import count_crossings
from .plates import PAGE, Path
from .skeleton import Role, Skeleton

Item = int | Path
RowTree = dict[Path, list[Item]]

BORDER_WEIGHT = 3
ENOUGH_SWEEPS = 24
PATIENCE = 6
LARGE = 1500

Order = tuple[tuple[int, ...], ...]


def infer_orders(skeleton: Skeleton) -> list[Order]:
    """The orders of the rows, left to right, with the fewest crossings that any start and sweep has
    met.
    """
    backward = [False] if len(skeleton.vertices) > LARGE else [False, True]
    met: dict[Order, int] = {}
    for mirrored in backward:
        met.update(_Sweeper(skeleton, mirrored).met())
    fewest = min(met.values())
    return [order for order, crossings in met.items() if crossings == fewest]


class _Sweeper:
    def __init__(self, skeleton: Skeleton, mirrored: bool) -> None:
        self.skeleton = skeleton
        self.up: list[list[int]] = [[] for _ in skeleton.vertices]
        self.down: list[list[int]] = [[] for _ in skeleton.vertices]
        for upper, lower in skeleton.links:
            self.up[lower].append(upper)
            self.down[upper].append(lower)
        borders = (Role.LEFT, Role.RIGHT)
        self.weight = [
            BORDER_WEIGHT if vertex.role in borders else 1 for vertex in skeleton.vertices
        ]
        self.place = [0] * len(skeleton.vertices)
        self.trees: list[RowTree] = [_row_tree(skeleton, row) for row in range(skeleton.row_count)]
        self._start(mirrored)

    def met(self) -> dict[Order, int]:
        """Every order on the way, with its crossings, until sweeping no longer helps."""
        fewest = self.crossings()
        met = {self.flat_rows(): fewest}
        stale = 0
        for sweep in range(ENOUGH_SWEEPS):
            self._sweep(downward=sweep % 2 == 0)
            self._transpose(turn_ties=sweep % 4 >= 2)
            crossings = self.crossings()
            met[self.flat_rows()] = crossings
            stale = 0 if crossings < fewest else stale + 1
            fewest = min(fewest, crossings)
            if stale >= PATIENCE:
                break
        return met

    def flat_rows(self) -> Order:
        return tuple(tuple(self._flat(row, PAGE)) for row in range(len(self.trees)))

    def crossings(self) -> int:
        return sum(
            count_crossings(upper, self.down, self.place, self.weight) for upper in self.flat_rows()
        )

    def _flat(self, row: int, item: Item) -> Iterator[int]:
        if isinstance(item, int):
            yield item
            return
        left, right = self.skeleton.border(item, row) if item else (None, None)
        if left is not None:
            yield left
        for inner in self.trees[row].get(item, ()):
            yield from self._flat(row, inner)
        if right is not None:
            yield right

    def _number(self, row: int) -> None:
        for place, vertex in enumerate(self._flat(row, PAGE)):
            self.place[vertex] = place

    def _start(self, mirrored: bool) -> None:
        key = _walk_order(self.up, self.down, mirrored)
        plate_key = {
            path: min(
                key[vertex]
                for vertex, made in enumerate(self.skeleton.vertices)
                if made.home == path
            )
            for path in self.skeleton.spans
        }
        for row, tree in enumerate(self.trees):
            for items in tree.values():
                items.sort(key=lambda item: key[item] if isinstance(item, int) else plate_key[item])
            self._number(row)

    def _sweep(self, downward: bool) -> None:
        rows = range(1, len(self.trees)) if downward else range(len(self.trees) - 2, -1, -1)
        for row in rows:
            fixed = row - 1 if downward else row + 1
            self._sort_row(row, fixed, self.up if downward else self.down)
            self._number(row)

    def _sort_row(self, row: int, fixed: int, near: list[list[int]]) -> None:
        order = list(self._flat(row, PAGE))
        pulls = [
            sum(self.place[other] for other in near[vertex]) / len(near[vertex])
            if near[vertex]
            else None
            for vertex in order
        ]
        key = dict(zip(order, _filled(pulls), strict=True))
        for items in self.trees[row].values():
            centre = {
                item: _mean([key[vertex] for vertex in self._flat(row, item)]) for item in items
            }
            items.sort(key=centre.__getitem__)
            self._keep_plate_order(items, fixed)

    def _keep_plate_order(self, items: list[Item], fixed: int) -> None:
        slots = [slot for slot, item in enumerate(items) if self._spans(item, fixed)]
        kept = sorted(
            (items[slot] for slot in slots), key=lambda item: self._left_place(item, fixed)
        )
        for slot, item in zip(slots, kept, strict=True):
            items[slot] = item

    def _spans(self, item: Item, row: int) -> bool:
        if isinstance(item, int):
            return False
        first, last = self.skeleton.spans[item]
        return first <= row <= last

    def _left_place(self, item: Item, row: int) -> int:
        assert not isinstance(item, int)
        return self.place[self.skeleton.border(item, row)[0]]

    def _transpose(self, turn_ties: bool) -> None:
        """Neighbours that cross less the other way round change places; turning ties too opens new
        orders.
        """
        for attempt in range(4):
            least_gain = 0 if turn_ties and attempt == 0 else 1
            improved = False
            for row, tree in enumerate(self.trees):
                for items in tree.values():
                    improved |= self._transpose_items(row, items, least_gain)
            if not improved:
                return

    def _transpose_items(self, row: int, items: list[Item], least_gain: int) -> bool:
        improved = False
        for slot in range(len(items) - 1):
            left, right = items[slot], items[slot + 1]
            if not self._bound_together(left, right) and self._gain(row, left, right) >= least_gain:
                items[slot], items[slot + 1] = right, left
                self._exchange(row, left, right)
                improved = True
        return improved

    def _exchange(self, row: int, left: Item, right: Item) -> None:
        """Neighbours change places; the rest of the row stays where it is."""
        lefts, rights = list(self._flat(row, left)), list(self._flat(row, right))
        for vertex in lefts:
            self.place[vertex] += len(rights)
        for vertex in rights:
            self.place[vertex] -= len(lefts)

    def _bound_together(self, left: Item, right: Item) -> bool:
        """Plates that share a second row could only change places in all of them at once."""
        if isinstance(left, int) or isinstance(right, int):
            return False
        (first, last), (other_first, other_last) = (
            self.skeleton.spans[left],
            self.skeleton.spans[right],
        )
        return max(first, other_first) < min(last, other_last)

    def _gain(self, row: int, left: Item, right: Item) -> int:
        lefts, rights = list(self._flat(row, left)), list(self._flat(row, right))
        return sum(self._pair_gain(one, other) for one in lefts for other in rights)

    def _pair_gain(self, left: int, right: int) -> int:
        place, gain = self.place, 0
        for near in (self.up, self.down):
            for one in near[left]:
                for other in near[right]:
                    gain += (place[one] > place[other]) - (place[one] < place[other])
        return gain * self.weight[left] * self.weight[right]


def _row_tree(skeleton: Skeleton, row: int) -> RowTree:
    tree: RowTree = {PAGE: []}
    for path, (first, last) in skeleton.spans.items():
        if first <= row <= last:
            tree[path] = []
    for path in list(tree):
        if path:
            tree[path[:-1]].append(path)
    for number, vertex in enumerate(skeleton.vertices):
        if vertex.row == row and vertex.role in (Role.BOX, Role.BEND):
            tree[vertex.home].append(number)
    return tree


def _walk_order(up: list[list[int]], down: list[list[int]], mirrored: bool) -> list[int]:
    """When a depth-first walk over links in either direction first meets each vertex."""
    met: dict[int, None] = {}
    starts = range(len(up))
    for start in reversed(starts) if mirrored else starts:
        stack = [start]
        while stack:
            vertex = stack.pop()
            if vertex not in met:
                met[vertex] = None
                stack.extend(reversed(up[vertex] + down[vertex]))
    key = [0] * len(up)
    for time, vertex in enumerate(met):
        key[vertex] = -time if mirrored else time
    return key


def _filled(pulls: Sequence[float | None]) -> list[float]:
    """A vertex without links stays between its neighbours: it takes the mean of the nearest
    pulls.
    """
    after = _carried(pulls)
    before = _carried(pulls[::-1])[::-1]
    return [
        pull
        if pull is not None
        else _mean([value for value in (one, other) if value is not None] or [0.0])
        for pull, one, other in zip(pulls, after, before, strict=True)
    ]


def _carried(pulls: Sequence[float | None]) -> list[float | None]:
    carried: list[float | None] = []
    last: float | None = None
    for pull in pulls:
        last = pull if pull is not None else last
        carried.append(last)
    return carried


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)

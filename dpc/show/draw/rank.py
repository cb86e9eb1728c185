"""Which row each box stands on: longest path first, then shifts that shorten arrows and plates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, sqrt

from .orient import Edge
from .plates import Path, within

PLATE_SPAN_COST = 1.25
ROUNDS = 24


def infer_rows(homes: Sequence[Path], edges: Sequence[Edge]) -> list[int]:
    """row(v) = 1 + max row(u) over edges u -> v, then improved; lonely boxes are stacked in a
    block.
    """
    ranking = _Ranking(homes, edges)
    ranking.improve()
    _stack_lonely_boxes(ranking)
    return _without_empty_rows(ranking.rows)


class _Ranking:
    def __init__(self, homes: Sequence[Path], edges: Sequence[Edge]) -> None:
        self.homes = homes
        self.above: list[list[int]] = [[] for _ in homes]
        self.below: list[list[int]] = [[] for _ in homes]
        for upper, lower in edges:
            self.above[lower].append(upper)
            self.below[upper].append(lower)
        self.members: dict[Path, list[int]] = {}
        for box, home in enumerate(homes):
            for path in within(home):
                self.members.setdefault(path, []).append(box)
        self.rows = self._longest_paths()

    def _longest_paths(self) -> list[int]:
        rows = [0] * len(self.homes)
        waiting = [len(above) for above in self.above]
        ready = [box for box, count in enumerate(waiting) if count == 0]
        for box in ready:
            for lower in self.below[box]:
                rows[lower] = max(rows[lower], rows[box] + 1)
                waiting[lower] -= 1
                if waiting[lower] == 0:
                    ready.append(lower)
        return rows

    def improve(self) -> None:
        for _ in range(ROUNDS):
            moved = False
            for box in range(len(self.rows)):
                moved |= self._shift_while_shorter(box, +1)
                moved |= self._shift_while_shorter(box, -1)
            if not moved:
                return

    def _shift_while_shorter(self, box: int, step: int) -> bool:
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
            shorter += step * sum(near not in group for near in self.below[member])
            shorter -= step * sum(near not in group for near in self.above[member])
        return shorter + PLATE_SPAN_COST * self._plate_gain(group, step)

    def _plate_gain(self, group: dict[int, None], step: int) -> int:
        touched = {path: None for member in group for path in within(self.homes[member])}
        return sum(
            _span(self.rows[box] for box in self.members[path])
            - _span(self.rows[box] + (step if box in group else 0) for box in self.members[path])
            for path in touched
        )


def _span(rows: Iterable[int]) -> int:
    listed = list(rows)
    return max(listed) - min(listed)


def _stack_lonely_boxes(ranking: _Ranking) -> None:
    lonely: dict[Path, list[int]] = {}
    for box, home in enumerate(ranking.homes):
        if not ranking.above[box] and not ranking.below[box]:
            lonely.setdefault(home, []).append(box)
    for home, boxes in lonely.items():
        across = max(4, ceil(1.5 * sqrt(len(boxes))))
        others = [ranking.rows[box] for box in ranking.members.get(home, []) if box not in boxes]
        top = min(others, default=min(ranking.rows[box] for box in boxes))
        for place, box in enumerate(boxes):
            ranking.rows[box] = top + place // across


def _without_empty_rows(rows: Sequence[int]) -> list[int]:
    dense = {row: place for place, row in enumerate(sorted(set(rows)))}
    return [dense[row] for row in rows]

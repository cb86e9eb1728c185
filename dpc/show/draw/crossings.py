"""How many links cross between two rows, in n log n."""

from __future__ import annotations

from collections.abc import Sequence


def count_crossings(
    upper: Sequence[int], down: Sequence[Sequence[int]], place: Sequence[int], weight: Sequence[int]
) -> int:
    """sum of w(a) w(b) over links a, b with a's upper end left of b's and its lower end right of
    b's.
    """
    ends = [
        (lower, weight[vertex])
        for vertex in upper
        for lower in sorted(down[vertex], key=place.__getitem__)
    ]
    if not ends:
        return 0
    tree = _PrefixSums(1 + max(place[lower] for lower, _ in ends))
    total = crossings = 0
    for lower, mass in ends:
        crossings += mass * (total - tree.up_to(place[lower]))
        tree.add(place[lower], mass)
        total += mass
    return crossings


class _PrefixSums:
    """A Fenwick tree."""

    def __init__(self, size: int) -> None:
        self.sums = [0] * (size + 1)

    def add(self, index: int, mass: int) -> None:
        index += 1
        while index < len(self.sums):
            self.sums[index] += mass
            index += index & -index

    def up_to(self, index: int) -> int:
        index += 1
        total = 0
        while index > 0:
            total += self.sums[index]
            index -= index & -index
        return total

"""Plates as a forest: a rectangle for every distinct prefix of the plates that boxes name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Path = tuple[str, ...]

PAGE: Path = ()


def within(home: Path) -> Iterator[Path]:
    """The rectangles around a box, outermost first: every nonempty prefix."""
    for depth in range(1, len(home) + 1):
        yield home[:depth]


def common_plate(one: Path, other: Path) -> Path:
    depth = 0
    while depth < min(len(one), len(other)) and one[depth] == other[depth]:
        depth += 1
    return one[:depth]


def row_spans(homes: Iterable[Path], rows: Iterable[int]) -> dict[Path, tuple[int, int]]:
    """The first and last row of each rectangle, parents before their children."""
    spans: dict[Path, tuple[int, int]] = {}
    for home, row in zip(homes, rows, strict=True):
        for path in within(home):
            first, last = spans.get(path, (row, row))
            spans[path] = (min(first, row), max(last, row))
    return spans

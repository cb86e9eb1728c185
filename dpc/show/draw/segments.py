"""Which vertices share one x: the two borders of a plate, and runs of bends that cross nothing
rigid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .orient import Edge
from .skeleton import Role, Skeleton


def infer_segments(skeleton: Skeleton, order: Sequence[Sequence[int]]) -> list[int]:
    """The number of each vertex's variable.

    Rigid links between two rows never cross, so the order of rigid runs agrees in all the rows they
    share and the gaps between them can all be kept.
    """
    place = _places(skeleton, order)
    leader = list(range(len(skeleton.vertices)))
    for upper, lower in _rigid_links(skeleton, place):
        leader[lower] = leader[upper]
    numbers = {first: number for number, first in enumerate(dict.fromkeys(leader))}
    return [numbers[first] for first in leader]


def _places(skeleton: Skeleton, order: Sequence[Sequence[int]]) -> list[int]:
    place = [0] * len(skeleton.vertices)
    for row in order:
        for position, vertex in enumerate(row):
            place[vertex] = position
    return place


def _rigid_links(skeleton: Skeleton, place: Sequence[int]) -> list[Edge]:
    """Top row first, so that a run's leader is its highest vertex."""
    rigid: dict[int, list[Edge]] = {row: [] for row in range(skeleton.row_count)}
    borders = [
        link
        for link in skeleton.links
        if skeleton.vertices[link[0]].role in (Role.LEFT, Role.RIGHT)
    ]
    bends = [link for link in skeleton.links if _same_bend(skeleton, link)]
    for link in borders:
        rigid[skeleton.vertices[link[0]].row].append(link)
    for link in bends:
        accepted = rigid[skeleton.vertices[link[0]].row]
        if not _crosses_any(link, accepted, place):
            accepted.append(link)
    return [link for row in sorted(rigid) for link in rigid[row]]


def _same_bend(skeleton: Skeleton, link: Edge) -> bool:
    upper, lower = (skeleton.vertices[end] for end in link)
    return upper.role is lower.role is Role.BEND and upper.home == lower.home


def _crosses_any(link: Edge, accepted: Iterable[Edge], place: Sequence[int]) -> bool:
    upper, lower = place[link[0]], place[link[1]]
    return any((place[one] < upper) != (place[other] < lower) for one, other in accepted)

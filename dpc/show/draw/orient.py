"""Every arrow that shapes the page, pointing down it: recurrences are left out and cycles are
broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from .picture import Arrow, Kind, Picture

Edge = tuple[int, int]


def is_recurrence(arrow: Arrow) -> bool:
    return bool(arrow.lag) or arrow.source == arrow.target


def oriented_edges(picture: Picture) -> list[Edge]:
    """An acyclic set of edges between box numbers, each from the higher box to the lower one."""
    number = {box.name: place for place, box in enumerate(picture.boxes)}
    arrows = [arrow for arrow in pointing_down(picture) if not is_recurrence(arrow)]
    edges = dict.fromkeys((number[arrow.source], number[arrow.target]) for arrow in arrows)
    return acyclic(len(picture.boxes), list(edges))


def pointing_down(picture: Picture) -> list[Arrow]:
    """The distinct arrows, undirected ones turned to run from the higher box to the lower."""
    number = {box.name: place for place, box in enumerate(picture.boxes)}
    levels = _undirected_levels(picture, number)

    def turned(arrow: Arrow) -> Arrow:
        source, target = number[arrow.source], number[arrow.target]
        upwards = not arrow.directed and (levels[source], source) > (levels[target], target)
        return arrow.replace(source=arrow.target, target=arrow.source) if upwards else arrow

    return list(dict.fromkeys(map(turned, picture.arrows)))


def _undirected_levels(picture: Picture, number: dict[str, int]) -> list[int]:
    """Factors hang between the latents they join, and parameters and data above the factors they
    enter.

    A latent stands at twice its distance from the first latent of its component, so an unrolled
    chain or grid fans out from one corner. A factor of equally distant latents stands just above
    them.
    """
    touching = _factor_scopes(picture, number)
    latents = [place for place, box in enumerate(picture.boxes) if box.kind is Kind.LATENT]
    distance = _distances(latents, _latent_neighbours(picture, number, touching, set(latents)))
    levels = [-2] * len(picture.boxes)
    for latent in latents:
        levels[latent] = 2 * distance[latent]
    for factor, scope in touching.items():
        reach = [distance[place] for place in scope if place in distance]
        levels[factor] = _factor_level(reach)
    return levels


def _factor_level(reach: Sequence[int]) -> int:
    if not reach:
        return 0
    return 2 * min(reach) + (1 if min(reach) < max(reach) else -1)


def _factor_scopes(picture: Picture, number: dict[str, int]) -> dict[int, list[int]]:
    factors = {place for place, box in enumerate(picture.boxes) if box.kind is Kind.FACTOR}
    scopes: dict[int, list[int]] = {factor: [] for factor in factors}
    for one, other in _undirected_pairs(picture, number):
        if one in factors:
            scopes[one].append(other)
        if other in factors:
            scopes[other].append(one)
    return scopes


def _undirected_pairs(picture: Picture, number: dict[str, int]) -> Iterator[Edge]:
    for arrow in picture.arrows:
        if not arrow.directed and not is_recurrence(arrow):
            yield number[arrow.source], number[arrow.target]


def _latent_neighbours(
    picture: Picture, number: dict[str, int], scopes: dict[int, list[int]], latents: set[int]
) -> dict[int, list[int]]:
    neighbours: dict[int, list[int]] = {latent: [] for latent in latents}
    pairs = list(_undirected_pairs(picture, number))
    for scope in scopes.values():
        pairs.extend(combinations(scope, 2))
    for one, other in pairs:
        if one in latents and other in latents:
            neighbours[one].append(other)
            neighbours[other].append(one)
    return neighbours


def _distances(starts: Sequence[int], neighbours: dict[int, list[int]]) -> dict[int, int]:
    distance: dict[int, int] = {}
    for start in starts:
        if start in distance:
            continue
        distance[start] = 0
        queue = [start]
        for place in queue:
            for near in neighbours[place]:
                if near not in distance:
                    distance[near] = distance[place] + 1
                    queue.append(near)
    return distance


def acyclic(count: int, edges: Sequence[Edge]) -> list[Edge]:
    """Turns round the edges that close a cycle in a depth-first walk; the result has no cycle."""
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        after[source].append(target)
    finished = _finishing_order(after)
    kept = {
        (source, target) if finished[source] > finished[target] else (target, source): None
        for source, target in edges
    }
    return list(kept)


def _finishing_order(after: Sequence[Sequence[int]]) -> list[int]:
    """When the depth-first walk leaves each vertex; along an edge of an acyclic graph this
    decreases.
    """
    incoming = [0] * len(after)
    for targets in after:
        for target in targets:
            incoming[target] += 1
    finished = [0] * len(after)
    seen = [False] * len(after)
    clock = 0
    for start in sorted(range(len(after)), key=lambda vertex: incoming[vertex] > 0):
        if seen[start]:
            continue
        seen[start] = True
        stack = [(start, iter(after[start]))]
        while stack:
            vertex, rest = stack[-1]
            unseen = next((target for target in rest if not seen[target]), None)
            if unseen is None:
                clock += 1
                finished[vertex] = clock
                stack.pop()
            else:
                seen[unseen] = True
                stack.append((unseen, iter(after[unseen])))
    return finished

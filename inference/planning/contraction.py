"""A contraction tree: products of tensors, each summed over the variables nobody else holds.

Variables are numbered by elimination, so a scope is a bit mask, its axes in order are its bits:
what two tensors share and keep lies last, where the inner loops are.
"""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from .orders import Mask, bits

ALONE = -1


class Contraction(NamedTuple):
    """Node `left` times `right` (or `left` ALONE), summed over what `scope` lacks."""

    left: int
    right: int
    scope: Mask


class ContractionTree(NamedTuple):
    """Nodes are leaves then steps; `scopes`, `entries` per node, `work` per step."""

    leaf_count: int
    scopes: list[Mask]
    entries: list[int]
    steps: list[Contraction]
    work: list[int]
    roots: list[int]

    @property
    def operations(self) -> int:
        return sum(self.work)


class Builder:
    """Grows a tree: holders of each variable are counted, to know what may be summed away."""

    def __init__(
        self, scopes: Sequence[Mask], sizes: Sequence[int], keep: Mask, stages: Sequence[Mask]
    ) -> None:
        self.sizes = sizes
        self.keep = keep
        self.stages = stages
        self.scopes = list(scopes)
        self.entries = [self.entries_of(scope) for scope in scopes]
        self.steps: list[Contraction] = []
        self.work: list[int] = []
        self.holders = [0] * len(sizes)
        for scope in scopes:
            for v in bits(scope):
                self.holders[v] += 1

    def entries_of(self, scope: Mask) -> int:
        entries = 1
        sizes = self.sizes
        while scope:
            low = scope & -scope
            entries *= sizes[low.bit_length() - 1]
            scope ^= low
        return entries

    def removable(self, union: Mask, alone: Mask) -> Mask:
        """What may be summed here: held by nobody else, and of the earliest stage present."""
        alone &= ~self.keep
        for stage in self.stages:
            if union & stage:
                return alone & stage
        return alone

    def append(self, left: int, right: int, scope: Mask, work: int, entries: int) -> int:
        self.steps.append(Contraction(left, right, scope))
        self.work.append(work)
        self.scopes.append(scope)
        self.entries.append(entries)
        return len(self.scopes) - 1

    def reduce(self, node: int) -> int:
        """The node, summed over what it alone holds (stage after stage)."""
        scope = self.scopes[node]
        alone = 0
        for v in bits(scope):
            if self.holders[v] == 1:
                alone |= 1 << v
        removed = self.removable(scope, alone) if alone else 0
        if not removed:
            return node
        work = self.entries[node]
        return self.reduce(
            self.append(node, ALONE, scope & ~removed, work, work // self.entries_of(removed))
        )

    def multiply(self, left: int, right: int) -> int:
        holders, sizes = self.holders, self.sizes
        alone, shared = 0, 1
        for v in bits(self.scopes[left] & self.scopes[right]):
            shared *= sizes[v]
            holders[v] -= 1
            if holders[v] == 1:
                alone |= 1 << v
        union = self.scopes[left] | self.scopes[right]
        work = self.entries[left] * self.entries[right] // shared
        removed = self.removable(union, alone) if alone else 0
        entries = work // self.entries_of(removed) if removed else work
        node = self.append(left, right, union & ~removed, work, entries)
        return self.reduce(node) if self.stages else node

    def finish(self, leaf_count: int, roots: list[int]) -> ContractionTree:
        return ContractionTree(leaf_count, self.scopes, self.entries, self.steps, self.work, roots)


def tree_by_order(
    scopes: Sequence[Mask], sizes: Sequence[int], keep: Mask = 0, stages: Sequence[Mask] = ()
) -> ContractionTree:
    """Bucket elimination of variables 0, 1, ...: their tensors, smallest first, become one."""
    builder = Builder(scopes, sizes, keep, stages)
    buckets: list[list[int]] = [[] for _ in sizes]
    roots: list[int] = []

    def place(node: int) -> None:
        waiting = builder.scopes[node] & ~keep
        if waiting:
            buckets[(waiting & -waiting).bit_length() - 1].append(node)
        else:
            roots.append(node)

    for node in absorb(builder, [builder.reduce(leaf) for leaf in range(len(scopes))]):
        place(node)
    for bucket in buckets:
        if bucket:
            bucket.sort(key=builder.entries.__getitem__, reverse=True)
            node = bucket.pop()
            while bucket:
                node = builder.multiply(node, bucket.pop())
            place(node)
    if keep and roots:
        roots = [join_roots(builder, roots)]
    return builder.finish(len(scopes), roots)


def absorb(builder: Builder, nodes: list[int]) -> list[int]:
    """Nodes inside another join the smallest such: cheap now, a pass over a clique later."""
    scopes, entries = builder.scopes, builder.entries
    holding: list[set[int]] = [set() for _ in builder.sizes]
    done: dict[int, None] = {}
    for node in sorted(nodes, key=entries.__getitem__, reverse=True):
        scope = scopes[node]
        hosts = set.intersection(*[holding[v] for v in bits(scope)]) if scope else None
        if hosts:
            host = min(hosts, key=entries.__getitem__)
            del done[host]
            for v in bits(scopes[host]):
                holding[v].remove(host)
            node = builder.multiply(node, host)
        done[node] = None
        for v in bits(scopes[node]):
            holding[v].add(node)
    return list(done)


def tree_by_path(
    scopes: Sequence[Mask], sizes: Sequence[int], keep: Mask, path: Sequence[Sequence[int]]
) -> ContractionTree:
    """The tree of a path of pairs of node numbers, each result numbered next."""
    builder = Builder(scopes, sizes, keep, ())
    nodes = [builder.reduce(leaf) for leaf in range(len(scopes))]
    alive = set(range(len(nodes)))
    for pair in path:
        if len(pair) == 2:
            left, right = pair
            alive -= {left, right}
            alive.add(len(nodes))
            nodes.append(builder.multiply(nodes[left], nodes[right]))
    roots = [nodes[i] for i in sorted(alive)]
    return builder.finish(len(scopes), [join_roots(builder, roots)] if keep and roots else roots)


def join_roots(builder: Builder, roots: list[int]) -> int:
    """One tensor on all kept variables, smallest products first."""
    heap = [(builder.entries[node], node) for node in roots]
    heapq.heapify(heap)
    while len(heap) > 1:
        _, left = heapq.heappop(heap)
        _, right = heapq.heappop(heap)
        node = builder.multiply(left, right)
        heapq.heappush(heap, (builder.entries[node], node))
    return heap[0][1]

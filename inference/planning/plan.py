"""The plan of a question: which products in which order, from names, sizes and scopes."""

import heapq
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import MemoryLimitError, PlanMismatchError
from ..factors.factor_graph import Name
from .orders import Mask, PairPath, Scopes, best_order, bits, greedy_path, mask_of

ALONE = -1
FRACTION = 0.5
UNKNOWN = 4 << 30
FLOAT = 8
SORTED = 4
"""An array that is sorted has copies: of what is sorted, of its negative, of the order."""
CELL = 200
"""Bytes of a state in a list of configurations, with its name."""
SMALL = 1 << 24  # not worth asking the system how much is free
GREEDY_ABOVE = 1e8  # below, importing opt_einsum takes longer than the passes
Scope = tuple[Name, ...]
Memory = int | None  # a limit in bytes; None is half of what is free


# ---- A contraction tree: products of tensors, each summed over the variables nobody else holds
#
# Variables are numbered by elimination, so a scope is a bit mask, its axes in order are its bits:
# what two tensors share and keep lies last, where the inner loops are.


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

    def union(self, step: Contraction) -> Mask:
        """The variables of what a step multiplies."""
        return self.scopes[step.left] | (self.scopes[step.right] if step.right != ALONE else 0)


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
        entries = work // self.entries_of(removed)
        return self.reduce(self.append(node, ALONE, scope & ~removed, work, entries))

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
        """The tree; where something is kept, the roots become one tensor on all of it."""
        roots = [join_roots(self, roots)] if self.keep and roots else roots
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
    scopes: Sequence[Mask], sizes: Sequence[int], keep: Mask, path: Scopes
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
    return builder.finish(len(scopes), [nodes[i] for i in sorted(alive)])


def join_roots(builder: Builder, roots: list[int]) -> int:
    """One tensor of all, smallest products first."""
    heap = [(builder.entries[node], node) for node in roots]
    heapq.heapify(heap)
    while len(heap) > 1:
        _, left = heapq.heappop(heap)
        _, right = heapq.heappop(heap)
        node = builder.multiply(left, right)
        heapq.heappush(heap, (builder.entries[node], node))
    return heap[0][1]


def default_memory_limit() -> int:
    """Half of the available memory in bytes; 2 GiB where the system does not say."""
    return int(available_memory() * FRACTION)


def available_memory() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return UNKNOWN
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024 if "MemAvailable" in fields else UNKNOWN


def format_bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.3g} {unit}"


@dataclass(frozen=True, eq=False)
class Plan:
    """A contraction tree over `names` in elimination order, its heuristic, what it answers."""

    names: tuple[Name, ...]
    sizes: tuple[int, ...]
    scopes: tuple[Scope, ...]
    keep: tuple[Name, ...]
    method: str
    tree: ContractionTree

    @property
    def operations(self) -> int:
        """Multiply-adds of one pass upwards; all marginals take about three times that."""
        return self.tree.operations

    @property
    def bytes(self) -> int:
        """Every tensor and its gradient, and the largest product if it has to be written out."""
        return self.bytes_for(1)

    def bytes_for(self, k: int) -> int:
        """The same with lists of the k best in each entry, and the k configurations."""
        work = max(self.tree.work, default=0)
        lists = 2 * k * sum(self.tree.entries)
        if k == 1:
            return FLOAT * (lists + work)
        # Sums of pairs of ranks, `ranked_pairs`, with what sorts them.
        pairs = int(k * (1 + log(k)))
        return FLOAT * (lists + SORTED * pairs * (work + 1)) + k * len(self.names) * CELL

    @cached_property
    def largest_clique(self) -> tuple[tuple[Name, ...], int]:
        """Variables and entries of the largest product."""
        work = self.tree.work
        if not work:
            return (), 1
        step = self.tree.steps[work.index(max(work))]
        return tuple([self.names[v] for v in bits(self.tree.union(step))]), max(work)

    @cached_property
    def cache(self) -> dict[Hashable, Any]:
        """What executors derive from the plan once: index strings, ways down to nodes."""
        return {}

    @cached_property
    def kept(self) -> Mask:
        if self.keep:
            return mask_of([i for i, name in enumerate(self.names) if name in self.keep])
        return 0

    def __str__(self) -> str:
        clique, entries = self.largest_clique
        more = f", ... {len(clique) - 12} more" if len(clique) > 12 else ""
        shown = ", ".join(map(str, clique[:12])) + more
        lines = [
            f"order by {self.method}: {', '.join(map(str, self.names)) or 'nothing to eliminate'}",
            (
                f"{len(self.scopes)} factors, {len(self.tree.steps)} steps, {len(self.tree.roots)} "
                "parts"
            ),
            f"operations {self.operations:,} per pass, memory {format_bytes(self.bytes)}",
            f"largest clique ({shown}): {entries:,} entries",
        ]
        return "\n".join(lines)


def plan_contraction(
    sizes: Mapping[Name, int],
    scopes: Iterable[Scope],
    keep: Sequence[Name] = (),
    last: Collection[Name] = (),
    along: Name | None = None,
) -> Plan:
    """The cheapest plan found that sums all but `keep`, and the others before it turns to `last`.
    `along` is a kept axis of repetition (cases) that multiplies every cost alike.
    """
    scopes = tuple(scopes)
    names = list(dict.fromkeys([name for scope in scopes for name in scope]))
    position = {name: i for i, name in enumerate(names)}
    lengths = [sizes[name] for name in names]
    indexed = [[position[name] for name in scope] for scope in scopes]
    kept = mask_of([position[name] for name in keep])
    late = mask_of([position[name] for name in last])
    ordering = (
        indexed if along is None else [[v for v in scope if names[v] != along] for scope in indexed]
    )
    found = best_order(ordering, lengths, kept, late)
    method, order = found.method, found.order
    tree = build_tree(indexed, lengths, kept, late, order)
    if tree.operations > GREEDY_ABOVE and not late and along is None:
        path = greedy_path(indexed, lengths, kept)
        greedy_order = order_of_path(indexed, lengths, kept, path)
        greedy = build_tree(indexed, lengths, kept, late, greedy_order, path)
        if greedy.operations < tree.operations:
            method, order, tree = "greedy pairs", greedy_order, greedy
    ordered = [names[v] for v in order]
    ordered_sizes = tuple([lengths[v] for v in order])
    return Plan(tuple(ordered), ordered_sizes, scopes, tuple(keep), method, tree)


def build_tree(
    indexed: Scopes,
    lengths: Sequence[int],
    kept: Mask,
    late: Mask,
    order: Sequence[int],
    path: PairPath | None = None,
) -> ContractionTree:
    """The tree of an order (or of a path), with variables numbered by the order."""
    rank = [0] * len(order)
    for i, v in enumerate(order):
        rank[v] = i
    sizes = [lengths[v] for v in order]
    masks = [mask_of([rank[v] for v in scope]) for scope in indexed]
    keep = mask_of([rank[v] for v in bits(kept)])
    if path is not None:
        return tree_by_path(masks, sizes, keep, path)
    ranked_late = mask_of([rank[v] for v in bits(late)])
    everything = (1 << len(sizes)) - 1
    stages = (everything & ~ranked_late, ranked_late) if late else ()
    return tree_by_order(masks, sizes, keep, stages)


def order_of_path(indexed: Scopes, lengths: Sequence[int], kept: Mask, path: PairPath) -> list[int]:
    """The order in which a path sums variables away; kept ones last."""
    tree = tree_by_path([mask_of(scope) for scope in indexed], lengths, kept, path)
    order: list[int] = []
    for step in tree.steps:
        order += bits(tree.union(step) & ~step.scope)
    return [*order, *bits(kept)]


def verify_memory(plan: Plan, limit: Memory, instead: str = "", k: int = 1) -> None:
    """Raises before anything is allocated if the plan needs over `limit` bytes (half of free)."""
    needed = plan.bytes_for(k)
    if needed < SMALL and limit is None:
        return
    allowed = default_memory_limit() if limit is None else limit
    if needed > allowed:
        clique, entries = plan.largest_clique
        shown = ", ".join(map(str, clique[:20])) + (", ..." if len(clique) > 20 else "")
        what = "exact inference needs" if k == 1 else f"the {k:,} best need"
        raise MemoryLimitError(
            f"{what} {format_bytes(needed)}, the limit is {format_bytes(allowed)}: "
            f"its largest clique has {entries:,} entries over {len(clique)} variables ({shown}). "
            + (
                instead
                or (
                    "Give more evidence, raise the memory limit, or use an approximate method (bp, "
                    "gibbs)."
                )
            )
        )


def verify_plan(plan: Plan, scopes: Sequence[Scope], keep: Sequence[Name]) -> None:
    """The plan was made for exactly these scopes and this question."""
    if plan.scopes != tuple(scopes) or plan.keep != tuple(keep):
        raise PlanMismatchError(
            "the plan was made for other factors, other observed variables or another question; "
            "plan again"
        )

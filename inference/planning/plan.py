"""The plan of a question: which products in which order, from names, sizes and scopes."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import MemoryLimitError, PlanMismatchError
from ..factors.factor_graph import Name
from .contraction import ALONE, ContractionTree, tree_by_order, tree_by_path
from .orders import Mask, PairPath, best_order, bits, greedy_path, mask_of

FRACTION = 0.5
UNKNOWN = 4 << 30


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


FLOAT = 8
SMALL = 1 << 24  # not worth asking the system how much is free
GREEDY_ABOVE = 1e8  # below, importing opt_einsum takes longer than the passes
Scope = tuple[Name, ...]


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
        """The same with k numbers in each entry, whose products are all k by k pairs."""
        return FLOAT * (2 * k * sum(self.tree.entries) + k * k * max(self.tree.work, default=0))

    @cached_property
    def largest_clique(self) -> tuple[tuple[Name, ...], int]:
        """Variables and entries of the largest product."""
        work = self.tree.work
        if not work:
            return (), 1
        step = self.tree.steps[work.index(max(work))]
        union = self.tree.scopes[step.left] | (
            self.tree.scopes[step.right] if step.right != ALONE else 0
        )
        return self.names_in(union), max(work)

    @cached_property
    def cache(self) -> dict[Hashable, Any]:
        """What executors derive from the plan once: index strings, ways down to nodes."""
        return {}

    @cached_property
    def kept(self) -> Mask:
        if self.keep:
            return mask_of([i for i, name in enumerate(self.names) if name in self.keep])
        return 0

    def names_in(self, scope: Mask) -> tuple[Name, ...]:
        return tuple([self.names[v] for v in bits(scope)])

    def __str__(self) -> str:
        clique, entries = self.largest_clique
        shown = ", ".join(map(str, clique[:12])) + (
            f", ... {len(clique) - 12} more" if len(clique) > 12 else ""
        )
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
    return Plan(
        tuple(ordered), tuple([lengths[v] for v in order]), scopes, tuple(keep), method, tree
    )


def build_tree(
    indexed: Sequence[Sequence[int]],
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
    return tree_by_order(
        masks, sizes, keep, (everything & ~ranked_late, ranked_late) if late else ()
    )


def order_of_path(
    indexed: Sequence[Sequence[int]], lengths: Sequence[int], kept: Mask, path: PairPath
) -> list[int]:
    """The order in which a path sums variables away; kept ones last."""
    tree = tree_by_path([mask_of(scope) for scope in indexed], lengths, kept, path)
    order: list[int] = []
    for step in tree.steps:
        union = tree.scopes[step.left] | (tree.scopes[step.right] if step.right != ALONE else 0)
        order += bits(union & ~step.scope)
    return [*order, *bits(kept)]


def verify_memory(plan: Plan, limit: int | None, instead: str = "", k: int = 1) -> None:
    """Raises before anything is allocated if the plan needs over `limit` bytes (half of free)."""
    needed = plan.bytes_for(k)
    if needed < SMALL and limit is None:
        return
    allowed = default_memory_limit() if limit is None else limit
    if needed > allowed:
        clique, entries = plan.largest_clique
        shown = ", ".join(map(str, clique[:20])) + (", ..." if len(clique) > 20 else "")
        raise MemoryLimitError(
            f"exact inference needs {format_bytes(needed)}, the limit is {format_bytes(allowed)}: "
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

"""What reads what, with which lag, and what must be known before what.

z[t] may depend on z[t-1]: names that depend on each other are a recurrence along an axis when every
turn of the cycle steps back along it. Any other cycle is a mistake.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from ..record import Record
from ..source import Span
from . import core as c

if TYPE_CHECKING:
    from .graph import Node

# ---- what an expression reads


def reads(core: c.Core | c.Law) -> Iterator[tuple[c.Ref, c.Core]]:
    """Every mention of another node, with its indices where it has some."""
    if isinstance(core, c.Ref):
        yield core, core
    elif isinstance(core, c.At) and isinstance(core.base, c.Ref):
        yield core.base, core
        for index in core.indices:
            yield from reads(index)
    else:
        for part in c.parts(core):
            yield from reads(part)


def nodes_read(*cores: c.Core | c.Law | None) -> tuple[str, ...]:
    """The nodes that expressions mention, each once, in the order of the text."""
    parts = (part for core in cores if core is not None for part in c.walk(core))
    return tuple(dict.fromkeys(part.name for part in parts if isinstance(part, c.Ref)))


def reads_any(core: c.Core | c.Law, names: Collection[str]) -> bool:
    return any(isinstance(part, c.Ref) and part.name in names for part in c.walk(core))


def nodes_read_by(node: Node) -> tuple[str, ...]:
    """What a node's pieces mention: in their bodies, conditions and indices."""
    roots: list[c.Core | c.Law | None] = []
    for piece in node.pieces:
        indices = [index for index in piece.indices if isinstance(index, c.Core)]
        roots += [piece.body, piece.where, *indices]
    return nodes_read(*roots)


# ---- lags


def offset_of(index: c.Core) -> tuple[str | None, int] | None:
    """`t - 1` is ("t", -1), a constant is (None, value), anything else None."""
    if isinstance(index, c.Var):
        return index.name, 0
    if isinstance(index, c.Const):
        return None, int(index.value)
    if isinstance(index, c.Apply) and index.function in ("add", "subtract"):
        (_, left), (_, right) = index.arguments
        base = offset_of(left)
        if base and isinstance(right, c.Const):
            return base[0], base[1] + int(right.value) * (1 if index.function == "add" else -1)
    return None


def lagged_edges(node: Node) -> Iterator[Edge]:
    """What a node's pieces mention, with the steps back along each axis, None where unknown."""
    for piece in node.pieces:
        for core in c.walk(piece.body):
            if isinstance(core, c.At) and isinstance(core.base, c.Ref):
                pairs = zip(piece.indices, core.indices, strict=False)
                lags = tuple(lag_along(index, used) for index, used in pairs)
                yield Edge(node.name, core.base.name, core.span, lags)


def lag_along(index: c.Bind | c.Core, used: c.Core) -> int | None:
    """How many steps before `index` the index `used` points."""
    offset = offset_of(used)
    if offset is None:
        return None
    name, value = offset
    if isinstance(index, c.Bind):
        if name == index.name:
            return -value
        is_earlier = name is None and not index.low.from_end and index.low.offset > value >= 0
        return index.low.offset - value if is_earlier else None
    return int(index.value) - value if isinstance(index, c.Const) and name is None else None


# ---- order, and recurrences


class Edge(Record):
    """`user` mentions `used`, `lags` steps back along each axis, None where that is unknown."""

    user: str
    used: str
    span: Span
    lags: tuple[int | None, ...] = ()


class Recurrence(Record):
    """`members` are computed step by step along axis number `axis`, each from at most `order` steps
    before.

    `inner` are the recurrences left within one step, along another axis.
    """

    members: tuple[str, ...]
    axis: int
    order: int
    reverse: bool
    inner: tuple[Recurrence, ...] = ()


def components(names: Iterable[str], edges: list[Edge]) -> list[tuple[str, ...]]:
    """Tarjan's strongly connected components, used before user, without recursion."""
    position = {name: i for i, name in enumerate(names)}
    uses: dict[str, list[str]] = {name: [] for name in position}
    for edge in edges:
        if edge.user in position and edge.used in position:
            uses[edge.user].append(edge.used)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    open_names: set[str] = set()
    found: list[tuple[str, ...]] = []
    work: list[tuple[str, Iterator[str]]] = []

    def enter(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        open_names.add(name)
        work.append((name, iter(uses[name])))

    def leave(name: str) -> None:
        if low[name] == index[name]:
            cut = len(stack) - 1 - stack[::-1].index(name)
            found.append(tuple(sorted(stack[cut:], key=position.__getitem__)))
            open_names.difference_update(stack[cut:])
            del stack[cut:]

    for root in position:
        if root not in index:
            enter(root)
        while work:
            name, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                leave(name)
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
            elif following not in index:
                enter(following)
            elif following in open_names:
                low[name] = min(low[name], index[following])
    return found


def find_recurrences(
    names: Iterable[str], edges: list[Edge]
) -> tuple[list[Recurrence], list[list[Edge]]]:
    """The recurrences among these names, and for every true cycle the edges that close it."""
    recurrences: list[Recurrence] = []
    cycles: list[list[Edge]] = []
    by_user: dict[str, list[Edge]] = {}
    for edge in edges:
        by_user.setdefault(edge.user, []).append(edge)
    for group in components(names, edges):
        inside = [e for name in group for e in by_user.get(name, ()) if e.used in group]
        if not inside:
            continue
        found = _recurrence(group, inside, frozenset())
        if found:
            recurrences.append(found)
        else:
            cycles.append(_shortest_cycle(inside))
    return recurrences, cycles


def _recurrence(
    group: tuple[str, ...], edges: list[Edge], tried: frozenset[int]
) -> Recurrence | None:
    rank = min(len(edge.lags) for edge in edges)
    for axis in range(rank):
        for sign in (1, -1):
            found = axis not in tried and _along(group, edges, axis, sign, tried)
            if found:
                return found
    return None


def _along(
    group: tuple[str, ...], edges: list[Edge], axis: int, sign: int, tried: frozenset[int]
) -> Recurrence | None:
    """Well founded along `axis` when no edge steps forward and each step is well founded."""
    steps = [None if (lag := edge.lags[axis]) is None else sign * lag for edge in edges]
    if any(step is None or step < 0 for step in steps) or not any(steps):
        return None
    within = [edge for edge, step in zip(edges, steps, strict=True) if step == 0]
    inner = []
    for part in components(group, within):
        left = [e for e in within if e.user in part and e.used in part]
        if left:
            found = _recurrence(part, left, tried | {axis})
            if not found:
                return None
            inner.append(found)
    return Recurrence(group, axis, max(step or 0 for step in steps), sign < 0, tuple(inner))


def _shortest_cycle(edges: list[Edge]) -> list[Edge]:
    """Breadth first from each name back to itself: the shortest cycle is clearest."""
    best: list[Edge] = []
    for start in dict.fromkeys(edge.user for edge in edges):
        paths: list[list[Edge]] = [[edge] for edge in edges if edge.user == start]
        seen = {start}
        while paths:
            path = paths.pop(0)
            last = path[-1].used
            if last == start:
                best = path if not best or len(path) < len(best) else best
                break
            if last not in seen:
                seen.add(last)
                paths += [[*path, edge] for edge in edges if edge.user == last]
    return best

"""The graph: what a program means. Few node kinds; plates and recurrences stay symbolic."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from functools import cached_property
from typing import ClassVar

from ..diagnostics import InternalError
from ..record import Record
from ..source import Source, Span
from . import core as c
from .dependence import Recurrence
from .typed import Function, Piece, Setting
from .types import Dim, IndexOf, Type


class Kind(Enum):
    """A draw without pieces is an undirected variable: only factors speak about it."""

    INPUT = "input"
    PARAMETER = "parameter"
    FUNCTION = "function"
    DRAW = "draw"
    FACTOR = "factor"
    COST = "cost"


class Node(Record):
    """One variable, factor or cost, for all its indices at once.

    `parents` are the nodes its pieces mention. `random`: its value depends on a draw. `observed`:
    its value is given although it has a density. `kept`: it is part of every output.
    """

    not_compared: ClassVar[frozenset[str]] = frozenset({"span", "source"})

    name: str
    kind: Kind
    type: Type
    span: Span
    source: Source
    pieces: tuple[Piece, ...] = ()
    parents: tuple[str, ...] = ()
    random: bool = False
    observed: bool = False
    kept: bool = False
    minimize: bool = True
    default: c.Core | None = None

    @property
    def undirected(self) -> bool:
        return self.kind is Kind.DRAW and not self.pieces

    @property
    def laws(self) -> tuple[c.Law, ...]:
        return tuple(piece.body for piece in self.pieces if isinstance(piece.body, c.Law))

    @property
    def settings(self) -> tuple[Setting, ...]:
        return tuple(dict.fromkeys(s for piece in self.pieces for s in piece.settings))

    @property
    def plates(self) -> tuple[Dim, ...]:
        """The dims that its pieces bind: it is repeated over them."""
        if not self.pieces:
            return tuple(axis for axis in self.type.shape if isinstance(axis, Dim))
        found: dict[int, Dim] = {}
        for piece in self.pieces:
            for k, index in enumerate(piece.indices):
                owner = index if isinstance(index, c.Bind) else index.type.domain
                axis = getattr(owner, "dim", None)
                if isinstance(axis, Dim):
                    found.setdefault(k, axis)
        return tuple(found[k] for k in sorted(found))


class Graph(Record):
    """Parents come first, but for recurrences. The guide shares the inputs."""

    not_compared: ClassVar[frozenset[str]] = frozenset({"source"})

    name: str
    source: Source
    dims: tuple[Dim, ...]
    functions: tuple[Function, ...]
    nodes: tuple[Node, ...]
    recurrences: tuple[Recurrence, ...] = ()
    least_sizes: dict[str, int] = {}  # noqa: RUF012  (records are frozen, and this one is never changed)
    guide: Graph | None = None

    def __getitem__(self, name: str) -> Node:
        return self.by_name[name]

    @cached_property
    def by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    def of_kind(self, *kinds: Kind) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.kind in kinds)

    @property
    def parameters(self) -> tuple[Node, ...]:
        """Those of the model and of its guide."""
        own = self.guide.of_kind(Kind.PARAMETER) if self.guide else ()
        return tuple({node.name: node for node in (*self.of_kind(Kind.PARAMETER), *own)}.values())

    def ancestors(self, names: Iterable[str], stop: Collection[str] = ()) -> set[str]:
        """These nodes and all that they depend on, not looking beyond what is in `stop`."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += [] if name in stop else self[name].parents
        return found

    def map_nodes(self, change: object) -> Graph:
        return self.replace(nodes=tuple(change(node) for node in self.nodes))  # type: ignore[operator]


# ---- invariants


def verify_graph(graph: Graph) -> None:
    """Raises InternalError unless every invariant of the graph holds."""
    _verify_order(graph)
    for node in graph.nodes:
        _verify_pieces(node)
        _verify_random(node, graph)
        _verify_references(node, graph)
    if graph.guide:
        verify_graph(graph.guide)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise InternalError(what)


def _verify_order(graph: Graph) -> None:
    """Names are unique, and a parent comes before its child or shares a recurrence with it."""
    together = {name: group for group in graph.recurrences for name in group.members}
    seen: set[str] = set()
    for node in graph.nodes:
        _require(node.name not in seen, f"two nodes are called {node.name}")
        seen.add(node.name)
        for parent in node.parents:
            same_group = parent in together and together.get(node.name) is together[parent]
            _require(parent in seen or same_group, f"{node.name} comes before its parent {parent}")
    for group in graph.recurrences:
        is_one = set(group.members) <= seen and group.order >= 1
        _require(is_one, f"the recurrence of {group.members} is not one")


def _verify_pieces(node: Node) -> None:
    """Given nodes have no pieces, draws distributions, others expressions; ranks add up."""
    given = node.kind in (Kind.INPUT, Kind.PARAMETER)
    _require(not (given and node.pieces), f"{node.name} is given and cannot have a definition")
    _require(given or node.kind is Kind.DRAW or bool(node.pieces), f"{node.name} has no definition")
    _require(node.type.known, f"{node.name} has no type")
    for piece in node.pieces:
        fits = isinstance(piece.body, c.Law) == (node.kind is Kind.DRAW)
        _require(fits, f"{node.name} is a {node.kind.value} with the wrong body")
        # A relaxed label is a point of the simplex: an axis more than its distribution has.
        is_label = isinstance(piece.body.type.domain, IndexOf)
        is_relaxed = is_label and node.type.constraint == "simplex"
        rank = len(piece.indices) + len(piece.body.type.shape) + is_relaxed
        scalar = node.kind in (Kind.FACTOR, Kind.COST)
        wanted = len(node.type.shape)
        _require(rank == wanted or scalar, f"{node.name} has rank {rank}, not {wanted}")
        _require(not scalar or not piece.body.type.shape, f"{node.name} is not a number")


def _verify_random(node: Node, graph: Graph) -> None:
    """Draws are random, and so is whatever has a random parent, unless it is given."""
    if node.kind is Kind.DRAW:
        _require(node.random, f"{node.name} is drawn but not random")
    elif node.pieces:
        expected = any(graph[parent].random for parent in node.parents)
        _require(node.random == expected, f"{node.name} is wrongly marked random={node.random}")


def _verify_references(node: Node, graph: Graph) -> None:
    """A body mentions parents, declared functions and dims, and every part has a type."""
    functions = {function.name for function in graph.functions}
    dims = {dim.name for dim in graph.dims}
    for core in (core for piece in node.pieces for core in c.walk(piece.body)):
        if isinstance(core, c.Ref):
            known = core.name in node.parents
            _require(known, f"{node.name} mentions {core.name}, which is not its parent")
        elif isinstance(core, c.CallFn):
            known = core.function in functions
            _require(known, f"{node.name} calls {core.function}, which does not exist")
        elif isinstance(core, c.Reduce | c.Build):
            known = all(b.dim.name in dims for b in core.binders)
            _require(known, f"{node.name} binds an unknown dim")
        typed = isinstance(core, c.DimRef) or core.type.known
        _require(typed, f"a part of {node.name} has no type")

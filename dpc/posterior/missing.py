"""Missing entries of observed draws as passes over the graph: each leaves a model whose data are
complete.

A draw that nothing depends on counts only where it was seen: the rest integrates to one. A finite
one that others depend on is hidden, and a factor holds it to what was seen. A continuous one is
computed: what was seen, and flat unknowns `x.missing` for the rest, with the density of the draw as
a factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpc.dsl.graph import core as c
from dpc.dsl.graph.build import run_passes
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import BOOL, FIRST, LAST, REAL, Dim, IndexOf, Type
from dpc.dsl.record import Record

from ..data.errors import counted, problem
from ..finite.expand import index_type
from ..finite.terms import finite_draws
from ..learn.missing import present_name

Array = np.ndarray[Any, Any]


class Opened(Record):
    """The graph, what its data have besides, or instead, of the arrays they had, and what was done,
    in words.
    """

    graph: Graph
    arrays: dict[str, Array]
    sizes: dict[str, int]
    labels: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]


def open_missing(graph: Graph, arrays: Mapping[str, Array], missing: Mapping[str, Array]) -> Opened:
    """`missing` marks the entries of observed draws that the data lack."""
    finite = {node.name for node in finite_draws(graph)}
    found = Opened(graph, dict(arrays), {}, {}, ())
    for name, mask in missing.items():
        node = graph[name]
        if mask.all():
            found = _never_seen(found, node)
        elif _is_leaf(graph, node) and not _is_torn(node, mask):
            found = _left_out(found, node, mask)
        else:
            found = _held(found, node, mask) if name in finite else _imputed(found, node, mask)
    return found.replace(graph=run_passes(found.graph))


def _is_leaf(graph: Graph, node: Node) -> bool:
    return not any(node.name in other.parents for other in graph.nodes)


def _is_torn(node: Node, mask: Array) -> bool:
    """Whether values that are drawn together are there in part."""
    rows = mask.reshape(*mask.shape[: len(node.pieces[0].indices)], -1)
    return bool(np.any(rows.any(axis=-1) != rows.all(axis=-1)))


def _told(node: Node, mask: Array, how: str) -> str:
    count = int(mask.sum())
    return (
        f"{count} missing {'entry' if count == 1 else 'entries'} of `{node.name}` "
        f"{'is' if count == 1 else 'are'} {how}"
    )


def _changed(
    found: Opened, node: Node, nodes: list[Node], arrays: dict[str, Array], note: str
) -> Opened:
    """`nodes` stand where `node` stood; a node that is no draw any more is in no recurrence."""
    all_nodes = [
        new for old in found.graph.nodes for new in (nodes if old.name == node.name else [old])
    ]
    drawn = any(new.name == node.name and new.kind is Kind.DRAW for new in nodes)
    kept = [r for r in found.graph.recurrences if drawn or node.name not in r.members]
    graph = found.graph.replace(nodes=tuple(all_nodes), recurrences=tuple(kept))
    own = {name: array for name, array in found.arrays.items() if name != node.name}
    return found.replace(graph=graph, arrays={**own, **arrays}, notes=(*found.notes, note))


def _input(node: Node, name: str, type_: Type) -> Node:
    return Node(name, Kind.INPUT, type_, node.span, node.source)


# ---- draws that were never seen


def _never_seen(found: Opened, node: Node) -> Opened:
    note = f"`{node.name}` is missing altogether, and unknown as what is not observed"
    return _changed(found, node, [node.replace(observed=False)], {}, note)


# ---- draws that nothing depends on


def _left_out(found: Opened, node: Node, mask: Array) -> Opened:
    rank = len(node.pieces[0].indices)
    flags = _input(node, present_name(node.name), BOOL.replace(shape=node.type.shape[:rank]))
    pieces = tuple(
        piece.replace(where=_both(piece.where, _entry(flags, piece))) for piece in node.pieces
    )
    present = np.asarray(~mask.reshape(*mask.shape[:rank], -1).any(axis=-1))
    arrays = {node.name: found.arrays[node.name], flags.name: present}
    return _changed(
        found,
        node,
        [flags, node.replace(pieces=pieces)],
        arrays,
        _told(node, mask, "integrated over"),
    )


def _both(where: c.Core | None, other: c.Core) -> c.Core:
    return (
        other
        if where is None
        else c.If(other.span, BOOL, where, other, c.Const(other.span, BOOL, False))
    )


def _entry(node: Node, piece: Piece) -> c.Core:
    """What a piece defines of a node of the same shape."""
    whole = c.Ref(piece.span, node.type, node.name)
    places = tuple(_place(index) for index in piece.indices)
    rest = node.type.replace(shape=node.type.shape[len(places) :])
    return c.At(piece.span, rest, whole, places) if places else whole


def _place(index: c.Bind | c.Core) -> c.Core:
    return c.Var(index.span, index_type(index), index.name) if isinstance(index, c.Bind) else index


# ---- finite draws that others depend on


def _held(found: Opened, node: Node, mask: Array) -> Opened:
    """seen[i] : 0 where z[i] is what was given, minus infinity elsewhere; nothing about entries
    that are missing.
    """
    flags = _input(node, present_name(node.name), BOOL.replace(shape=node.type.shape))
    given = _input(node, f"{node.name}.given", node.type)
    every = _every(node)
    same = c.Apply(
        node.span, BOOL, "equal", (("a", _entry(node, every)), ("b", _entry(given, every)))
    )
    score = c.If(
        node.span, REAL, same, c.Const(node.span, REAL, 0.0), c.Const(node.span, REAL, -np.inf)
    )
    piece = every.replace(where=_entry(flags, every), body=score)
    seen = Node(f"{node.name}.seen", Kind.FACTOR, REAL, node.span, node.source, (piece,))
    arrays = {flags.name: ~mask, given.name: found.arrays[node.name]}
    nodes = [flags, given, node.replace(observed=False), seen]
    return _changed(found, node, nodes, arrays, _told(node, mask, "summed over"))


def _every(node: Node) -> Piece:
    """A piece about all entries."""
    axes = [axis for axis in node.type.shape if isinstance(axis, Dim)]
    if len(axes) < len(node.type.shape):
        raise problem(
            node.name, f"`{node.name}` has missing entries along an axis without a name", LEAVE_OUT
        )
    binds = tuple(c.Bind(node.span, f"i{k}", axis, FIRST, LAST) for k, axis in enumerate(axes))
    return Piece(node.span, binds, None, c.Const(node.span, REAL, 0.0))


# ---- continuous draws that others depend on

LEAVE_OUT = "leave these rows out"


def _imputed(found: Opened, node: Node, mask: Array) -> Opened:
    """x[i] = if present[i] then given[i] else missing[place[i]], and the density of x as a
    factor.
    """
    _verify_imputable(found.graph, node, mask)
    gap = Dim(f"{node.name}.gap", None, (), node.span)
    flags = _input(node, present_name(node.name), BOOL.replace(shape=node.type.shape))
    given = _input(node, f"{node.name}.given", node.type)
    places = _input(node, f"{node.name}.place", Type(IndexOf(gap), node.type.shape))
    unknown = Node(
        f"{node.name}.missing",
        Kind.DRAW,
        Type(node.laws[0].type.domain, (gap,)),
        node.span,
        node.source,
        random=True,
    )
    every = _every(node)
    at = c.At(
        node.span,
        unknown.type.replace(shape=()),
        c.Ref(node.span, unknown.type, unknown.name),
        (_entry(places, every),),
    )
    value = c.If(
        node.span, node.type.replace(shape=()), _entry(flags, every), _entry(given, every), at
    )
    whole = node.replace(
        kind=Kind.FUNCTION, pieces=(every.replace(body=value),), observed=False, kept=False
    )
    density = Node(
        f"{node.name}.density", Kind.FACTOR, REAL, node.span, node.source, _densities(node)
    )
    order = np.where(mask, np.cumsum(mask).reshape(mask.shape) - 1, 0)
    arrays = {flags.name: ~mask, given.name: found.arrays[node.name], places.name: order}
    found = _changed(
        found,
        node,
        [flags, given, places, unknown, whole, density],
        arrays,
        _told(node, mask, "drawn, too"),
    )
    labels = tuple(", ".join(map(str, where)) for where in np.argwhere(mask))
    return found.replace(
        graph=found.graph.replace(dims=(*found.graph.dims, gap)),
        sizes={**found.sizes, gap.name: int(mask.sum())},
        labels={**found.labels, gap.name: labels},
    )


def _densities(node: Node) -> tuple[Piece, ...]:
    return tuple(
        piece.replace(
            indices=tuple(index for index in piece.indices if isinstance(index, c.Bind)),
            body=c.LogDensity(piece.span, REAL, law, _entry(node, piece)),
            settings=(),
        )
        for piece, law in zip(node.pieces, node.laws, strict=True)
    )


def _verify_imputable(graph: Graph, node: Node, mask: Array) -> None:
    """Raises DataError unless an entry may be any number of a set that does not depend on
    parameters.
    """
    children = [other.name for other in graph.nodes if node.name in other.parents]
    why = (
        f"and `{children[0]}` depends on them"
        if children
        else "some in rows that are drawn together"
    )
    message = f"`{node.name}` has {counted(int(mask.sum()), 'missing value')}, {why}"
    if node.type.whole:
        raise problem(
            node.name, f"{message}: whole numbers without bounds cannot be summed over", LEAVE_OUT
        )
    moving = any(law.facts.edges for law in node.laws)
    if node.type.constraint or moving or len({law.type.domain for law in node.laws}) > 1:
        raise problem(node.name, f"{message}: which values are possible is not fixed", LEAVE_OUT)

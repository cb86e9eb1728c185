"""Missing entries of observed draws: each rewrite leaves a model whose data are complete.

A draw that nothing depends on counts only where it was seen: the rest integrates to one. A finite
one that others depend on is hidden, and a factor holds it to what was seen. A continuous one is
computed: what was seen, and flat unknowns `x.missing` for the rest, with the density of the draw as
a factor.
"""

from collections.abc import Collection, Mapping
from itertools import chain
from typing import Any

import numpy as np

from ...record import Record
from .. import core as c
from ..finite import finite_draws
from ..forms import both, compare, entry, factor_like, for_every_place, input_like, number
from ..graph import Graph, Kind, Node
from ..typed import Piece
from ..types import BOOL, FIRST, LAST, REAL, Dim, IndexOf, Type
from .parts import as_given
from .standard import Unfit, rewrite, run_passes

Array = np.ndarray[Any, Any]
LEAVE_OUT = "leave these rows out"


def present_name(name: str) -> str:
    """The input that says which entries of a draw are there."""
    return f"{name}.present"


def flags_of(node: Node, rank: int | None = None) -> Node:
    return input_like(node, "present", BOOL.replace(shape=node.type.shape[:rank]))


# ---- for likelihoods: entries that nothing depends on


@rewrite
def leave_out_missing(graph: Graph, names: Collection[str]) -> Graph:
    """The density of the draws `names` counts only where the input `x.present` is true."""
    if not names:
        return graph
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.name not in names:
            nodes.append(node)
            continue
        children = _children(graph, node)
        if children:
            message = f"`{node.name}` has missing entries, and `{children[0]}` depends on them"
            raise Unfit(node.name, message, f"{LEAVE_OUT}, or use `dpc posterior`")
        if any(len(piece.indices) != len(node.type.shape) for piece in node.pieces):
            message = f"`{node.name}` has missing entries in rows that are drawn together"
            raise Unfit(node.name, message, LEAVE_OUT)
        flags = flags_of(node)
        pieces = []
        for piece, density in zip(node.pieces, _densities(node), strict=True):
            assert isinstance(density.body, c.Core)
            zero = number(piece, 0.0)
            chosen = c.If(piece.span, REAL, entry(flags, piece), density.body, zero)
            pieces.append(density.replace(body=chosen))
        nodes += [flags, as_given(node), factor_like(node, "density", tuple(pieces))]
    return run_passes(graph.replace(nodes=tuple(nodes)))


def _children(graph: Graph, node: Node) -> list[str]:
    return [other.name for other in graph.nodes if node.name in other.parents]


# ---- for posteriors


class Opened(Record):
    """The graph, its arrays, sizes and labels, and what was done with missing data, in words."""

    graph: Graph
    arrays: dict[str, Array]
    sizes: dict[str, int]
    labels: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]


@rewrite
def open_missing(graph: Graph, arrays: Mapping[str, Array], missing: Mapping[str, Array]) -> Opened:
    """Entries of observed draws that `missing` marks are left out, summed over or drawn."""
    finite = {node.name for node in finite_draws(graph)}
    found = Opened(graph, dict(arrays), {}, {}, ())
    for name, mask in missing.items():
        node = graph[name]
        if mask.all() or _children(graph, node):
            _verify_density(node)
        if mask.all():
            note = f"`{node.name}` is missing altogether, and unknown as what is not observed"
            found = _changed(found, node, [node.replace(observed=False)], {}, note)
            continue
        rows = mask.reshape(*mask.shape[: len(node.pieces[0].indices)], -1)
        # Whether values that are drawn together are there in part.
        is_torn = bool(np.any(rows.any(axis=-1) != rows.all(axis=-1)))
        if not is_torn and not _children(graph, node):
            found = _left_out(found, node, mask)
        else:
            found = _held(found, node, mask) if name in finite else _imputed(found, node, mask)
    return found.replace(graph=run_passes(found.graph))


def _verify_density(node: Node) -> None:
    """Raises for values with a probability among those with a density: they are not inferred."""
    if any(law.facts.masses for law in node.laws):
        message = f"`{node.name}` has missing entries, and some of its values have a probability"
        raise Unfit(node.name, message, f"{LEAVE_OUT}, or draw what is not cut and clip it")


def _told(node: Node, mask: Array, how: str) -> str:
    count = int(mask.sum())
    entries, verb = ("entry", "is") if count == 1 else ("entries", "are")
    return f"{count} missing {entries} of `{node.name}` {verb} {how}"


def _changed(
    found: Opened, node: Node, nodes: list[Node], arrays: dict[str, Array], note: str
) -> Opened:
    """`nodes` stand where `node` stood; a node that is no draw any more is in no recurrence."""
    replaced = [nodes if old.name == node.name else [old] for old in found.graph.nodes]
    drawn = any(new.name == node.name and new.kind is Kind.DRAW for new in nodes)
    kept = [r for r in found.graph.recurrences if drawn or node.name not in r.members]
    graph = found.graph.replace(nodes=tuple(chain.from_iterable(replaced)), recurrences=tuple(kept))
    own = {name: array for name, array in found.arrays.items() if name != node.name}
    return found.replace(graph=graph, arrays={**own, **arrays}, notes=(*found.notes, note))


# ---- draws that nothing depends on


def _left_out(found: Opened, node: Node, mask: Array) -> Opened:
    rank = len(node.pieces[0].indices)
    flags = flags_of(node, rank)
    pieces = tuple(
        piece.replace(where=both(piece.where, entry(flags, piece))) for piece in node.pieces
    )
    present = np.asarray(~mask.reshape(*mask.shape[:rank], -1).any(axis=-1))
    arrays = {node.name: found.arrays[node.name], flags.name: present}
    nodes = [flags, node.replace(pieces=pieces)]
    return _changed(found, node, nodes, arrays, _told(node, mask, "integrated over"))


# ---- finite draws that others depend on


def _held(found: Opened, node: Node, mask: Array) -> Opened:
    """seen[i] : 0 where z[i] is what was given, -infinity elsewhere, for the entries that are."""
    flags = flags_of(node)
    given = input_like(node, "given", node.type)
    every = _every(node)
    same = compare("equal", entry(node, every), entry(given, every))
    score = c.If(node.span, REAL, same, number(node, 0.0), number(node, -np.inf))
    piece = every.replace(where=entry(flags, every), body=score)
    seen = factor_like(node, "seen", (piece,))
    arrays = {flags.name: ~mask, given.name: found.arrays[node.name]}
    nodes = [flags, given, node.replace(observed=False), seen]
    return _changed(found, node, nodes, arrays, _told(node, mask, "summed over"))


def _every(node: Node) -> Piece:
    """A piece about all entries."""
    axes = [axis for axis in node.type.shape if isinstance(axis, Dim)]
    if len(axes) < len(node.type.shape):
        message = f"`{node.name}` has missing entries along an axis without a name"
        raise Unfit(node.name, message, LEAVE_OUT)
    binds = tuple(c.Bind(node.span, f"i{k}", axis, FIRST, LAST) for k, axis in enumerate(axes))
    return Piece(node.span, binds, None, number(node, 0.0))


# ---- continuous draws that others depend on


def _imputed(found: Opened, node: Node, mask: Array) -> Opened:
    """x[i] = if present[i] then given[i] else missing[place[i]], and its density as a factor."""
    _verify_imputable(found.graph, node, mask)
    gap = Dim(f"{node.name}.gap", None, (), node.span)
    flags = flags_of(node)
    given = input_like(node, "given", node.type)
    places = input_like(node, "place", Type(IndexOf(gap), node.type.shape))
    type_ = Type(node.laws[0].type.domain, (gap,))
    unknown = Node(f"{node.name}.missing", Kind.DRAW, type_, node.span, node.source, random=True)
    every = _every(node)
    whole = c.Ref(node.span, unknown.type, unknown.name)
    at = c.At(node.span, unknown.type.replace(shape=()), whole, (entry(places, every),))
    number_type = node.type.replace(shape=())
    value = c.If(node.span, number_type, entry(flags, every), entry(given, every), at)
    plain = node.replace(kind=Kind.FUNCTION, observed=False, kept=False)
    computed = plain.replace(pieces=(every.replace(body=value),))
    density = factor_like(node, "density", _densities(node))
    order = np.where(mask, np.cumsum(mask).reshape(mask.shape) - 1, 0)
    arrays = {flags.name: ~mask, given.name: found.arrays[node.name], places.name: order}
    nodes = [flags, given, places, unknown, computed, density]
    found = _changed(found, node, nodes, arrays, _told(node, mask, "drawn, too"))
    labels = tuple(", ".join(map(str, where)) for where in np.argwhere(mask))
    return found.replace(
        graph=found.graph.replace(dims=(*found.graph.dims, gap)),
        sizes={**found.sizes, gap.name: int(mask.sum())},
        labels={**found.labels, gap.name: labels},
    )


def _densities(node: Node) -> tuple[Piece, ...]:
    """The log density of every entry, as pieces of a factor."""
    pairs = zip(node.pieces, node.laws, strict=True)
    return tuple(
        for_every_place(piece, c.LogDensity(piece.span, REAL, law, entry(node, piece)))
        for piece, law in pairs
    )


def _verify_imputable(graph: Graph, node: Node, mask: Array) -> None:
    """Raises unless an entry may be any number of a set that does not depend on parameters."""
    children = _children(graph, node)
    why = "some in rows that are drawn together"
    why = f"and `{children[0]}` depends on them" if children else why
    count = int(mask.sum())
    message = f"`{node.name}` has {count} missing value{'s' if count > 1 else ''}, {why}"
    moving = any(law.facts.edges for law in node.laws)
    if node.type.whole:
        problem = "whole numbers without bounds cannot be summed over"
    elif node.type.constraint or moving or len({law.type.domain for law in node.laws}) > 1:
        problem = "which values are possible is not fixed"
    else:
        return
    raise Unfit(node.name, f"{message}: {problem}", LEAVE_OUT)

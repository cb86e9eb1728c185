"""The argmax of scores with Gumbel noise is a categorical draw: nothing is left that jumps.

argmax[k] (a[k] + s g[k])  with g[k] ~ Gumbel(m[k], b)  is  Categorical(logits=(a[k] + s m[k]) / (s
b)), where s > 0 and b are the same for all k, and the noise is read nowhere else. So is the argmin
of the negative. In a plate the noise has the indices of the plate before k. A condition on k and on
what is not drawn is a mask: the logits are -infinity where it does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

from .. import core as c
from ..dependence import nodes_read, reads
from ..forms import arithmetic, element, index_of, is_whole, number, pair, whole_axis
from ..graph import Graph, Kind, Node
from ..substitute import bound_in, substitute
from ..types import REAL, Dim, IndexOf, Real, Type
from .solve import Unsolved, affine, bounds_of, definition_of, is_smoothed, negated
from .split import Cost
from .standard import rewrite, run_passes

LOGITS = "Categorical(logits: real[N]) -> index[N]"
POSITIVE = frozenset({"add", "multiply", "divide", "exp"})
"""Not zero where what they are made of is not."""


class GumbelMax(NamedTuple):
    """`chosen` are the selections that are draws now, as they are written, by their noise."""

    graph: Graph
    costs: tuple[c.Core, ...]
    chosen: dict[str, tuple[str, ...]]


@rewrite
def gumbel_max(graph: Graph, costs: Sequence[Cost], names: Iterable[str]) -> GumbelMax:
    """The argmax over these draws of Gumbel noise is a draw of its own; the joint stays."""
    found = GumbelMax(graph, tuple(core for core, _ in costs), {})
    for name in names:
        if _is_noise(graph[name], graph):
            settings = [settings for _, settings in costs]
            found = _without_noise(found, list(zip(found.costs, settings, strict=True)), name)
    return found


def _without_noise(found: GumbelMax, costs: Sequence[Cost], name: str) -> GumbelMax:
    """With a draw in the place of every argmax over this noise, if it is read nowhere else."""
    chooser = _GumbelChoice(found.graph, found.graph[name])
    nodes = [chooser.node(node) for node in found.graph.nodes]
    changed = tuple(core if is_smoothed(own) else chooser.visit(core) for core, own in costs)
    if len(chooser.logits) != 1:
        return found
    whole = run_passes(found.graph.replace(nodes=(*nodes, chooser.choice())))
    needed = whole.ancestors(nodes_read(*changed))
    if name in needed:
        return found
    left = tuple(n for n in whole.nodes if n.name in needed or not _reads_noise(n, name, whole))
    graph = run_passes(whole.replace(nodes=left))
    return GumbelMax(graph, changed, {**found.chosen, name: (chooser.written,)})


def _reads_noise(node: Node, name: str, graph: Graph) -> bool:
    return name in graph.ancestors([node.name])


def _is_noise(node: Node, graph: Graph) -> bool:
    """One statement for all elements of a plate, outside of recurrences."""
    if node.kind is not Kind.DRAW or node.observed or len(node.pieces) != 1:
        return False
    (piece,) = node.pieces
    whole = len(piece.indices) == len(node.type.shape) > 0
    plain = piece.where is None and not piece.settings and not node.settings
    binds = all(isinstance(index, c.Bind) for index in piece.indices)
    recurs = any(node.name in group.members for group in graph.recurrences)
    is_gumbel = isinstance(piece.body, c.Law) and piece.body.name == "Gumbel"
    return whole and plain and binds and is_gumbel and not recurs


class _GumbelChoice:
    """Finds every argmax over one noise; `logits` are theirs, with the noise's own binders."""

    def __init__(self, graph: Graph, noise: Node):
        self.graph = graph
        self.noise = noise
        self.piece = noise.pieces[0]
        self.binders = [index for index in self.piece.indices if isinstance(index, c.Bind)]
        draws = [node.name for node in graph.of_kind(Kind.DRAW)]
        self.carriers = {
            node.name
            for node in graph.of_kind(Kind.FUNCTION)
            if noise.name in graph.ancestors([node.name], stop=draws)
        }
        self.choice_type = Type(IndexOf(self.binders[-1].dim), noise.type.shape[:-1])
        self.logits: list[c.Core] = []
        self.written = ""

    def node(self, node: Node) -> Node:
        pieces = [
            piece if is_smoothed(piece.settings) else piece.replace(body=self.visit(piece.body))
            for piece in node.pieces
        ]
        return node.replace(pieces=tuple(pieces))

    def visit(self, core: c.Core | c.Law) -> c.Core:
        if isinstance(core, c.Core):
            try:
                return self.chosen(core)
            except Unsolved:
                pass
        return c.map_parts(core, self.visit)  # type: ignore[return-value]

    def chosen(self, core: c.Core) -> c.Core:
        """The draw that this selection is."""
        operator, bind, where, body = _selection(core)
        body = self.expanded(body)
        target = _one_element(body, self.noise.name)
        *outer, last = target.indices
        if not isinstance(last, c.Var) or last.name != bind.name:
            raise Unsolved
        slope, offset = affine(body, target)
        if slope is None:
            raise Unsolved
        if operator == "argmin":
            slope, offset = _minus(slope), negated(offset)
        scores = self.logits_of(slope, offset, target)
        if where is not None:
            scores = self.masked(scores, where)
        logits = self.own_terms(scores, target.indices)
        self.verify_known_before(logits)
        if logits not in self.logits:
            self.logits.append(logits)
            self.written = self.graph.source.text[core.span.start : core.span.end]
        whole = c.Ref(core.span, self.choice_type, f"{self.noise.name}.choice")
        one = c.At(core.span, core.type, whole, tuple(outer)) if outer else whole
        return one.replace(type=core.type)

    def expanded(self, core: c.Core) -> c.Core:
        """With the definitions of values that have the noise in them."""
        base, indices = (core.base, core.indices) if isinstance(core, c.At) else (core, ())
        if isinstance(base, c.Ref) and base.name in self.carriers:
            node = self.graph[base.name]
            given = len(node.pieces[0].indices) if node.pieces else 0
            inner = _definition_or_vector(node, indices[:given])
            for index in indices[given:]:
                inner = element(inner, index)
            return self.expanded(inner)
        if isinstance(core, c.At) and not isinstance(base, c.Ref) and len(indices) == 1:
            inner = element(base, indices[0])
            if inner != core:
                return self.expanded(inner)
        return c.map_parts(core, self.expanded)

    def logits_of(self, slope: c.Core, offset: c.Core, target: c.At) -> c.Core:
        """(offset + slope location) / (slope scale), at the indices of the selection."""
        law = self.piece.body
        assert isinstance(law, c.Law)
        names = [bind.name for bind in self.binders]
        own = dict(zip(names, target.indices, strict=True))
        location, scale = (substitute(law.given([n])[0], own) for n in ("location", "scale"))
        last = target.indices[-1]
        assert isinstance(last, c.Var)
        for same in (slope, scale):
            if any(isinstance(part, c.Var) and part.name == last.name for part in c.walk(same)):
                raise Unsolved
        if not _is_positive(slope, self.graph):
            raise Unsolved
        score = arithmetic("add", offset, arithmetic("multiply", slope, location))
        return c.Apply(
            score.span, REAL, "divide", pair(score, arithmetic("multiply", slope, scale))
        )

    def masked(self, scores: c.Core, where: c.Core) -> c.Core:
        """-infinity where it is not chosen from; what is drawn must not decide that."""
        above = self.graph.ancestors(nodes_read(where))
        if any(self.graph[name].random for name in above):
            raise Unsolved
        return c.If(where.span, REAL, where, scores, number(where, -inf))

    def own_terms(self, logits: c.Core, indices: tuple[c.Core, ...]) -> c.Core:
        """With the noise's own binders in the place of those of the selection."""
        own: dict[str, c.Core] = {}
        for bind, index in zip(self.binders, indices, strict=True):
            if not isinstance(index, c.Var) or index.name in own:
                raise Unsolved
            own[index.name] = index_of(bind)
        free = {part.name for part in c.walk(logits) if isinstance(part, c.Var)} - bound_in(logits)
        if not free <= own.keys():
            raise Unsolved
        return substitute(logits, {name: own[name] for name in free})

    def verify_known_before(self, logits: c.Core) -> None:
        """Nothing that the noise is part of decides its scores."""
        if self.noise.name in self.graph.ancestors(nodes_read(logits)):
            raise Unsolved

    def choice(self) -> Node:
        """The draw in the place of the noise."""
        *outer, last = self.binders
        (logits,) = self.logits
        span = self.piece.span
        scores = c.Build(span, Type(REAL.domain, (last.dim,)), (last,), logits)
        law = c.Law(span, "Categorical", LOGITS, (("logits", scores),), Type(IndexOf(last.dim)))
        piece = self.piece.replace(indices=tuple(outer), body=law)
        name = f"{self.noise.name}.choice"
        node = self.noise
        return Node(name, Kind.DRAW, self.choice_type, node.span, node.source, (piece,))


def _selection(core: c.Core) -> tuple[str, c.Bind, c.Core | None, c.Core]:
    """argmax or argmin, the index that it runs over, its condition, and what it compares."""
    if isinstance(core, c.Reduce) and core.operator in ("argmax", "argmin"):
        if len(core.binders) != 1 or not is_whole(core.binders[0]):
            raise Unsolved
        return core.operator, core.binders[0], core.where, core.body
    if not isinstance(core, c.Apply) or core.function not in ("argmax", "argmin"):
        raise Unsolved
    (_, array), *_ = core.arguments
    (axis,) = array.type.shape
    if not isinstance(axis, Dim):
        raise Unsolved
    bind = whole_axis(core, "entry", axis)
    return core.function, bind, None, element(array, index_of(bind))


def _definition_or_vector(node: Node, indices: tuple[c.Core, ...]) -> c.Core:
    """What a computed value is at these indices; it may be an array still."""
    if not node.pieces or node.pieces[0].body.type.shape == ():
        return definition_of(node, indices)
    (piece, *more) = node.pieces
    if more or piece.indices or piece.where is not None or is_smoothed(piece.settings):
        raise Unsolved
    assert isinstance(piece.body, c.Core)
    return piece.body


def _one_element(core: c.Core, name: str) -> c.At:
    """The one element of the noise that is read, however often."""
    found = dict.fromkeys(read for ref, read in reads(core) if ref.name == name)
    if len(found) != 1:
        raise Unsolved
    (one,) = found
    if not isinstance(one, c.At) or one.type.shape:
        raise Unsolved
    return one


def _minus(slope: c.Core) -> c.Core:
    """-slope, without the sign that it has already."""
    if isinstance(slope, c.Apply) and slope.function == "subtract":
        (_, zero), (_, rest) = slope.arguments
        if isinstance(zero, c.Const) and not zero.value:
            return rest
    lower, upper = bounds_of(slope)
    return negated(slope).replace(type=Type(Real(-upper, -lower)))


def _is_positive(slope: c.Core, graph: Graph) -> bool:
    """Surely, or a product of numbers that are declared to be so."""
    lower, _ = bounds_of(slope)
    parts = list(c.walk(slope))
    plain = all(isinstance(part, c.Const | c.Ref | c.At | c.Var | c.Apply) for part in parts)
    functions = {part.function for part in parts if isinstance(part, c.Apply)}
    given = all(graph[name].kind is not Kind.FUNCTION for name in nodes_read(slope))
    is_product = plain and given and functions <= POSITIVE and not isinstance(slope, c.Const)
    return lower > 0 or (lower == 0 and is_product)

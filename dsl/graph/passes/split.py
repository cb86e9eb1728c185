"""Draws that are split where something below them jumps: a choice of side, and a draw within it.

if x > c then f else g  with x ~ D  becomes  side ~ P(x < c), P(x > c)  and  x = quantile of D at a
level within the side. What jumped is now a function of the side, which is finite; the draw within
is a smooth function of noise, of D's arguments and of c. Several cuts make several sides. A kink
is split the same way where second derivatives are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...library.functions import INVERTED
from ...source import Span
from .. import core as c
from ..dependence import find_recurrences, lagged_edges, nodes_read, offset_of, reads
from ..forms import arithmetic, compare, entry, index_of, number, pair
from ..graph import Graph, Kind, Node
from ..ranges import OPERATORS
from ..substitute import bound_in, renamed, substitute
from ..typed import Function, Piece, Setting
from ..types import BOOL, REAL, Fixed, IndexOf, Int, Real, Type
from .standard import fold, rewrite, run_passes

MASSES = "interval_masses(levels: real[K]) -> simplex[K+1]"
LEVEL = "interval_level(levels: real[K], side: index[S], noise: unit) -> unit"
ABOVE = "is_above(levels: real[K], side: index[S], cut: count) -> bool"
THRESHOLD = "threshold(difference: real, slope: real) -> real"
TURNED = "is_true_above(is_above: bool, slope: real) -> bool"
CATEGORICAL = "Categorical(p: simplex[N]) -> index[N]"
UNIFORM = "Uniform(lower: real, upper: real) -> real"
UNIT = Type(Real(0.0, 1.0))

FLIPPED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}
EXPANDED = frozenset({"abs", "max", "min"})
IS_ABOVE = frozenset({"greater", "greater_equal"})


class Split(NamedTuple):
    """`cuts` are the comparisons at which each draw was split, as they are written."""

    graph: Graph
    costs: tuple[c.Core, ...]
    cuts: dict[str, tuple[str, ...]]


class Unsolved(Exception):
    """A comparison that does not say where a draw lies."""


Cost = tuple[c.Core, tuple[Setting, ...]]


@rewrite
def split(graph: Graph, costs: Sequence[Cost], names: Iterable[str], kinks: bool) -> Split:
    """These draws are split at the thresholds that they are compared with; the joint stays."""
    splitter = _Splitter(graph, names, kinks)
    splitter.everything(costs)
    splitter.find_cuts_of_cuts()
    unchanged = Split(graph, tuple(core for core, _ in costs), {})
    if not splitter.cuts:
        return unchanged
    splitter.is_final = True
    nodes, changed = splitter.everything(costs)
    whole = [made for node in nodes for made in splitter.split_node(node)]
    edges = [edge for node in whole for edge in lagged_edges(node)]
    recurrences, cycles = find_recurrences([node.name for node in whole], edges)
    if cycles:
        return unchanged
    found = run_passes(graph.replace(nodes=tuple(whole), recurrences=tuple(recurrences)))
    return Split(found, tuple(changed), splitter.written)


def can_be_split(node: Node) -> bool:
    """A draw of real numbers, each with a quantile, all of whose elements are drawn."""
    plain = node.kind is Kind.DRAW and isinstance(node.type.domain, Real) and bool(node.laws)
    if not plain or node.observed or node.type.constraint:
        return False
    ordered = any(setting.name == "ordered" for setting in node.settings)
    known = all(law.facts.can_be_truncated and not law.type.shape for law in node.laws)
    return known and not ordered and all(piece.where is None for piece in node.pieces)


class _Splitter:
    """Twice over the program: first to find all cuts, then to write what stands in their place."""

    def __init__(self, graph: Graph, names: Iterable[str], kinks: bool):
        self.graph = graph
        self.kinks = kinks
        self.random = frozenset(node.name for node in graph.nodes if node.random)
        self.all_draws = [node.name for node in graph.of_kind(Kind.DRAW)]
        wanted = frozenset(names)
        self.draws = [n for n in reversed(graph.nodes) if n.name in wanted and can_be_split(n)]
        self.functions: dict[str, Function] = {f.name: f for f in graph.functions}
        self.cuts: dict[str, list[c.Core]] = {}
        self.written: dict[str, tuple[str, ...]] = {}
        self.source = graph.source
        self.is_final = False
        self.calls = 0

    def everything(self, costs: Sequence[Cost]) -> tuple[list[Node], list[c.Core]]:
        self.calls = 0
        nodes = [self.node(node) for node in self.graph.nodes]
        self.source = self.graph.source
        changed = [
            self.visit(core) if not is_smoothed(settings) else core for core, settings in costs
        ]
        return nodes, changed

    def find_cuts_of_cuts(self) -> None:
        """A cut may compare an earlier draw with something itself."""
        seen: list[c.Core] = []
        while new := [cut for own in self.cuts.values() for cut in own if cut not in seen]:
            seen += new
            for cut in new:
                self.visit(cut)

    def node(self, node: Node) -> Node:
        self.source = node.source
        pieces = [
            piece if is_smoothed(piece.settings) else piece.replace(body=self.visit(piece.body))
            for piece in node.pieces
        ]
        return node.replace(pieces=tuple(pieces))

    def visit(self, core: Any) -> Any:
        """The same expression with the side of a draw in the place of every comparison of it."""
        if not any(name in self.random for name in nodes_read(core)):
            return core
        if isinstance(core, c.CallFn) and self.functions[core.function].body is not None:
            return self.visit(self.written_out(core))
        if isinstance(core, c.Apply) and core.function in FLIPPED and not core.type.shape:
            (_, left), (_, right) = core.arguments
            solved = self.solved(core.span, core.function, left, right)
            if solved is not None:
                return solved
        if isinstance(core, c.Apply) and not core.type.shape:
            branches = _as_branches(core, self.kinks)
            if branches is not None and all(self.visit(x) != x for x in _conditions(branches)):
                return self.visit(branches)
        return c.map_parts(core, self.visit)

    def written_out(self, core: c.CallFn) -> c.Core:
        """The body of a function, where it is called."""
        function = self.functions[core.function]
        assert function.body is not None
        self.calls += 1
        call = str(self.calls)
        body = renamed(function.body, lambda name: f"{name} {call}")
        names = [name for name, _ in function.parameters]
        return substitute(body, dict(zip(names, core.arguments, strict=True)))

    # ---- comparisons

    def solved(self, span: Span, function: str, left: c.Core, right: c.Core) -> c.Core | None:
        """What the comparison says of the side of a draw; None where it says no such thing."""
        expanded = self.expanded(span, function, left, right)
        if expanded is not None:
            return expanded
        for node in self.draws:
            try:
                return self.solved_for(node, span, function, left, right)
            except Unsolved:
                continue
        return None

    def expanded(self, span: Span, function: str, left: c.Core, right: c.Core) -> c.Core | None:
        """|a| > b  is  a > b or a < -b;  max(a, b) > c  is  a > c or b > c;  and so on."""
        if not _is_expanded(left):
            left, right, function = right, left, FLIPPED[function]
        if isinstance(left, c.If):
            branches = [self.decided(span, function, x, right) for x in (left.then, left.otherwise)]
            if None in branches:
                return None
            return c.If(span, BOOL, self.visit(left.condition), *branches)  # type: ignore[arg-type]
        if not isinstance(left, c.Apply) or left.type.shape:
            return None
        values = [value for _, value in left.arguments]
        if left.function == "abs":
            minus = negated(right)
            both = (function, values[0], right), (FLIPPED[function], values[0], minus)
            is_or = function in IS_ABOVE
        elif left.function in ("max", "min") and len(values) == 2:
            both = (function, values[0], right), (function, values[1], right)
            is_or = (left.function == "max") == (function in IS_ABOVE)
        else:
            return None
        parts = [self.decided(span, *one) for one in both]
        if None in parts:
            return None
        return compare("or" if is_or else "and", *parts)  # type: ignore[arg-type]

    def decided(self, span: Span, function: str, left: c.Core, right: c.Core) -> c.Core | None:
        """The same where nothing drawn decides; None where a draw does that cannot be split."""
        above = self.graph.ancestors(nodes_read(left, right), stop=self.all_draws)
        draws = (self.graph[name] for name in self.all_draws if name in above)
        if not any(isinstance(draw.type.domain, Real) for draw in draws):
            return compare(function, left, right)
        return self.solved(span, function, left, right)

    def solved_for(
        self, node: Node, span: Span, function: str, left: c.Core, right: c.Core
    ) -> c.Core:
        left, right = (self.with_definitions(side, node.name) for side in (left, right))
        target = _one_read([left, right], node.name)
        if not _mentions(left, target):
            left, right, function = right, left, FLIPPED[function]
        left, right = self.peeled(left, right, target)
        slope, offset = affine(left, target)
        other_slope, other_offset = affine(right, target)
        if other_slope is not None:
            slope = _typed("subtract", slope or number(left, 0.0), other_slope)
        if slope is None:
            raise Unsolved
        lower, upper = bounds_of(slope)
        slope, difference = fold(slope), arithmetic("subtract", other_offset, offset)
        given = (("difference", difference), ("slope", slope))
        cut = c.Apply(span, REAL, "threshold", given, THRESHOLD)
        if isinstance(slope, c.Const) and slope.value:
            cut = c.Apply(span, REAL, "divide", pair(difference, slope))
        is_above = self.side(node, target, cut)
        if upper < 0:
            is_above = _not(is_above)
        elif lower < 0:
            turned = (("is_above", is_above), ("slope", slope))
            is_above = c.Apply(span, BOOL, "is_true_above", turned, TURNED)
        return is_above if function in IS_ABOVE else _not(is_above)

    def with_definitions(self, core: c.Core, draw: str) -> c.Core:
        """With the definitions of values that depend on the draw in the place of their names."""
        if isinstance(core, c.CallFn) and self.functions[core.function].body is not None:
            core = self.written_out(core)
        base = core.base if isinstance(core, c.At) else core
        if isinstance(base, c.Ref) and base.name != draw:
            node = self.graph[base.name]
            indices = core.indices if isinstance(core, c.At) else ()
            above = self.graph.ancestors([base.name], stop=self.all_draws)
            if node.kind is Kind.FUNCTION and draw in above:
                return self.with_definitions(definition_of(node, indices), draw)
        return c.map_parts(core, lambda part: self.with_definitions(part, draw))

    def peeled(self, left: c.Core, right: c.Core, target: c.Core) -> tuple[c.Core, c.Core]:
        """Increasing functions around the draw go to the other side, inverted."""
        while isinstance(left, c.Apply) and not _mentions(right, target):
            if left.function == "log":
                name, row = "exp", "exp(x: real) -> positive"
            elif left.function in INVERTED:
                name = f"inverse_{left.function}"
                row = f"{name}(x: real) -> real"
            else:
                break
            left = left.arguments[0][1]
            right = c.Apply(right.span, REAL, name, (("x", right),), row)
        return left, right

    # ---- sides

    def side(self, node: Node, target: c.Core, cut: c.Core) -> c.Core:
        """Whether the element that is looked at lies above this cut."""
        indices = target.indices if isinstance(target, c.At) else ()
        general = fold(_in_own_terms(cut, indices))
        read = self.graph.ancestors(nodes_read(general))
        place = self.all_draws.index(node.name)
        if any(name in read for name in self.all_draws[place:]):
            raise Unsolved
        own = self.cuts.setdefault(node.name, [])
        if general not in own:
            own.append(general)
            text = self.source.text[cut.span.start : cut.span.end]
            self.written[node.name] = (*self.written.get(node.name, ()), text)
        if not self.is_final:
            return target
        levels, side = (_at(self.part(node, part), indices) for part in ("levels", "side"))
        rank = _rank(general, own)
        which = c.Const(cut.span, Type(Int()), own.index(general) if rank is None else rank)
        arguments = (("levels", levels), ("side", side), ("cut", which))
        if rank is not None:
            return compare("greater", side, which)
        return c.Apply(cut.span, BOOL, "is_above", arguments, ABOVE)

    def split_node(self, node: Node) -> Iterator[Node]:
        """The draw as a function of its side and of noise, and these."""
        if node.name not in self.cuts:
            yield node
            return
        parts = {name: self.part(node, name) for name in ("levels", "side", "noise")}
        bodies: dict[str, list[Piece]] = {name: [] for name in (*parts, "value")}
        for piece in node.pieces:
            own = {name: entry(part, piece) for name, part in parts.items()}
            for name, body in zip(bodies, self.bodies(node, piece, own), strict=True):
                bodies[name].append(piece.replace(body=body, settings=()))
        for name, part in parts.items():
            yield part.replace(pieces=tuple(bodies[name]))
        yield node.replace(kind=Kind.FUNCTION, pieces=tuple(bodies["value"]))

    def bodies(
        self, node: Node, piece: Piece, own: Mapping[str, c.Core]
    ) -> Iterator[c.Core | c.Law]:
        """The levels of the cuts, the side, the noise, and the value."""
        law = piece.body
        assert isinstance(law, c.Law)
        cuts = [self.visit(_for_piece(cut, piece)) for cut in self.cuts[node.name]]
        items = tuple(c.Cdf(law.span, UNIT, law, cut) for cut in cuts)
        levels = c.Stack(law.span, Type(UNIT.domain, (Fixed(len(cuts)),)), items)
        yield levels
        sides = Fixed(len(cuts) + 1)
        masses = Type(UNIT.domain, (sides,), "simplex")
        p = c.Apply(law.span, masses, "interval_masses", (("levels", levels),), MASSES)
        yield c.Law(law.span, "Categorical", CATEGORICAL, (("p", p),), Type(IndexOf(sides)))
        yield _uniform(piece)
        level = c.Apply(law.span, UNIT, "interval_level", tuple(own.items()), LEVEL)
        yield c.Quantile(law.span, law.type, law, level)

    def part(self, node: Node, name: str) -> Node:
        """One of the nodes that a draw is split into, without its definition."""
        count = len(self.cuts[node.name])
        shape = node.type.shape
        types = {
            "levels": Type(UNIT.domain, (*shape, Fixed(count))),
            "side": Type(IndexOf(Fixed(count + 1)), shape),
            "noise": Type(UNIT.domain, shape),
        }
        kind = Kind.FUNCTION if name == "levels" else Kind.DRAW
        return Node(f"{node.name}.{name}", kind, types[name], node.span, node.source)


def _not(core: c.Core) -> c.Core:
    return c.Apply(core.span, BOOL, "not", (("a", core),))


def _uniform(piece: Piece) -> c.Law:
    ends = (("lower", number(piece, 0.0)), ("upper", number(piece, 1.0)))
    return c.Law(piece.span, "Uniform", UNIFORM, ends, UNIT)


def is_smoothed(settings: Iterable[Setting]) -> bool:
    return any(setting.name in ("soft", "smooth") for setting in settings)


# ---- what breaks, as branches


def _as_branches(core: c.Apply, kinks: bool) -> c.Core | None:
    """The same value with a comparison where it breaks."""
    rule = (_JUMPS | _KINKS if kinks else _JUMPS).get(core.function)
    values = [value for _, value in core.arguments]
    if rule is None or any(value.type.shape or value.type.whole for value in values[:1]):
        return None
    return rule(core, *values)


def _is_expanded(core: c.Core) -> bool:
    return isinstance(core, c.If) or (isinstance(core, c.Apply) and core.function in EXPANDED)


def _conditions(branches: c.Core) -> Iterator[c.Core]:
    while isinstance(branches, c.If):
        yield branches.condition
        branches = branches.otherwise
    if branches.type == BOOL:
        yield branches


def _choose(
    core: c.Apply, function: str, left: c.Core, right: c.Core, then: c.Core, otherwise: c.Core
) -> c.Core:
    condition = compare(function, left, right).replace(span=core.span)
    return c.If(core.span, core.type, condition, then, otherwise)


def _sign(core: c.Apply, x: c.Core) -> c.Core:
    ends = (c.Const(core.span, core.type, value) for value in (1, -1))
    return _choose(core, "greater", x, number(core, 0.0), *ends)


def _step(core: c.Apply, x: c.Core) -> c.Core:
    return compare("greater_equal", x, number(core, 0.0)).replace(span=core.span)


def negated(x: c.Core) -> c.Core:
    return c.Apply(x.span, REAL, "negate", (("a", x),))


def _abs(core: c.Apply, x: c.Core) -> c.Core:
    return _choose(core, "greater", x, number(core, 0.0), x, negated(x))


def _relu(core: c.Apply, x: c.Core) -> c.Core:
    return _choose(core, "greater", x, number(core, 0.0), x, number(core, 0.0))


def _max(core: c.Apply, *values: c.Core) -> c.Core | None:
    return _choose(core, "greater", *values, *values) if len(values) == 2 else None


def _min(core: c.Apply, *values: c.Core) -> c.Core | None:
    return _choose(core, "less", *values, *values) if len(values) == 2 else None


def _clip(core: c.Apply, x: c.Core, lower: c.Core, upper: c.Core) -> c.Core:
    inner = _choose(core, "greater", x, upper, upper, x)
    return _choose(core, "less", x, lower, lower, inner)


def _leaky_relu(core: c.Apply, x: c.Core, slope: c.Core | None = None) -> c.Core:
    below = arithmetic("multiply", slope or number(core, 0.01), x)
    return _choose(core, "greater", x, number(core, 0.0), x, below)


Rule = Callable[..., "c.Core | None"]
_JUMPS: dict[str, Rule] = {"sign": _sign, "step": _step}
_KINKS: dict[str, Rule] = {
    "abs": _abs,
    "relu": _relu,
    "max": _max,
    "min": _min,
    "clip": _clip,
    "leaky_relu": _leaky_relu,
}


# ---- what an expression says of a draw


def definition_of(node: Node, indices: tuple[c.Core, ...]) -> c.Core:
    """The body of a computed value at these indices."""
    if len(node.pieces) != 1 or node.pieces[0].where is not None:
        raise Unsolved
    (piece,) = node.pieces
    binders = [index for index in piece.indices if isinstance(index, c.Bind)]
    if len(binders) != len(piece.indices) or len(binders) != len(indices):
        raise Unsolved
    if is_smoothed(piece.settings) or piece.body.type.shape:
        raise Unsolved
    assert isinstance(piece.body, c.Core)
    return substitute(piece.body, dict(zip((b.name for b in binders), indices, strict=True)))


def _one_read(cores: Iterable[c.Core], name: str) -> c.Core:
    """The one element of a draw that is read, however often."""
    found = dict.fromkeys(read for core in cores for ref, read in reads(core) if ref.name == name)
    if len(found) != 1 or next(iter(found)).type.shape:
        raise Unsolved
    return next(iter(found))


def _mentions(core: c.Core, target: c.Core) -> bool:
    return any(part == target for part in c.walk(core))


def affine(core: c.Core, target: c.Core) -> tuple[c.Core | None, c.Core]:
    """slope and offset of core = slope * target + offset; no slope where it is not mentioned."""
    if core == target:
        return number(core, 1.0), number(core, 0.0)
    if not _mentions(core, target):
        return None, core
    if not isinstance(core, c.Apply) or core.function not in _LINEAR:
        raise Unsolved
    parts = [affine(value, target) for _, value in core.arguments]
    return _LINEAR[core.function](core, *parts)


Affine = tuple["c.Core | None", c.Core]


def bounds_of(core: c.Core) -> tuple[float, float]:
    return (float(core.value),) * 2 if isinstance(core, c.Const) else core.type.bounds


def _typed(function: str, a: c.Core, b: c.Core) -> c.Core:
    """Arithmetic whose range is known: the sign of a slope decides which side is above."""
    ends = OPERATORS[function](bounds_of(a), bounds_of(b))
    return c.Apply(a.span, Type(Real(*ends)), function, pair(a, b))


def _added(core: c.Apply, left: Affine, right: Affine) -> Affine:
    (a, b), (d, e) = left, right
    if core.function == "subtract" and d is not None:
        slope = _typed("subtract", a or number(core, 0.0), d)
    else:
        slope = _typed("add", a, d) if a is not None and d is not None else (a or d)  # type: ignore[assignment]
    return slope, arithmetic(core.function, b, e)


def _multiplied(core: c.Apply, left: Affine, right: Affine) -> Affine:
    (a, b), (d, e) = left, right
    if a is not None and d is not None:
        raise Unsolved
    slope = _typed("multiply", a, e) if a is not None else _typed("multiply", b, d)  # type: ignore[arg-type]
    return slope, arithmetic("multiply", b, e)


def _divided(core: c.Apply, left: Affine, right: Affine) -> Affine:
    (a, b), (d, e) = left, right
    if d is not None or a is None:
        raise Unsolved
    return _typed("divide", a, e), c.Apply(core.span, REAL, "divide", pair(b, e))


def _minus(core: c.Apply, inner: Affine) -> Affine:
    slope, offset = inner
    minus = None if slope is None else _typed("subtract", number(core, 0.0), slope)
    return minus, negated(offset)


_LINEAR: Mapping[str, Callable[..., Affine]] = {
    "add": _added,
    "subtract": _added,
    "multiply": _multiplied,
    "divide": _divided,
    "negate": _minus,
}


# ---- a cut for every element


def _rank(cut: c.Core, cuts: Sequence[c.Core]) -> int | None:
    """How many cuts lie below this one, where that is known from the text alone."""
    values = [one.value for one in (cut, *cuts) if isinstance(one, c.Const)]
    if len(values) <= len(cuts):
        return 0 if len(cuts) == 1 else None
    return sum(value < values[0] for value in values[1:])


def _place(axis: int) -> str:
    return f"place {axis}"


def _in_own_terms(cut: c.Core, indices: tuple[c.Core, ...]) -> c.Core:
    """The cut with the places of the element in the place of the binders that it is read with."""
    known: dict[str, c.Core] = {}
    for axis, index in enumerate(indices):
        found = offset_of(index)
        if found is None:
            raise Unsolved
        name, shift = found
        if name is not None and shift == 0:
            known[name] = c.Var(index.span, index.type, _place(axis))
    free = _free_names(cut)
    if not free <= known.keys():
        raise Unsolved
    return substitute(cut, {name: known[name] for name in free})


def _free_names(core: c.Core) -> set[str]:
    names = {part.name for part in c.walk(core) if isinstance(part, c.Var)}
    return names - bound_in(core)


def _for_piece(cut: c.Core, piece: Piece) -> c.Core:
    places = {_place(axis): index_of(index) for axis, index in enumerate(piece.indices)}
    return substitute(cut, places)


def _at(node: Node, indices: tuple[c.Core, ...]) -> c.Core:
    whole = c.Ref(node.span, node.type, node.name)
    if not indices:
        return whole
    rest = node.type.replace(shape=node.type.shape[len(indices) :])
    return c.At(node.span, rest, whole, indices)

"""Draws that are split where something below them jumps: a choice of side, and a draw within it.

if x > c then f else g  with x ~ D  becomes  side ~ P(x < c), P(x > c)  and  x = quantile of D at a
level within the side. What jumped is now a function of the side, which is finite; the draw within
is a smooth function of noise, of D's arguments and of c. Several cuts make several sides. A kink
is split the same way where second derivatives are wanted; and there, too, the cuts of one draw have
kinks in earlier draws, where they pass each other or an end of the support: so those are split.
Where first derivatives are enough, such turns are only found, as second ones would miss them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

from ...library.derived import RANGE_ENDS
from ...source import Span
from .. import core as c
from ..dependence import find_recurrences, lagged_edges, nodes_read, offset_of
from ..forms import arithmetic, compare, entry, index_of, number, pair
from ..graph import Graph, Kind, Node
from ..substitute import bound_in, renamed, substitute
from ..typed import Function, Piece, Setting
from ..types import BOOL, REAL, Fixed, IndexOf, Int, Real, Type
from .entries import in_entries
from .solve import (
    FLIPPED,
    INVERTED_ENDS,
    IS_ABOVE,
    POWERS,
    Comparison,
    Unsolved,
    affine,
    applied,
    as_branches,
    bounds_of,
    conditions,
    definition_of,
    has_fixed_root,
    is_even_power,
    is_smoothed,
    lifted,
    mentions,
    moved,
    negated,
    one_read,
    root,
    root_of_positive,
    simplified,
    typed,
    unrolled,
)
from .standard import fold, rewrite, run_passes

MASSES = "interval_masses(levels: real[K]) -> simplex[K+1]"
LEVEL = "interval_level(levels: real[K], side: index[S], noise: unit) -> unit"
ABOVE = "is_above(levels: real[K], side: index[S], cut: count) -> bool"
THRESHOLD = "threshold(difference: real, slope: real) -> real"
TURNED = "is_true_above(is_above: bool, slope: real) -> bool"
CATEGORICAL = "Categorical(p: simplex[N]) -> index[N]"
UNIFORM = "Uniform(lower: real, upper: real) -> real"
UNIT = Type(Real(0.0, 1.0))

FUEL, MOST_STEPS = 24, 2000
"""How deep a comparison may be, and how many steps it may take: branches of branches are many."""
MOST_LEVELS = 60
"""Of what is written out, names and calls included: Python's stack ends."""
MOST_CUTS = 16
"""Of one draw, where cuts make others: the order of more is not looked for."""


class Split(NamedTuple):
    """`cuts` are the comparisons at which each draw was split, as they are written.

    `turns` are numbers by the draw that has a kink where they are 0, at which nothing is split.
    """

    graph: Graph
    costs: tuple[c.Core, ...]
    cuts: dict[str, tuple[str, ...]]
    turns: tuple[tuple[str, c.Core], ...] = ()


Cost = tuple[c.Core, tuple[Setting, ...]]


@rewrite
def split(graph: Graph, costs: Sequence[Cost], names: Iterable[str], kinks: bool) -> Split:
    """These draws are split at the thresholds that they are compared with; the joint stays."""
    splitter = _Splitter(graph, names, kinks)
    splitter.everything(costs)
    splitter.find_cuts_of_cuts()
    if kinks:
        splitter.split_at_turns()
    splitter.is_final = True
    nodes, changed = splitter.everything(costs)
    if not kinks:
        splitter.find_turns()
    unchanged = Split(graph, tuple(core for core, _ in costs), {})
    # A comparison may have been decided without any cut.
    if (tuple(nodes), tuple(changed)) == (graph.nodes, unchanged.costs):
        return unchanged
    whole = [made for node in nodes for made in splitter.split_node(node)]
    edges = [edge for node in whole for edge in lagged_edges(node)]
    recurrences, cycles = find_recurrences([node.name for node in whole], edges)
    if cycles:
        return unchanged
    found = run_passes(graph.replace(nodes=tuple(whole), recurrences=tuple(recurrences)))
    return Split(found, tuple(changed), splitter.written, tuple(splitter.turns))


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
        self.turns: list[tuple[str, c.Core]] = []
        self.source = graph.source
        self.is_final = False
        self.calls = 0
        self.solving = 0
        self.level = 0

    def everything(self, costs: Sequence[Cost]) -> tuple[list[Node], list[c.Core]]:
        self.calls = self.solving = 0
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

    def find_turns(self) -> None:
        """Where nothing is split at turns, a second derivative would miss all of them."""
        self.turns = [
            (name, arithmetic("subtract", cut, other)) for name, cut, other in self.pairs()
        ]

    def split_at_turns(self) -> None:
        """Draws above are split where the cuts of one pass each other, or an end of its support."""
        seen: list[tuple[str, c.Core, c.Core]] = []
        while new := [pair for pair in self.pairs() if pair not in seen]:
            seen += new
            for name, cut, other in new:
                many = len(self.cuts[name]) > MOST_CUTS
                if many or not self.is_split_where_equal(cut, other):
                    self.turns.append((name, arithmetic("subtract", cut, other)))
            self.find_cuts_of_cuts()

    def pairs(self) -> list[tuple[str, c.Core, c.Core]]:
        """What is sorted to find the sides of a draw, and where its cuts themselves end."""
        found = []
        for name, cuts in self.cuts.items():
            ends = list(_ends(self.graph[name]))
            pairs = [*combinations(cuts, 2), *product(cuts, ends)]
            pairs += [pair for cut in cuts for pair in _ends_inside(cut)]
            found += [(name, *pair) for pair in pairs if self.is_drawn(*pair)]
        return found

    def is_split_where_equal(self, cut: c.Core, other: c.Core) -> bool:
        if negated(cut) == other:
            other = number(cut, 0.0)
        one, two = _as_quotients(cut), _as_quotients(other)
        return one == two or self.solved(cut.span, "greater", one, two) is not None

    def node(self, node: Node) -> Node:
        self.source = node.source
        pieces = [
            piece if is_smoothed(piece.settings) else piece.replace(body=self.visit(piece.body))
            for piece in node.pieces
        ]
        return node.replace(pieces=tuple(pieces))

    def visit(self, core: Any) -> Any:
        """The same expression with the side of a draw in the place of every comparison of it."""
        if not self.is_random(core) or self.level > MOST_LEVELS:
            return core
        self.level += 1
        visited = self.visit_inside(core)
        self.level -= 1
        return visited

    def visit_inside(self, core: Any) -> Any:
        if self.is_written_here(core) and self.calls < MOST_STEPS:
            body = self.written_out(core)
            changed = self.visit(body)
            return core if changed == body else changed
        if isinstance(core, c.Apply) and core.function in FLIPPED and not core.type.shape:
            (_, left), (_, right) = core.arguments
            solved = self.solved(core.span, core.function, left, right)
            if solved is not None:
                return solved
        branches = self.branches_of(core)
        if branches is not None and all(self.visit(x) != x for x in conditions(branches)):
            return self.visit(branches)
        return c.map_parts(core, self.visit)

    def branches_of(self, core: c.Core) -> c.Core | None:
        if isinstance(core, c.Loop):
            return unrolled(core)
        return None if core.type.shape else as_branches(core, self.kinks)

    def is_random(self, core: c.Core | c.Law) -> bool:
        return any(name in self.random for name in nodes_read(core))

    def is_written_here(self, core: c.Core) -> bool:
        """A call of a function that is not from outside."""
        return isinstance(core, c.CallFn) and self.functions[core.function].body is not None

    def written_out(self, core: Any) -> c.Core:
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
        """What the comparison says of the sides of draws; None where it says no such thing."""
        if not self.is_drawn(left, right):
            return None
        outer, self.solving = self.solving, 0
        level = self.level
        try:
            left, right = self.with_definitions(left), self.with_definitions(right)
            return self.solve(span, function, left, right, FUEL)
        except Unsolved:
            return None
        finally:
            self.solving += outer
            self.level = level

    def is_drawn(self, *cores: c.Core) -> bool:
        """Whether a draw of real numbers decides."""
        above = self.graph.ancestors(nodes_read(*cores), stop=self.all_draws)
        draws = (self.graph[name] for name in self.all_draws if name in above)
        return any(isinstance(draw.type.domain, Real) for draw in draws)

    def with_definitions(self, core: c.Core) -> c.Core:
        """With the definitions of random values in the place of their names, loops as branches."""
        self.solving += 1
        if self.solving > MOST_STEPS or self.level > MOST_LEVELS:
            raise Unsolved
        self.level += 1
        found = self.with_definitions_inside(core)
        self.level -= 1
        return found

    def with_definitions_inside(self, core: c.Core) -> c.Core:
        if self.is_written_here(core):
            core = self.written_out(core)
        if isinstance(core, c.Loop):
            core = unrolled(core) or core
        if self.is_random(core):
            core = in_entries(core) or core
        base = core.base if isinstance(core, c.At) else core
        if isinstance(base, c.Ref) and self.graph[base.name].kind is Kind.FUNCTION:
            indices = core.indices if isinstance(core, c.At) else ()
            if base.name in self.random:
                return self.with_definitions(definition_of(self.graph[base.name], indices))
        return c.map_parts(core, self.with_definitions)

    def solve(self, span: Span, function: str, left: c.Core, right: c.Core, fuel: int) -> c.Core:
        """Branches are taken apart, until a line in one draw is left."""
        if left == right:
            return c.Const(span, BOOL, function.endswith("equal"))
        if not self.is_drawn(left, right):
            return compare(function, left, right)
        self.solving += 1
        if not fuel or self.solving > MOST_STEPS:
            raise Unsolved
        if not self.is_random(left):
            left, right, function = right, left, FLIPPED[function]
        parts = _two_sided(function, left, right)
        if parts is not None:
            word, both = parts
            found = [self.solve(span, *one, fuel - 1) for one in both]
            return compare(word, found[0], found[1])
        if isinstance(left, c.Apply) and left.function == "divide":
            (_, top), (_, bottom) = left.arguments
            if self.is_drawn(bottom):
                product = arithmetic("multiply", right, bottom)
                return self.crossed(span, function, top, bottom, product, fuel)
        for one, other in ((left, right), (right, left)):
            found_branches = lifted(one, self.is_random)
            if found_branches is not None:
                condition, then, otherwise = found_branches
                own = function if one is left else FLIPPED[function]
                results = [self.solve(span, own, x, other, fuel - 1) for x in (then, otherwise)]
                return c.If(span, BOOL, self.visited(condition), *results)
        return self.solved_for_any(span, function, left, right, fuel)

    def visited(self, condition: c.Core) -> c.Core:
        """What decides between branches; it must not jump itself."""
        found: c.Core = self.visit(condition)
        if found == condition and self.is_drawn(condition):
            raise Unsolved
        return found

    def solved_for_any(
        self, span: Span, function: str, left: c.Core, right: c.Core, fuel: int
    ) -> c.Core:
        for node in self.draws:
            try:
                return self.solved_for(node, span, function, left, right, fuel)
            except Unsolved:
                continue
        raise Unsolved

    def solved_for(
        self, node: Node, span: Span, function: str, left: c.Core, right: c.Core, fuel: int
    ) -> c.Core:
        target = one_read([left, right], node.name)
        if not mentions(left, target):
            left, right, function = right, left, FLIPPED[function]
        try:
            slope, offset = affine(left, target)
            other_slope, other_offset = affine(right, target)
        except Unsolved:
            return self.without_outermost(span, function, left, right, target, fuel)
        if other_slope is not None:
            slope = typed("subtract", slope or number(left, 0.0), other_slope)
        assert slope is not None
        bounds = bounds_of(slope)
        slope = fold(slope)
        if isinstance(slope, c.Const) and not slope.value:
            return self.solve(span, function, offset, other_offset, fuel - 1)
        difference = arithmetic("subtract", other_offset, offset)
        given = (("difference", difference), ("slope", slope))
        cut = c.Apply(span, REAL, "threshold", given, THRESHOLD)
        if isinstance(slope, c.Const):
            cut = c.Apply(span, REAL, "divide", pair(difference, slope))
        is_above = self.turned(self.side(node, target, cut), slope, bounds, fuel)
        return is_above if function in IS_ABOVE else _not(is_above)

    def turned(
        self, is_above: c.Core, slope: c.Core, bounds: tuple[float, float], fuel: int
    ) -> c.Core:
        """Whether slope * x is above, where x is; a slope that is drawn is split at 0 itself."""
        lower, upper = bounds
        if lower >= 0:
            return is_above
        if upper <= 0:
            return _not(is_above)
        if self.is_drawn(slope):
            zero = number(slope, 0.0)
            rises = self.solve(slope.span, "greater", slope, zero, fuel - 1)
            return c.If(slope.span, BOOL, rises, is_above, _not(is_above))
        turned = (("is_above", is_above), ("slope", slope))
        return c.Apply(slope.span, BOOL, "is_true_above", turned, TURNED)

    def without_outermost(
        self, span: Span, function: str, left: c.Core, right: c.Core, target: c.Core, fuel: int
    ) -> c.Core:
        """Without the operation around the draw: x * b > r  is  x > r / b, and so on."""
        if not isinstance(left, c.Apply) or left.type.shape or mentions(right, target):
            raise Unsolved
        if left.function in POWERS and not has_fixed_root(left):
            return self.without_power(span, function, left, right, target, fuel)
        if left.function not in ("multiply", "divide"):
            return self.solve(span, *moved(function, left, right, target), fuel - 1)
        (_, top), (_, bottom) = left.arguments
        if left.function == "multiply" and mentions(bottom, target):
            top, bottom = bottom, top
        if mentions(bottom, target):
            raise Unsolved
        opposite = "divide" if left.function == "multiply" else "multiply"
        other = c.Apply(span, REAL, opposite, pair(right, bottom))
        return self.crossed(span, function, top, bottom, other, fuel)

    def without_power(
        self, span: Span, function: str, left: c.Apply, right: c.Core, target: c.Core, fuel: int
    ) -> c.Core:
        """x^t > r  is  x > r^(1/t), or below it where t is; 2^x > r  is  x * log(2) > log(r)."""
        (_, base), (_, exponent) = left.arguments
        if bounds_of(base)[0] < 0:
            raise Unsolved
        if not mentions(base, target):
            logarithm = arithmetic("multiply", exponent, applied("log", base))
            return self.solve(span, function, logarithm, applied("inverse_exp", right), fuel - 1)
        if mentions(exponent, target):
            raise Unsolved
        cut = root_of_positive(right, exponent)
        ways = [self.solve(span, f, base, cut, fuel - 1) for f in (function, FLIPPED[function])]
        lower, upper = bounds_of(exponent)
        if lower >= 0 or upper < 0:
            return ways[0 if lower >= 0 else 1]
        rises = self.solve(span, "greater_equal", exponent, number(exponent, 0.0), fuel - 1)
        return c.If(span, BOOL, rises, *ways)

    def crossed(
        self, span: Span, function: str, top: c.Core, bottom: c.Core, right: c.Core, fuel: int
    ) -> c.Core:
        """n / d > r  is  n > r * d, or the other way round where d is below 0."""
        lower, upper = bounds_of(bottom)
        ways = [self.solve(span, f, top, right, fuel - 1) for f in (function, FLIPPED[function])]
        if lower >= 0 or upper <= 0:
            return ways[0 if lower >= 0 else 1]
        is_above = self.solve(span, "greater", bottom, number(bottom, 0.0), fuel - 1)
        return c.If(span, BOOL, is_above, *ways)

    # ---- sides

    def side(self, node: Node, target: c.Core, cut: c.Core) -> c.Core:
        """Whether the element that is looked at lies above this cut."""
        indices = target.indices if isinstance(target, c.At) else ()
        general = simplified(_in_own_terms(fold(cut), indices))
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


def _ends(node: Node) -> Iterator[c.Core]:
    """Those of the support of a draw, in terms of its places."""
    for piece in node.pieces:
        law = piece.body
        assert isinstance(law, c.Law)
        known = {
            bind.name: index_of(bind).replace(name=_place(axis))
            for axis, bind in enumerate(piece.indices)
            if isinstance(bind, c.Bind)
        }
        for end in law.given((*law.facts.edges, *RANGE_ENDS)):
            yield substitute(end, known)
        low, high = BOUNDS.get(law.facts.signature.result.domain, (None, None))
        yield from (number(piece, end) for end in (low, high) if end is not None)


BOUNDS = {"positive": (0.0, None), "nonnegative": (0.0, None), "unit": (0.0, 1.0)}
"""The ends of the support by the domain of a draw."""


def _ends_inside(cut: c.Core) -> Iterator[tuple[c.Core, c.Core]]:
    """Where a cut goes to infinity: log(y) has none below 0, where all x are above."""
    for part in c.walk(cut):
        if isinstance(part, c.Apply):
            value = part.arguments[0][1]
            yield from ((value, number(part, end)) for end in INVERTED_ENDS.get(part.function, ()))


def _as_quotients(core: Any) -> Any:
    """A threshold as what it is where its slope is not 0."""
    if isinstance(core, c.Apply) and core.function == "threshold":
        (_, difference), (_, slope) = core.arguments
        return c.Apply(core.span, REAL, "divide", pair(difference, slope))
    return core


def _two_sided(function: str, left: c.Core, right: c.Core) -> tuple[str, list[Comparison]] | None:
    """|a| > b  is  a > b or a < -b;  max(a, b) > c  is  a > c or b > c;  and so on."""
    if not isinstance(left, c.Apply) or left.type.shape:
        return None
    values = [value for _, value in left.arguments]
    if is_even_power(left):
        exponent = values[1] if left.function in POWERS else number(left, 2.0)
        right = root(right, exponent)
    if left.function == "abs" or is_even_power(left):
        other = FLIPPED[function], values[0], negated(right)
        return "or" if function in IS_ABOVE else "and", [(function, values[0], right), other]
    if left.function in ("max", "min") and len(values) == 2:
        is_or = (left.function == "max") == (function in IS_ABOVE)
        return "or" if is_or else "and", [(function, value, right) for value in values]
    return None


def _not(core: c.Core) -> c.Core:
    return c.Apply(core.span, BOOL, "not", (("a", core),))


def _uniform(piece: Piece) -> c.Law:
    ends = (("lower", number(piece, 0.0)), ("upper", number(piece, 1.0)))
    return c.Law(piece.span, "Uniform", UNIFORM, ends, UNIT)


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

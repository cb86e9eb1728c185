"""What is asked of draws that are not finite, asked of their distributions: P(y <= 2) is a cdf.

A draw that nothing known depends on is independent of everything else given its parents. So inside
an expectation over finite draws z, E[1{y <= a} f(z)] = E[F(a; z) f(z)] (PL03, DI19).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ...library.rows import why_not
from .. import core as c
from ..breaks import COMPARISONS
from ..dependence import nodes_read
from ..finite import finite_draws
from ..forms import arithmetic, number
from ..graph import Graph, Kind, Node
from ..substitute import substitute
from ..typed import Piece
from ..types import REAL, Int
from .standard import Unfit, rewrite, run_passes

EXP, MAX = "exp(x: real) -> positive", "max(a: num, b: num) -> num"
LONGEST_SUM = 10_000
"""Values of a count that are added up."""

MIRRORED = {"less": "greater", "greater": "less", "less_equal": "greater_equal"}
MIRRORED |= {"greater_equal": "less_equal", "equal": "equal", "not_equal": "not_equal"}


@rewrite
def ask_of_distributions(graph: Graph, name: str, known: Collection[str], what: str) -> Graph:
    """The computed node `name` asks of distributions what it asked of draws that are not finite.

    `what` is asked of a draw on its own: its `mean` or its `variance`.
    """
    node = graph[name]
    (piece,) = node.pieces
    assert isinstance(piece.body, c.Core)
    asked = _Asked(graph, known, what)
    if not asked.mentions(piece.body):
        return graph
    body = asked.number(piece.body)
    own = node.replace(type=REAL, pieces=(piece.replace(body=body),))
    nodes = tuple(own if other is node else other for other in graph.nodes)
    return run_passes(graph.replace(nodes=nodes))


@rewrite
def add_entropies(graph: Graph, name: str, known: Collection[str]) -> Graph:
    """A computed node `name` is added: its mean is the entropy of open draws given the rest.

    Open draws are neither finite nor known (DI22).
    """
    asked = _Asked(graph, known, "entropy")
    total: c.Core | None = None
    for node in asked.draws.values():
        if node.name in asked.above:
            raise asked.refuse(node.name, "what is known or finite depends on it")
        for piece in node.pieces:
            law = piece.body
            if not isinstance(law, c.Law) or piece.where is not None or asked.mentions(law):
                raise asked.refuse(node.name, "its entropy has no closed form here")
            if not law.facts.entropy:
                raise asked.refuse(node.name, why_not(law.facts, "entropy"))
            one: c.Core = c.Moment(law.span, REAL, law, "entropy")
            binders = tuple(index for index in piece.indices if isinstance(index, c.Bind))
            if binders:
                one = c.Reduce(law.span, REAL, "sum", binders, None, one)
            total = one if total is None else arithmetic("add", total, one)
    at = graph.nodes[0]
    piece = Piece(at.span, (), None, total or number(at, 0.0))
    node = Node(name, Kind.FUNCTION, REAL, at.span, at.source, (piece,))
    return run_passes(graph.replace(nodes=(*graph.nodes, node)))


def open_draws(graph: Graph, known: Collection[str]) -> dict[str, Node]:
    """Draws that are neither finite nor known."""
    finite = {node.name for node in finite_draws(graph)}
    draws = graph.of_kind(Kind.DRAW)
    return {n.name: n for n in draws if n.name not in finite and n.name not in known}


class _Asked:
    def __init__(self, graph: Graph, known: Collection[str], what: str):
        self.graph, self.what = graph, what
        self.draws = open_draws(graph, known)
        needed = [
            node.name
            for node in graph.of_kind(Kind.DRAW, Kind.FACTOR)
            if node.kind is Kind.FACTOR or node.name not in self.draws
        ]
        self.above = graph.ancestors(needed) & set(self.draws)
        self.computed = {
            node.name
            for node in graph.of_kind(Kind.FUNCTION)
            if graph.ancestors([node.name], known) & set(self.draws)
        }
        self.seen: set[c.Core] = set()

    def mentions(self, core: c.Core | c.Law) -> bool:
        return bool(set(nodes_read(core)) & (set(self.draws) | self.computed))

    def refuse(self, name: str, why: str) -> Unfit:
        what = f"`{name}` is not finite, and {why}"
        return Unfit(name, what, "give it a value, or draw it with `dpc sample`")

    def number(self, core: c.Core) -> c.Core:
        """A number with the same mean given the finite draws; a truth value is 0 or 1."""
        if not self.mentions(core):
            return core if not _is_truth(core) else c.If(core.span, REAL, core, *_one_or_none(core))
        if isinstance(core, c.Ref | c.At):
            law = self.law(core)
            if self.what not in ("mean", "variance") or law.facts.has("moments"):
                return c.Moment(core.span, REAL, law, self.what)
            raise self.refuse(_name(core), f"{why_not(law.facts, 'moments')}")
        if isinstance(core, c.Apply) and core.function in COMPARISONS:
            return self._comparison(core)
        if isinstance(core, c.Apply) and core.function in ("and", "or", "not"):
            return self._logic(core)
        raise self.refuse(
            self._one_of(core), "only comparisons of it, joined by `and`, `or`, `not`, are known"
        )

    def _one_of(self, core: c.Core) -> str:
        return min(set(nodes_read(core)) & (set(self.draws) | self.computed))

    def _logic(self, core: c.Apply) -> c.Core:
        values = [value for _, value in core.arguments]
        if core.function == "not":
            return _complement(self.number(values[0]))
        between = self._interval(values) if core.function == "and" else None
        if between is not None:
            return between
        first, second = map(self.number, values)
        if core.function == "and":
            return arithmetic("multiply", first, second)
        return _complement(arithmetic("multiply", _complement(first), _complement(second)))

    def _interval(self, values: list[c.Core]) -> c.Core | None:
        """P(a < y <= b) = F(b) - F(a), for two comparisons of one draw that bound it."""
        sides = [self._sides(v) if isinstance(v, c.Apply) else None for v in values]
        if None in sides:
            return None
        (x, a, first), (y, b, second) = sides  # type: ignore[misc]
        if x != y or {a[0], b[0]} != {"l", "g"}:
            return None
        upper, lower = ((a, first), (b, second)) if a[0] == "l" else ((b, second), (a, first))
        high = self._up_to(x, upper[1], upper[0] == "less_equal")
        # What is above the lower end is not up to it; the same draw twice is no independence.
        low = self._up_to(x, lower[1], lower[0] == "greater", again=True)
        difference = arithmetic("subtract", high, low)
        return c.Apply(x.span, REAL, "max", (("a", difference), ("b", number(x, 0.0))), MAX)

    def _sides(self, core: c.Apply) -> tuple[c.Core, str, c.Core] | None:
        """The draw, how it is compared, and with what."""
        if core.function not in COMPARISONS:
            return None
        (_, left), (_, right) = core.arguments
        if isinstance(left, c.Ref | c.At) and self.mentions(left) and not self.mentions(right):
            return left, core.function, right
        if isinstance(right, c.Ref | c.At) and self.mentions(right) and not self.mentions(left):
            return right, MIRRORED[core.function], left
        return None

    def _comparison(self, core: c.Apply) -> c.Core:
        sides = self._sides(core)
        if sides is None:
            raise self.refuse(
                self._one_of(core), "only comparisons of it alone with what is known are known"
            )
        draw, how, value = sides
        if how in ("less", "less_equal"):
            return self._up_to(draw, value, how == "less_equal")
        if how in ("greater", "greater_equal"):
            return _complement(self._up_to(draw, value, how == "greater"))
        if not isinstance(draw.type.domain, Int):
            raise self.refuse(_name(draw), "no single number has a probability above 0")
        found = _mass(self.law(draw), value)
        return found if how == "equal" else _complement(found)

    def _up_to(self, draw: c.Core, value: c.Core, closed: bool, again: bool = False) -> c.Core:
        law = self.law(draw, again)
        if isinstance(draw.type.domain, Int):
            return self._count_up_to(draw, law, value, closed)
        if not (law.facts.cdf or law.facts.quantile or law.facts.tails):
            raise self.refuse(_name(draw), why_not(law.facts, "cdf"))
        return c.Cdf(draw.span, REAL, law, value)

    def _count_up_to(self, draw: c.Core, law: c.Law, value: c.Core, closed: bool) -> c.Core:
        """The sum of the masses up to a constant."""
        low = law.type.bounds[0]
        if not isinstance(value, c.Const):
            raise self.refuse(_name(draw), "counts are compared with constants")
        last = int(value.value // 1)
        last -= not closed and last == value.value
        if not low > -LONGEST_SUM or last - low > LONGEST_SUM:
            raise self.refuse(_name(draw), f"more than {LONGEST_SUM:,} masses would be added up")
        total: c.Core = number(draw, 0.0)
        for count in range(int(low), last + 1):
            one = c.Const(draw.span, draw.type.replace(shape=()), count)
            total = arithmetic("add", total, _mass(law, one))
        return total

    def law(self, core: c.Core, again: bool = False) -> c.Law:
        """The distribution of a draw, or of one element, which may be asked about once."""
        ref = core.base if isinstance(core, c.At) else core
        if not isinstance(ref, c.Ref) or ref.name not in self.draws:
            raise self.refuse(self._one_of(core), "it is computed from what is not finite")
        name = ref.name
        if name in self.above:
            raise self.refuse(name, "what is known or finite depends on it")
        if core in self.seen and not again:
            raise self.refuse(name, "it is asked about twice, which is no product of chances")
        self.seen.add(core)
        piece, values = self._piece(self.draws[name], core)
        law = piece.body
        if not isinstance(law, c.Law) or piece.where is not None or law.type.shape:
            raise self.refuse(name, "its entries are not drawn one by one")
        law = substitute(law, values)
        if self.mentions(law):
            raise self.refuse(name, f"so is `{self._one_of_law(law)}`, which it depends on")
        return law

    def _one_of_law(self, law: c.Law) -> str:
        return min(set(nodes_read(law)) & (set(self.draws) | self.computed))

    def _piece(self, node: Node, core: c.Core) -> tuple[Piece, Mapping[str, c.Core]]:
        """The statement that speaks of an element, and what its binders are there."""
        indices = core.indices if isinstance(core, c.At) else ()
        for piece in node.pieces:
            if len(piece.indices) != len(indices):
                continue
            fixed = [own for own in piece.indices if not isinstance(own, c.Bind)]
            pairs = list(zip(piece.indices, indices, strict=True))
            if all(_same_place(a, b) for a, b in pairs if not isinstance(a, c.Bind)):
                is_only = fixed or len(node.pieces) == 1
                if is_only or all(_may_hold(a, b) for a, b in pairs if isinstance(a, c.Bind)):
                    return piece, {a.name: b for a, b in pairs if isinstance(a, c.Bind)}
        raise self.refuse(node.name, "this is none of its elements")


def _same_place(a: c.Core, b: c.Core) -> bool:
    return isinstance(a, c.Const) and isinstance(b, c.Const) and a.value == b.value


def _may_hold(bind: c.Bind, index: c.Core) -> bool:
    return not isinstance(index, c.Const) or bind.low.from_end or index.value >= bind.low.offset


def _name(core: c.Core) -> str:
    base = core.base if isinstance(core, c.At) else core
    return base.name if isinstance(base, c.Ref) else "?"


def _is_truth(core: c.Core) -> bool:
    return str(core.type.domain) == "bool"


def _one_or_none(core: c.Core) -> tuple[c.Core, c.Core]:
    return number(core, 1.0), number(core, 0.0)


def _complement(core: c.Core) -> c.Core:
    return arithmetic("subtract", number(core, 1.0), core)


def _mass(law: c.Law, value: c.Core) -> c.Core:
    log_mass = c.LogDensity(law.span, REAL, law, value)
    return c.Apply(law.span, REAL, "exp", (("x", log_mass),), EXP)

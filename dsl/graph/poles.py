"""Where a value has a pole, or an infinite slope, because something inside it passes 0.

1 / (x - t) jumps from one infinity to the other where x passes t, and what is computed from it may
jump with it; log(x^2) has a slope whose mean does not exist; sqrt(x^2) has the kink of abs(x). The
rows of functions say where they are singular, and Touching whether that is attained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import pi

from ..library.functions import all_functions, functions_by_text
from . import core as c
from .breaks import Above, Break, Finder, Found
from .facts import Facts
from .graph import Graph, Kind
from .touching import Touching


def pole_finder(graph: Graph) -> Finder:
    """Finds poles in the same way as other breaks are found."""
    facts = Facts((), graph.functions)
    facts.pieces = {node.name: node.pieces for node in graph.of_kind(Kind.FUNCTION)}
    functions = {function.name: function for function in graph.functions}
    draws = graph.of_kind(Kind.DRAW)
    vectors = frozenset(node.name for node in draws if any(law.type.shape for law in node.laws))
    touching = Touching(facts, {node.name: node.kind for node in graph.nodes}, vectors)
    return _PoleFinder(functions, {}, _Poles(touching).of, False, touching)


class _PoleFinder(Finder):
    """Looks into branches with what they were chosen by, and into functions with what is given."""

    touching: Touching = Touching(Facts((), ()), {})  # of no program: a default follows defaults

    def _walk(self, core: c.Core | c.Law, soft: bool, above: Above) -> Iterator[Break]:
        if not isinstance(core, c.If) or soft:
            yield from super()._walk(core, soft, above)
            return
        yield from self._walk(core.condition, soft, above)
        for branch, known in self.touching.facts.branches(core, self.touching.known):
            with self.touching.inside(core, branch, known):
                found = list(self._walk(branch, soft, above))
            yield from found

    def _of_call(self, core: c.CallFn, soft: bool, above: Above) -> Iterator[Break]:
        body = self.touching.written_out(core)
        if body is None:
            yield from super()._of_call(core, soft, above)
            return
        for found in self._walk(body, False, above):
            word = f"{found.word} in `{core.function}`"
            yield found.replace(word=word, span=core.span, function=core.function)


class _Poles:
    def __init__(self, touching: Touching):
        self.touching = touching

    def of(self, core: c.Core | c.Law) -> Found | None:
        if isinstance(core, c.Law):
            return self._of_law(core)
        if not isinstance(core, c.Apply):
            return None
        values = tuple(value for _, value in core.arguments)
        match core.function:
            case "divide" if self.touching.passes(values[1], 0.0):
                return "jump", QUOTIENT, (values[1],)
            case "divide":
                return None
            case "power" | "pow":
                return self._of_power(*values[:2])
        return self._of_row(core)

    def _of_row(self, core: c.Apply) -> Found | None:
        """What the row says of each argument, or of two together."""
        row = functions_by_text().get(core.row)
        if row is None:
            return None
        given = dict(core.arguments)
        word = f"`{core.function}`"
        for kind, singular in (("jump", row.all_poles), ("kink", row.bends)):
            for names, where in singular.items():
                inside = tuple(given[name] for name in names.split() if name in given)
                if inside and _WHERE[where](self.touching, *inside) and self._counts(core):
                    return kind, word, inside  # type: ignore[return-value]
        return None

    def _counts(self, core: c.Apply) -> bool:
        """What is added to a variance keeps it from 0: by default something is."""
        if core.function not in ("layer_norm", "batch_norm"):
            return True
        added = dict(core.arguments).get("epsilon")
        return added is not None and self.touching.reaches(added, 0.0)

    def _of_law(self, law: c.Law) -> Found | None:
        """A rate or a shape that passes 0; a scale may, where the draw is that much noise."""
        kinds = {p.name: p.type.domain for p in law.facts.signature.params}
        for name, value in law.arguments:
            is_scale = name in law.facts.location_scale
            is_positive = kinds.get(name) == "positive" and not is_scale
            if is_positive and self.touching.passes(value, 0.0):
                return "jump", f"`{law.name}`", (value,)
        return None

    def _of_power(self, base: c.Core, exponent: c.Core) -> Found | None:
        low, high = self.touching.range_of(exponent)
        is_natural = low == high and low >= 0 and low % 1 == 0
        if is_natural or (exponent.type.whole and low >= 0):
            return None
        if not self.touching.passes(base, 0.0):
            return None
        return "kink" if low > 0 else "jump", POWER, (base,)


QUOTIENT, POWER = "a quotient", "a power"
POLES = frozenset({QUOTIENT, POWER, *(f"`{row.name}`" for row in all_functions() if row.all_poles)})
"""What these breaks are called, where what is inside may be kept from 0."""


# ---- where functions are singular


def _leaves(touching: Touching, x: c.Core, low: float, high: float) -> bool:
    ends = touching.range_of(x)
    attained = touching.reaches(x, low) or touching.reaches(x, high)
    return not x.type.whole and (ends[0] < low or ends[1] > high or attained)


def _up_to(touching: Touching, x: c.Core, value: float) -> bool:
    return not x.type.whole and touching.reaches_below(x, value)


def _are_equal(touching: Touching, a: c.Core, b: c.Core) -> bool:
    low, high = touching.facts.difference(a, b)
    both_whole = a.type.whole and b.type.whole
    return not both_whole and low <= 0 <= high


_WHERE: dict[str, Callable[..., bool]] = {
    "at 0": lambda touching, x: touching.passes(x, 0.0),
    "up to 0": lambda touching, x: _up_to(touching, x, 0.0),
    "at -1": lambda touching, x: touching.passes(x, -1.0),
    "up to 1": lambda touching, x: _up_to(touching, x, 1.0),
    "at 0 or 1": lambda touching, x: _leaves(touching, x, 0.0, 1.0),
    "outside -1 to 1": lambda touching, x: _leaves(touching, x, -1.0, 1.0),
    "at a right angle": lambda touching, x: _leaves(touching, x, -pi / 2, pi / 2),
    "where both are 0": lambda touching, y, x: touching.reaches(y, 0.0) and touching.passes(x, 0.0),
    "where they are equal": _are_equal,
    "where all are 0": lambda touching, x: touching.has_no_direction(x),
    "where all are equal": lambda touching, x: touching.has_no_spread(x),
    "where singular": lambda touching, x: touching.may_be_singular(x),
    "where the diagonal is 0": lambda touching, x: touching.diagonal_may_be_0(x),
}
"""By the words of `SINGULAR`; whole numbers pass nothing by little."""

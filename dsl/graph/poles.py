"""Where a value has a pole, or an infinite slope, because something inside it passes 0.

1 / (x - t) jumps from one infinity to the other where x passes t, and what is computed from it may
jump with it; log(x^2) has a slope whose mean does not exist; sqrt(x^2) has the kink of abs(x).
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi

from . import core as c
from .breaks import Finder, Found
from .facts import Facts
from .graph import Graph, Kind
from .ranges import Interval
from .substitute import substitute

LOGARITHMS = frozenset({"log", "log2", "log10"})
POLES = frozenset({"a quotient", "a power", *(f"`{name}`" for name in LOGARITHMS)})
"""What these breaks are called, where what is inside may be kept from 0."""


def pole_finder(graph: Graph) -> Finder:
    """Finds poles in the same way as other breaks are found."""
    facts = Facts((), graph.functions)
    facts.pieces = {node.name: node.pieces for node in graph.of_kind(Kind.FUNCTION)}
    functions = {function.name: function for function in graph.functions}
    return Finder(functions, {}, _Poles(facts).of, loops_break=False)


class _Poles:
    def __init__(self, facts: Facts):
        self.facts = facts

    def of(self, core: c.Core | c.Law) -> Found | None:
        if not isinstance(core, c.Apply):
            return None
        values = tuple(value for _, value in core.arguments)
        word = f"`{core.function}`"
        match core.function:
            case "divide" if self.passes_zero(values[1]):
                return "jump", "a quotient", (values[1],)
            case "power" | "pow":
                return self._of_power(*values[:2])
            case "sqrt" if self.passes_zero(values[0]):
                return "kink", word, values
            case "tan" if not self._lies_in(values[0], (-pi / 2, pi / 2)):
                return "jump", word, values
            case "acos" | "asin" if not self._lies_in(values[0], (-1, 1)):
                return "kink", word, values
            case name if name in LOGARITHMS and self.passes_zero(values[0]):
                return "jump", word, values
        return None

    def _of_power(self, base: c.Core, exponent: c.Core) -> Found | None:
        low, high = self.facts.range_of(exponent)
        is_natural = low == high and low >= 0 and low % 1 == 0
        if is_natural or (exponent.type.whole and low >= 0) or not self.passes_zero(base):
            return None
        return "kink" if low > 0 else "jump", "a power", (base,)

    def _lies_in(self, core: c.Core, interval: Interval) -> bool:
        low, high = self.facts.range_of(core)
        return interval[0] < low and high < interval[1]

    def passes_zero(self, core: c.Core) -> bool:
        """Whether it is 0 on the way from one value to another, not at an end or not at all."""
        low, high = self.facts.range_of(core)
        if low > 0 or high < 0:
            return False
        if low < 0 < high:
            return not core.type.whole
        rule = _TOUCHING.get(core.function) if isinstance(core, c.Apply) else None
        if rule is not None and isinstance(core, c.Apply):
            return rule(self, *(value for _, value in core.arguments))
        if isinstance(core, c.If):
            return self.passes_zero(core.then) or self.passes_zero(core.otherwise)
        if isinstance(core, c.CallFn) and self.facts.functions[core.function].body is not None:
            return self.passes_zero(self._written_out(core))
        if isinstance(core, c.Ref) and core.name in self.facts.pieces:
            bodies = [piece.body for piece in self.facts.pieces[core.name]]
            return any(self.passes_zero(x) for x in bodies if isinstance(x, c.Core))
        return False

    def _written_out(self, core: c.CallFn) -> c.Core:
        function = self.facts.functions[core.function]
        assert function.body is not None
        names = (name for name, _ in function.parameters)
        return substitute(function.body, dict(zip(names, core.arguments, strict=True)))

    def cuts_off(self, *values: c.Core) -> bool:
        """max(x, 0) stays at 0; max(x^2, y) touches it where both do."""
        return any(self.facts.range_of(value)[0] < 0 for value in values)

    def any_passes(self, *values: c.Core) -> bool:
        return any(self.passes_zero(value) for value in values)

    def first_passes(self, *values: c.Core) -> bool:
        return self.passes_zero(values[0])


_TOUCHING: dict[str, Callable[..., bool]] = {
    **dict.fromkeys(("abs", "sqrt", "power", "pow", "divide", "square"), _Poles.first_passes),
    **dict.fromkeys(("max", "relu"), _Poles.cuts_off),
    "min": _Poles.any_passes,
    "multiply": _Poles.any_passes,
}
"""What is 0 at an end of its range, and yet inside that of its arguments."""

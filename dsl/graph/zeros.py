"""Values that are exactly 0, or another number, with more than chance 0: no scale, no divisor."""

from __future__ import annotations

from collections.abc import Iterable

from . import core as c
from .facts import Facts
from .known import NOTHING_KNOWN, Known
from .types import IndexOf

FROM_ZERO = frozenset({"sqrt", "abs", "square", "expm1", "log1p", "sum", "mean", "negate", "tanh"})
"""Functions that are 0 where all they are given is."""

CUT_OFF = frozenset({"relu", "clip", "floor", "ceil", "round", "trunc", "step", "sign"})
"""Functions that stay at a number, whatever real number they are given."""


class Zeros:
    """Of the expressions of one program; `drawn` are the names of its draws."""

    def __init__(self, facts: Facts, drawn: Iterable[str]):
        self.facts = facts
        self.drawn = frozenset(drawn)
        # Of values by name; inside of its own definition, a value is taken to be sound.
        self.hits: dict[tuple[str, float], bool] = {}
        self.steps: dict[str, bool] = {}

    def may_be_zero(self, core: c.Core, known: Known = NOTHING_KNOWN) -> bool:
        """Whether it hits 0, which a real draw or a declared number does not, or never says."""
        return not known.keeps_from_zero(core) and self.may_be(core, 0.0, known)

    def may_be(self, core: c.Core, at: float, known: Known = NOTHING_KNOWN) -> bool:
        """Whether it hits this number, an end of a domain."""
        low, high = self.facts.range_of(core, known)
        if low > at or high < at:
            return False
        match core:
            case c.Const():
                return True
            case c.Ref():
                return self._node_may(core, at)
            case c.Var():
                is_place = isinstance(core.type.domain, IndexOf)
                return core.type.whole and (is_place or at in (low, high))
            case c.At():
                return self.may_be(core.base, at, known)
            case c.If():
                branches = self.facts.branches(core, known)
                return any(self.may_be(part, at, own) for part, own in branches)
            case c.Build() | c.Reduce():
                return self.may_be(core.body, at, known)
            case c.Stack() | c.Lookup():
                items = core.items if isinstance(core, c.Stack) else core.entries
                return any(self.may_be(item, at, known) for item in items)
            case c.Apply():
                return self._result_may(core, at, known)
        return False

    def _node_may(self, core: c.Ref, at: float) -> bool:
        if core.name in self.drawn:
            return core.type.whole
        if core.name not in self.facts.pieces:  # data say what they are; 0 is where they end
            return core.type.whole and at in core.type.bounds
        key = core.name, at
        if key not in self.hits:
            self.hits[key] = False
            self.hits[key] = any(self.may_be(body, at) for body in self._bodies(core))
        return self.hits[key]

    def _node_steps(self, core: c.Ref) -> bool:
        """Inside of its own definition, a value is taken not to."""
        if core.name not in self.steps:
            self.steps[core.name] = False
            is_drawn = core.name in self.drawn and core.type.whole
            found = is_drawn or any(map(self._is_stepwise, self._bodies(core)))
            self.steps[core.name] = found
        return self.steps[core.name]

    def _is_stepwise(self, core: c.Core) -> bool:
        """Whether it takes whole values, as it is drawn, rounded or an index."""
        if isinstance(core, c.Ref):
            return self._node_steps(core)
        if isinstance(core, c.Var):
            return isinstance(core.type.domain, IndexOf)
        if isinstance(core, c.Apply):
            inside = any(self._is_stepwise(x) for x in c.parts(core) if core.type.whole)
            return core.function in CUT_OFF - {"relu", "clip"} or inside
        return isinstance(core, c.At) and self._is_stepwise(core.base)

    def _bodies(self, core: c.Ref) -> list[c.Core]:
        pieces = self.facts.pieces.get(core.name, ())
        return [piece.body for piece in pieces if isinstance(piece.body, c.Core)]

    def _result_may(self, core: c.Apply, at: float, known: Known) -> bool:
        values = [value for _, value in core.arguments if not isinstance(value, c.DimRef)]
        if core.function in CUT_OFF:
            return True
        found = (self.may_be(value, at, known) for value in values)
        if core.function in ("max", "min"):
            return any(found)
        if core.function in ("add", "subtract"):
            steps = [self._is_stepwise(value) for value in values]
            if any(steps) and all(
                step or value.type.whole or isinstance(value, c.Const)
                for step, value in zip(steps, values, strict=True)
            ):
                return True
        if at:  # arithmetic is followed to 0 alone
            return False
        match core.function:
            case "add":
                return all(found)
            case "multiply":
                return any(found)
            case "divide" | "power":
                return next(found)
        return core.function in FROM_ZERO and bool(values) and all(found)

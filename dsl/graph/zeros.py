"""Values that are exactly 0, or not a number, with more than chance 0: no scale, no rate."""

from __future__ import annotations

from collections.abc import Iterable

from ..library.functions import functions_by_text
from . import core as c
from .facts import Facts, Ranges

FROM_ZERO = frozenset({"sqrt", "abs", "square", "expm1", "log1p", "sum", "mean", "negate", "tanh"})
"""Functions that are 0 where all they are given is."""
DOMAINS = {"nonnegative": (0.0, float("inf")), "positive": (0.0, float("inf")), "unit": (0.0, 1.0)}


class Zeros:
    """Of the expressions of one program; `drawn` are the names of its draws."""

    def __init__(self, facts: Facts, drawn: Iterable[str]):
        self.facts = facts
        self.drawn = frozenset(drawn)
        # Of values by name; inside of its own definition, a value is taken to be sound.
        self.zero: dict[str, bool] = {}
        self.undefined: dict[str, c.Apply | None] = {}

    def may_be_zero(self, core: c.Core, known: Ranges | None = None) -> bool:
        """Whether it hits 0, which a real draw or a declared number does not, or never says."""
        known = known or {}
        low, high = self.facts.range_of(core, known)
        if low > 0 or high < 0:
            return False
        match core:
            case c.Const():
                return True
            case c.Ref():
                return self._node_may(core)
            case c.At():
                return self.may_be_zero(core.base, known)
            case c.If():
                branches = self.facts.branches(core, known)
                return any(self.may_be_zero(part, own) for part, own in branches)
            case c.Build() | c.Reduce():
                return self.may_be_zero(core.body, known)
            case c.Stack() | c.Lookup():
                items = core.items if isinstance(core, c.Stack) else core.entries
                return any(self.may_be_zero(item, known) for item in items)
            case c.Apply():
                return self._result_may(core, known)
        return False

    def _node_may(self, core: c.Ref) -> bool:
        if core.name in self.drawn:
            return core.type.whole
        if core.name not in self.zero:
            self.zero[core.name] = False
            self.zero[core.name] = any(map(self.may_be_zero, self._bodies(core)))
        return self.zero[core.name]

    def _bodies(self, core: c.Ref) -> list[c.Core]:
        pieces = self.facts.pieces.get(core.name, ())
        return [piece.body for piece in pieces if isinstance(piece.body, c.Core)]

    def _result_may(self, core: c.Apply, known: Ranges) -> bool:
        values = [value for _, value in core.arguments if not isinstance(value, c.DimRef)]
        found = (self.may_be_zero(value, known) for value in values)
        match core.function:
            case "add":
                return all(found)
            case "multiply" | "max" | "min":
                return any(found)
            case "divide" | "power":
                return next(found)
            case "relu" | "clip" | "floor" | "round" | "trunc" | "step":
                return True
        return core.function in FROM_ZERO and bool(values) and all(found)

    def undefined_part(self, core: c.Core, known: Ranges | None = None) -> c.Apply | None:
        """A call whose argument may leave its domain, so that the value is not a number."""
        known = known or {}
        if isinstance(core, c.Ref):
            return self._undefined_in(core)
        if isinstance(core, c.If):
            parts = [(core.condition, known), *self.facts.branches(core, known)]
        else:
            parts = [(part, known) for part in c.parts(core)]
        if isinstance(core, c.Apply) and self._is_undefined(core, known):
            return core
        found = (self.undefined_part(part, own) for part, own in parts)
        return next((part for part in found if part), None)

    def _undefined_in(self, core: c.Ref) -> c.Apply | None:
        if core.name not in self.undefined:
            self.undefined[core.name] = None
            found = filter(None, map(self.undefined_part, self._bodies(core)))
            self.undefined[core.name] = next(found, None)
        return self.undefined[core.name]

    def _is_undefined(self, core: c.Apply, known: Ranges) -> bool:
        if core.function == "power":
            (_, base), (_, exponent) = core.arguments
            is_whole = isinstance(exponent, c.Const) and float(exponent.value).is_integer()
            return not (is_whole or exponent.type.whole) and self.facts.range_of(base, known)[0] < 0
        if not core.row:
            return False
        params = {p.name: p.type.domain for p in functions_by_text()[core.row].signature.params}
        return any(
            not _is_within(self.facts.range_of(value, known), params[name])
            for name, value in core.arguments
            if params.get(name) in DOMAINS
        )


def _is_within(own: tuple[float, float], word: str) -> bool:
    low, high = DOMAINS[word]
    return own[0] >= low and own[1] <= high

"""What is known of an expression before any data: its range.

One pass over the core, which looks through names at their definitions, and into functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

from ..library.functions import functions_by_text
from . import core as c
from .breaks import is_soft
from .known import IN_SOFT_STATEMENT, NOTHING_KNOWN, Known
from .linear import add_linear
from .ranges import OPERATORS, Interval, join, meet, range_of_function
from .typed import Function, Piece
from .types import REAL

if TYPE_CHECKING:
    from .typed import Definition

_OPPOSITES = {
    "less": "greater_equal",
    "greater_equal": "less",
    "equal": "not_equal",
    "greater": "less_equal",
    "less_equal": "greater",
    "not_equal": "equal",
}
_MIRRORED = {
    "less": "greater",
    "greater": "less",
    "less_equal": "greater_equal",
    "greater_equal": "less_equal",
}

Numbers = float | list[Any]
"""A number, or nested lists of them."""

TINY = nextafter(0.0, 1.0)
"""The least number above 0."""

MOST_LEVELS = 60
"""Of expressions in expressions: what is deeper has the range of its type. Python's stack ends."""

TURNS = 10
"""Of a loop that are followed as they are, before its range is widened."""
WIDE = (-inf, -1.0, 0.0, 1.0, inf)
"""Where the range of a loop may end that goes on growing; domains end there, too."""

OF_NOTHING = {"max": (-inf, -inf), "min": (inf, inf), "mean": (-inf, inf)}
"""What these are of no elements, where a condition may leave none: the mean is no number."""

MOST_BODIES = 2000
"""Bodies of functions that are looked into, each for other ranges of its arguments."""


class Facts:
    """Of the expressions of one program; `definitions` are those of its values."""

    def __init__(self, definitions: Iterable[Definition], functions: Iterable[Function]):
        self.pieces: dict[str, tuple[Piece, ...]] = {
            d.name: d.pieces for d in definitions if d.kind == "let"
        }
        self.functions = {function.name: function for function in functions}
        self.ranges: dict[str, Interval] = {}
        # What is assumed of a node inside of its own definition, and which of these were used.
        self.assumed: dict[str, Interval] = {}
        self.used: set[str] = set()
        self.calls: dict[tuple[str, tuple[Interval, ...]], Interval] = {}
        self.within: dict[tuple[str, tuple[Interval, ...]], Known] = {}
        # By identity, with the expressions themselves, which keeps their identity theirs.
        self.level = 0
        self.memo: dict[tuple[int, int], tuple[c.Core, Known, Interval]] = {}

    # ---- ranges

    def range_of(self, core: c.Core, known: Known = NOTHING_KNOWN) -> Interval:
        """The least and the greatest value that it can have, where this is known."""
        key = id(core), id(known)
        if key in self.memo and not self.assumed:
            return self.memo[key][2]
        if self.level > MOST_LEVELS:
            return core.type.bounds
        self.level += 1
        found = self._range_of(core, known)
        self.level -= 1
        if not self.assumed:
            self.memo[key] = core, known, found
        return found

    def _range_of(self, core: c.Core, known: Known) -> Interval:
        found = meet(core.type.bounds, self._range(core, known))
        if isinstance(core, c.Ref | c.At | c.Var | c.Apply) and core in known.ranges:
            found = meet(found, known.ranges[core])
        if isinstance(core, c.Apply) and core.function in ("add", "subtract", "negate"):
            found = meet(found, known.of_difference(core))
        return found

    def _range(self, core: c.Core, known: Known) -> Interval:
        match core:
            case c.Const():
                return float(core.value), float(core.value)
            case c.Var():
                return known.ranges.get(core.name, core.type.bounds)
            case c.Ref():
                return self._of_node(core)
            case c.At():
                return self.range_of(core.base, known)
            case c.If():
                return join(*(self.range_of(x, own) for x, own in self.branches(core, known)))
            case c.Stack():
                return join(*(self.range_of(item, known) for item in core.items))
            case c.Lookup():
                return join(*(self.range_of(item, known) for item in core.entries))
            case c.Build():
                return self.range_of(core.body, known)
            case c.Reduce():
                return self._of_reduction(core, known)
            case c.Loop():
                return self._of_loop(core, known)
            case c.CallFn():
                return self._of_call(core, known)
            case c.Apply():
                return self._of_apply(core, known)
        return core.type.bounds

    def branches(self, core: c.If, known: Known) -> Iterator[tuple[c.Core, Known]]:
        """Each branch, with what is known where it is taken."""
        yield core.then, self.given(core.condition, True, known)
        yield core.otherwise, self.given(core.condition, False, known)

    def given(self, condition: c.Core | None, holds: bool, known: Known) -> Known:
        """What is known where a condition holds, or does not."""
        if not isinstance(condition, c.Apply):
            return known
        values = [value for _, value in condition.arguments]
        word = condition.function
        if word == "not":
            return self.given(values[0], not holds, known)
        if word == ("and" if holds else "or"):
            return self.given(values[1], holds, self.given(values[0], holds, known))
        word = word if holds else _OPPOSITES.get(word, "")
        if word not in _OPPOSITES:
            return known
        left, right = values
        if known.is_soft and not (left.type.whole and right.type.whole):
            return known
        difference = c.Apply(condition.span, REAL, "subtract", (("a", left), ("b", right)))
        if word == "not_equal":
            return self._unequal(left, right, known).without_zero(difference)
        narrowed: dict[str | c.Core, Interval] = {
            left: self._beside(left, word, right, known),
            right: self._beside(right, _MIRRORED.get(word, word), left, known),
        }
        for core in (left, right):
            narrowed |= _inside_magnitude(core, narrowed[core])
        known = known.with_ranges(narrowed)
        ends = _compared(word, (0.0, 0.0), _step(left, right, word))
        return known.with_difference(difference, ends)

    def _beside(self, core: c.Core, word: str, other: c.Core, known: Known) -> Interval:
        """The range of what compares like this with another."""
        ends = _compared(word, self.range_of(other, known), _step(core, other, word))
        return meet(self.range_of(core, known), ends)

    def _unequal(self, left: c.Core, right: c.Core, known: Known) -> Known:
        """A whole number that is not the least of its range is the next one at least."""
        for core, other in ((left, right), (right, left)):
            (low, high), (value, same) = (self.range_of(x, known) for x in (core, other))
            if core.type.whole and value == same == low < high:
                return known.with_ranges({core: (low + 1, high)})
            if core.type.whole and value == same == high > low:
                return known.with_ranges({core: (low, high - 1)})
        return known

    def _of_node(self, core: c.Ref) -> Interval:
        """That of its definition; inside of which it has what is assumed of it."""
        name = core.name
        if name not in self.pieces:
            return core.type.bounds
        if name in self.assumed:
            self.used.add(name)
            return self.assumed[name]
        if name not in self.ranges:
            # By induction: a recurrence that keeps 0 or above as long as it was there stays there.
            before = dict(self.ranges)
            found = self._assume(core, meet(core.type.bounds, (0.0, inf)))
            if name in self.used and found[0] < 0:
                self.ranges = before
                found = self._assume(core, core.type.bounds)
            self.used.discard(name)
            self.ranges[name] = found
        return self.ranges[name]

    def _assume(self, core: c.Ref, hypothesis: Interval) -> Interval:
        """The range of its definition, if this is what it has inside of it."""
        self.assumed[core.name] = hypothesis
        pieces = self.pieces[core.name]
        parts = [
            self.range_of(piece.body, self.known_in(piece))
            for piece in pieces
            if isinstance(piece.body, c.Core)
        ]
        del self.assumed[core.name]
        return join(*parts)

    def known_in(self, piece: Piece) -> Known:
        """What is known in the body of a statement."""
        outside = IN_SOFT_STATEMENT if is_soft(piece.settings) else NOTHING_KNOWN
        return self.given(piece.where, True, outside)

    def _of_reduction(self, core: c.Reduce, known: Known) -> Interval:
        low, high = self.range_of(core.body, self.given(core.where, True, known))
        if core.where is not None and core.operator in OF_NOTHING:
            return join((low, high), OF_NOTHING[core.operator])
        if core.operator in ("max", "min", "mean"):
            return low, high
        if core.operator == "sum":
            return (0.0 if low >= 0 else core.type.bounds[0]), core.type.bounds[1]
        if core.operator == "prod" and low >= 0:
            return 0.0, (1.0 if high <= 1 else core.type.bounds[1])
        return core.type.bounds

    def _of_loop(self, core: c.Loop, known: Known) -> Interval:
        """What all turns reach; of many, a range that the body keeps, widened to one of WIDE."""
        found = self.range_of(core.start, known)
        for turn in range(core.limit):
            state = known.with_ranges({core.variable: found})
            body = self.range_of(core.body, self.given(core.condition, True, state))
            wider = join(found, body)
            if wider == found:
                break
            found = wider if turn < TURNS else _widened(wider, found)
        return found

    def _of_call(self, core: c.CallFn, known: Known) -> Interval:
        function = self.functions[core.function]
        if function.body is None:
            return core.type.bounds
        ranges = tuple(self.range_of(argument, known) for argument in core.arguments)
        key = core.function, ranges
        if key not in self.calls:
            if len(self.calls) > MOST_BODIES:
                return core.type.bounds
            self.calls[key] = core.type.bounds
            self.calls[key] = self.range_of(function.body, self.inside(function, ranges))
        return self.calls[key]

    def inside(self, function: Function, ranges: tuple[Interval, ...]) -> Known:
        """What is known inside of a function that is called with arguments of these ranges."""
        key = function.name, ranges
        if key not in self.within:
            names = (name for name, _ in function.parameters)
            self.within[key] = Known(ranges=dict(zip(names, ranges, strict=True)))
        return self.within[key]

    def _of_apply(self, core: c.Apply, known: Known) -> Interval:
        values = [value for _, value in core.arguments if not isinstance(value, c.DimRef)]
        given = [self.range_of(value, known) for value in values]
        if core.function == "negate":
            return -given[0][1], -given[0][0]
        if core.function in OPERATORS:
            if core.function == "multiply" and values[0] == values[1]:
                return OPERATORS["power"](given[0], (2.0, 2.0))
            if core.function == "divide" and self._is_share(values[0], values[1], known):
                return 0.0, 1.0
            return OPERATORS[core.function](*given)
        if not core.row:
            return core.type.bounds
        row = functions_by_text()[core.row]
        names = (name for name, _ in core.arguments)
        by_name = dict(zip(names, given, strict=False))
        if row.signature.result.domain == "num" and row.name in ("max", "min") and len(given) == 1:
            return given[0]
        return range_of_function(row, by_name, core.type.bounds)

    def difference(self, high: c.Core, low: c.Core, known: Known = NOTHING_KNOWN) -> Interval:
        """The range of high - low, in which what both have in common cancels."""
        total: dict[c.Core | None, float] = {}
        add_linear(self.defined(high), 1.0, total)
        add_linear(self.defined(low), -1.0, total)
        constant = total.pop(None, 0.0)
        ends = constant, constant
        for core, weight in total.items():
            if core is not None and weight:
                part = OPERATORS["multiply"](self.range_of(core, known), (weight, weight))
                ends = OPERATORS["add"](ends, part)
        whole = c.Apply(high.span, REAL, "subtract", (("a", high), ("b", low)))
        return meet(ends, known.of_difference(whole))

    def _is_share(self, part: c.Core, whole: c.Core, known: Known) -> bool:
        """x / (x + y) with both 0 or above, and x[i] / sum(x)."""
        if self.range_of(part, known)[0] < 0:
            return False
        if isinstance(whole, c.Apply) and whole.function == "add":
            summands = [value for _, value in whole.arguments]
            others = [value for value in summands if value != part]
            return len(others) < 2 and all(self.range_of(x, known)[0] >= 0 for x in others)
        array = summed(self.defined(whole))
        if array is None:
            return False
        base = part.base if isinstance(part, c.At) else part
        return base == array

    def defined(self, core: c.Core) -> c.Core:
        """What a name of a single number stands for."""
        if isinstance(core, c.Ref) and core.name in self.pieces and not core.type.shape:
            (*_, piece) = self.pieces[core.name]
            if len(self.pieces[core.name]) == 1 and isinstance(piece.body, c.Core):
                return piece.body
        return core

    def numbers(self, core: c.Core) -> Numbers | None:
        """A number, or nested lists of numbers, where all of them are constants."""
        core = self._written(core)
        if isinstance(core, c.Stack):
            items = [self.numbers(item) for item in core.items]
            known = [item for item in items if item is not None]
            return known if len(known) == len(items) else None
        low, high = self.range_of(core)
        return float(low) if low == high and not core.type.shape else None

    def _written(self, core: c.Core) -> c.Core:
        """The array that a name stands for, where one statement writes it out."""
        pieces = self.pieces.get(core.name, ()) if isinstance(core, c.Ref) else ()
        if len(pieces) == 1 and not pieces[0].indices and isinstance(pieces[0].body, c.Core):
            return self._written(pieces[0].body)
        return core


def _step(core: c.Core, other: c.Core, word: str) -> float:
    """How far apart what is strictly ordered is: 1 for whole numbers, for others the least."""
    is_strict = word in ("less", "greater")
    return 1.0 if is_strict and core.type.whole and other.type.whole else TINY * is_strict


def _widened(wider: Interval, before: Interval) -> Interval:
    low, high = wider
    if low < before[0]:
        low = max(end for end in WIDE if end <= low)
    if high > before[1]:
        high = min(end for end in WIDE if end >= high)
    return low, high


def _compared(word: str, ends: Interval, step: float) -> Interval:
    """Where what compares like this with something between `ends` lies."""
    low, high = ends
    if word in ("less", "less_equal"):
        return -inf, _moved(high, -step)
    if word in ("greater", "greater_equal"):
        return _moved(low, step), inf
    return ends


def _moved(end: float, step: float) -> float:
    """By a step, or to the next number of the computer where that is further."""
    if not step or abs(end) == inf:
        return end
    nearest = nextafter(end, inf if step > 0 else -inf)
    return max(end + step, nearest) if step > 0 else min(end + step, nearest)


def _inside_magnitude(core: c.Core, interval: Interval) -> dict[str | c.Core, Interval]:
    """abs(x) below 1 says that x lies between -1 and 1."""
    if not isinstance(core, c.Apply) or core.function != "abs" or interval[1] == inf:
        return {}
    (_, inside), *_ = core.arguments
    return {inside: meet(inside.type.bounds, (-interval[1], interval[1]))}


def summed(core: c.Core) -> c.Core | None:
    """The array whose sum this is: sum(w), or sum[k in K] w[k] over all of it."""
    if isinstance(core, c.Apply) and core.function == "sum":
        return core.arguments[0][1]
    if isinstance(core, c.Reduce) and core.operator == "sum" and core.where is None:
        names = [bind.name for bind in core.binders]
        body = core.body
        if isinstance(body, c.At):
            own = [index.name for index in body.indices if isinstance(index, c.Var)]
            return body.base if own == names and not body.type.shape else None
    return None

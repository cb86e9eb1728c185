"""What is known of an expression before any data: its range, and the constraint that it keeps.

One pass over the core, which looks through names at their definitions, and into functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from ..library.functions import functions_by_text
from . import core as c
from .ranges import OPERATORS, Interval, join, meet, range_of_function
from .typed import Function, Piece

if TYPE_CHECKING:
    from .typed import Definition

IMPLIED = {
    "covariance": frozenset({"covariance", "correlation"}),
    "cholesky": frozenset({"cholesky", "corr_cholesky"}),
    "ordered": frozenset({"ordered", "positive_ordered"}),
}
"""Which constraints each one follows from, besides itself."""

TOLERANCE = 1e-6

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

Ranges = Mapping[str | c.Core, Interval]
"""Of variables by name, and of what a condition speaks of."""


class Facts:
    """Of the expressions of one program; `definitions` are those of its values."""

    def __init__(self, definitions: Iterable[Definition], functions: Iterable[Function]):
        self.pieces: dict[str, tuple[Piece, ...]] = {
            d.name: d.pieces for d in definitions if d.kind == "let"
        }
        self.functions = {function.name: function for function in functions}
        self.ranges: dict[str, Interval] = {}

    # ---- ranges

    def range_of(self, core: c.Core, known: Ranges | None = None) -> Interval:
        """The least and the greatest value that it can have; `known` are those of variables."""
        found = meet(core.type.bounds, self._range(core, known or {}))
        if known and isinstance(core, c.Ref | c.At | c.Var) and core in known:
            return meet(found, known[core])
        return found

    def _range(self, core: c.Core, known: Ranges) -> Interval:
        match core:
            case c.Const():
                return float(core.value), float(core.value)
            case c.Var():
                return known.get(core.name, core.type.bounds)
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
            case c.CallFn():
                return self._of_call(core, known)
            case c.Apply():
                return self._of_apply(core, known)
        return core.type.bounds

    def branches(self, core: c.If, known: Ranges) -> Iterator[tuple[c.Core, Ranges]]:
        """Each branch, with what is known where it is taken."""
        yield core.then, self._given(core.condition, True, known)
        yield core.otherwise, self._given(core.condition, False, known)

    def _given(self, condition: c.Core, holds: bool, known: Ranges) -> Ranges:
        if not isinstance(condition, c.Apply):
            return known
        values = [value for _, value in condition.arguments]
        word = condition.function
        if word == "not":
            return self._given(values[0], not holds, known)
        if word == ("and" if holds else "or"):
            return self._given(values[1], holds, self._given(values[0], holds, known))
        word = word if holds else _OPPOSITES.get(word, "")
        if word not in _OPPOSITES or word == "not_equal":
            return known
        left, right = values
        narrowed: dict[str | c.Core, Interval] = {
            left: self._beside(left, word, right, known),
            right: self._beside(right, _MIRRORED.get(word, word), left, known),
        }
        return {**known, **narrowed}

    def _beside(self, core: c.Core, word: str, other: c.Core, known: Ranges) -> Interval:
        """The range of what compares like this with another."""
        low, high = self.range_of(other, known)
        # The next whole number is one further; a real number may be as close as it likes.
        step = 1 if core.type.whole and other.type.whole and word in ("less", "greater") else 0
        if word in ("less", "less_equal"):
            low, high = -inf, high - step
        elif word in ("greater", "greater_equal"):
            low, high = low + step, inf
        return meet(self.range_of(core, known), (low, high))

    def _of_node(self, core: c.Ref) -> Interval:
        """That of its definition; inside of which it has what is assumed of it."""
        if core.name not in self.pieces:
            return core.type.bounds
        if core.name not in self.ranges:
            # By induction: a recurrence that keeps 0 or above as long as it was there stays there.
            before = dict(self.ranges)
            if self._assume(core, meet(core.type.bounds, (0.0, inf)))[0] < 0:
                self.ranges = before
                self._assume(core, core.type.bounds)
        return self.ranges[core.name]

    def _assume(self, core: c.Ref, hypothesis: Interval) -> Interval:
        """The range of its definition, if this is what it has inside of it."""
        self.ranges[core.name] = hypothesis
        bodies = [piece.body for piece in self.pieces[core.name]]
        parts = [self.range_of(body) for body in bodies if isinstance(body, c.Core)]
        self.ranges[core.name] = join(*parts)
        return self.ranges[core.name]

    def _of_reduction(self, core: c.Reduce, known: Ranges) -> Interval:
        low, high = self.range_of(core.body, known)
        if core.operator in ("max", "min", "mean"):
            return low, high
        if core.operator == "sum":
            return (0.0 if low >= 0 else core.type.bounds[0]), core.type.bounds[1]
        if core.operator == "prod" and low >= 0:
            return 0.0, (1.0 if high <= 1 else core.type.bounds[1])
        return core.type.bounds

    def _of_call(self, core: c.CallFn, known: Ranges) -> Interval:
        function = self.functions[core.function]
        if function.body is None:
            return core.type.bounds
        ranges = (self.range_of(argument, known) for argument in core.arguments)
        names = (name for name, _ in function.parameters)
        return self.range_of(function.body, dict(zip(names, ranges, strict=True)))

    def _of_apply(self, core: c.Apply, known: Ranges) -> Interval:
        values = [value for _, value in core.arguments if not isinstance(value, c.DimRef)]
        given = [self.range_of(value, known) for value in values]
        if core.function == "negate":
            return -given[0][1], -given[0][0]
        if core.function in OPERATORS:
            if core.function == "multiply" and values[0] == values[1]:
                low, high = OPERATORS["multiply"](*given)
                return max(low, 0.0), high
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

    def difference(self, high: c.Core, low: c.Core) -> Interval:
        """The range of high - low, in which what both have in common cancels."""
        total: dict[c.Core | None, float] = {}
        _add_linear(self._defined(high), 1.0, total)
        _add_linear(self._defined(low), -1.0, total)
        constant = total.pop(None, 0.0)
        ends = constant, constant
        for core, weight in total.items():
            if core is not None and weight:
                part = OPERATORS["multiply"](self.range_of(core), (weight, weight))
                ends = OPERATORS["add"](ends, part)
        return ends

    def _is_share(self, part: c.Core, whole: c.Core, known: Ranges) -> bool:
        """x / (x + y) with both 0 or above, and x[i] / sum(x)."""
        if self.range_of(part, known)[0] < 0:
            return False
        if isinstance(whole, c.Apply) and whole.function == "add":
            summands = [value for _, value in whole.arguments]
            others = [value for value in summands if value != part]
            return len(others) < 2 and all(self.range_of(x, known)[0] >= 0 for x in others)
        array = _summed(self._defined(whole))
        if array is None:
            return False
        base = part.base if isinstance(part, c.At) else part
        return base == array

    def _defined(self, core: c.Core) -> c.Core:
        """What a name of a single number stands for."""
        if isinstance(core, c.Ref) and core.name in self.pieces and not core.type.shape:
            (*_, piece) = self.pieces[core.name]
            if len(self.pieces[core.name]) == 1 and isinstance(piece.body, c.Core):
                return piece.body
        return core

    # ---- constraints

    def keeps(self, core: c.Core, word: str) -> bool:
        """Whether it is proved to be a simplex, a covariance matrix, and so on."""
        if core.type.constraint in {word, *IMPLIED.get(word, ())}:
            return True
        if isinstance(core, c.Ref | c.At):
            ref = core.base if isinstance(core, c.At) else core
            pieces = self.pieces.get(ref.name, ()) if isinstance(ref, c.Ref) else ()
            bodies = [p.body for p in pieces if isinstance(p.body, c.Core)]
            # An element that has no axis left over is not an array any more.
            whole = [body for body in bodies if len(body.type.shape) >= len(core.type.shape)]
            return bool(whole) and len(whole) == len(pieces) and self._all_keep(whole, word)
        if isinstance(core, c.If):
            return self._all_keep([core.then, core.otherwise], word)
        if isinstance(core, c.Lookup):
            return self._all_keep(core.entries, word)
        rule = _RULES.get(word)
        return rule is not None and rule(self, core)

    def _all_keep(self, cores: Iterable[c.Core], word: str) -> bool:
        return all(self.keeps(core, word) for core in cores)

    def is_simplex(self, core: c.Core) -> bool:
        """Items that sum to one, or any that are divided by their sum."""
        if isinstance(core, c.Stack):
            if core.type.shape[1:]:
                return self._all_keep(core.items, "simplex")
            total: dict[c.Core | None, float] = {}
            for item in core.items:
                _add_linear(item, 1.0, total)
            constant = total.pop(None, 0.0)
            is_one = abs(constant - 1) < TOLERANCE
            cancels = all(abs(weight) < TOLERANCE for weight in total.values())
            return is_one and cancels and all(self.range_of(x)[0] >= 0 for x in core.items)
        if isinstance(core, c.Build) and isinstance(core.body, c.Apply):
            if core.body.type.shape:
                return self.keeps(core.body, "simplex")
            return core.body.function == "divide" and self._divides_by_its_sum(core)
        if isinstance(core, c.Apply) and core.function == "divide":
            (_, part), (_, whole) = core.arguments
            if _is_even(part, whole):
                return True
            is_sum = _summed(self._defined(whole)) == part
            return is_sum and len(part.type.shape) == 1 and self.range_of(part)[0] >= 0
        return False

    def _divides_by_its_sum(self, core: c.Build) -> bool:
        """[k in K] w[k] / sum(w)."""
        assert isinstance(core.body, c.Apply)
        (_, part), (_, whole) = core.body.arguments
        array = _summed(self._defined(whole))
        names = [bind.name for bind in core.binders[-1:]]
        is_entry = isinstance(part, c.At) and part.base == array
        own = [x.name for x in part.indices if isinstance(x, c.Var)] if is_entry else []  # type: ignore[attr-defined]
        return own == names and self.range_of(part)[0] >= 0

    def is_covariance(self, core: c.Core) -> bool:
        """Sums of covariances, positive multiples of one, and what is positive on a diagonal."""
        if not isinstance(core, c.Apply):
            return False
        values = [value for _, value in core.arguments]
        if core.function == "add":
            return self._all_keep(values, "covariance")
        if core.function == "multiply":
            numbers = [value for value in values if not value.type.shape]
            matrices = [value for value in values if value.type.shape]
            scaled = len(numbers) == 1 and self.range_of(numbers[0])[0] >= 0
            return scaled and self._all_keep(matrices, "covariance")
        if core.function == "divide":
            scaled = not values[1].type.shape and self.range_of(values[1])[0] >= 0
            return scaled and self.keeps(values[0], "covariance")
        if core.function == "diag":
            return self.range_of(values[0])[0] >= 0
        if core.function in ("inv", "transpose"):
            return self.keeps(values[0], "covariance")
        return core.function == "matmul" and _is_transpose(values[1], values[0])

    def is_cholesky(self, core: c.Core) -> bool:
        if not isinstance(core, c.Apply):
            return False
        values = [value for _, value in core.arguments]
        if core.function == "diag":
            return self.range_of(values[0])[0] >= 0
        if core.function == "multiply":
            numbers = [value for value in values if not value.type.shape]
            scaled = len(numbers) == 1 and self.range_of(numbers[0])[0] >= 0
            return scaled and all(self.keeps(x, "cholesky") for x in values if x.type.shape)
        return core.function == "matmul" and self._all_keep(values, "cholesky")

    def is_ordered(self, core: c.Core) -> bool:
        """Constants that increase, and sums of what is above 0."""
        if isinstance(core, c.Stack):
            ranges = [self.range_of(item) for item in core.items]
            return all(a[1] < b[0] for a, b in pairwise(ranges))
        is_sum = isinstance(core, c.Apply) and core.function == "cumsum"
        return is_sum and self.range_of(core.arguments[0][1])[0] >= 0  # type: ignore[attr-defined]


_RULES = {
    "simplex": Facts.is_simplex,
    "covariance": Facts.is_covariance,
    "cholesky": Facts.is_cholesky,
    "ordered": Facts.is_ordered,
    "positive_ordered": Facts.is_ordered,
}


def _summed(core: c.Core) -> c.Core | None:
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


def _is_even(part: c.Core, whole: c.Core) -> bool:
    """ones(K) / size(K)."""
    if not (isinstance(part, c.Apply) and isinstance(whole, c.Apply)):
        return False
    dims = [value for _, value in (*part.arguments, *whole.arguments)]
    return (part.function, whole.function) == ("ones", "size") and dims[0] == dims[-1]


def _is_transpose(core: c.Core, of: c.Core) -> bool:
    return isinstance(core, c.Apply) and core.function == "transpose" and core.arguments[0][1] == of


def _add_linear(core: c.Core, weight: float, total: dict[c.Core | None, float]) -> None:
    """Adds `weight` times an expression to a sum of atoms; None stands for the number one."""
    if isinstance(core, c.Const):
        total[None] = total.get(None, 0.0) + weight * float(core.value)
        return
    if isinstance(core, c.Apply):
        values = [value for _, value in core.arguments]
        if core.function in ("add", "subtract"):
            _add_linear(values[0], weight, total)
            _add_linear(values[1], weight if core.function == "add" else -weight, total)
            return
        if core.function == "negate":
            _add_linear(values[0], -weight, total)
            return
        if core.function == "divide" and isinstance(values[1], c.Const) and values[1].value:
            _add_linear(values[0], weight / float(values[1].value), total)
            return
        for value, other in (values, values[::-1]) if core.function == "multiply" else ():
            if isinstance(value, c.Const):
                _add_linear(other, weight * float(value.value), total)
                return
        for value, other in (values, values[::-1]) if core.function == "multiply" else ():
            if isinstance(value, c.Apply) and value.function in ("add", "subtract"):
                for sign, (_, inner) in zip(
                    (1, -1 if value.function == "subtract" else 1), value.arguments, strict=True
                ):
                    product = c.Apply(core.span, core.type, "multiply", _ordered(inner, other))
                    _add_linear(product, sign * weight, total)
                return
    total[core] = total.get(core, 0.0) + weight


def _ordered(a: c.Core, b: c.Core) -> tuple[tuple[str, c.Core], ...]:
    """One order for both ways of writing a product."""
    first, second = sorted((a, b), key=repr)
    return ("a", first), ("b", second)

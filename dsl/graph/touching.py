"""Which values an expression takes on its way, and which ends of its range it never attains.

abs(x) is 0 inside the range of x, exp(x) comes close to 0 and is not, and a draw is at an end of
its support with probability 0. Where nothing is known of a function, it may attain both ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations

from ..library.functions import functions_by_text
from ..library.rows import FunctionRow
from . import core as c
from .constraints import Constraints
from .facts import Facts
from .forms import arithmetic, number
from .graph import Kind
from .known import NOTHING_KNOWN, Known
from .ranges import Interval
from .substitute import substitute

MOST_CALLS = 2000
"""Functions of the program that are written out where they are called."""
ORDERS = frozenset({"less", "less_equal", "greater", "greater_equal"})
DEFINITE = frozenset({"covariance", "correlation", "cholesky", "corr_cholesky"})
"""Constraints of matrices that have an inverse."""
SMALL = 3
"""Determinants of matrices with no more rows are written out."""


class Touching:
    """Of the expressions of one program; `kinds` are those of its nodes, `vectors` are the draws
    whose entries are drawn together, and may follow from each other.

    `known` are the ranges of what the branch that is looked at was chosen by, and `apart` are pairs
    that were compared for it, so that they are not equal in it.
    """

    def __init__(self, facts: Facts, kinds: dict[str, Kind], vectors: frozenset[str] = frozenset()):
        self.facts = facts
        self.vectors = vectors
        self.constraints = Constraints(facts)
        self.kinds = kinds
        self.known = NOTHING_KNOWN
        self.apart: tuple[tuple[c.Core, c.Core], ...] = ()
        self.calls = 0
        # Of nodes by name and end; inside of its own definition, it is not attained.
        self.attained: dict[tuple[str, bool], bool] = {}

    def range_of(self, core: c.Core) -> Interval:
        return self.facts.range_of(core, self.known)

    def passes(self, core: c.Core, value: float) -> bool:
        """Whether it takes this value on the way from one to another."""
        return not core.type.whole and self.reaches(core, value)

    def reaches(self, core: c.Core, value: float) -> bool:
        """Whether it takes this value, not at an end alone that it only comes close to.

        A parameter that happens to have this value is not looked at: those beside it have not.
        """
        low, high = self.range_of(core)
        if self._is_parameter(core) or (value == 0 and self._is_kept_apart(core)):
            return False
        if not low <= value <= high:
            return False
        return low < value < high or self.attains(core, value == low)

    def _is_parameter(self, core: c.Core) -> bool:
        base = core.base if isinstance(core, c.At) else core
        return isinstance(base, c.Ref) and self.kinds.get(base.name) is Kind.PARAMETER

    def _is_kept_apart(self, core: c.Core) -> bool:
        """A difference of what was compared."""
        gaps = [arithmetic("subtract", *pair) for a, b in self.apart for pair in ((a, b), (b, a))]
        return any(self.facts.difference(core, gap) == (0.0, 0.0) for gap in gaps)

    @contextmanager
    def inside(self, core: c.If, branch: c.Core, known: Known) -> Iterator[None]:
        """While this branch is looked at."""
        outer = self.known, self.apart
        self.known, self.apart = known, (*self.apart, *_compared(core, branch is core.then))
        try:
            yield
        finally:
            self.known, self.apart = outer

    @contextmanager
    def nowhere(self) -> Iterator[None]:
        """While a definition is looked at, for whoever reads it: what it says holds in no branch,
        and its binders are its own.
        """
        outer = self.known, self.apart
        self.known, self.apart = NOTHING_KNOWN, ()
        try:
            yield
        finally:
            self.known, self.apart = outer

    def reaches_below(self, core: c.Core, value: float) -> bool:
        return self.range_of(core)[0] < value or self.reaches(core, value)

    def attains(self, core: c.Core, low: bool) -> bool:
        """Whether it takes the value at the lower, or the upper, end of its range."""
        end = self._end(core, low)
        if abs(end) == float("inf"):
            return False
        match core:
            case c.Const():
                return True
            case c.Ref():
                return self._node_attains(core, low)
            case c.At() | c.Build() | c.Reduce():
                return self._at_end(core.base if isinstance(core, c.At) else core.body, end, low)
            case c.If():
                return any(self._at_end(each, end, low) for each in (core.then, core.otherwise))
            case c.Stack() | c.Lookup():
                items = core.items if isinstance(core, c.Stack) else core.entries
                return any(self._at_end(each, end, low) for each in items)
            case c.CallFn():
                body = self.written_out(core)
                return body is None or self._at_end(body, end, low)
            case c.Apply():
                return self._result_attains(core, low, end)
            case c.Quantile() | c.Cdf() | c.Moment():
                return False
        return True

    def _end(self, core: c.Core, low: bool) -> float:
        return self.range_of(core)[0 if low else 1]

    def _at_end(self, core: c.Core, end: float, low: bool) -> bool:
        """Whether a part attains the end of the whole: in which its own range may go on."""
        own = self._end(core, low)
        if abs(own) == float("inf") or own == end:
            return own == end and self.attains(core, low)
        return self.reaches(core, end)

    def _node_attains(self, core: c.Ref, low: bool) -> bool:
        if self.kinds.get(core.name) is not Kind.FUNCTION:
            return core.type.whole
        if self._end(core, low) != self.facts.range_of(core)[not low]:
            return core not in self.known.ranges  # the branch ends there
        place = core.name, low
        if place not in self.attained:
            self.attained[place] = False
            with self.nowhere():
                self.attained[place] = self._bodies_attain(core, low)
        return self.attained[place]

    def _bodies_attain(self, core: c.Ref, low: bool) -> bool:
        end = self._end(core, low)
        bodies = [piece.body for piece in self.facts.pieces.get(core.name, ())]
        return any(self._at_end(body, end, low) for body in bodies if isinstance(body, c.Core))

    def written_out(self, core: c.CallFn) -> c.Core | None:
        """The body of a function where it is called; None of one from outside, or of too many."""
        function = self.facts.functions[core.function]
        self.calls += 1
        if function.body is None or self.calls > MOST_CALLS:
            return None
        names = (name for name, _ in function.parameters)
        return substitute(function.body, dict(zip(names, core.arguments, strict=True)))

    # ---- functions

    def _result_attains(self, core: c.Apply, low: bool, end: float) -> bool:
        values = [value for _, value in core.arguments if not isinstance(value, c.DimRef)]
        rule = _RULES.get(core.function)
        if rule is not None:
            return rule(self, low, end, *values)
        row = functions_by_text().get(core.row)
        if row is None:
            return True
        if end == 0 and low and _never_0(row):
            return False
        rising, falling = row.rising.split(), row.falling.split()
        names = {name for name, _ in core.arguments}
        if row.kinks or row.jumps or not names <= {*rising, *falling}:
            return True
        return any(self.attains(v, low == (name in rising)) for name, v in core.arguments)

    def either_end(self, core: c.Core) -> bool:
        return self.attains(core, True) or self.attains(core, False)

    def sum_attains(self, low: bool, _: float, *values: c.Core) -> bool:
        return all(self.attains(value, low) for value in values)

    def difference_attains(self, low: bool, _: float, a: c.Core, b: c.Core) -> bool:
        return self.attains(a, low) and self.attains(b, not low)

    def negative_attains(self, low: bool, _: float, a: c.Core) -> bool:
        return self.attains(a, not low)

    def product_attains(self, low: bool, end: float, a: c.Core, b: c.Core) -> bool:
        if end == 0:
            return self.reaches(a, 0.0) or self.reaches(b, 0.0)
        return self.either_end(a) and self.either_end(b)

    def quotient_attains(self, low: bool, end: float, a: c.Core, b: c.Core) -> bool:
        if end == 0:
            return self.reaches(a, 0.0)
        return self.either_end(a) and self.either_end(b)

    def power_attains(self, low: bool, end: float, base: c.Core, exponent: c.Core) -> bool:
        if end == 0:
            return self.reaches(base, 0.0)
        least, most = self.range_of(exponent)
        if self.range_of(base)[0] < 0:
            return self.either_end(base)
        if least < most:
            return True
        return self.attains(base, low == (least > 0))

    def even_attains(self, low: bool, _: float, x: c.Core, *__: c.Core) -> bool:
        return self.reaches(x, 0.0) if low else self.either_end(x)

    def largest_attains(self, low: bool, end: float, *values: c.Core) -> bool:
        """max(x, 0) stays at 0; max(x^2, y) touches it where both do."""
        if not low:
            return any(self._at_end(value, end, low) for value in values)
        return all(self.reaches_below(value, end) for value in values)

    def least_attains(self, low: bool, end: float, *values: c.Core) -> bool:
        if low:
            return any(self._at_end(value, end, low) for value in values)
        return all(self.range_of(v)[1] > end or self.reaches(v, end) for v in values)

    def cut_off_attains(self, low: bool, end: float, x: c.Core, *_: c.Core) -> bool:
        """relu, clip: where x goes on beyond the end, or attains it."""
        ends = self.range_of(x)
        return ends[0] < end if low and ends[0] != end else self._beyond(x, low, end)

    def _beyond(self, x: c.Core, low: bool, end: float) -> bool:
        own = self._end(x, low)
        return (own < end if low else own > end) or self.reaches(x, end)

    # ---- arrays

    def all_reach_0(self, _: bool, __: float, x: c.Core) -> bool:
        """The sum of entries from 0 up, a norm: all of them at once."""
        items = entries(x)
        return all(self.reaches(item, 0.0) for item in items) if items else self.reaches(x, 0.0)

    def all_may_be_equal(self, _: bool, __: float, x: c.Core) -> bool:
        items = entries(x)
        gaps = [self.facts.difference(a, b) for a, b in combinations(items or (), 2)]
        return all(low <= 0 <= high for low, high in gaps)

    def has_no_direction(self, x: c.Core) -> bool:
        """All entries are 0: not with two draws or more that move freely, which miss the point."""
        return self.free_draws(x) < 2 and self.all_reach_0(True, 0.0, x)

    def has_no_spread(self, x: c.Core) -> bool:
        return self.free_draws(x) < 3 and self.all_may_be_equal(True, 0.0, x)

    def free_draws(self, x: c.Core) -> int:
        """How many entries are a draw of their own, with something added."""
        items = entries(x)
        if items is None:
            return (x.type.shape[0].size or 1) if self.moves_freely(x) else 0
        own = [self._own_draw(item) for item in items]
        used = [{str(_key(part)) for part in c.walk(item) if _is_read(part)} for item in items]
        return sum(
            draw is not None and sum(str(_key(draw)) in each for each in used) == 1 for draw in own
        )

    def _own_draw(self, item: c.Core) -> c.Core | None:
        if isinstance(item, c.Apply) and item.function in ("add", "subtract"):
            found = [value for _, value in item.arguments if self.moves_freely(value)]
            return found[0] if len(found) == 1 else None
        return item if self.moves_freely(item) else None

    def moves_freely(self, core: c.Core) -> bool:
        """A draw of its own, whatever the others are: no entry of a simplex, or of any vector."""
        base = core.base if isinstance(core, c.At) else core
        is_draw = isinstance(base, c.Ref) and self.kinds.get(base.name) is Kind.DRAW
        return is_draw and not core.type.whole and base.name not in self.vectors  # type: ignore[attr-defined]

    # ---- matrices

    def may_be_singular(self, core: c.Core) -> bool:
        rows = [entries(row) for row in core.items] if isinstance(core, c.Stack) else None
        if rows and len(rows) <= SMALL and all(row and len(row) == len(rows) for row in rows):
            return self.reaches(_determinant([row for row in rows if row]), 0.0)
        return not self.is_definite(core)

    def is_definite(self, core: c.Core) -> bool:
        """Positive definite, triangular with a positive diagonal, or made of such."""
        if isinstance(core, c.At):
            return self.is_definite(core.base)
        if isinstance(core, c.Ref):
            return self._node_is_definite(core)
        if isinstance(core, c.If):
            return self.is_definite(core.then) and self.is_definite(core.otherwise)
        if not isinstance(core, c.Apply):
            return False
        values = [value for _, value in core.arguments]
        match core.function:
            case "eye" | "matrix_exp":
                return True
            case "diag":
                return not self.reaches(values[0], 0.0)
            case "cholesky" | "inv" | "transpose":
                return self.is_definite(values[0])
            case "add":
                keeps = all(self.constraints.keeps(value, "covariance") for value in values)
                return keeps and any(map(self.is_definite, values))
            case "multiply" | "divide":
                numbers = [value for value in values if not value.type.shape]
                matrices = [value for value in values if value.type.shape]
                away = not any(self.reaches(value, 0.0) for value in numbers)
                return away and len(matrices) == 1 and self.is_definite(matrices[0])
            case name if name.startswith("gp_"):
                # Of points that are not drawn, which do not meet.
                points, *rest = values
                return not self.is_random(points) and not any(self.reaches(v, 0.0) for v in rest)
        return False

    def _node_is_definite(self, core: c.Ref) -> bool:
        if self.kinds.get(core.name) is not Kind.FUNCTION:
            return core.type.constraint in DEFINITE
        bodies = [piece.body for piece in self.facts.pieces.get(core.name, ())]
        with self.nowhere():
            return all(isinstance(body, c.Core) and self.is_definite(body) for body in bodies)

    def is_random(self, core: c.Core) -> bool:
        names = {part.name for part in c.walk(core) if isinstance(part, c.Ref)}
        return any(self.kinds.get(name) in (Kind.DRAW, Kind.FUNCTION) for name in names)

    def diagonal_may_be_0(self, core: c.Core) -> bool:
        rows = [entries(row) for row in core.items] if isinstance(core, c.Stack) else None
        if rows:
            return any(row is None or self.reaches(row[k], 0.0) for k, row in enumerate(rows))
        return self.may_be_singular(core)


def _never_0(row: FunctionRow) -> bool:
    """exp, softargmax: above 0 whatever they are given."""
    result = row.signature.result.domain
    is_smooth = not row.kinks and not row.jumps
    return is_smooth and (result == "positive" or (result == "simplex" and row.name != "one_hot"))


def entries(core: c.Core) -> tuple[c.Core, ...] | None:
    """Those of an array that is written out, or is built from one body."""
    if not isinstance(core, c.Stack):
        return None
    return core.items


def _compared(core: c.If, holds: bool) -> Iterator[tuple[c.Core, c.Core]]:
    """What a branch says to be unequal: all of an `and` that holds, of an `or` that does not."""
    waiting = [core.condition]
    while waiting:
        found = waiting.pop()
        if not isinstance(found, c.Apply):
            continue
        values = [value for _, value in found.arguments]
        if found.function in ORDERS:
            yield values[0], values[1]
        elif found.function == ("and" if holds else "or"):
            waiting += values


def _is_read(core: c.Core | c.Law) -> bool:
    return isinstance(core, c.Ref | c.At)


def _key(core: c.Core | c.Law) -> object:
    return (core.base, core.indices) if isinstance(core, c.At) else core


def _determinant(rows: list[tuple[c.Core, ...]]) -> c.Core:
    """By the first row: of no more than three."""
    first, *others = rows
    if not others:
        return first[0]
    terms: Iterator[c.Core] = (
        arithmetic("multiply", entry, _determinant([(*r[:k], *r[k + 1 :]) for r in others]))
        for k, entry in enumerate(first)
    )
    total = number(first[0], 0.0)
    result: c.Core = next(terms, total)
    for k, term in enumerate(terms):
        result = arithmetic("subtract" if k % 2 == 0 else "add", result, term)
    return result


_RULES: dict[str, Callable[..., bool]] = {
    "add": Touching.sum_attains,
    "subtract": Touching.difference_attains,
    "negate": Touching.negative_attains,
    "multiply": Touching.product_attains,
    "divide": Touching.quotient_attains,
    **dict.fromkeys(("power", "pow"), Touching.power_attains),
    **dict.fromkeys(("abs", "square", "huber", "cosh"), Touching.even_attains),
    "max": Touching.largest_attains,
    "min": Touching.least_attains,
    **dict.fromkeys(("relu", "clip"), Touching.cut_off_attains),
    **dict.fromkeys(("sum", "mean", "norm", "norm1"), Touching.all_reach_0),
    **dict.fromkeys(("var", "sd"), Touching.all_may_be_equal),
}
"""Where more is known than that a function rises or falls."""
